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

std::string decoded_body(const std::string& body, std::string_view encoding, std::size_t most) {
    Charge charge(MemoryAccount::of_process());
    return serve::decoded_body(body, encoding, most, charge);
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

// What comes out is charged before it is allocated, and what went in is given back.
TEST(Inflate, StopsWhereTheMemoryEnds) {
    const auto account = std::make_shared<MemoryAccount>(1'000'000);
    Charge charge(account);
    const auto status = [&](std::size_t bytes) {
        const std::string bomb = deflated(std::string(bytes, 'x'), kGzip);
        return refusal_of([&] { serve::decoded_body(bomb, "gzip", 50'000'000, charge); }).status;
    };
    EXPECT_EQ(status(50'000'000), 413);
    EXPECT_LE(account->used(), 1'000'000U);
    charge.lower_to(0);
    std::string body = deflated(std::string(200'000, 'x'), kGzip);
    charge.hold(body.capacity(), "body");
    const std::string text = serve::decoded_body(std::move(body), "gzip", 50'000'000, charge);
    EXPECT_EQ(charge.bytes(), text.capacity());
}

}  // namespace
}  // namespace cait::serve
