#include "train/torch/device.h"

#include <ATen/Context.h>
#include <gmock/gmock.h>

#include <algorithm>

#include "cait/error.h"

namespace cait {
namespace {

using testing::StartsWith;

std::string refusal(const std::string& name) {
    try {
        usable_device(name, "train.device");
    } catch (const UsageError& error) {
        return error.what();
    }
    return "";
}

TEST(Device, TheProcessorIsAlwaysThere) {
    EXPECT_TRUE(usable_device("cpu", "train.device").is_cpu());
}

TEST(Device, WhatIsNotThereIsRefusedInOneLine) {
    for (const char* name : {"gpu", "cuda:x", "", "meta"}) {
        const std::string text = refusal(name);
        EXPECT_THAT(text, StartsWith("train.device: '" + std::string(name) + "' cannot be used"));
        EXPECT_EQ(std::ranges::count(text, '\n'), 0) << text;
        EXPECT_LT(text.size(), 400U) << text;
    }
    EXPECT_EQ(
        refusal("cuda"),
        at::hasCUDA() ? "" : "train.device: 'cuda' cannot be used here: LibTorch finds no CUDA");
}

}  // namespace
}  // namespace cait
