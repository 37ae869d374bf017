// What learning beyond labels puts on top of a trunk: a projector, and a predictor on top of that.
// Grafit has either an MLP or one linear map, DINO a head of its own. Recorded like any part of a
// model, under the outputs "projection" and "prediction". And what fine-tuning may put below the
// classes: a classifier with a hidden layer.
#pragma once

#include <cstdint>

#include "graph/builder.h"
#include "models/dense_head.h"
#include "models/detection_head.h"
#include "models/settings.h"

namespace cait {

// A projector, a head that answers for every pixel (upernet and linear_map), or one that finds
// objects (mask_rcnn).
enum class HeadKind { none, linear, mlp, dino, upernet, linear_map, mask_rcnn };

struct HeadConfig {
    HeadKind kind = HeadKind::none;  // of the projector
    std::int64_t hidden = 4096;      // mlp, dino: width of the layers between
    std::int64_t outputs = 256;
    std::int64_t predictor = 0;     // width of the predictor's hidden layer; 0: none
    std::int64_t bottleneck = 256;  // dino: width before the last layer
    bool batch_norm = false;        // dino: after the layers between
    bool norm_last_layer = true;    // dino: the last layer's gains stay at 1
    std::int64_t classifier = 0;    // width of the classifier's hidden layer; 0: it is linear

    DenseConfig dense = {};          // of a kind that answers for every pixel
    DetectionConfig detection = {};  // of mask_rcnn

    // Whether the model answers for every pixel, and whether it finds objects.
    bool is_dense() const { return kind == HeadKind::upernet || kind == HeadKind::linear_map; }
    bool is_detector() const { return kind == HeadKind::mask_rcnn; }
    // Either; its class head is then left out.
    bool has_own_classes() const { return is_dense() || is_detector(); }
    // Whether there is a projector or a predictor beside the classifier.
    bool any() const { return (kind != HeadKind::none && !has_own_classes()) || predictor > 0; }
    // A trunk and a linear classifier, as in the papers.
    bool plain() const { return !any() && !has_own_classes() && classifier == 0; }
    // Of a key that two kinds of heads have, the value of the kind in use counts.
    bool operator==(const HeadConfig& other) const;
};

// The keys are the same in a recipe and in what a model file says of itself: "head.kind".
inline constexpr std::string_view kHeadPrefix = "head.";
void bind(Settings& settings, HeadConfig& config);
// Only the keys that a head of this kind has.
void bind_own_keys(Settings& settings, HeadConfig& config);

// On top of the output "features". Outputs: projection, of unit length (of dino: what its softmax
// takes), and, where there is a predictor, prediction. Parameters: projector.*, predictor.*. What
// is not recorded may still be in a file.
void record_heads(Builder& builder, const HeadConfig& config);

// Linear, batch norm and ReLU, [B, D] → [B, width], with PyTorch's names in a Sequential: 0 and 1.
Value hidden_layer(Builder& b, Value x, std::int64_t width, Location where = Location::current());

// Rows of x [..., D] divided by their lengths.
Value unit_rows(Builder& b, Value x, Location where = Location::current());

// The last layer of DINO's head: a linear map without bias, whose rows have the lengths
// name.weight_g [O, 1] and the directions of name.weight_v [O, I], as PyTorch's weight_norm.
Value weight_normed_linear(Builder& b, std::string_view name, Value x, std::int64_t out,
                           bool train_gains, Location where = Location::current());

}  // namespace cait
