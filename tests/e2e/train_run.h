// A run that is over in seconds: a tiny CaiT on images whose colour is their class.
#pragma once

#include <fmt/format.h>

#include <fstream>

#include "base/philox.h"
#include "e2e/command.h"
#include "image/codec/encode.h"
#include "weights/safetensors.h"

namespace cait::e2e {

using Words = std::vector<std::string>;

class TrainRun : public InFolder {
protected:
    TrainRun() {
        colours("train", 16);
        colours("val", 8);
    }

    // part/red/0.png …: `count` images of each of three colours, with noise.
    void colours(const std::string& part, int count) const {
        RandomStream random(1, part);
        const char* names[] = {"red", "green", "blue"};
        for (std::size_t c = 0; c < 3; ++c) {
            const std::filesystem::path place = folder_ / part / names[c];
            std::filesystem::create_directories(place);
            for (int i = 0; i < count; ++i) {
                Image image = Image::blank(16, 16, 3);
                for (std::size_t p = 0; p < image.pixels.size(); ++p)
                    image.pixels[p] =
                        std::uint8_t((p % 3 == c ? 110 : 60) + int(random.bits() % 80));
                write_image(place / fmt::format("{}.png", i), image);
            }
        }
    }

    Words recipe(const std::string& run, const Words& more = {}) const {
        Words words = {"train",    "small",
                       "--data",   "folder:" + path("train"),
                       "--val",    "folder:" + path("val"),
                       "--out",    path(run),
                       "--batch",  "8",
                       "--epochs", "3"};
        for (const char* setting :
             {"model.image_size=16", "model.patch=8", "model.dim=16", "model.depth=2",
              "model.heads=2", "model.class_layers=1", "schedule.warmup=0", "train.ema=0.9",
              "optim.lr=3e-3", "augment.policy=none"}) {
            words.emplace_back("--set");
            words.emplace_back(setting);
        }
        words.insert(words.end(), more.begin(), more.end());
        return words;
    }

    // When the run last saved; long ago when it never has.
    std::filesystem::file_time_type saved_at(const std::string& run) const {
        std::error_code missing;
        const auto time =
            std::filesystem::last_write_time(path(run + "/state.safetensors"), missing);
        return missing ? std::filesystem::file_time_type::min() : time;
    }

    TensorFile state_file(const std::string& run) const {
        return TensorFile::open(path(run + "/state.safetensors"));
    }

    // Weights, optimiser and averages of a run: a hash of the bytes by name.
    std::map<std::string, std::uint64_t> state(const std::string& run) const {
        std::map<std::string, std::uint64_t> hashes;
        for (const auto& [name, tensor] : state_file(run).tensors)
            hashes.emplace(name, stable_hash({reinterpret_cast<const char*>(tensor.bytes()),
                                              std::size_t(tensor.byte_size())}));
        return hashes;
    }

    static std::vector<pid_t> children(pid_t parent) {
        std::ifstream file(fmt::format("/proc/{0}/task/{0}/children", parent));
        std::vector<pid_t> result;
        for (pid_t child = 0; file >> child;) result.push_back(child);
        return result;
    }
};

}  // namespace cait::e2e
