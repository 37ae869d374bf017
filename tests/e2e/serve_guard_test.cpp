// `cait serve` stays alive and within its memory whatever is sent to it, and whatever is not read.
#include <gmock/gmock.h>

#include <unistd.h>

#include <fstream>
#include <random>
#include <thread>

#include "e2e/served.h"
#include "image/codec/encode.h"

namespace cait::e2e {
namespace {

using nlohmann::json;
using testing::AnyOf;
using testing::HasSubstr;

constexpr std::size_t kMebibyte = std::size_t{1} << 20;
const std::string kChunked = "Host: localhost\r\nTransfer-Encoding: chunked\r\n\r\n";

class ServeGuard : public Served {
protected:
    std::uint64_t count_of(const std::string& metric) const {
        const std::string text = ask("GET", "/metrics").body;
        const std::size_t at = text.find("\n" + metric + " ");
        return at == std::string::npos ? 0 : std::stoull(text.substr(at + metric.size() + 2));
    }
    std::size_t peak_bytes() const {
        return 1024 * std::stoull(status_of(running_->pid(), "VmHWM"));
    }
    void expect_peak_below(std::size_t bytes) const {
        if (kSanitized) return;
        EXPECT_LT(peak_bytes(), bytes);
    }
    std::size_t bytes_of_requests() const { return ask("GET", "/stats").json()["memory"]["used"]; }
    // Sent but for its end, to be taken or refused.
    std::vector<HttpClient> half_sent(int count, std::size_t bytes) const {
        std::vector<HttpClient> clients;
        for (int i = 0; i < count; ++i) {
            clients.push_back(client());
            clients.back().send("POST /classify HTTP/1.1\r\nHost: localhost\r\nContent-Length: " +
                                std::to_string(bytes + 1000) + "\r\n\r\n" +
                                std::string(bytes, 'x'));
        }
        return clients;
    }
    // Whose attention maps are large and quickly computed: 1 MiB for each layer and image.
    void wide_model() const {
        Model::create("cait_xxs24_224", {{"image_size", "64"},
                                         {"patch", "4"},
                                         {"dim", "16"},
                                         {"depth", "4"},
                                         {"heads", "4"},
                                         {"class_layers", "1"},
                                         {"classes", "3"}})
            .save(path("wide.safetensors"));
    }
    std::string attention_request(int images, bool binary) const {
        json outputs = json::array();
        for (int i = 0; i < 4; ++i)
            outputs.push_back({{"name", "self_attention." + std::to_string(i)},
                               {"parameters", {{"binary_data", binary}}}});
        return encoded_request("wide", photo_, images, outputs);
    }
    // The same image so many times.
    static std::string encoded_request(const std::string& model, const std::string& image,
                                       int images, const json& outputs) {
        json inputs{{"name", "encoded"}, {"datatype", "BYTES"}, {"shape", {images}}};
        inputs["parameters"]["binary_data_size"] = images * (4 + image.size());
        const std::string head =
            json{{"inputs", json::array({inputs})}, {"outputs", outputs}}.dump();
        std::string body = head;
        for (int i = 0; i < images; ++i) {
            const auto length = std::uint32_t(image.size());
            body.append(reinterpret_cast<const char*>(&length), sizeof length);
            body += image;
        }
        return HttpClient::request(
            "POST", "/v2/models/" + model + "/infer", body,
            "Inference-Header-Content-Length: " + std::to_string(head.size()) + "\r\n");
    }
};

TEST_F(ServeGuard, LongTrailersEndTheirConnectionAlone) {
    start();
    const std::string long_text(70'000, 'a');
    std::uint64_t sent = 0;
    for (const std::string request :
         {"GET /v2/health/live", "POST /classify", "POST /v2/models/tiny/infer"})
        for (const std::string& trailer :
             {"X: " + long_text, long_text + ": x", "X: y\r\n" + long_text}) {
            HttpClient one = client();
            one.send(request + " HTTP/1.1\r\n" + kChunked + "3\r\nabc\r\n0\r\n" + trailer +
                     "\r\n\r\n");
            EXPECT_EQ(one.receive().status, 431) << request;
            EXPECT_TRUE(one.ends());
            EXPECT_EQ(count_of("cait_http_responses_total{status=\"431\"}"), ++sent);
        }
    EXPECT_EQ(count_of("cait_faults_total"), 0U);
    EXPECT_EQ(ask("GET", "/stats").json()["faults"], 0);
    EXPECT_EQ(classify().status, 200);
    EXPECT_EQ(stop(), 0);
}

TEST_F(ServeGuard, LongTrailersEndTheirConnectionAloneOverTls) {
    const auto shell = [](const std::string& script) { return by_shell(script, {}).status; };
    if (shell("command -v openssl") != 0) GTEST_SKIP() << "openssl is not installed";
    ASSERT_EQ(shell("openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes "
                    "-days 2 -subj /CN=localhost -keyout '" +
                    path("key.pem") + "' -out '" + path("cert.pem") + "' 2>/dev/null"),
              0);
    start({"--certificate", path("cert.pem"), "--key", path("key.pem")});
    const auto ask_tls = [&](const std::string& request) {
        write("request", request);
        return by_shell("timeout 10 openssl s_client -quiet -no_ign_eof -connect 127.0.0.1:" +
                            std::to_string(port_) + " <'" + path("request") + "' 2>/dev/null",
                        {})
            .out;
    };
    const std::string close = "Connection: close\r\n";
    for (const std::string& trailer :
         {"X: " + std::string(70'000, 'a'), std::string(70'000, 'a') + ": x"})
        ask_tls("GET /v2/health/live HTTP/1.1\r\n" + kChunked + "0\r\n" + trailer + "\r\n\r\n");
    EXPECT_FALSE(running_->over());
    write("live", "GET /metrics HTTP/1.1\r\nHost: localhost\r\n" + close + "\r\n");
    const std::string metrics =
        by_shell("(cat '" + path("live") + "'; sleep 2) | timeout 10 openssl s_client -quiet " +
                     "-connect 127.0.0.1:" + std::to_string(port_) + " 2>/dev/null",
                 {})
            .out;
    EXPECT_THAT(metrics, HasSubstr("cait_http_responses_total{status=\"431\"} 2"));
    EXPECT_EQ(stop(), 0);
}

TEST_F(ServeGuard, ChunksHaveNoEndlessExtensions) {
    start();
    std::string many = "POST /classify HTTP/1.1\r\n" + kChunked;
    for (int i = 0; i < 200; ++i) many += "1;x=" + std::string(1000, 'y') + "\r\na\r\n";
    HttpClient one = client();
    one.send(many);
    EXPECT_EQ(one.receive().status, 431);
    std::string fields = "GET /v2 HTTP/1.1\r\nHost: localhost\r\n";
    for (int i = 0; i < 300; ++i) fields += "a:\r\n";
    HttpClient other = client();
    other.send(fields + "\r\n");
    EXPECT_EQ(other.receive().status, 431);
    EXPECT_EQ(classify().status, 200);
}

// What is on its way leaves a quarter to those who can be answered.
TEST_F(ServeGuard, HalfSentBodiesStayWithinTheMemory) {
    start({}, "export CAIT_MEMORY=200M; ");
    {
        std::vector<HttpClient> clients = half_sent(6, 60 * kMebibyte);
        EXPECT_EQ(classify().status, 200);
        int refused = 0;
        for (HttpClient& one : clients) {
            const Answer answer = one.receive(0.2);
            if (answer.status == 0) continue;
            EXPECT_EQ(answer.status, 503);
            EXPECT_EQ(answer.fields.at("retry-after"), "1");
            ++refused;
        }
        EXPECT_GE(refused, 3);
        EXPECT_LE(refused, 5);  // somebody has room
        EXPECT_GT(bytes_of_requests(), 50 * kMebibyte);
    }
    EXPECT_TRUE(eventually([&] { return bytes_of_requests() < kMebibyte; }, 5));
    expect_peak_below(200 * kMebibyte);
    EXPECT_EQ(classify().status, 200);
    EXPECT_EQ(stop(), 0);
}

// A control group of its own, as containers have.
class Container {
public:
    explicit Container(std::size_t bytes)
        : folder_("/sys/fs/cgroup/memory/cait-test-" + std::to_string(::getpid())) {
        std::error_code problem;
        std::filesystem::create_directory(folder_, problem);
        std::ofstream limit(folder_ / "memory.limit_in_bytes");
        limit << bytes << std::flush;
        works_ = bool(limit);
    }
    Container(const Container&) = delete;
    Container& operator=(const Container&) = delete;
    ~Container() {
        std::error_code problem;
        std::filesystem::remove(folder_, problem);
    }

    bool works() const { return works_; }
    std::string enter() const { return "echo $$ >'" + (folder_ / "cgroup.procs").string() + "'; "; }

private:
    std::filesystem::path folder_;
    bool works_ = false;
};

TEST_F(ServeGuard, HalfSentBodiesDoNotEndItInAContainer) {
    const Container container(300 * kMebibyte);
    if (!container.works()) GTEST_SKIP() << "no control group can be made here";
    if (kSanitized) GTEST_SKIP() << "sanitizers take more memory than this";
    start({}, container.enter());
    EXPECT_LT(ask("GET", "/stats").json()["memory"]["limit"], 225 * kMebibyte);
    {
        const std::vector<HttpClient> clients = half_sent(8, 60 * kMebibyte);
        ASSERT_FALSE(running_->over());
        EXPECT_EQ(classify().status, 200);
    }
    EXPECT_EQ(stop(), 0);
    running_.reset();
}

TEST_F(ServeGuard, WhatNeverFitsIsRefusedBeforeItIsSent) {
    start({}, "export CAIT_MEMORY=40M; ");
    HttpClient one = client();
    one.send("POST /classify HTTP/1.1\r\nHost: localhost\r\nContent-Length: 60000000\r\n\r\n");
    EXPECT_EQ(one.receive().status, 413);
    // What it becomes counts as well: 8 MB of text, kept several times while it is read.
    const std::string text = "{\"inputs\":\"" + std::string(8'000'000, 'A') + "\"}";
    const Answer large = ask("POST", "/classify", text, "Content-Type: application/json\r\n");
    EXPECT_EQ(large.status, 413);
    EXPECT_THAT(large.error(), HasSubstr("MiB"));
    const std::string empty =
        "{\"inputs\":[{\"name\":\"encoded\",\"datatype\":\"BYTES\",\"shape\":[1],"
        "\"data\":[\"\"";
    std::string many = empty;
    for (int i = 0; i < 2'000'000; ++i) many += ",\"\"";
    EXPECT_THAT(ask("POST", "/v2/models/tiny/infer", many + "]}]}").status, AnyOf(400, 413));
    EXPECT_EQ(classify().status, 200);
    EXPECT_TRUE(eventually([&] { return bytes_of_requests() < kMebibyte; }, 5));
    expect_peak_below(100 * kMebibyte);
}

// Each image is gone before the next one is decoded, and counts no longer.
TEST_F(ServeGuard, ImagesOfARequestNeedTheMemoryOfOne) {
    start({}, "export CAIT_MEMORY=40M; ");
    write_image(path("large.png"), Image::blank(1200, 1000, 3));
    const json outputs = json::array({{{"name", "logits"}}});
    HttpClient one = client();
    one.send(encoded_request("tiny", read(path("large.png")), 16, outputs));
    const Answer answer = one.receive();
    EXPECT_EQ(answer.status, 200) << answer.body;
}

// The system says no before the account does.
TEST_F(ServeGuard, SurvivesWithoutMemory) {
    if (kSanitized) GTEST_SKIP() << "sanitizers take more addresses than this";
    start({}, "ulimit -v 387000; ");
    for (int round = 0; round < 2; ++round) {
        std::vector<HttpClient> clients = half_sent(8, 60 * kMebibyte);
        int refused = 0;
        for (HttpClient& one : clients) {
            const Answer answer = one.receive(0.2);
            if (answer.status != 0) {
                EXPECT_EQ(answer.status, 503);
                ++refused;
            }
        }
        EXPECT_GE(refused, 1);
        ASSERT_FALSE(running_->over()) << read(path("stderr"));
    }
    EXPECT_TRUE(eventually([&] { return classify().status == 200; }, 10));
    EXPECT_GE(count_of("cait_faults_total"), 1U);
    EXPECT_THAT(read(path("stderr")), HasSubstr("an error that should not happen: std::bad_alloc"));
    EXPECT_EQ(stop(), 0);
}

TEST_F(ServeGuard, AnswersHaveALimitThatIsKnownBefore) {
    wide_model();
    start({"wide=" + path("wide.safetensors"), "--answer", "20M", "--bound", "20000"});
    HttpClient text = client();
    text.send(attention_request(2, false));
    const Answer refused = text.receive();
    EXPECT_EQ(refused.status, 413);
    EXPECT_THAT(refused.error(), HasSubstr("20971520"));
    text.send(attention_request(2, true));
    const Answer fits = text.receive();
    EXPECT_EQ(fits.status, 200);
    EXPECT_GT(fits.body.size(), 8 * kMebibyte);
    text.send(attention_request(8, true));
    EXPECT_EQ(text.receive().status, 413);
    EXPECT_LT(double(ask("GET", "/v2/models/wide/stats")
                         .json()["model_stats"][0]["inference_stats"]["compute_infer"]["count"]),
              2);  // what was refused was not computed
    expect_refused(cait({"serve", path("tiny.safetensors"), "--port", "0", "--answer", "much"}), 2,
                   {"--answer"});
}

TEST_F(ServeGuard, AnswersThatNobodyReadsStayWithinTheMemory) {
    wide_model();
    start({"wide=" + path("wide.safetensors"), "--bound", "60000"}, "export CAIT_MEMORY=300M; ");
    const std::string request = attention_request(10, true);  // 40 MiB
    {
        HttpClient one = client();
        one.send(request);
        EXPECT_GT(one.receive().body.size(), 40 * kMebibyte);
    }
    const std::size_t before = bytes_of_requests();  // what stays prepared
    {
        std::vector<HttpClient> clients;
        for (int i = 0; i < 12; ++i) {
            clients.push_back(client());
            clients.back().send(request);
        }
        EXPECT_TRUE(eventually([&] { return ask("GET", "/stats").json()["pending"] == 0; }, 60));
        EXPECT_GT(bytes_of_requests(), before + 30 * kMebibyte);
        EXPECT_EQ(ask("GET", "/v2/health/live").status, 200);
    }
    EXPECT_TRUE(eventually([&] { return bytes_of_requests() < before + kMebibyte; }, 10))
        << bytes_of_requests() << " bytes, " << before << " before";
    expect_peak_below(330 * kMebibyte);
    EXPECT_EQ(classify("?model=wide").status, 200);
    EXPECT_EQ(stop(), 0);
}

// Whatever one client asks for, the others' routes stay open.
TEST_F(ServeGuard, ManySetsOfOutputsCloseNoRoute) {
    start();
    const std::vector<std::string> names{"logits",           "features",
                                         "tokens",           "class_attention.0",
                                         "self_attention.0", "self_attention.1"};
    const std::string image = std::string(photo_);
    const auto ask_for = [&](unsigned set) {
        json outputs = json::array();
        for (unsigned i = 0; i < names.size(); ++i)
            if ((set >> i & 1) != 0) outputs.push_back({{"name", names[i]}});
        json tree;
        tree["inputs"] = json::array({{{"name", "encoded"},
                                       {"datatype", "BYTES"},
                                       {"shape", {1}},
                                       {"parameters", {{"binary_data_size", 4 + image.size()}}}}});
        tree["outputs"] = outputs;
        const std::string head = tree.dump();
        const auto length = std::uint32_t(image.size());
        std::string body = head;
        body.append(reinterpret_cast<const char*>(&length), sizeof length);
        return ask("POST", "/v2/models/tiny/infer", body + image,
                   "Inference-Header-Content-Length: " + std::to_string(head.size()) + "\r\n");
    };
    for (int round = 0; round < 2; ++round) {
        for (unsigned set = 1; set < 64; ++set) {
            const Answer answer = ask_for(set);
            ASSERT_EQ(answer.status, 200) << answer.body;
            EXPECT_EQ(answer.json()["outputs"].size(), std::size_t(std::popcount(set)));
        }
        EXPECT_EQ(ask("POST", "/embed", photo_).status, 200);
        EXPECT_EQ(classify("?attention=1").status, 200);
        EXPECT_EQ(classify().status, 200);
    }
    EXPECT_EQ(ask_for(1).json()["outputs"], ask_for(1).json()["outputs"]);
}

// ---- Requests that were good before they were changed at random.

std::vector<std::string> good_requests(const std::string& photo) {
    const std::string base = "Host: localhost\r\n";
    const auto post = [&](const std::string& target, const std::string& body,
                          const std::string& fields = "") {
        return HttpClient::request("POST", target, body, fields);
    };
    const std::string infer = "/v2/models/tiny/infer";
    const std::string small = R"({"inputs":[{"name":"encoded","datatype":"BYTES","shape":[1],)"
                              R"("data":["iVBORw0KGgo="]}],"outputs":[{"name":"logits",)"
                              R"("parameters":{"classification":2}}],"parameters":{"timeout":9}})";
    std::string numbers = R"({"id":"a","inputs":[{"name":"images","datatype":"FP32",)"
                          R"("shape":[1,3,16,16],"data":[0.5)";
    for (int i = 1; i < 768; ++i) numbers += ",1e-1";
    numbers += "]}]}";
    const std::string form =
        "--b\r\nContent-Disposition: form-data; name=\"f\"; filename=\"x\"\r\n"
        "\r\n" +
        photo + "\r\n--b--\r\n";
    return {HttpClient::request("GET", "/v2/health/live"),
            HttpClient::request("GET", "/metrics"),
            HttpClient::request("HEAD", "/"),
            post("/classify?top=2", photo),
            post("/classify?attention=1", photo, "Expect: 100-continue\r\n"),
            post("/embed", photo),
            post("/classify", form, "Content-Type: multipart/form-data; boundary=b\r\n"),
            post("/classify", "{\"inputs\":\"iVBORw0KGgo=\",\"parameters\":{\"top_k\":1}}",
                 "Content-Type: application/json\r\n"),
            post(infer, small),
            post(infer, numbers),
            post(infer, photo, "Inference-Header-Content-Length: 0\r\n"),
            post("/classify", std::string("\x1f\x8b\x08\0\0\0\0\0\0\3\3\0\0\0\0\0\0\0\0\0", 20),
                 "Content-Encoding: gzip\r\n"),
            "POST /classify HTTP/1.1\r\n" + kChunked + "4;a=b\r\nabcd\r\n0\r\nX-Sum: 5\r\n\r\n",
            "GET /v2 HTTP/1.1\r\n" + base + "Upgrade: websocket\r\nConnection: Upgrade\r\n\r\n",
            HttpClient::request("GET", "/v2") + post("/embed", photo) +
                HttpClient::request("GET", "/v2/models/tiny")};
}

class Mutation {
public:
    explicit Mutation(std::vector<std::string> seeds) : seeds_(std::move(seeds)) {}

    std::string next(std::uint64_t number) {
        random_.seed(number);
        std::string text = seeds_[below(seeds_.size())];
        for (std::size_t times = 1 + below(4); times > 0; --times) change(text);
        return text;
    }

private:
    std::size_t below(std::size_t bound) { return std::size_t(random_() % bound); }

    void change(std::string& text) {
        if (text.empty()) text = "G";
        const std::size_t at = below(text.size());
        const std::size_t length = 1 + below(std::min<std::size_t>(text.size() - at, 40));
        static const std::vector<std::string> kOdd{"\r\n",
                                                   "\r\n\r\n",
                                                   "0\r\n",
                                                   ":",
                                                   "\0",
                                                   "Content-Length: 99999999\r\n",
                                                   "Transfer-Encoding: chunked\r\n",
                                                   "ffffffffffffffff",
                                                   "-1",
                                                   "1e999",
                                                   "\"",
                                                   "[[[[",
                                                   "%00",
                                                   "Expect: 100-continue\r\n",
                                                   "Connection: close\r\n",
                                                   "Upgrade: h2c\r\n"};
        switch (below(9)) {
            case 0: text[at] = char(below(256)); break;
            case 1: text[at] = char(text[at] ^ (1 << below(8))); break;
            case 2: text.erase(at, length); break;
            case 3: text.insert(at, text.substr(at, length)); break;
            case 4: text.insert(at, kOdd[below(kOdd.size())]); break;
            case 5: text.resize(at); break;
            case 6: text.insert(at, std::string(1 + below(90'000), char(below(256)))); break;
            case 7: {
                const std::string& other = seeds_[below(seeds_.size())];
                text = text.substr(0, at) + other.substr(below(other.size()));
                break;
            }
            default: text.insert(at, std::string(1 + below(30), 'a')); break;
        }
    }

    std::vector<std::string> seeds_;
    std::mt19937_64 random_;
};

// CAIT_MUTATED_REQUESTS=100000 runs it for longer.
TEST_F(ServeGuard, MutatedRequestsAreAnsweredOrClosed) {
    const char* wanted = std::getenv("CAIT_MUTATED_REQUESTS");
    const std::uint64_t count = wanted != nullptr ? std::stoull(wanted) : 2'000;
    start({"--timeout", "2"}, "export CAIT_MEMORY=256M; ");
    std::atomic<std::uint64_t> next = 0, open = 0, answered = 0;
    const auto work = [&] {
        Mutation mutation(good_requests(photo_));
        for (std::uint64_t number = next++; number < count; number = next++) {
            HttpClient one = client();
            one.send(mutation.next(number));
            one.finish_sending();
            if (one.receive(20).status != 0) ++answered;
            if (!one.ends(20)) ++open;
        }
    };
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) threads.emplace_back(work);
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(open, 0U);
    EXPECT_GT(answered, count / 2);
    ASSERT_FALSE(running_->over()) << read(path("stderr"));
    EXPECT_EQ(count_of("cait_faults_total"), 0U) << read(path("stderr"));
    EXPECT_EQ(classify().status, 200);
    EXPECT_TRUE(eventually([&] { return bytes_of_requests() < 4 * kMebibyte; }, 5))
        << bytes_of_requests();
    expect_peak_below(256 * kMebibyte);
    RecordProperty("answered", std::to_string(answered));
    RecordProperty("peak_bytes", std::to_string(peak_bytes()));
    EXPECT_EQ(stop(), 0);
}

}  // namespace
}  // namespace cait::e2e
