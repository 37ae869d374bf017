#include "serve/routes/replies.h"

#include <fmt/format.h>

#include "image/codec/decode.h"

namespace cait::serve {

Response json_response(const nlohmann::json& value) {
    using Handler = nlohmann::json::error_handler_t;  // labels need not be UTF-8
    return {.body = value.dump(-1, ' ', false, Handler::replace)};
}

Tensor prepared_images(const ServedModel& model, const std::vector<std::string>& files) {
    return model.preparer().batch(files.size(), [&](std::size_t i) {
        return decode_image(std::as_bytes(std::span(files[i])), fmt::format("image {}", i));
    });
}

}  // namespace cait::serve
