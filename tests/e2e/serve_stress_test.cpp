// `cait serve` and clients that are slow, many, hostile or suddenly gone.
#include <gmock/gmock.h>
#include <sys/resource.h>

#include <atomic>
#include <thread>

#include "e2e/served.h"

namespace cait::e2e {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class ServeStress : public Served {
protected:
    // One whose images take some milliseconds.
    void slow_model() const {
        Model::create("cait_xxs24_224", {{"image_size", "128"},
                                         {"dim", "96"},
                                         {"depth", "12"},
                                         {"heads", "4"},
                                         {"classes", "3"}})
            .save(path("slow.safetensors"));
    }
    std::size_t descriptors() const {
        const std::filesystem::path place = "/proc/" + std::to_string(running_->pid()) + "/fd";
        return std::size_t(std::distance(std::filesystem::directory_iterator(place),
                                         std::filesystem::directory_iterator()));
    }
};

// Cases 28 and 29: a request that others could read differently ends the connection.
TEST_F(ServeStress, SmugglingEndsTheConnection) {
    start();
    const std::string post = "POST /classify HTTP/1.1\r\nHost: localhost\r\n",
                      length = "Content-Length: 3\r\n", chunked = "Transfer-Encoding: chunked\r\n",
                      body = "3\r\nabc\r\n0\r\n\r\n";
    const std::string hidden = "GET /v2 HTTP/1.1\r\nHost: localhost\r\n\r\n";
    for (const std::string& form :
         {post + length + length + "\r\nabc", post + length + "Content-Length: 5\r\n\r\nabcde",
          post + "Content-Length: 3, 3\r\n\r\nabc", post + length + chunked + "\r\n" + body,
          post + chunked + length + "\r\n" + body,
          post + "Transfer-Encoding: xchunked\r\n\r\n" + body,
          post + "Transfer-Encoding: chunked, identity\r\n\r\n" + body,
          post + "Content-Length : 3\r\n\r\nabc", post + "X: a\r\n " + length + "\r\nabc",
          std::string("POST /classify HTTP/1.1\nHost: localhost\nContent-Length: 3\n\nabc"),
          post + "X: a\rb\r\n" + length + "\r\nabc", post + chunked + "\r\n3\nabc\r\n0\r\n\r\n"}) {
        HttpClient one = client();
        one.send(form + hidden);
        const Answer answer = one.receive();
        EXPECT_EQ(answer.status, 400) << form;
        EXPECT_EQ(answer.fields.at("connection"), "close");
        EXPECT_EQ(one.receive(1).status, 0) << form;  // nothing of what was hidden is answered
        EXPECT_TRUE(one.ends()) << form;
    }
    EXPECT_EQ(classify().status, 200);
}

TEST_F(ServeStress, BodiesHaveLimits) {
    start();
    HttpClient declared = client();
    declared.send("POST /classify HTTP/1.1\r\nHost: localhost\r\nContent-Length: 67108865\r\n\r\n");
    EXPECT_EQ(declared.receive().status, 413);
    EXPECT_TRUE(declared.ends());
    HttpClient chunks = client();
    std::string many =
        "POST /classify HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n";
    for (int i = 0; i < 65'537; ++i) many += "1\r\nx\r\n";
    chunks.send(many);
    EXPECT_EQ(chunks.receive().status, 413);
    HttpClient head = client();
    head.send("GET / HTTP/1.1\r\nX: " + std::string(20'000, 'x'));
    EXPECT_EQ(head.receive().status, 431);
    EXPECT_EQ(classify().status, 200);
}

TEST_F(ServeStress, ClientsAreAskedToGoOn) {
    start();
    HttpClient one = client();
    one.send(
        "POST /classify HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: " +
        std::to_string(photo_.size()) + "\r\n\r\n");
    EXPECT_EQ(one.receive(0.5).status, 0);  // 100 alone is no answer
    one.send(photo_);
    EXPECT_EQ(one.receive().status, 200);
    for (const std::string path : {"/nothing", "/search"}) {  // this server has no index
        HttpClient wrong = client();  // and need not send what is refused anyway
        wrong.send("POST " + path +
                   " HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\n"
                   "Content-Length: 1000000\r\n\r\n");
        EXPECT_EQ(wrong.receive().status, 404) << path;
    }
}

TEST_F(ServeStress, SlowClientsAreCutOff) {
    start({"--timeout", "1"});
    HttpClient silent = client(), dripping = client(), body = client();
    dripping.send("GET /v2 HT");
    body.send("POST /classify HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000\r\n\r\n");
    for (int i = 0; i < 15; ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
        dripping.send("T");
        body.send("x");
    }
    EXPECT_EQ(dripping.receive(5).status, 408);
    EXPECT_TRUE(dripping.ends());
    EXPECT_EQ(body.receive(5).status, 408);
    EXPECT_TRUE(body.ends());
    EXPECT_EQ(silent.ask("GET", "/v2").status, 200);  // waiting is no offence
}

// This process needs a descriptor for each connection, too.
bool may_open(rlim_t files) {
    rlimit limit{};
    ::getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    return limit.rlim_max >= files && ::setrlimit(RLIMIT_NOFILE, &limit) == 0;
}

class ServeIdle : public ServeStress {
protected:
    void expect_service(std::size_t count) {
        if (!may_open(count + 200)) GTEST_SKIP() << "too few files may be open here";
        start();
        const std::size_t before = descriptors();
        {
            std::vector<HttpClient> idle;
            for (std::size_t i = 0; i < count; ++i) idle.push_back(client());
            for (int i = 0; i < 20; ++i) EXPECT_EQ(classify().status, 200);
            EXPECT_GE(descriptors(), before + count);
            for (const std::size_t i : {std::size_t{0}, count / 2, count - 1})
                EXPECT_EQ(idle[i].ask("GET", "/v2").status, 200);
        }
        EXPECT_TRUE(eventually([&] { return descriptors() <= before + 2; }, 20)) << descriptors();
    }
};
class ServeManyIdle : public ServeIdle {};  // takes longer

TEST_F(ServeIdle, AThousandIdleConnectionsDoNotStopService) { expect_service(1'200); }
TEST_F(ServeManyIdle, TenThousandIdleConnectionsDoNotStopService) { expect_service(10'000); }

TEST_F(ServeStress, WhoIsSilentLongestMakesRoom) {
    start({"--connections", "10"});
    std::vector<HttpClient> idle;
    for (int i = 0; i < 30; ++i) idle.push_back(client());
    EXPECT_EQ(idle.back().ask("GET", "/v2").status, 200);
    EXPECT_TRUE(idle.front().ends());
}

TEST_F(ServeStress, AnswersManyRequestsOnOneConnectionInOrder) {
    start();
    HttpClient one = client();
    std::string all;
    for (int i = 0; i < 50; ++i)
        all += HttpClient::request("GET", i % 2 == 0 ? "/v2" : "/v2/models/tiny") +
               HttpClient::request("POST", "/classify?top=1", photo_);
    one.send(all);
    for (int i = 0; i < 50; ++i) {
        EXPECT_EQ(one.receive().json()["name"], i % 2 == 0 ? "cait" : "tiny");
        EXPECT_EQ(one.receive().json().size(), 1U);
    }
}

// Many clients, each of which asks again as soon as it was answered.
struct Flood {
    std::atomic<int> answered = 0, refused = 0, other = 0, unanswered = 0;
    std::atomic<bool> over = false;
    std::mutex mutex;
    std::vector<double> refusals, answers;

    void run(const std::function<HttpClient()>& connect, const std::string& photo) {
        try {
            HttpClient one = connect();
            while (!over) {
                const Answer answer = one.ask("POST", "/classify", photo);
                const std::lock_guard lock(mutex);
                if (answer.status == 200) {
                    ++answered;
                    answers.push_back(answer.seconds);
                } else if (answer.status == 503) {
                    EXPECT_EQ(answer.fields.at("retry-after"), "1");
                    ++refused;
                    refusals.push_back(answer.seconds);
                } else {
                    ++(answer.status == 0 ? unanswered : other);
                    return;
                }
                if (answer.fields.at("connection") == "close") return;
            }
        } catch (const std::runtime_error&) {  // nobody listens any more
        }
    }
};

double quantile(std::vector<double> values, double q) {
    std::ranges::sort(values);
    return values.at(std::size_t(q * double(values.size() - 1)));
}

TEST_F(ServeStress, RefusesAtOnceWhatItCannotDoInTime) {
    slow_model();
    start({"m=" + path("slow.safetensors"), "--bound", "30"});
    const double bound = 1e-3 * double(ask("GET", "/stats").json()["models"][0]["bound_ms"]);
    Flood flood;
    std::vector<std::thread> threads;
    for (int i = 0; i < 60; ++i)
        threads.emplace_back([&] { flood.run([&] { return client(); }, photo_); });
    std::this_thread::sleep_for(std::chrono::seconds(3));
    flood.over = true;
    for (std::thread& thread : threads) thread.join();
    EXPECT_GT(flood.answered, 10);
    EXPECT_GT(flood.refused, 10);
    EXPECT_EQ(flood.other, 0);
    EXPECT_EQ(flood.unanswered, 0);
    if (kSanitized) return;
    EXPECT_LT(quantile(flood.refusals, 0.5), 0.1);
    EXPECT_LT(quantile(flood.answers, 0.5), 3 * bound);  // the clients take processors as well
    // Whoever waited together went together.
    const auto stats = ask("GET", "/v2/models/m/stats").json()["model_stats"][0];
    EXPECT_LE(int(stats["execution_count"]), int(stats["inference_count"]));
}

TEST_F(ServeStress, SigtermAnswersWhatWasAccepted) {
    slow_model();
    start({"m=" + path("slow.safetensors"), "--bound", "2000", "--log", path("log")});
    Flood flood;
    std::vector<std::thread> threads;
    for (int i = 0; i < 12; ++i)
        threads.emplace_back([&] { flood.run([&] { return client(); }, photo_); });
    EXPECT_TRUE(eventually([&] { return flood.answered > 24; }, 60));
    EXPECT_EQ(stop(), 0);
    flood.over = true;
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(flood.unanswered, 0);
    EXPECT_EQ(flood.other, 0);
    const std::string log = read(path("log"));
    EXPECT_EQ(std::size_t(std::ranges::count(log, '\n')), flood.answered + flood.refused);
}

TEST_F(ServeStress, IsNotReadyWhileItStops) {
    start({"--grace", "2"});
    running_->signal(SIGTERM);
    EXPECT_TRUE(eventually([&] { return ask("GET", "/v2/health/ready").status == 503; }, 2));
    EXPECT_EQ(ask("GET", "/v2/health/live").status, 200);
    EXPECT_EQ(classify().status, 200);  // whoever has not heard of it is served
    EXPECT_EQ(running_->wait().status, 0);
    EXPECT_THAT(read(path("stderr")), AllOf(HasSubstr("stopping"), HasSubstr("stopped")));
}

// Who has sent half of a request when the server stops is waited for, but not for ever.
TEST_F(ServeStress, StopsAlthoughSomebodyIsSlow) {
    start({"--patience", "0.3"});
    HttpClient idle = client(), slow = client();
    EXPECT_EQ(idle.ask("GET", "/v2").status, 200);
    slow.send("POST /classify HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\nabc");
    EXPECT_EQ(classify().status, 200);  // what was sent before has been read
    const auto begin = std::chrono::steady_clock::now();
    EXPECT_EQ(stop(), 0);
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(8));
    EXPECT_TRUE(slow.ends());
    EXPECT_TRUE(idle.ends());
}

// Whoever comes then is told so at once and can turn to another server.
TEST_F(ServeStress, RefusesConnectionsWhileItAnswersTheLastRequest) {
    start({"--patience", "60", "--timeout", "60"});
    const std::string request = HttpClient::request("POST", "/classify", photo_);
    const std::size_t half = request.size() - 10;
    HttpClient slow = client();
    slow.send(request.substr(0, half));
    EXPECT_EQ(classify().status, 200);  // what was sent before has been read
    running_->signal(SIGTERM);
    const auto refused = [&] {
        try {
            client();
            return false;
        } catch (const std::runtime_error&) {
            return true;
        }
    };
    EXPECT_TRUE(eventually(refused, 10));
    EXPECT_FALSE(running_->over());
    slow.send(request.substr(half));
    EXPECT_EQ(slow.receive().status, 200);
    EXPECT_EQ(running_->wait().status, 0);
}

TEST_F(ServeStress, ClientsThatLeaveCostNothing) {
    slow_model();
    start({"m=" + path("slow.safetensors"), "--bound", "5000"});
    const std::size_t before = descriptors();
    for (int i = 0; i < 40; ++i) {
        HttpClient one = client();
        one.send(HttpClient::request("POST", "/classify", photo_));
    }
    EXPECT_EQ(classify().status, 200);
    EXPECT_TRUE(eventually([&] { return descriptors() <= before + 2; }, 20));
    EXPECT_THAT(ask("GET", "/metrics").body, HasSubstr("reason=\"CANCELED\"}"));
}

}  // namespace
}  // namespace cait::e2e
