#include "serve/routes/replies.h"

#include "image/codec/decode.h"
#include "serve/memory_account.h"

namespace cait::serve {

Response json_response(const nlohmann::json& value) {
    using Handler = nlohmann::json::error_handler_t;  // labels need not be UTF-8
    return {.body = value.dump(-1, ' ', false, Handler::replace)};
}

Image decoded_image(const std::string& file, const std::string& name, const Intake& images,
                    const Request& of) {
    of.need(decoding_memory(std::as_bytes(std::span(file)), name), name);
    return images.decode(file, name);
}

Tensor prepared_images(const ServedModel& model, const std::vector<std::string>& files,
                       const Intake& images, const Request& of) {
    const auto [height, width] = model.image_size();
    of.need(files.size() * std::size_t(3 * height * width) * sizeof(float), "images");
    const std::uint64_t before = of.memory ? of.memory->bytes() : 0;
    return model.preparer().batch(files.size(), [&](std::size_t i) {
        if (of.memory) of.memory->lower_to(before);  // the last one is gone
        return decoded_image(files[i], image_name(i), images, of);
    });
}

}  // namespace cait::serve
