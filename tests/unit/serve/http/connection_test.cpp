// One connection without a server: what it does when something throws, and that memory comes back.
#include "serve/http/connection.h"

#include <gmock/gmock.h>

#include <chrono>
#include <new>
#include <thread>

#include "support/polled_connection.h"

namespace cait::serve {
namespace {

using test::PolledConnection;
using testing::AllOf;
using testing::Gt;
using testing::HasSubstr;
using testing::Lt;
using testing::StartsWith;

const std::string kGet = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";
const std::string kChunked = "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n";

class ConnectionTest : public testing::Test {
protected:
    ConnectionTest() {
        one_.hooks.on_fault = [this](std::string_view what) { faults_.emplace_back(what); };
        one_.hooks.on_refused = [this](int status, double) { refused_.push_back(status); };
    }
    ~ConnectionTest() override {
        one_.leave();
        EXPECT_TRUE(one_.is_over());
        EXPECT_EQ(one_.account->used(), 0U);
    }
    // What is answered to bytes that are sent at once.
    std::string answer(const std::string& bytes) {
        one_.start();
        one_.send(bytes);
        one_.turns();
        return one_.got;
    }

    PolledConnection one_;
    std::vector<std::string> faults_;
    std::vector<int> refused_;
};

TEST_F(ConnectionTest, AnswersOneAfterTheOther) {
    EXPECT_THAT(answer(kGet + kChunked + "3\r\nabc\r\n0\r\nX: y\r\n\r\n" + kGet),
                StartsWith("HTTP/1.1 200"));
    std::size_t answers = 0;
    for (std::size_t at = 0; (at = one_.got.find("HTTP/1.1 200", at)) != std::string::npos; ++at)
        ++answers;
    EXPECT_EQ(answers, 3U);
    EXPECT_TRUE(faults_.empty());
}

// A request arrives with its first byte: what a slow client takes counts in the log.
TEST_F(ConnectionTest, ARequestArrivesWithItsFirstByte) {
    std::vector<std::chrono::steady_clock::time_point> arrived;
    one_.hooks.on_request = [&](const auto& request, const Reply& reply) {
        arrived.push_back(request->arrived);
        reply({.body = "x"});
    };
    one_.start();
    const auto before = std::chrono::steady_clock::now();
    one_.send(kGet.substr(0, 5));
    one_.turns();
    const auto begun = std::chrono::steady_clock::now();
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    one_.send(kGet.substr(5));
    one_.turns();
    ASSERT_EQ(arrived.size(), 1U);
    EXPECT_GE(arrived[0], before);
    EXPECT_LE(arrived[0], begun);
}

// The library throws length_error from 65,536 bytes on.
TEST_F(ConnectionTest, RefusesLongTrailers) {
    EXPECT_THAT(answer(kChunked + "0\r\nX: " + std::string(70'000, 'a') + "\r\n\r\n"),
                StartsWith("HTTP/1.1 431"));
    EXPECT_TRUE(faults_.empty());
    EXPECT_EQ(refused_, std::vector<int>{431});
}

TEST_F(ConnectionTest, RefusesLongNamesOfTrailers) {
    EXPECT_THAT(answer(kChunked + "0\r\n" + std::string(70'000, 'a') + ": x\r\n\r\n"),
                StartsWith("HTTP/1.1 431"));
    EXPECT_TRUE(faults_.empty());
}

TEST_F(ConnectionTest, WhatAHandlerThrowsEndsTheConnectionWithAnAnswer) {
    one_.hooks.on_head = [](const Request&) -> std::optional<Response> {
        throw std::length_error("odd");
    };
    EXPECT_THAT(answer(kGet), StartsWith("HTTP/1.1 400"));
    EXPECT_EQ(faults_, std::vector<std::string>{"odd"});
    EXPECT_EQ(refused_, std::vector<int>{400});
}

TEST_F(ConnectionTest, WithoutMemoryItIsUnavailable) {
    one_.hooks.on_head = [](const Request&) -> std::optional<Response> { throw std::bad_alloc(); };
    EXPECT_THAT(answer(kGet), StartsWith("HTTP/1.1 503"));
    EXPECT_EQ(faults_.size(), 1U);
}

TEST_F(ConnectionTest, WhatIsThrownAfterTheRequestEndsItWithoutAnAnswer) {
    one_.hooks.on_request = [](const auto&, const Reply&) { throw 5; };
    EXPECT_EQ(answer(kGet), "");
    EXPECT_TRUE(one_.is_over());
    EXPECT_EQ(faults_, std::vector<std::string>{"unknown"});
}

TEST_F(ConnectionTest, WhatTheLogThrowsEndsIt) {
    one_.hooks.on_answer = [](const Exchange&) { throw std::runtime_error("full"); };
    EXPECT_THAT(answer(kGet), StartsWith("HTTP/1.1 200"));
    EXPECT_TRUE(one_.is_over());
    EXPECT_EQ(faults_, std::vector<std::string>{"full"});
}

TEST_F(ConnectionTest, AHookThatThrowsBesidesChangesNothing) {
    one_.hooks.on_head = [](const Request&) -> std::optional<Response> { throw 5; };
    one_.hooks.on_fault = [](std::string_view) { throw 6; };
    EXPECT_THAT(answer(kGet), StartsWith("HTTP/1.1 400"));
}

TEST_F(ConnectionTest, WhoIsNotAnsweredHearsSo) {
    one_.hooks.on_request = [](const auto&, const Reply&) {};
    EXPECT_THAT(answer(kGet), StartsWith("HTTP/1.1 500"));
}

TEST_F(ConnectionTest, ABodyThatNeverFitsIsRefusedByItsLength) {
    EXPECT_THAT(answer("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 8000000\r\n\r\n"),
                StartsWith("HTTP/1.1 413"));
}

TEST_F(ConnectionTest, ABodyThatDoesNotFitNowIsRefusedWhileItIsSent) {
    Charge others(one_.account);
    others.hold(5'000'000, "test");
    EXPECT_THAT(answer("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2000000\r\n\r\n" +
                       std::string(2'000'000, 'x')),
                StartsWith("HTTP/1.1 503"));
    EXPECT_THAT(one_.got, HasSubstr("Retry-After"));
    EXPECT_LT(one_.account->used(), 6'000'000U);
}

TEST_F(ConnectionTest, AnAnswerIsChargedUntilItIsRead) {
    one_.hooks.on_request = [](const auto&, const Reply& reply) {
        reply({.body = std::string(4'000'000, 'x')});
    };
    one_.most_kept = 0;
    one_.start();
    one_.send(kGet);
    one_.poll();
    EXPECT_GT(one_.account->used(), 4'000'000U);
    for (int i = 0; i < 200 && one_.account->used() > 100'000; ++i) one_.turn();
    EXPECT_LT(one_.account->used(), 100'000U);
}

// However much there is to read and however slowly that is done, it ends.
class SlowReader : public ConnectionTest {
protected:
    // Seconds until the server has given up; `reads` says what the client does meanwhile.
    double seconds_until_over(const std::function<void()>& reads) {
        using std::chrono::milliseconds;
        one_.limits.slack = milliseconds(100);
        one_.limits.longest = milliseconds(200);
        one_.limits.slowest = 1000;  // by which 4 MB would take more than an hour
        one_.hooks.on_request = [](const auto&, const Reply& reply) {
            reply({.body = std::string(4'000'000, 'x')});
        };
        one_.start();
        one_.send(kGet);
        const Clock::time_point begin = Clock::now();
        const auto seconds = [&] {
            return std::chrono::duration<double>(Clock::now() - begin).count();
        };
        while (!one_.is_over() && seconds() < 5) {
            reads();
            std::this_thread::sleep_for(milliseconds(5));
        }
        EXPECT_EQ(one_.account->used(), 0U);
        return seconds();
    }
};

TEST_F(SlowReader, WhoReadsNothingIsCutOff) {
    EXPECT_THAT(seconds_until_over([&] { one_.poll(); }), AllOf(Gt(0.25), Lt(3)));
}

TEST_F(SlowReader, WhoReadsSlowlyIsCutOff) {
    EXPECT_THAT(seconds_until_over([&] { one_.read_some(1000); }), AllOf(Gt(0.25), Lt(3)));
}

}  // namespace
}  // namespace cait::serve
