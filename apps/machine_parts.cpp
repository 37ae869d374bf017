// Versions of the parts from outside. `cait` itself does not link LibTorch and oneDNN; for them and
// for OpenMP CMake says what the build found.
#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "base/version.h"
#include "image/codec/codec_versions.h"
#include "machine.h"
#include "system/download/curl_version.h"

namespace cait::app {

namespace {

std::string compiler() {
#if defined(__clang__)
    return "clang " __clang_version__;
#elif defined(__GNUC__)
    return "g++ " __VERSION__;
#else
    return "unknown";
#endif
}

}  // namespace

std::vector<std::pair<std::string, std::string>> part_versions() {
    std::vector<std::pair<std::string, std::string>> parts{
        {"cait", std::string(version())},
        {"compiler", compiler()},
        {"OpenMP", CAIT_OPENMP_VERSION},
        {"LibTorch", CAIT_LIBTORCH_VERSION},
        {"oneDNN", CAIT_ONEDNN_VERSION},
        {"fmt",
         fmt::format("{}.{}.{}", FMT_VERSION / 10000, FMT_VERSION / 100 % 100, FMT_VERSION % 100)},
        {"nlohmann-json", fmt::format("{}.{}.{}", NLOHMANN_JSON_VERSION_MAJOR,
                                      NLOHMANN_JSON_VERSION_MINOR, NLOHMANN_JSON_VERSION_PATCH)}};
    for (auto& codec : codec_versions()) parts.push_back(std::move(codec));
    parts.emplace_back("libcurl", libcurl_version());
    return parts;
}

}  // namespace cait::app
