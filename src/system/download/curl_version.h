// The version of libcurl that is loaded, for `cait machine`.
#pragma once

#include <string>

namespace cait {

std::string libcurl_version();

}  // namespace cait
