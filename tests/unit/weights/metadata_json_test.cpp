#include "weights/metadata_json.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace cait {
namespace {

TEST(MetadataJson, IsJson) {
    EXPECT_EQ(parse_metadata_json(R"({"a": ["[[[[[[[[[[[[[[[[[[[[", "\"{"]})")["a"][0],
              "[[[[[[[[[[[[[[[[[[[[");
    EXPECT_TRUE(parse_metadata_json("[1, 2").is_discarded());
    EXPECT_TRUE(parse_metadata_json("").is_discarded());
}

TEST(MetadataJson, IsNeitherDeepNorLong) {
    const auto nested = [](int depth) {
        return std::string(std::size_t(depth), '[') + std::string(std::size_t(depth), ']');
    };
    EXPECT_TRUE(parse_metadata_json(nested(kDeepestMetadata)).is_array());
    EXPECT_TRUE(parse_metadata_json(nested(kDeepestMetadata + 1)).is_discarded());
    EXPECT_TRUE(parse_metadata_json(std::string(1 << 20, '[')).is_discarded());
    EXPECT_TRUE(
        parse_metadata_json("\"" + std::string(kLongestMetadata, 'x') + "\"").is_discarded());
}

}  // namespace
}  // namespace cait
