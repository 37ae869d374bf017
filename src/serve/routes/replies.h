// What the routes have in common: JSON answers, and images out of bodies.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "image/image.h"
#include "serve/engine/intake.h"
#include "serve/engine/served_model.h"
#include "serve/http/message.h"

namespace cait::serve {

Response json_response(const nlohmann::json& value);

// Decoded one at a time, and prepared as the model says. An ImageError calls them "image 0", …
// `of` is charged for what that takes.
Tensor prepared_images(const ServedModel& model, const std::vector<std::string>& files,
                       const Intake& images, const Request& of);

// The same for one whose pixels somebody wants; it is charged until `of` holds something else.
Image decoded_image(const std::string& file, const std::string& name, const Intake& images,
                    const Request& of);

}  // namespace cait::serve
