// Image files of other kinds than the decoders read, so that messages can name what people have.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace cait {

// "a GIF; convert it, for example with `convert in.gif out.png`", or nothing for what is no image.
std::string_view describe_foreign_image(std::span<const std::byte> bytes);

}  // namespace cait
