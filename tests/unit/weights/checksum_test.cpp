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

std::string metadata_complaint(const std::vector<NamedTensor>& found,
                               const std::map<std::string, std::string>& metadata) {
    try {
        verify_metadata(found, metadata, "x.safetensors");
        return "";
    } catch (const Error& error) {
        return error.what();
    }
}

TEST(Checksum, OfTheMetadataNoticesAnyOtherEntry) {
    const std::map<std::string, std::string> metadata =
        sealed({{"cait.model", "a"}, {"format", "pt"}}, tensors(3));
    EXPECT_EQ(metadata_complaint(tensors(3), metadata), "");
    EXPECT_EQ(sealed(metadata, tensors(3)), metadata);
    for (const auto& [key, value] : metadata) {
        auto changed = metadata;
        changed[key] = value + " ";
        EXPECT_THAT(metadata_complaint(tensors(3), changed), HasSubstr("x.safetensors: metadata"));
        changed.erase(key);
        EXPECT_THAT(metadata_complaint(tensors(3), changed), HasSubstr("x.safetensors: metadata"));
        changed[key + "x"] = value;
        EXPECT_THAT(metadata_complaint(tensors(3), changed), HasSubstr("x.safetensors: metadata"));
    }
    auto renamed = tensors(3);
    renamed[0].name = "c";
    EXPECT_THAT(metadata_complaint(renamed, metadata), HasSubstr("damaged"));
    auto reshaped = tensors(3);
    reshaped[0].tensor = reshaped[0].tensor.reshaped({2, 1});
    EXPECT_THAT(metadata_complaint(reshaped, metadata), HasSubstr("damaged"));
    EXPECT_EQ(metadata_complaint(tensors(3), {}), "");
    // Files that were written before there was a checksum over the metadata.
    EXPECT_EQ(metadata_complaint(tensors(3), {{kChecksumKey, R"({"a": "00000000"})"}}), "");
}

}  // namespace
}  // namespace cait
