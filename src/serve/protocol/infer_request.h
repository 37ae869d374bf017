// An inference request of the Open Inference Protocol (version 2), checked: what stands in it fits
// together and fits the model.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cait/tensor.h"
#include "serve/engine/served_model.h"
#include "serve/http/message.h"

namespace cait::serve {

inline constexpr const char* kImagesInput = "images";    // FP32 [-1, 3, H, W], prepared
inline constexpr const char* kEncodedInput = "encoded";  // BYTES [-1], files
inline constexpr const char* kTextInput = "text";        // BYTES [-1], lines to be translated
inline constexpr std::size_t kMostImages = 64;           // in a request

struct RequestedOutput {
    std::string name;
    bool binary = false;
    std::size_t classes = 0;  // this many as "value:index:label"; 0: the values themselves
};

struct InferRequest {
    std::string id{};
    Tensor images{};                     // of a model for images one of these two is given
    std::optional<float> largest{};      // magnitude of the values of `images`
    std::vector<std::string> encoded{};  // files
    std::vector<std::string> texts{};    // of a model that translates, and how it is to
    TranslateWish wish{};
    std::vector<RequestedOutput> outputs{};
    std::optional<double> timeout{};  // seconds

    std::size_t count() const {  // of images
        return encoded.empty() ? std::size_t(images.shape()[0]) : encoded.size();
    }
    std::vector<std::string> taps() const;  // where outputs are taps: rising, each once
};

// `request` has a body that is no longer compressed. Throws HttpError(400).
InferRequest parse_infer_request(const Request& request, const ServedModel& model);

}  // namespace cait::serve
