#include "weights/checksum.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cait/error.h"

namespace cait {
namespace {

using testing::HasSubstr;

std::vector<NamedTensor> tensors(float last) {
    return {{"a", Tensor::of({2}, std::vector<float>{1, 2})},
            {"b", Tensor::of({1}, std::vector<float>{last})}};
}

std::string complaint(const std::vector<NamedTensor>& found,
                      const std::map<std::string, std::string>& metadata) {
    try {
        verify_checksums(found, metadata, "x.safetensors");
        return "";
    } catch (const Error& error) {
        return error.what();
    }
}

TEST(Checksum, IsTheCrc32OfTheBytes) {
    const std::vector<NamedTensor> digits = {
        {"digits", Tensor::view(DType::u8, {9}, "123456789", nullptr)}};
    EXPECT_EQ(nlohmann::json::parse(checksums(digits)).at("digits"), "cbf43926");
}

TEST(Checksum, NoticesAChangedBitAndAForeignTensor) {
    const std::map<std::string, std::string> metadata = {{kChecksumKey, checksums(tensors(3))}};
    EXPECT_EQ(complaint(tensors(3), metadata), "");
    EXPECT_THAT(complaint(tensors(4), metadata), HasSubstr("x.safetensors: b: damaged"));
    auto more = tensors(3);
    more.push_back({"c", more[0].tensor});
    EXPECT_THAT(complaint(more, metadata), HasSubstr("expected a checksum for c"));
}

TEST(Checksum, FilesOfOthersHaveNone) {
    EXPECT_EQ(complaint(tensors(3), {}), "");
    EXPECT_THAT(complaint(tensors(3), {{kChecksumKey, "[]"}}), HasSubstr(kChecksumKey));
}

}  // namespace
}  // namespace cait
