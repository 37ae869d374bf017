// A request that says how long it will wait is refused when the answer would come later, and
// whoever counts requests, batches and answers has the numbers of what happened. No clock decides:
// the model is thought to take seconds, and a batch begins as soon as it is full.
#include <future>
#include <nlohmann/json.hpp>

#include "serve/service.h"
#include "unit/serve/support.h"

namespace cait::serve {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

class TimeoutTest : public testing::Test {
protected:
    TimeoutTest() : service_({tiny_source()}, options()) {
        service_.load_all();
        model_ = service_.repository().get("tiny");
        model_->time() = ServiceTime(0.5, 2, 4);  // seconds for one image and for four
    }
    static ServiceOptions options() {
        ServiceOptions options;
        options.engine = tiny_options();
        options.engine.bound = 20;  // four batches of four images: so large a batch is allowed
        options.workers = 2;
        options.delay = 60;
        return options;
    }

    Response ask(const std::string& method, const std::string& target, std::string body = "") {
        return answer_of(service_, method, target, std::move(body));
    }

    std::future<Response> infer(std::optional<std::int64_t> microseconds = {}) {
        json body{{"inputs", json::array({{{"name", "images"},
                                           {"datatype", "FP32"},
                                           {"shape", {1, 3, 16, 16}},
                                           {"data", std::vector<float>(3 * 256, 0.5F)}}})}};
        if (microseconds) body["parameters"] = {{"timeout", *microseconds}};
        return std::async(std::launch::async, [this, text = body.dump()] {
            return ask("POST", "/v2/models/tiny/infer", text);
        });
    }

    Service service_;
    ServedModelPtr model_;
};

TEST_F(TimeoutTest, ShorterThanTheQueueIsRefusedAndTheOthersAreNot) {
    std::vector<std::future<Response>> patient;
    for (int i = 0; i < 3; ++i) patient.push_back(infer());
    const Response refused = infer(1'500'000).get();  // four images take two seconds
    EXPECT_EQ(refused.status, 503);
    EXPECT_THAT(refused.body, HasSubstr("in time"));
    for (auto& one : patient) {
        const Response answer = one.get();
        EXPECT_EQ(answer.status, 200) << answer.body;
    }
}

TEST_F(TimeoutTest, LongerThanTheQueueIsAnswered) {
    std::vector<std::future<Response>> asked;
    for (int i = 0; i < 3; ++i) asked.push_back(infer());
    asked.push_back(infer(4'500'000));
    for (auto& one : asked) EXPECT_EQ(one.get().status, 200);
}

TEST_F(TimeoutTest, StatisticsCountWhatHappened) {
    std::vector<std::future<Response>> asked;
    for (int i = 0; i < 3; ++i) asked.push_back(infer());
    asked.push_back(infer(1'500'000));
    for (auto& one : asked) one.wait();

    const StatsView view = model_->stats().view();
    EXPECT_EQ(view.success.count, 3U);
    EXPECT_EQ(view.fail.count, 1U);
    EXPECT_THAT(view.failures, ElementsAre(1U, 0U, 0U, 0U));  // rejected
    EXPECT_EQ(view.images, 3U);
    EXPECT_EQ(view.batches, 1U);
    ASSERT_EQ(view.by_batch.size(), 1U);
    ASSERT_EQ(view.by_batch.begin()->first, 3U);
    EXPECT_EQ(view.by_batch.begin()->second.count, 1U);
    for (const Duration& part : {view.queue, view.input, view.infer, view.output})
        EXPECT_EQ(part.count, 3U);
    // Each of the three waited for the whole batch; the parts of a request are not more than all of
    // it.
    EXPECT_NEAR(double(view.infer.nanoseconds),
                3 * double(view.by_batch.begin()->second.nanoseconds), 10);
    EXPECT_GT(view.infer.nanoseconds, 0U);
    EXPECT_LE(view.queue.nanoseconds + view.input.nanoseconds + view.infer.nanoseconds +
                  view.output.nanoseconds,
              view.success.nanoseconds);

    EXPECT_THAT(service_.stats().view().by_status, ElementsAre(Pair(200, 3U), Pair(503, 1U)));
    const std::string metrics = ask("GET", "/metrics").body;
    for (const char* line :
         {"cait_http_responses_total{status=\"200\"} 3\n",
          "cait_http_responses_total{status=\"503\"} 1\n", "cait_http_request_seconds_count 4\n"})
        EXPECT_THAT(metrics, HasSubstr(line));
    const json stats =
        json::parse(ask("GET", "/v2/models/tiny/stats").body).at("model_stats").at(0);
    EXPECT_EQ(stats.at("inference_count"), 3);
    EXPECT_EQ(stats.at("execution_count"), 1);
    EXPECT_EQ(stats.at("inference_stats").at("success").at("count"), 3);
    EXPECT_EQ(stats.at("inference_stats").at("fail").at("count"), 1);
    EXPECT_EQ(stats.at("inference_stats").at("success").at("ns"), view.success.nanoseconds);
    EXPECT_EQ(stats.at("batch_stats").at(0).at("batch_size"), 3);
    EXPECT_EQ(service_.admission().requests(), 0U);
}

}  // namespace
}  // namespace cait::serve
