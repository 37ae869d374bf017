// What `cait serve` does not let clients take: workers, time to stop, connections, descriptors, its
// log, its names, its models.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <future>
#include <thread>

#include "e2e/served.h"
#include "support/broken_images.h"

namespace cait::e2e {
namespace {

using nlohmann::json;
using std::chrono::steady_clock;
using test::solid_webp;
using testing::HasSubstr;
using testing::Not;

constexpr double kSlow = kSanitized ? 10 : 1;  // what sanitizers make of a second

class ServeLimits : public Served {
protected:
    // In the binary form of the protocol.
    static std::string many(const std::string& image, std::size_t count, std::string& fields) {
        std::string data;
        for (std::size_t i = 0; i < count; ++i) {
            for (int byte = 0; byte < 4; ++byte) data += char(image.size() >> (8 * byte));
            data += image;
        }
        const std::string head =
            json{{"inputs", json::array({{{"name", "encoded"},
                                          {"datatype", "BYTES"},
                                          {"shape", {count}},
                                          {"parameters", {{"binary_data_size", data.size()}}}}})}}
                .dump();
        fields = "Inference-Header-Content-Length: " + std::to_string(head.size()) + "\r\n";
        return head + data;
    }
    Answer infer(const std::string& image, std::size_t count) const {
        std::string fields;
        const std::string body = many(image, count, fields);
        return ask("POST", "/v2/models/tiny/infer", body, fields);
    }
    // Takes seconds to load.
    void large_model() const {
        Model::create("cait_xxs24_224", {{"depth", "8"}, {"classes", "3"}})
            .save(path("large.safetensors"));
    }
    // Ends it; how many seconds that took.
    double seconds_to_stop() {
        const auto begin = steady_clock::now();
        EXPECT_EQ(stop(), 0);
        return std::chrono::duration<double>(steady_clock::now() - begin).count();
    }
    // The program without waiting for anything.
    void begin(const Words& words) {
        running_.emplace("exec \"$@\" 2>'" + path("stderr") + "'",
                         Words{"serve"} + words + Words{"--port", "0", "--grace", "0"});
    }
    bool catches(int signal) const {
        const std::string mask = status_of(running_->pid(), "SigCgt");
        return !mask.empty() && (std::stoull(mask, nullptr, 16) >> (signal - 1) & 1) == 1;
    }
    std::string said() const { return read(path("stderr")); }
};

// 138 kB of them held two workers for 38 seconds.
TEST_F(ServeLimits, ManyLargeImagesDelayNobody) {
    start();
    for (const std::uint32_t side : {13'377U, 3'400U}) {  // 179 and 12 megapixels
        std::vector<std::future<Answer>> large;
        for (int i = 0; i < 2; ++i)
            large.push_back(
                std::async(std::launch::async, [&] { return infer(solid_webp(side, side), 20); }));
        for (int i = 0; i < 20; ++i) {
            const Answer normal = classify();
            EXPECT_EQ(normal.status, 200) << normal.body;
            EXPECT_LT(normal.seconds, kSlow) << side;
        }
        for (auto& one : large) {
            const Answer refused = one.get();
            EXPECT_EQ(refused.status, side > 8'000 ? 413 : 503) << refused.body;
            EXPECT_THAT(refused.error(), HasSubstr("pixels"));
            EXPECT_LT(refused.seconds, kSlow);
        }
    }
}

TEST_F(ServeLimits, TheLimitOfPixelsIsAnOption) {
    start({"--megapixels", "1", "--bound", "20000"});
    EXPECT_EQ(ask("POST", "/classify", solid_webp(1000, 1000)).status, 200);
    const Answer one = ask("POST", "/classify", solid_webp(1001, 1000));
    EXPECT_EQ(one.status, 413);
    EXPECT_THAT(one.error(), HasSubstr("expected at most 1000000 pixels, found 1001x1000"));
    EXPECT_EQ(infer(solid_webp(1000, 1000), 4).status, 200);
    EXPECT_THAT(infer(solid_webp(1000, 1000), 5).error(),
                HasSubstr("at most 4000000 pixels in all images of a request"));
}

// With a bound that lets them be decoded.
TEST_F(ServeLimits, StopsInTimeAlthoughImagesAreBeingDecoded) {
    start({"--bound", "60000", "--workers", "1", "--patience", "0.5"});
    std::vector<HttpClient> clients;
    std::string fields;
    const std::string body = many(solid_webp(3'900, 4'000), 16, fields);
    for (int i = 0; i < 12; ++i) {
        clients.push_back(client());
        clients.back().send(HttpClient::request("POST", "/v2/models/tiny/infer", body, fields));
    }
    ASSERT_TRUE(eventually([&] { return ask("GET", "/stats").json()["pending"] == 12; }, 10));
    EXPECT_LT(seconds_to_stop(), 2.5 * kSlow);
}

TEST_F(ServeLimits, LoadsThatWaitAreNotBegunWhenItStops) {
    large_model();
    start({"m=" + path("large.safetensors"), "--control", "--patience", "1"});
    std::vector<HttpClient> clients;
    for (int i = 0; i < 100; ++i) {
        clients.push_back(client());
        clients.back().send(HttpClient::request("POST", "/v2/repository/models/m/load"));
    }
    EXPECT_EQ(ask("GET", "/v2").status, 200);
    EXPECT_LT(seconds_to_stop(), 3 * kSlow);
    int refused = 0;
    for (HttpClient& one : clients) refused += one.receive(1).status == 503 ? 1 : 0;
    EXPECT_GT(refused, 80);
}

TEST_F(ServeLimits, SignalsAreHeardWhileItLoads) {
    large_model();
    const Words words{"m=" + path("large.safetensors")};
    begin(words);
    ASSERT_TRUE(eventually([&] { return catches(SIGTERM); }, 30));
    for (int i = 0; i < 3; ++i) running_->signal(SIGHUP);
    EXPECT_THAT(said(), Not(HasSubstr("listening")));  // it still loads
    EXPECT_TRUE(eventually([&] { return said().find("listening") != std::string::npos; }, 60));
    EXPECT_EQ(stop(), 0);

    begin(words);
    ASSERT_TRUE(eventually([&] { return catches(SIGTERM); }, 30));
    EXPECT_LT(seconds_to_stop(), 1.5 * kSlow);
    EXPECT_THAT(said(), Not(HasSubstr("listening")));
    EXPECT_THAT(said(), HasSubstr("stopped"));
}

TEST_F(ServeLimits, ALogThatNobodyReadsStopsNothing) {
    ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
    const Finished alone =
        cait({"serve", path("tiny.safetensors"), "--port", "0", "--log", path("pipe")});
    EXPECT_EQ(alone.status, 1);
    EXPECT_THAT(alone.err, HasSubstr("nobody reads from this pipe"));

    for (const bool to_stdout : {false, true}) {
        // Open at both ends here, so that it is there and never read.
        const int reader = ::open(path("pipe").c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC);
        ASSERT_GE(reader, 0);
        if (to_stdout)
            start({"--log", "-"}, "exec >'" + path("pipe") + "'; ");
        else
            start({"--log", path("pipe")});
        HttpClient one = client();
        for (int i = 0; i < 800; ++i) ASSERT_EQ(one.ask("GET", "/v2").status, 200);
        EXPECT_LT(seconds_to_stop(), 4 * kSlow);
        EXPECT_THAT(said(), HasSubstr("lines of the log were lost"));
        ::close(reader);
    }
    // Who reads and leaves.
    const int reader = ::open(path("pipe").c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    start({"--log", path("pipe")});
    ::close(reader);
    for (int i = 0; i < 3; ++i) EXPECT_EQ(ask("GET", "/v2").status, 200);
    EXPECT_EQ(stop(), 0);
    EXPECT_THAT(said(), HasSubstr("note: 3 lines of the log were lost"));
}

TEST_F(ServeLimits, AClientMayCloseItsHalfAndWait) {
    start();
    for (int i = 0; i < 20; ++i) {
        HttpClient one = client();
        one.send(HttpClient::request("POST", "/classify", photo_));
        one.finish_sending();
        EXPECT_EQ(one.receive().status, 200);
        EXPECT_TRUE(one.ends());
    }
    HttpClient two = client();  // two requests, and then no more
    two.send(HttpClient::request("POST", "/classify", photo_) + HttpClient::request("GET", "/v2"));
    two.finish_sending();
    EXPECT_EQ(two.receive().status, 200);
    EXPECT_EQ(two.receive().status, 200);
}

// Nothing is computed for those whose connection is reset.
TEST_F(ServeLimits, AClientThatIsGoneCostsNothing) {
    Model::create("cait_xxs24_224", {{"image_size", "128"}, {"classes", "3"}})
        .save(path("slow.safetensors"));
    start({"m=" + path("slow.safetensors"), "--bound", "60000", "--batch", "1"});
    std::vector<HttpClient> clients;
    for (int i = 0; i < 60; ++i) {
        clients.push_back(client());
        clients.back().send(HttpClient::request("POST", "/classify", photo_));
    }
    for (HttpClient& one : clients) one.reset();
    EXPECT_EQ(classify().status, 200);
    const std::string metrics = ask("GET", "/metrics").body;
    const std::string mark = "reason=\"CANCELED\"} ";
    const std::size_t at = metrics.find(mark);
    ASSERT_NE(at, std::string::npos);
    EXPECT_GT(std::stoi(metrics.substr(at + mark.size())), 10) << metrics;
}

TEST_F(ServeLimits, ClientsOfOneByteShutNobodyOut) {
    start({"--connections", "20"});
    std::vector<HttpClient> slow;
    for (int i = 0; i < 20; ++i) {
        slow.push_back(client());
        slow.back().send("G");
    }
    for (int i = 0; i < 5; ++i) EXPECT_EQ(ask("GET", "/v2").status, 200);
    EXPECT_GE(std::ranges::count_if(slow, [](HttpClient& one) { return one.ends(0.1); }), 1);
}

TEST_F(ServeLimits, PromisesNoMoreConnectionsThanItCanKeep) {
    start({}, "ulimit -n 64; ");
    EXPECT_THAT(said(), HasSubstr("note: 32 connections at a time"));
    std::vector<HttpClient> idle;
    for (int i = 0; i < 32; ++i) idle.push_back(client());
    for (HttpClient& one : idle) EXPECT_EQ(one.ask("GET", "/v2").status, 200);
    running_->signal(SIGHUP);  // a model can still be read
    EXPECT_EQ(idle.front().ask("POST", "/classify", photo_).status, 200);
    EXPECT_EQ(classify().status, 200);
    EXPECT_EQ(stop(), 0);
    EXPECT_THAT(said(), Not(HasSubstr("not loaded")));
    const Finished few =
        by_shell("ulimit -n 20; exec \"$@\"", {"serve", path("tiny.safetensors"), "--port", "0"});
    EXPECT_EQ(few.status, 1);
    EXPECT_THAT(few.err, HasSubstr("ulimit -n: expected more than 32 files, found 20"));
}

// A page can have its own name lead here ("DNS rebinding"), but not hide that name.
TEST_F(ServeLimits, AnswersToItsOwnNamesAlone) {
    const auto status = [&](const std::string& host, const std::string& more = "",
                            const std::string& target = "/v2") {
        HttpClient one = client();
        one.send((target == "/v2" ? "GET " : "POST ") + target + " HTTP/1.1\r\nHost: " + host +
                 "\r\nContent-Length: 0\r\n" + more + "\r\n");
        return one.receive().status;
    };
    start({"--control"});
    const std::string port = ":" + std::to_string(port_);
    EXPECT_EQ(status("127.0.0.1" + port), 200);
    EXPECT_EQ(status("localhost" + port, "Origin: http://localhost" + port + "\r\n"), 200);
    EXPECT_EQ(status("localhost" + port, "Origin: http://evil.example\r\n"), 403);
    EXPECT_EQ(status("evil.example"), 421);
    EXPECT_EQ(status("evil.example" + port, "Origin: http://evil.example" + port + "\r\n",
                     "/v2/repository/models/tiny/unload"),
              421);
    EXPECT_EQ(status("192.0.2.1"), 421);
    EXPECT_EQ(classify().status, 200);
    EXPECT_EQ(stop(), 0);
    start({"--host", "0.0.0.0", "--name", "models.example.org"});
    EXPECT_EQ(status("models.example.org"), 200);
    EXPECT_EQ(status("192.0.2.1:8080"), 200);
    EXPECT_EQ(status("evil.example"), 421);
    expect_refused(cait({"serve", path("tiny.safetensors"), "--name", "http://a.example"}), 2,
                   {"--name", "without scheme"});
}

TEST_F(ServeLimits, OnlyItsOwnersLoadAndUnload) {
    const std::string unload = "/v2/repository/models/tiny/unload",
                      load = "/v2/repository/models/tiny/load";
    start();
    for (const std::string& target : {unload, load}) {
        const Answer refused = ask("POST", target);
        EXPECT_EQ(refused.status, 403);
        EXPECT_THAT(refused.error(), HasSubstr("--control"));
    }
    EXPECT_EQ(classify().status, 200);
    running_->signal(SIGHUP);  // its owner needs neither
    EXPECT_EQ(stop(), 0);
    start({"--control"});
    EXPECT_EQ(ask("POST", unload).status, 200);
    EXPECT_EQ(ask("POST", load).status, 200);
    EXPECT_EQ(stop(), 0);
    write("token", "correct-horse-battery\n");
    start({"--host", "0.0.0.0", "--token-file", path("token")});
    EXPECT_EQ(ask("POST", unload).status, 401);
    EXPECT_EQ(ask("POST", unload, "", "Authorization: Bearer correct-horse-battery\r\n").status,
              200);
    EXPECT_EQ(stop(), 0);
    expect_refused(cait({"serve", path("tiny.safetensors"), "--host", "0.0.0.0", "--control"}), 2,
                   {"--control: expected --token-file"});
}

}  // namespace
}  // namespace cait::e2e
