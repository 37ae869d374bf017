// The whole service without sockets.
#include "serve/service.h"

#include <future>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>

#include "base/base64.h"
#include "image/draw/colour_map.h"
#include "serve/assets/assets.h"
#include "unit/data/support.h"
#include "unit/serve/support.h"

namespace cait::serve {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

class ServiceTest : public testing::Test {
protected:
    explicit ServiceTest(ServiceOptions options = ServiceOptions())
        : service_({tiny_source()}, with(std::move(options))) {
        service_.load_all();
    }
    static ServiceOptions with(ServiceOptions options) {
        options.engine = tiny_options();
        return options;
    }

    Response ask(const std::string& method, const std::string& target, std::string body = "",
                 std::vector<Field> fields = {}) {
        return answer_of(service_, method, target, std::move(body), std::move(fields));
    }

    Service service_;
    std::string photo_ = data_test::png(data_test::numbered_image(7, 20, 20));
};

TEST_F(ServiceTest, ItsDescriptionHasAllThatItAnswersAndNothingElse) {
    const json paths = json::parse(ask("GET", "/openapi.json").body)["paths"];
    std::set<std::string> described, there;
    for (const auto& [path, item] : paths.items())
        for (const auto& [method, operation] : item.items())
            if (method == "get" || method == "post") described.insert(method + " " + path);
    for (const auto& [method, path] : service_.router().all())
        there.insert((method == "GET" ? "get " : "post ") + path);
    for (const Asset& asset : assets())  // the page is described, what it consists of is not
        if (asset.path != "/" && asset.path != "/openapi.json")
            there.erase("get " + std::string(asset.path));
    EXPECT_EQ(there, described);
}

TEST_F(ServiceTest, AnswersManyAtATime) {
    std::vector<std::future<int>> asked;
    for (int i = 0; i < 40; ++i)
        asked.push_back(std::async(std::launch::async,
                                   [this] { return ask("POST", "/classify", photo_).status; }));
    for (auto& one : asked) EXPECT_EQ(one.get(), 200);
    EXPECT_EQ(service_.admission().requests(), 0U);
    EXPECT_EQ(service_.repository().get("tiny")->stats().view().success.count, 40U);
}

TEST_F(ServiceTest, TakesImagesOutOfJson) {
    const json body{{"inputs", base64(std::as_bytes(std::span(photo_)))},
                    {"parameters", {{"top_k", 2}}}};
    const std::vector<Field> type{{"content-type", "application/json"}};
    EXPECT_EQ(json::parse(ask("POST", "/classify", body.dump(), type).body).size(), 2U);
    for (const char* wrong : {"[]", "{}", "{\"inputs\":5}", "{\"inputs\":\"?\"}",
                              "{\"inputs\":\"\",\"parameters\":{\"top_k\":0}}"})
        EXPECT_EQ(ask("POST", "/classify", wrong, type).status, 400) << wrong;
}

TEST_F(ServiceTest, TellsNobodyWhereFilesLie) {
    for (const char* path : {"/v2", "/v2/models/tiny", "/v2/models/tiny/config", "/stats",
                             "/metrics", "/v2/models/stats"})
        EXPECT_THAT(ask("GET", path).body, Not(HasSubstr("/secret"))) << path;
    EXPECT_THAT(ask("POST", "/v2/repository/index").body, Not(HasSubstr("/secret")));
}

TEST_F(ServiceTest, IsNotReadyWhileItDrains) {
    EXPECT_EQ(ask("GET", "/v2/health/ready").status, 200);
    service_.begin_drain();
    EXPECT_EQ(ask("GET", "/v2/health/ready").status, 503);
    EXPECT_EQ(ask("GET", "/v2/health/live").status, 200);
    EXPECT_EQ(ask("POST", "/classify", photo_).status, 200);
}

TEST_F(ServiceTest, RefusesWhatOthersHaveFilled) {
    const ServedModelPtr model = service_.repository().get("tiny");
    // Somebody's work that is never done while this test looks.
    Admission& admission = const_cast<Admission&>(service_.admission());
    const auto ticket = admission.enter(100, 1);
    const Response refused = ask("POST", "/classify", photo_);
    EXPECT_EQ(refused.status, 503);
    EXPECT_EQ(refused.fields.at(0).name, "Retry-After");
    EXPECT_EQ(model->stats().view().failures[std::size_t(Failure::rejected)], 1U);
    EXPECT_EQ(ask("GET", "/v2/models/tiny").status, 200);  // what costs nothing is answered
}

// What the head leads to is found once: the body changes nothing about it.
TEST_F(ServiceTest, ReadsRouteAndQueryOnce) {
    auto request = std::make_shared<Request>();
    request->method = "POST";
    request->target = "/classify?top=2&model=tiny";
    request->body = photo_;
    ASSERT_FALSE(service_.check_head(*request).has_value());
    request->target = "/nowhere?top=%zz";
    std::promise<Response> answer;
    service_.handle(request, [&](Response response) { answer.set_value(std::move(response)); });
    const Response response = answer.get_future().get();
    EXPECT_EQ(response.status, 200) << response.body;
    EXPECT_EQ(json::parse(response.body).size(), 2U);
}

// Nobody need send what would be refused anyway.
TEST_F(ServiceTest, RefusesBeforeTheBodyIsSent) {
    Request head;
    head.method = "POST";
    const auto status_of = [&](const char* target) {
        head.target = target;
        head.parsed_parameters.reset();
        const std::optional<Response> refused = service_.check_head(head);
        return refused ? refused->status : 0;
    };
    const std::vector<const char*> all{"/classify", "/embed?model=tiny", "/v2/models/tiny/infer"};
    for (const char* target : all) EXPECT_EQ(status_of(target), 0) << target;
    EXPECT_EQ(status_of("/classify?model=none"), 404);
    EXPECT_EQ(status_of("/v2/models/none/infer"), 404);
    Admission& admission = const_cast<Admission&>(service_.admission());
    const auto ticket = admission.enter(100, 1);
    for (const char* target : all) EXPECT_EQ(status_of(target), 503) << target;
    EXPECT_EQ(
        service_.repository().get("tiny")->stats().view().failures[std::size_t(Failure::rejected)],
        3U);
    EXPECT_THAT(ask("GET", "/metrics").body,
                HasSubstr("cait_http_responses_total{status=\"503\"} 3"));
}

TEST_F(ServiceTest, ThePageDrawsInTheColoursOfTheProgram) {
    const json colours = json::parse(ask("GET", "/colours.json").body);
    ASSERT_EQ(colours["heat"].size(), 256U);
    ASSERT_EQ(colours["saliency"].size(), 256U);
    for (int i = 0; i < 256; i += 51) {
        EXPECT_EQ(colours["heat"][i], json(heat_colour(i / 255.0)));
        EXPECT_EQ(colours["saliency"][i], json(cividis_colour(i / 255.0)));
    }
}

TEST_F(ServiceTest, OpensCompressedBodies) {
    EXPECT_EQ(ask("POST", "/classify", "no gzip", {{"content-encoding", "gzip"}}).status, 400);
    EXPECT_EQ(ask("POST", "/classify", photo_, {{"content-encoding", "identity"}}).status, 200);
}

TEST_F(ServiceTest, AnswersToItsOwnNamesAlone) {
    const auto status = [&](const char* host, const char* origin) {
        std::vector<Field> fields{{"host", host}};
        if (origin != nullptr) fields.push_back({"origin", origin});
        return ask("GET", "/v2", "", fields).status;
    };
    EXPECT_EQ(status("localhost:8080", nullptr), 200);
    EXPECT_EQ(status("localhost:8080", "http://localhost:8080"), 200);
    EXPECT_EQ(status("localhost:8080", "http://127.0.0.1:8080"), 403);
    EXPECT_EQ(status("localhost:8080", "http://evil.example"), 403);
    EXPECT_EQ(status("localhost:8080", "null"), 403);
    EXPECT_EQ(status("evil.example", nullptr), 421);
    EXPECT_EQ(status("evil.example", "http://evil.example"), 421);
    EXPECT_EQ(ask("GET", "/v2/health/live", "", {{"host", "evil.example"}}).status, 421);
    EXPECT_THAT(ask("GET", "/v2", "", {{"host", "evil.example"}}).body, HasSubstr("--name"));
}

TEST_F(ServiceTest, ModelsAreLoadedByThoseWhoMayAlone) {
    for (const char* what : {"load", "unload"}) {
        const Response refused =
            ask("POST", "/v2/repository/models/tiny/" + std::string(what), "{}");
        EXPECT_EQ(refused.status, 403);
        EXPECT_THAT(refused.body, HasSubstr("--token-file"));
    }
    EXPECT_TRUE(service_.ready());
}

// A model whose file is read when the test allows it.
class LoadingTest : public testing::Test {
protected:
    LoadingTest() : service_({slow_source()}, options()) { service_.load_all(); }
    ~LoadingTest() override { allow(); }

    void allow() {
        if (!std::exchange(allowed_, true)) gate_.set_value();
    }
    static ServiceOptions options() {
        ServiceOptions options;
        options.engine = tiny_options();
        options.may_control = true;
        return options;
    }
    ModelSource slow_source() {
        ModelSource source = tiny_source();
        source.load = [this, load = source.load] {
            if (loads_++ > 0) open_.wait();
            return load();
        };
        return source;
    }
    std::future<int> load() {
        auto request = std::make_shared<Request>();
        request->method = "POST";
        request->target = "/v2/repository/models/tiny/load";
        auto promise = std::make_shared<std::promise<int>>();
        service_.handle(request, [promise](Response answer) { promise->set_value(answer.status); });
        return promise->get_future();
    }
    static int status(std::future<int>& of, double seconds = 10) {
        const bool there =
            of.wait_for(std::chrono::duration<double>(seconds)) == std::future_status::ready;
        return there ? of.get() : 0;
    }

    bool allowed_ = false;
    std::promise<void> gate_;
    std::shared_future<void> open_ = gate_.get_future().share();
    std::atomic<int> loads_ = 0;
    Service service_;
};

TEST_F(LoadingTest, WhatWaitsToBeLoadedIsRefusedWhenTheServerStops) {
    std::future<int> running = load();
    while (loads_ < 2) std::this_thread::yield();
    std::vector<std::future<int>> waiting;
    for (int i = 0; i < 5; ++i) waiting.push_back(load());
    for (int i = 0; i < 5; ++i) service_.reload();
    service_.begin_drain();
    for (auto& one : waiting) EXPECT_EQ(status(one), 503);  // although the first one still runs
    std::future<int> late = load();
    EXPECT_EQ(status(late), 503);
    EXPECT_EQ(status(running, 0.05), 0);
    EXPECT_FALSE(service_.stop(std::chrono::milliseconds(20)));  // it cannot be ended
    allow();
    EXPECT_EQ(status(running), 200);
    EXPECT_TRUE(service_.stop(std::chrono::seconds(10)));
    EXPECT_EQ(loads_, 2);
}

TEST_F(LoadingTest, ManyWishesToReloadAreOne) {
    std::future<int> running = load();
    while (loads_ < 2) std::this_thread::yield();
    for (int i = 0; i < 5; ++i) service_.reload();
    allow();
    EXPECT_EQ(status(running), 200);
    std::future<int> last = load();  // after all of them
    EXPECT_EQ(status(last), 200);
    EXPECT_EQ(loads_, 4);
}

class PixelLimitTest : public ServiceTest {
protected:
    static ServiceOptions limited() {
        ServiceOptions options;
        options.pixels = {20 * 20, 3 * 20 * 20};
        return options;
    }
    PixelLimitTest() : ServiceTest(limited()) {}
};

TEST_F(PixelLimitTest, HoldsInEveryWayAnImageComesIn) {
    const std::string large = data_test::png(data_test::numbered_image(7, 21, 20));
    const auto json_of = [](const std::string& photo) {
        return json{{"inputs", base64(std::as_bytes(std::span(photo)))}}.dump();
    };
    const auto form_of = [](const std::string& photo) {
        return "--AaB\r\nContent-Disposition: form-data; name=\"a\"; filename=\"a\"\r\n\r\n" +
               photo + "\r\n--AaB--\r\n";
    };
    const auto encoded = [](const std::vector<std::string>& photos) {
        json data = json::array();
        for (const std::string& photo : photos)
            data.push_back(base64(std::as_bytes(std::span(photo))));
        return json{{"inputs", json::array({{{"name", "encoded"},
                                             {"datatype", "BYTES"},
                                             {"shape", {photos.size()}},
                                             {"data", data}}})}}
            .dump();
    };
    const std::vector<Field> is_json{{"content-type", "application/json"}},
        is_form{{"content-type", "multipart/form-data; boundary=AaB"}},
        is_file{{"inference-header-content-length", "0"}};
    const struct {
        const char* target;
        std::string fits, large;
        std::vector<Field> fields;
    } ways[] = {
        {"/classify", photo_, large, {}},
        {"/classify?attention=1", photo_, large, {}},
        {"/classify", form_of(photo_), form_of(large), is_form},
        {"/classify", json_of(photo_), json_of(large), is_json},
        {"/embed", photo_, large, {}},
        {"/v2/models/tiny/infer", photo_, large, is_file},
        {"/v2/models/tiny/infer", encoded({photo_, photo_, photo_}), encoded({photo_, large}), {}},
    };
    for (const auto& way : ways) {
        EXPECT_EQ(ask("POST", way.target, way.fits, way.fields).status, 200) << way.target;
        const Response refused = ask("POST", way.target, way.large, way.fields);
        EXPECT_EQ(refused.status, 413) << way.target;
        EXPECT_THAT(refused.body, HasSubstr("expected at most 400 pixels, found 21x20"));
    }
    const Response many =
        ask("POST", "/v2/models/tiny/infer", encoded(std::vector<std::string>(4, photo_)));
    EXPECT_EQ(many.status, 413);
    EXPECT_THAT(many.body, HasSubstr("expected at most 1200 pixels in all images of a request"));
}

TEST(Assets, HaveAPage) {
    std::set<std::string_view> paths;
    for (const Asset& asset : assets()) {
        EXPECT_TRUE(paths.insert(asset.path).second);
        EXPECT_FALSE(asset.type.empty());
        EXPECT_FALSE(asset.content.empty());
        EXPECT_THAT(std::string(asset.content), Not(HasSubstr("src=\"http")));
    }
    EXPECT_TRUE(paths.contains("/"));
    EXPECT_TRUE(paths.contains("/openapi.json"));
}

}  // namespace
}  // namespace cait::serve
