// The index of FAISS that we read ourselves, byte by byte. That FAISS writes this is shown by
// tests/e2e/serve_search_test.cpp.
#include "evaluate/index/flat_index.h"

#include <gmock/gmock.h>

#include <cmath>
#include <cstring>

#include "unit/data/support.h"

namespace cait {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

template <class T>
void append(std::string& bytes, T value) {
    bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}

struct Header {
    std::string kind = "IxFI";
    std::int32_t columns = 2;
    std::int64_t rows = 3;
    std::int32_t metric = 0;
    std::uint64_t numbers = 6;
};

std::string index_bytes(const Header& header, std::size_t held = 6) {
    std::string bytes = header.kind;
    append(bytes, header.columns);
    append(bytes, header.rows);
    append(bytes, std::int64_t{1} << 20);
    append(bytes, std::int64_t{1} << 20);
    append(bytes, std::uint8_t{1});
    append(bytes, header.metric);
    append(bytes, header.numbers);
    for (std::size_t i = 0; i < held; ++i) append(bytes, float(i));
    return bytes;
}

Vectors read(const std::string& bytes) {
    return read_flat_index_bytes(std::as_bytes(std::span(bytes)), "x.faiss");
}

TEST(FlatIndex, IsRead) {
    const Vectors vectors = read(index_bytes({}));
    EXPECT_EQ(vectors.rows, 3U);
    EXPECT_EQ(vectors.columns, 2U);
    EXPECT_THAT(vectors.values, ElementsAre(0, 1, 2, 3, 4, 5));
    const TemporaryFolder folder;
    data_test::put(folder / "i.faiss", index_bytes({}));
    EXPECT_EQ(read_flat_index(folder / "i.faiss").values, vectors.values);
    EXPECT_THAT(data_test::error_of([&] { read_flat_index(folder / "none"); }), HasSubstr("none"));
}

TEST(FlatIndex, SaysWhatIsWrong) {
    const auto wrong = [](const std::string& bytes) {
        return data_test::error_of([&] { read(bytes); });
    };
    EXPECT_THAT(wrong(index_bytes({.kind = "IwFl"})),
                AllOf(HasSubstr("x.faiss: expected a flat index"), HasSubstr("found 'IwFl'")));
    EXPECT_THAT(wrong(index_bytes({.kind = "IxF2"})), HasSubstr("found 'IxF2'"));
    EXPECT_THAT(wrong(index_bytes({.metric = 1})), HasSubstr("metric"));
    const std::string whole = index_bytes({});
    for (std::size_t size = 0; size < whole.size(); ++size)
        EXPECT_THAT(wrong(whole.substr(0, size)), HasSubstr("x.faiss: expected a flat index"));
    EXPECT_THAT(wrong(whole + "x"), HasSubstr("sizes"));
    constexpr std::int64_t kMany = std::int64_t{1} << 62;
    for (const Header& header :
         {Header{.columns = 0}, Header{.columns = -2}, Header{.rows = 0}, Header{.rows = -3},
          Header{.columns = 4, .rows = kMany}, Header{.columns = 1, .rows = 5},
          Header{.rows = kMany, .numbers = 0}, Header{.numbers = 7},
          Header{.numbers = (std::uint64_t{1} << 62) + 6}})
        EXPECT_THAT(wrong(index_bytes(header)), HasSubstr("sizes do not fit"));
    EXPECT_THAT(wrong(index_bytes({.columns = 0, .rows = 0, .numbers = 0}, 0)), HasSubstr("sizes"));
    for (const float odd : {NAN, INFINITY, -INFINITY}) {
        std::string bytes = whole;
        std::memcpy(bytes.data() + bytes.size() - 8, &odd, sizeof odd);
        EXPECT_THAT(wrong(bytes), HasSubstr("number 4 is not finite"));
    }
}

}  // namespace
}  // namespace cait
