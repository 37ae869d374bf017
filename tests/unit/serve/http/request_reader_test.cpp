#include "serve/http/request_reader.h"

#include "unit/serve/support.h"

namespace cait::serve {
namespace {

using testing::HasSubstr;
using Progress = RequestReader::Progress;

Limits small_limits() {
    Limits limits;
    limits.head = 1024;
    limits.body = 100;
    limits.chunks = 4;
    return limits;
}

// What becomes of a request that comes in pieces of so many bytes.
Refusal refusal(const std::string& text, std::size_t piece) {
    return refusal_of([&] {
        RequestReader reader(small_limits());
        for (std::size_t i = 0; i < text.size(); i += piece)
            reader.feed(std::string_view(text).substr(i, piece));
    });
}

const std::string kHost = "Host: x\r\n";

TEST(RequestReader, ReadsARequestInPiecesOfAnySize) {
    const std::string text =
        "POST /a?b=1 HTTP/1.1\r\nHost: x\r\nX-Thing:  two words \r\n"
        "Content-Length: 5\r\n\r\nhelloGET / HTTP/1.1\r\n";
    for (const std::size_t piece : {1, 2, 3, 7, 1000}) {
        RequestReader reader(small_limits());
        Progress progress = Progress::head;
        for (std::size_t i = 0; i < text.size() && progress != Progress::done; i += piece)
            progress = reader.feed(std::string_view(text).substr(i, piece));
        ASSERT_EQ(progress, Progress::done) << piece;
        EXPECT_TRUE(reader.keep_alive());
        EXPECT_TRUE(std::string_view("GET / HTTP/1.1\r\n").starts_with(reader.rest()));
        const Request request = reader.take();
        EXPECT_EQ(request.method, "POST");
        EXPECT_EQ(request.target, "/a?b=1");
        EXPECT_EQ(request.path(), "/a");
        EXPECT_EQ(*request.field("x-thing"), "two words");
        EXPECT_EQ(request.body, "hello");
    }
}

TEST(RequestReader, PutsChunksTogether) {
    const std::string text = "POST / HTTP/1.1\r\n" + kHost +
                             "Transfer-Encoding: chunked\r\n\r\n"
                             "3\r\nabc\r\n2;x=y\r\nde\r\n0\r\n\r\n";
    for (std::size_t piece = 1; piece <= text.size(); ++piece) {  // also cut inside a chunk
        RequestReader reader(small_limits());
        Progress progress = Progress::head;
        for (std::size_t i = 0; i < text.size(); i += piece)
            progress = reader.feed(std::string_view(text).substr(i, piece));
        ASSERT_EQ(progress, Progress::done);
        EXPECT_EQ(reader.take().body, "abcde");
    }
}

// Each could be read differently by somebody before us.
TEST(RequestReader, RefusesFormsThatTwoReadersCouldReadDifferently) {
    const std::string post = "POST / HTTP/1.1\r\n", chunked = "Transfer-Encoding: chunked\r\n";
    const std::string length = "Content-Length: 3\r\n", end = "\r\n",
                      body = "3\r\nabc\r\n0\r\n\r\n";
    const std::map<std::string, std::string> forms = {
        {"the same length twice", post + kHost + length + length + end + "abc"},
        {"two lengths", post + kHost + length + "Content-Length: 5\r\n" + end + "abcde"},
        {"a list of lengths", post + kHost + "Content-Length: 3, 3\r\n" + end + "abc"},
        {"a signed length", post + kHost + "Content-Length: +3\r\n" + end + "abc"},
        {"a negative length", post + kHost + "Content-Length: -3\r\n" + end + "abc"},
        {"a hexadecimal length", post + kHost + "Content-Length: 0x3\r\n" + end + "abc"},
        {"an empty length", post + kHost + "Content-Length: \r\n" + end + "abc"},
        {"a length beyond 64 bits",
         post + kHost + "Content-Length: 18446744073709551619\r\n" + end + "abc"},
        {"length and chunks", post + kHost + length + chunked + end + body},
        {"chunks and length", post + kHost + chunked + length + end + body},
        {"chunked twice", post + kHost + chunked + chunked + end + body},
        {"another encoding", post + kHost + "Transfer-Encoding: xchunked\r\n" + end + body},
        {"a list of encodings", post + kHost + "Transfer-Encoding: gzip, chunked\r\n" + end + body},
        {"identity", post + kHost + "Transfer-Encoding: identity\r\n" + length + end + "abc"},
        {"chunks of HTTP/1.0", "POST / HTTP/1.0\r\n" + kHost + chunked + end + body},
        {"a space before the colon", post + kHost + "Content-Length : 3\r\n" + end + "abc"},
        {"a folded line", post + kHost + "X: a\r\n b\r\n" + length + end + "abc"},
        {"a line folded by a tab", post + kHost + "X: a\r\n\tb\r\n" + length + end + "abc"},
        {"LF alone", "POST / HTTP/1.1\nHost: x\nContent-Length: 3\n\nabc"},
        {"LF alone once", post + "Host: x\n" + length + end + "abc"},
        {"CR alone", post + kHost + "X: a\rb\r\n" + length + end + "abc"},
        {"a zero byte", post + kHost + std::string("X: a\0b\r\n", 8) + length + end + "abc"},
        {"no host", post + length + end + "abc"},
        {"two hosts", post + kHost + kHost + length + end + "abc"},
        {"a field without a name", post + kHost + ": x\r\n" + length + end + "abc"},
        {"a line without a colon", post + kHost + "nonsense\r\n" + length + end + "abc"},
        {"a line end before the method", "\r\n" + post + kHost + length + end + "abc"},
        {"a whole address as target", "POST http://x/ HTTP/1.1\r\n" + kHost + end},
        {"a target that is no path", "POST * HTTP/1.1\r\n" + kHost + end},
        {"a chunk's size with LF alone", post + kHost + chunked + end + "3\nabc\r\n0\r\n\r\n"},
        {"a chunk's size with a sign", post + kHost + chunked + end + "+3\r\nabc\r\n0\r\n\r\n"},
        {"a chunk's size beyond 64 bits",
         post + kHost + chunked + end + "10000000000000003\r\nabc\r\n0\r\n\r\n"},
        {"a chunk that is longer than its size",
         post + kHost + chunked + end + "2\r\nabc\r\n0\r\n\r\n"},
    };
    for (const auto& [name, text] : forms)
        for (const std::size_t piece : {1, 3, 10'000})
            EXPECT_EQ(refusal(text, piece).status, 400) << name << ", pieces of " << piece;
}

TEST(RequestReader, HoldsLimits) {
    EXPECT_EQ(refusal("POST / HTTP/1.1\r\n" + kHost + "Content-Length: 101\r\n\r\n", 9).status,
              413);
    EXPECT_EQ(refusal("POST / HTTP/1.1\r\n" + kHost + "Transfer-Encoding: chunked\r\n\r\n" +
                          "65\r\n" + std::string(101, 'x') + "\r\n0\r\n\r\n",
                      9)
                  .status,
              413);
    std::string many = "POST / HTTP/1.1\r\n" + kHost + "Transfer-Encoding: chunked\r\n\r\n";
    for (int i = 0; i < 5; ++i) many += "1\r\nx\r\n";
    EXPECT_EQ(refusal(many, 1000).status, 413);
    EXPECT_EQ(refusal("GET / HTTP/1.1\r\nX: " + std::string(2000, 'x'), 100).status, 431);
    EXPECT_EQ(refusal("GET /" + std::string(2000, 'x') + " HTTP/1.1\r\n\r\n", 5000).status, 431);
    EXPECT_EQ(refusal("GET / HTTP/3.1\r\n\r\n", 5000).status, 505);
    EXPECT_EQ(refusal("complete nonsense\r\n\r\n", 5000).status, 400);
}

TEST(RequestReader, TakesNoMemoryForWhatIsOnlyPromised) {
    RequestReader reader(Limits{});
    reader.feed("POST / HTTP/1.1\r\n" + kHost + "Content-Length: 67108864\r\n\r\nx");
    EXPECT_LT(reader.held(), 100'000U);
    EXPECT_EQ(reader.missing(), 67'108'863U);
}

TEST(RequestReader, KnowsWhoseConnectionEnds) {
    const auto keeps = [](const std::string& text) {
        RequestReader reader(small_limits());
        reader.feed(text);
        return reader.keep_alive();
    };
    EXPECT_TRUE(keeps("GET / HTTP/1.1\r\n" + kHost + "\r\n"));
    EXPECT_FALSE(keeps("GET / HTTP/1.1\r\n" + kHost + "Connection: close\r\n\r\n"));
    EXPECT_FALSE(keeps("GET / HTTP/1.0\r\n\r\n"));
    EXPECT_TRUE(keeps("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"));
}

}  // namespace
}  // namespace cait::serve
