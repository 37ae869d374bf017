// From a photograph to class names, and where the model looked: decoding, preparing, running and
// naming in one call. Link cait::engine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cait/model.h"
#include "cait/session.h"

namespace cait {

// What the model takes an image for.
struct Answer {
    std::size_t index = 0;  // of the class
    std::string name;       // of the class, or "class INDEX" where no names are known
    // Softmax over all classes; of a model for several classes per image (Model::task) each class's
    // own, by sigmoid, and those from task().threshold on are the model's answer.
    double probability = 0;
};

// 8-bit pixels that somebody else owns, such as a camera's frame: rows from top to bottom, channels
// interleaved.
struct Pixels {
    const std::uint8_t* data = nullptr;
    std::int64_t width = 0;
    std::int64_t height = 0;
    std::int64_t channels = 3;   // 3: RGB, 1: grey
    std::int64_t row_bytes = 0;  // from one row to the next; 0: no gaps
};

// How much a class token looks at each patch, row by row; a mean over the heads.
struct AttentionMap {
    std::int64_t width = 0;
    std::int64_t height = 0;
    std::vector<float> values;
};

// May be used from several threads at the same time, as a Session may.
class Classifier {
public:
    // A model without class names but with as many classes as ImageNet gets ImageNet's names.
    explicit Classifier(const Model& model, const SessionOptions& options = {});

    // The `top` most likely classes, most likely first. Throws Error when an image cannot be read.
    std::vector<Answer> classify(const std::filesystem::path& file, std::size_t top = 5) const;
    std::vector<Answer> classify(std::span<const std::byte> encoded, std::size_t top = 5) const;
    std::vector<Answer> classify(const Pixels& pixels, std::size_t top = 5) const;
    // Of prepared images [B, C, H, W] (cait/image.h), each one's.
    std::vector<std::vector<Answer>> classify(const Tensor& images, std::size_t top = 5) const;

    // The features that the class head reads.
    std::vector<float> embed(const std::filesystem::path& file) const;
    std::vector<float> embed(std::span<const std::byte> encoded) const;
    std::vector<float> embed(const Pixels& pixels) const;

    // Of the layer'th layer that has a class token; without a number the one that tells most about
    // the object: the last block of a ViT, the first class layer of CaiT. Of a model with a token
    // for each class, the likeliest one's. Throws UsageError if no layer has one.
    AttentionMap attention(const std::filesystem::path& file,
                           std::optional<std::size_t> layer = std::nullopt) const;
    // The photograph with a map over it, as .png or .jpg.
    void draw(const std::filesystem::path& photo, const AttentionMap& map,
              const std::filesystem::path& output) const;

    const std::vector<std::string>& classes() const;
    const Session& session() const;

private:
    struct State;
    std::shared_ptr<const State> state_;
};

}  // namespace cait
