// The photograph out of a body, in whatever way it was sent.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>

#include "serve/service.h"

namespace cait::serve {

inline constexpr std::size_t kMostClasses = 1000;

// A photograph, and what a JSON body says beside it.
struct Sent {
    std::string image;
    std::optional<std::size_t> top;
};

// The bytes as they are, a form with one file, or JSON with base64. Throws HttpError.
Sent sent_image(Request& request);

// Whether the client said that it wants a picture.
bool accepts_png(const Request& request);

// One such image through the trunk; `format` gets its vector. Throws HttpError where the model
// gives none.
Service::Prepare features_work(const ServedModelPtr& model,
                               std::function<Response(std::span<const float>)> format);

}  // namespace cait::serve
