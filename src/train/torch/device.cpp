#include "train/torch/device.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>

#include "base/display_name.h"
#include "cait/error.h"

namespace cait {

namespace {

// Some of LibTorch's messages go on for pages.
std::string first_sentence(const std::string& text) {
    return text.substr(0, std::min(text.find('\n'), text.find(". ")));
}

}  // namespace

at::Device usable_device(const std::string& name, const std::string& key) {
    const auto refusal = [&](const std::string& why) {
        return UsageError(
            fmt::format("{}: {} cannot be used here: {}", key, display_name(name), why));
    };
    try {
        const at::Device device(name);
        if (device.is_cuda() && !at::hasCUDA()) throw refusal("LibTorch finds no CUDA");
        at::ones({1}, at::device(device)).cpu();
        return device;
    } catch (const c10::Error& error) {
        throw refusal(first_sentence(error.what_without_backtrace()));
    }
}

}  // namespace cait
