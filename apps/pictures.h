// The images that a command is to look at: files, or some of a data set.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cait/model.h"
#include "command.h"
#include "image/image.h"

namespace cait::app {

struct Picture {
    std::string name;
    Image image;
    std::optional<std::string> label;  // where the data set knows it
};

struct PictureArguments {
    std::vector<std::string> files;
    std::string data;
    std::size_t count = 12;
    std::uint64_t seed = 0;

    void add_to(CLI::App& command);
    std::vector<Picture> read() const;  // throws UsageError unless there is one of the two
};

// As the model's evaluation prepares them, [B, 3, H, W]; `shown` gets the 8-bit crops.
Tensor prepare(const Model& model, const std::vector<Picture>& pictures,
               std::vector<Image>* shown = nullptr);

struct Prediction {
    std::size_t index = 0;
    std::string name;  // of the class, or its number
    double probability = 0;
};

// The most likely classes of one image, most likely first.
std::vector<Prediction> top_predictions(const Model& model, std::span<const float> logits,
                                        std::size_t count);

}  // namespace cait::app
