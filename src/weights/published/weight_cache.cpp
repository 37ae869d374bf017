#include "weights/published/weight_cache.h"

#include <fmt/format.h>

#include <array>
#include <cstdlib>

#include "system/download/download_list.h"
#include "weights/verify_weights.h"
#include "weights/weight_file.h"

namespace cait {

namespace fs = std::filesystem;

namespace {

std::string variable(const char* name) {
    const char* value = std::getenv(name);
    return value == nullptr ? "" : value;
}

// The path of https://host/the/path, without its first slash.
std::string path_of(const std::string& address) {
    const std::size_t host = address.find("//") + 2;
    return address.substr(address.find('/', host) + 1);
}

bool is_http(const std::string& place) {
    return place.starts_with("http://") || place.starts_with("https://");
}

Downloaded from_mirror(std::string mirror, const PublishedWeights& weights,
                       const ExpectedFile& expected, const fs::path& target,
                       const DownloadOptions& options) {
    constexpr std::string_view kFile = "file://";
    const std::array<std::string, 2> names{path_of(weights.address()), weights.file()};
    if (is_http(mirror)) {
        try {
            return download(join_address(mirror, names[0]), expected, target, options);
        } catch (const Unreachable&) {
            return download(join_address(mirror, names[1]), expected, target, options);
        }
    }
    if (mirror.starts_with(kFile)) mirror.erase(0, kFile.size());
    const fs::path folder(mirror);
    return copy_in(fs::exists(folder / names[0]) ? folder / names[0] : folder / names[1], expected,
                   target, options);
}

}  // namespace

fs::path weight_cache() {
    if (const std::string own = variable("CAIT_CACHE"); !own.empty())
        return fs::path(own) / "weights";
    if (const std::string xdg = variable("XDG_CACHE_HOME"); !xdg.empty())
        return fs::path(xdg) / "cait/weights";
    if (const std::string home = variable("HOME"); !home.empty())
        return fs::path(home) / ".cache/cait/weights";
    throw Error("no place for published weights: set CAIT_CACHE to a folder");
}

Downloaded fetch_published(const PublishedWeights& weights, const fs::path& target,
                           DownloadOptions options) {
    if (weights.by_hand()) {
        if (fs::exists(target)) {
            open_weights(target);  // or says what is wrong with it
            return Downloaded::present;
        }
        throw Error(
            fmt::format("{}: its authors give no direct address; get the file from {} and "
                        "put it at {}",
                        weights.model, weights.address(), target.string()));
    }
    ExpectedFile expected;
    expected.checksum = weights.checksum();
    // Where no checksum was published, a page of an intermediate server must not pass for weights.
    expected.check = [](const fs::path& path) { verify_weights(path); };
    std::error_code error;
    if (target.has_parent_path()) fs::create_directories(target.parent_path(), error);
    if (error)
        throw Error(
            fmt::format("{}: cannot create: {}", target.parent_path().string(), error.message()));
    options.wait = true;
    options.retries = 2;
    const std::string mirror = variable("CAIT_MIRROR");
    try {
        if (!mirror.empty()) return from_mirror(mirror, weights, expected, target, options);
        return download(weights.address(), expected, target, options);
    } catch (const Unreachable& failure) {
        throw Error(fmt::format("{}; to do without a network, get {} and put it at {}",
                                failure.what(), weights.address(), target.string()));
    }
}

}  // namespace cait
