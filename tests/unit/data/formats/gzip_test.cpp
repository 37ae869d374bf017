#include "data/formats/gzip.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include "cait/error.h"

namespace cait {
namespace {

std::vector<std::byte> gzipped(std::vector<std::byte> raw) {
    z_stream stream{};
    deflateInit2(&stream, 9, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
    std::vector<std::byte> out(raw.size() / 2 + 1000);
    stream.next_in = reinterpret_cast<Bytef*>(raw.data());
    stream.avail_in = uInt(raw.size());
    stream.next_out = reinterpret_cast<Bytef*>(out.data());
    stream.avail_out = uInt(out.size());
    deflate(&stream, Z_FINISH);
    out.resize(stream.total_out);
    deflateEnd(&stream);
    return out;
}

std::vector<std::byte> steps(std::size_t size) {
    std::vector<std::byte> raw(size);
    for (std::size_t i = 0; i < size; ++i) raw[i] = std::byte(i / 1000);
    return raw;
}

TEST(Gzip, UnpacksUpToALimit) {
    for (const std::size_t size : {0U, 1U, 65536U, 65537U, 1000000U}) {
        const std::vector<std::byte> raw = steps(size);
        const std::vector<std::byte> packed = gzipped(raw);
        EXPECT_EQ(gunzip(packed, size + 1, "x"), raw) << size;
        EXPECT_EQ(gunzip(packed, std::size_t{1} << 40, "x"), raw) << size;
        EXPECT_EQ(gunzipped_size(packed, std::size_t{1} << 40, "x"), size);
    }
    const std::vector<std::byte> packed = gzipped(steps(1000000));
    EXPECT_EQ(gunzip(packed, 300001, "x"), steps(300001));
    EXPECT_EQ(gunzipped_size(packed, 300001, "x"), 300001U);
}

TEST(Gzip, RefusesWhatEndsEarlyOrIsBroken) {
    std::vector<std::byte> packed = gzipped(steps(100000));
    const std::span<const std::byte> cut = std::span(packed).first(packed.size() - 9);
    EXPECT_THROW(gunzip(cut, 1 << 20, "x"), Error);
    EXPECT_THROW(gunzipped_size(cut, 1 << 20, "x"), Error);
    packed[packed.size() / 2] ^= std::byte{0xff};
    EXPECT_THROW(gunzip(packed, 1 << 20, "x"), Error);
}

}  // namespace
}  // namespace cait
