// cait/image.h on top of the decoders and the preparation path of src/image/.
#include "cait/image.h"

#include "image/codec/decode.h"
#include "models/describe.h"

namespace cait {

Tensor prepare_image(const Model& model, const std::filesystem::path& file) {
    return prepare_images(model, std::span(&file, 1));
}

Tensor prepare_image(const Model& model, std::span<const std::byte> encoded) {
    return preparer_of(model).batch(1, [&](std::size_t) { return decode_image(encoded, "image"); });
}

Tensor prepare_images(const Model& model, std::span<const std::filesystem::path> files) {
    return preparer_of(model).batch(files.size(),
                                    [&](std::size_t i) { return read_image(files[i]); });
}

}  // namespace cait
