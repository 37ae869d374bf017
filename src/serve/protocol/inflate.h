// Bodies that were sent compressed.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "serve/memory_account.h"

namespace cait::serve {

// `encoding` is that of Content-Encoding: gzip, deflate (with or without zlib's frame) or identity.
// Throws HttpError: 415 for others, 413 for more than `most` bytes, 400 for damage and for bytes
// after the end. `charge` holds what there is of `body`, and then of what is returned.
std::string decoded_body(std::string body, std::string_view encoding, std::size_t most,
                         Charge& charge);

}  // namespace cait::serve
