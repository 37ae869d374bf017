#include "system/download/curl_version.h"

#include <curl/curl.h>

namespace cait {

std::string libcurl_version() { return curl_version_info(CURLVERSION_NOW)->version; }

}  // namespace cait
