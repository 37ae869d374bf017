#include "base/content_hash.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace cait {
namespace {

std::uint64_t hash(const std::string& text) { return content_hash(std::as_bytes(std::span(text))); }

TEST(ContentHash, EveryBitAndTheLengthCount) {
    std::set<std::uint64_t> seen;
    std::size_t texts = 0;
    for (const std::size_t size : {0U, 1U, 7U, 31U, 32U, 33U, 100U}) {
        std::string text(size, '\0');
        seen.insert(hash(text));
        ++texts;
        for (std::size_t bit = 0; bit < 8 * size; ++bit, ++texts) {
            std::string other = text;
            other[bit / 8] = char(other[bit / 8] ^ (1 << bit % 8));
            seen.insert(hash(other));
        }
    }
    EXPECT_EQ(seen.size(), texts);
}

TEST(ContentHash, PlacesCount) {
    std::string text(64, '\0');
    text[0] = 'a', text[32] = 'b';  // both in the first of the four sums
    const std::uint64_t one = hash(text);
    std::swap(text[0], text[32]);
    EXPECT_NE(hash(text), one);
    std::swap(text[32], text[40]);
    EXPECT_NE(hash(text), one);
}

}  // namespace
}  // namespace cait
