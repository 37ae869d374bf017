// The state of a run that was damaged, or tampered with, is refused by name and never trained on
// from.
#include <gmock/gmock.h>

#include <functional>
#include <nlohmann/json.hpp>

#include "e2e/train_run.h"

namespace cait::e2e {
namespace {

class TrainState : public TrainRun {
protected:
    void set_epoch(const std::string& run, const nlohmann::json& epoch) const {
        change(run, [&](nlohmann::json& state) { state["position"]["epoch"] = epoch; });
    }

    // The state with something else in it, as somebody who leaves the checksum out could write it.
    void change(const std::string& run, const std::function<void(nlohmann::json&)>& how) const {
        const std::string file = path(run + "/state.safetensors");
        const TensorFile state = state_file(run);
        auto metadata = state.metadata;
        auto json = nlohmann::json::parse(metadata.at("cait.state"));
        how(json);
        metadata["cait.state"] = json.dump();
        metadata.erase("cait.sha256");
        auto sums = nlohmann::json::parse(metadata.at("cait.crc32"));
        sums.erase("__metadata__");
        metadata["cait.crc32"] = sums.dump();
        write_safetensors(file + ".new", state.tensors, metadata);
        std::filesystem::rename(file + ".new", file);
    }
};

TEST_F(TrainState, APositionOutsideTheRunIsRefused) {
    ASSERT_EQ(cait(recipe("run", {"--epochs", "1"})).status, 0);
    const std::string file = path("run/state.safetensors");
    for (const nlohmann::json& epoch :
         {nlohmann::json(std::uint64_t{1} << 63), nlohmann::json(3), nlohmann::json(-1),
          nlohmann::json(0.5), nlohmann::json("1")}) {
        set_epoch("run", epoch);
        expect_refused(cait({"train", "--resume", path("run"), "--epochs", "2"}), 1,
                       {file, "epoch"});
    }
    set_epoch("run", 1);  // without a checksum, as older runs are
    const Finished resumed = cait({"train", "--resume", path("run"), "--epochs", "2"});
    EXPECT_EQ(resumed.status, 0) << resumed.err;
    EXPECT_TRUE(state_file("run").metadata.contains("cait.sha256"));

    std::string bytes = read(file);
    const std::size_t at = bytes.find("\\\"epoch\\\":2");
    ASSERT_NE(at, std::string::npos);
    bytes[at + 10] = '1';
    write("run/state.safetensors", bytes);
    expect_refused(cait({"train", "--resume", path("run"), "--epochs", "3"}), 1, {file, "damaged"});
}

TEST_F(TrainState, AnotherVersionOfTheProgramIsSaid) {
    ASSERT_EQ(cait(recipe("run", {"--epochs", "1"})).status, 0);
    change("run", [](nlohmann::json& state) { state["made_with"]["cait"] = "0.0.1"; });
    const Finished run = cait({"train", "--resume", path("run"), "--epochs", "2"});
    ASSERT_EQ(run.status, 0) << run.err;
    EXPECT_THAT(run.err, testing::HasSubstr("changed since the run was saved: cait 0.0.1 -> "));
}

TEST_F(TrainState, WhatAnOlderStateDoesNotKnowIsNoChange) {
    ASSERT_EQ(cait(recipe("run", {"--epochs", "1"})).status, 0);
    change("run", [](nlohmann::json& state) {
        for (const char* key :
             {"threads", "processes", "instruction set", "contents of the images (digest)"})
            ASSERT_EQ(state["made_with"].erase(key), 1U) << key;
    });
    const Finished run = cait({"train", "--resume", path("run"), "--epochs", "2"});
    ASSERT_EQ(run.status, 0) << run.err;
    EXPECT_THAT(run.err, testing::Not(testing::HasSubstr("when the run was saved")));
    EXPECT_THAT(run.err, testing::Not(testing::HasSubstr("nothing ->")));
}

// Whatever a state says that cannot be, the message names the file.
TEST_F(TrainState, AStateThatContradictsItsRunIsNamed) {
    using Json = nlohmann::json;
    ASSERT_EQ(cait(recipe("run", {"--epochs", "1"})).status, 0);
    const std::string file = path("run/state.safetensors"), good = read(file);
    const auto expect_named = [&](const std::string& pointer, const Json& value) {
        write("run/state.safetensors", good);
        change("run", [&](Json& state) { state[Json::json_pointer(pointer)] = value; });
        SCOPED_TRACE(pointer + " " + value.dump());
        expect_refused(cait({"train", "--resume", path("run"), "--epochs", "2"}), 1, {file});
    };
    for (const Json& classes : {Json::array(), Json{"red"}, Json{"red", "green", "blue", "blue"},
                                Json{"red", "red", "blue"}, Json{"one", "two", "three"},
                                Json{1, 2, 3}, Json::object(), Json("red"), Json()})
        expect_named("/classes", classes);
    expect_named("/preprocessing", Json::array());
    expect_named("/preprocessing/std", Json{0, 0, 0});
    expect_named("/totals/steps", -1);
    expect_named("/totals/images", 1.5);
    expect_named("/totals", Json::object());
    expect_named("/best", Json());
    expect_named("/best/epoch", 99);
    expect_named("/position", Json());
    expect_named("/made_with", Json{1});
}

// It used to be found out when the first epoch was over and nothing could be saved.
TEST_F(TrainState, AClassNameThatItCouldNotHoldIsRefusedAtOnce) {
    std::filesystem::rename(folder_ / "train/green", folder_ / "train/gr\xfcn");
    expect_refused(cait(recipe("run")), 1, {path("train"), "gr\\xfcn", "UTF-8"});
    EXPECT_FALSE(std::filesystem::exists(path("run")));
}

}  // namespace
}  // namespace cait::e2e
