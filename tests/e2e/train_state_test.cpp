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

// It used to be found out when the first epoch was over and nothing could be saved.
TEST_F(TrainState, AClassNameThatItCouldNotHoldIsRefusedAtOnce) {
    std::filesystem::rename(folder_ / "train/green", folder_ / "train/gr\xfcn");
    expect_refused(cait(recipe("run")), 1, {path("train"), "gr\\xfcn", "UTF-8"});
    EXPECT_FALSE(std::filesystem::exists(path("run")));
}

}  // namespace
}  // namespace cait::e2e
