#include "serve/routes/replies.h"

namespace cait::serve {

Response json_response(const nlohmann::json& value) {
    using Handler = nlohmann::json::error_handler_t;  // labels need not be UTF-8
    return {.body = value.dump(-1, ' ', false, Handler::replace)};
}

Tensor prepared_images(const ServedModel& model, const std::vector<std::string>& files,
                       const Intake& images) {
    return model.preparer().batch(
        files.size(), [&](std::size_t i) { return images.decode(files[i], image_name(i)); });
}

}  // namespace cait::serve
