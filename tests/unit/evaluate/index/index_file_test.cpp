// The structure of index files as FAISS 1.7.3 wrote them: the seeds of the fuzz target, 20 vectors
// of 4 numbers each. What FAISS itself does with them is in faiss_index_test.cpp.
#include "evaluate/index/index_file.h"

#include <gmock/gmock.h>

#include <cstring>

#include "support/source_path.h"
#include "unit/data/support.h"

namespace cait {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr const char* kUnknown = "IVF2_FlatDedup";

std::map<std::string, std::string> seeds() {
    std::map<std::string, std::string> found;
    const std::filesystem::path folder =
        test::source_path(__FILE__).parent_path() / "../../../fuzz/corpus/faiss_index";
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
        std::ostringstream text;
        text << std::ifstream(entry.path(), std::ios::binary).rdbuf();
        found[entry.path().filename().string()] = text.str();
    }
    return found;
}

IndexFacts check(const std::string& bytes) {
    return check_index(std::as_bytes(std::span(bytes)), "x.faiss");
}
std::string wrong(const std::string& bytes) {
    return data_test::error_of([&] { check(bytes); });
}

template <class T>
std::string with(std::string bytes, std::size_t at, T value) {
    std::memcpy(bytes.data() + at, &value, sizeof value);
    return bytes;
}

TEST(IndexFile, WhatFaissWritesIsAccepted) {
    std::size_t accepted = 0;
    for (const auto& [name, bytes] : seeds()) {
        if (name == kUnknown) continue;
        const IndexFacts facts = check(bytes);
        EXPECT_EQ(facts.rows, 20U) << name;
        EXPECT_EQ(facts.columns, 4U) << name;
        EXPECT_LE(facts.extra_memory, 4 * bytes.size()) << name;
        ++accepted;
    }
    EXPECT_GE(accepted, 24U);
}

TEST(IndexFile, AnUnknownKindIsNamedWithTheKnownOnes) {
    EXPECT_THAT(wrong(seeds().at(kUnknown)),
                AllOf(HasSubstr("x.faiss: expected an index"), HasSubstr("'IwFd'"),
                      HasSubstr("known are Flat"), HasSubstr("HNSW")));
}

TEST(IndexFile, EveryCutAndEveryByteTooManyIsNoticed) {
    for (const auto& [name, bytes] : seeds()) {
        if (name == kUnknown) continue;
        for (std::size_t size = 0; size < bytes.size(); ++size)
            EXPECT_THAT(wrong(bytes.substr(0, size)), HasSubstr("x.faiss: expected an index"))
                << name << " " << size;
        EXPECT_THAT(wrong(bytes + "x"), HasSubstr("bytes after its end: 1")) << name;
    }
}

// Counts of 64 bits everywhere, also where none is: nothing may be allocated for them.
TEST(IndexFile, LargeNumbersAnywhereCostNothing) {
    for (const auto& [name, bytes] : seeds())
        for (std::size_t at = 0; at + 8 <= bytes.size(); ++at)
            for (const std::uint64_t number :
                 {std::uint64_t{1} << 31, std::uint64_t{1} << 40, UINT64_MAX, UINT64_MAX / 4 + 1}) {
                const std::string lie = with(bytes, at, number);
                try {
                    check(lie);
                } catch (const Error&) {
                }
            }
}

TEST(IndexFile, AnIndexWithinItselfEnds) {
    std::string bytes;
    const std::string header = seeds().at("IDMap_Flat").substr(0, 37);
    for (int i = 0; i < 100'000; ++i) bytes += header;
    EXPECT_THAT(wrong(bytes), HasSubstr("nested too deeply"));
}

TEST(IndexFile, HeadersAreChecked) {
    const std::string flat = seeds().at("SQ8");
    EXPECT_THAT(wrong(with(flat, 4, std::int32_t{0})), HasSubstr("20 vectors of 0 numbers"));
    EXPECT_THAT(wrong(with(flat, 8, std::int64_t{-1})), HasSubstr("-1 vectors of 4 numbers"));
    EXPECT_THAT(wrong(with(flat, 8, std::int64_t{0})), HasSubstr("0 vectors of 4 numbers"));
    EXPECT_THAT(wrong(with(flat, 8, std::int64_t{21})), HasSubstr("codes: expected 21 of 4 bytes"));
    EXPECT_THAT(wrong(with(flat, 32, std::uint8_t{0})), HasSubstr("has not been trained"));
    EXPECT_THAT(wrong(with(flat, 32, std::uint8_t{2})), HasSubstr("expected 0 or 1, found 2"));
    for (const int metric : {1, 2, 23, -1})
        EXPECT_THAT(wrong(with(flat, 33, metric)), HasSubstr("not by inner product"));
}

TEST(IndexFile, RowsThatAreFoundAreCheckedAs64Bits) {
    EXPECT_EQ(checked_row(19, 20, "x.faiss"), 19U);
    for (const std::int64_t row :
         {std::int64_t{20}, (std::int64_t{1} << 40) + 3, std::int64_t{-2}, INT64_MAX})
        EXPECT_THAT(
            data_test::error_of([&] { checked_row(row, 20, "x.faiss"); }),
            AllOf(HasSubstr("x.faiss: "), HasSubstr("0 to 19"), HasSubstr(std::to_string(row))));
}

}  // namespace
}  // namespace cait
