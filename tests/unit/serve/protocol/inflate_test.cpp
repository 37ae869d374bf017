#include "serve/protocol/inflate.h"

#include <zlib.h>

#include "unit/serve/support.h"

namespace cait::serve {
namespace {

std::string deflated(const std::string& text, int window_bits) {
    z_stream stream{};
    EXPECT_EQ(::deflateInit2(&stream, 9, Z_DEFLATED, window_bits, 8, Z_DEFAULT_STRATEGY), Z_OK);
    std::string result(::deflateBound(&stream, text.size()) + 100, '\0');
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
    stream.avail_in = uInt(text.size());
    stream.next_out = reinterpret_cast<Bytef*>(result.data());
    stream.avail_out = uInt(result.size());
    EXPECT_EQ(::deflate(&stream, Z_FINISH), Z_STREAM_END);
    result.resize(stream.total_out);
    ::deflateEnd(&stream);
    return result;
}

constexpr int kGzip = 31, kZlib = 15, kRaw = -15;

TEST(Inflate, OpensWhatClientsSend) {
    const std::string text = std::string(100'000, 'a') + "b";
    EXPECT_EQ(decoded_body(deflated(text, kGzip), "gzip", 200'000), text);
    EXPECT_EQ(decoded_body(deflated(text, kGzip), "GZIP", 100'001), text);
    EXPECT_EQ(decoded_body(deflated(text, kZlib), "deflate", 200'000), text);
    EXPECT_EQ(decoded_body(deflated(text, kRaw), "deflate", 200'000), text);
    EXPECT_EQ(decoded_body(deflated("", kGzip), "gzip", 10), "");
    EXPECT_EQ(decoded_body("as it is", "identity", 3), "as it is");
}

TEST(Inflate, StopsABombAndDamage) {
    const auto status = [](const std::string& bytes, const char* encoding) {
        return refusal_of([&] { decoded_body(bytes, encoding, 1'000'000); }).status;
    };
    const std::string bomb = deflated(std::string(50'000'000, 'x'), kGzip);
    EXPECT_LT(bomb.size(), 100'000U);
    EXPECT_EQ(status(bomb, "gzip"), 413);
    const std::string good = deflated("hello hello hello", kGzip);
    for (std::size_t end = 0; end < good.size(); ++end)
        EXPECT_EQ(status(good.substr(0, end), "gzip"), 400) << end;
    EXPECT_EQ(status(good + "x", "gzip"), 400);
    EXPECT_EQ(status("no gzip", "gzip"), 400);
    EXPECT_EQ(status(good, "br"), 415);
    EXPECT_EQ(status(good, "gzip, gzip"), 415);
}

}  // namespace
}  // namespace cait::serve
