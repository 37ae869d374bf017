// Whole runs in a folder, compared by what they leave: model files and lines of metrics.jsonl.
#pragma once

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <functional>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "cait/model.h"
#include "e2e/train_run.h"

namespace cait::e2e {

class TrainedRuns : public TrainRun {
protected:
    void train(const Words& words) const {
        const Finished run = cait(words);
        ASSERT_EQ(run.status, 0) << run.err;
    }

    Model last(const std::string& run) const {
        return Model::load(path(run + "/last.safetensors"));
    }

    // Lines of metrics.jsonl of one kind.
    std::vector<nlohmann::json> metrics(const std::string& run, const std::string& kind) const {
        std::vector<nlohmann::json> found;
        std::istringstream all(read(path(run + "/metrics.jsonl")));
        for (std::string line; std::getline(all, line);)
            if (nlohmann::json one = nlohmann::json::parse(line); one["kind"] == kind)
                found.push_back(std::move(one));
        return found;
    }

    static float difference(const Tensor& a, const Tensor& b) {
        EXPECT_EQ(a.shape(), b.shape());
        float most = 0;
        for (std::size_t i = 0; i < a.floats().size(); ++i)
            most = std::max(most, std::abs(a.floats()[i] - b.floats()[i]));
        return most;
    }
    static float difference(const Model& a, const Model& b) {
        EXPECT_EQ(a.weights().size(), b.weights().size());
        float most = 0;
        for (const auto& [name, tensor] : a.weights())
            most = std::max(most, difference(tensor, b.weights().at(name)));
        return most;
    }

    // `words` of a run in this folder, which saves after every step: killed or stopped, it goes on
    // to the same file as one that was not. The name of the folder is in the model file.
    void expect_the_same_after_signals(
        const std::function<Words(const std::string& run)>& words) const {
        train(words("whole/run"));
        const std::string whole = read(path("whole/run/last.safetensors"));
        int interrupted = 0;
        for (const int signal : {SIGKILL, SIGTERM}) {
            const std::string run = "broken" + std::to_string(signal) + "/run";
            Running first(words(run));
            ASSERT_TRUE(eventually([&] {
                return first.over() || std::filesystem::exists(path(run + "/state.safetensors"));
            }));
            first.signal(signal);
            const Finished finished = first.wait();
            if (finished.status != 0) {  // or it was faster
                EXPECT_EQ(finished.status, signal == SIGKILL ? -SIGKILL : 128 + SIGTERM)
                    << finished.err;
                ++interrupted;
            }
            train({"train", "--resume", path(run)});
            EXPECT_TRUE(read(path(run + "/last.safetensors")) == whole) << "signal " << signal;
        }
        EXPECT_GE(interrupted, 1);
    }
};

}  // namespace cait::e2e
