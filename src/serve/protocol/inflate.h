// Bodies that were sent compressed.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace cait::serve {

// `encoding` is that of Content-Encoding: gzip, deflate (with or without zlib's frame) or identity.
// Throws HttpError: 415 for others, 413 for more than `most` bytes, 400 for damage and for bytes
// after the end.
std::string decoded_body(std::string body, std::string_view encoding, std::size_t most);

}  // namespace cait::serve
