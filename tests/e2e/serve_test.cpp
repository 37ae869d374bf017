// `cait serve` as clients see it: every endpoint, every refusal.
#include <gmock/gmock.h>
#include <sched.h>

#include <map>

#include "e2e/served.h"
#include "image/codec/decode.h"
#include "support/broken_images.h"
#include "support/patience.h"

namespace cait::e2e {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::Key;
using testing::Not;

class Serve : public Served {};

json infer_body(std::int64_t images = 1) {
    return {
        {"id", "x"},
        {"inputs", json::array({{{"name", "images"},
                                 {"datatype", "FP32"},
                                 {"shape", {images, 3, 16, 16}},
                                 {"data", std::vector<float>(std::size_t(768 * images), 0.5F)}}})}};
}

TEST_F(Serve, SaysWhoItIsAndWhatItServes) {
    start();
    HttpClient one = client();
    const Answer server = one.ask("GET", "/v2");
    EXPECT_EQ(server.status, 200);
    EXPECT_EQ(server.json()["name"], "cait");
    EXPECT_THAT(server.json()["extensions"], Contains("binary_tensor_data"));
    EXPECT_EQ(one.ask("GET", "/v2/health/live").json(), (json{{"live", true}}));
    EXPECT_EQ(one.ask("GET", "/v2/health/ready").status, 200);
    EXPECT_EQ(one.ask("GET", "/v2/models/tiny/ready").json(),
              (json{{"name", "tiny"}, {"ready", true}}));
    EXPECT_EQ(one.ask("GET", "/v2/models/tiny/versions/1/ready").status, 200);
    const json metadata = one.ask("GET", "/v2/models/tiny").json();
    EXPECT_EQ(metadata["versions"], json{"1"});
    EXPECT_EQ(metadata["inputs"][0]["shape"], (json{-1, 3, 16, 16}));
    EXPECT_EQ(metadata["inputs"][1]["datatype"], "BYTES");
    EXPECT_EQ(metadata["outputs"][0]["name"], "logits");
    EXPECT_EQ(metadata["outputs"][0]["shape"], (json{-1, 3}));
    EXPECT_EQ(one.ask("GET", "/v2/models/tiny/config").json()["max_batch_size"], 0);
    EXPECT_EQ(one.ask("GET", "/openapi.json").json()["info"]["title"], "cait");
    const Answer page = one.ask("GET", "/");
    EXPECT_THAT(page.fields.at("content-type"), HasSubstr("text/html"));
    EXPECT_THAT(page.fields.at("content-security-policy"), HasSubstr("default-src 'none'"));
    const Answer head = one.ask("HEAD", "/v2");
    EXPECT_EQ(head.status, 200);
    EXPECT_EQ(head.body, "");
    EXPECT_EQ(one.ask("GET", "/v2").status, 200);  // on the same connection
    EXPECT_EQ(stop(), 0);
}

// Finite values that cannot be computed with are the request's mistake; others are not disturbed.
TEST_F(Serve, InputsThatOverflowAreRefused) {
    start();
    json body = infer_body(2);
    const std::vector<float> image = one_sided_image(Model::load(path("tiny.safetensors")), 3e38F);
    for (std::size_t i = 0; i < image.size(); ++i) body["inputs"][0]["data"][i] = image[i];
    const Answer refused = ask("POST", "/v2/models/tiny/infer", body.dump());
    EXPECT_EQ(refused.status, 400) << refused.body;
    EXPECT_THAT(refused.body,
                AllOf(HasSubstr("input images: image 0: output logits: expected finite values"),
                      HasSubstr("the input's values reach 3e+38")));
    EXPECT_EQ(ask("POST", "/v2/models/tiny/infer", infer_body(2).dump()).status, 200);
}

TEST_F(Serve, AnswersAsPredictDoes) {
    data_test::put(folder_ / "a.png", photo_);
    start();
    const Finished told =
        cait({"predict", "--json", "--weights", path("tiny.safetensors"), path("a.png")});
    const json expected = json::parse(told.out)[0];
    const json answers = classify().json();
    ASSERT_EQ(answers.size(), 3U);
    EXPECT_EQ(answers[0]["label"], expected["predictions"][0]["label"]);
    EXPECT_NEAR(answers[0]["score"], double(expected["predictions"][0]["score"]), 1e-5);
    EXPECT_EQ(classify("?top=1").json().size(), 1U);
    const std::string form =
        "--AaB\r\nContent-Disposition: form-data; name=\"image\"; filename=\"a.png\"\r\n\r\n" +
        photo_ + "\r\n--AaB--\r\n";
    EXPECT_EQ(ask("POST", "/classify", form, "Content-Type: multipart/form-data; boundary=AaB\r\n")
                  .json(),
              answers);
}

TEST_F(Serve, ShowsWhereItLooked) {
    start();
    const Answer answer = classify("?attention=1");
    ASSERT_EQ(answer.status, 200) << answer.body;
    const json attention = answer.json()["attention"];
    EXPECT_EQ(attention["width"], 2);
    EXPECT_EQ(attention["layers"].size(), 1U);
    EXPECT_EQ(attention["usual"], 0);
    EXPECT_EQ(attention["layers"][0]["heads"].size(), 2U);
    EXPECT_THAT(std::string(attention["layers"][0]["mean"]["png"]),
                testing::StartsWith("data:image/png;base64,"));
    EXPECT_NEAR(double(attention["seen"][2]) - double(attention["seen"][0]),
                2.0 / 3 * (double(attention["seen"][3]) - double(attention["seen"][1])), 0.05);
}

TEST_F(Serve, InfersFromPixelsAndFromFiles) {
    start();
    const json pixels = ask("POST", "/v2/models/tiny/infer", infer_body(2).dump()).json();
    EXPECT_EQ(pixels["id"], "x");
    EXPECT_EQ(pixels["model_name"], "tiny");
    EXPECT_EQ(pixels["outputs"][0]["shape"], (json{2, 3}));
    EXPECT_EQ(pixels["outputs"][0]["data"].size(), 6U);
    // A file as a body of its own.
    const Answer file = ask("POST", "/v2/models/tiny/versions/1/infer", photo_,
                            "Inference-Header-Content-Length: 0\r\n");
    ASSERT_EQ(file.status, 200) << file.body;
    const std::size_t length = std::stoul(file.fields.at("inference-header-content-length"));
    EXPECT_EQ(file.body.size(), length + 12);
    json body = infer_body();
    body["outputs"] = json::array(
        {{{"name", "logits"}, {"parameters", {{"classification", 1}}}}, {{"name", "features"}}});
    const json two = ask("POST", "/v2/models/tiny/infer", body.dump()).json();
    EXPECT_EQ(two["outputs"][0]["datatype"], "BYTES");
    EXPECT_EQ(two["outputs"][1]["shape"], (json{1, 16}));
}

TEST_F(Serve, RefusalsAreJson) {
    start({"--control"});
    HttpClient one = client();
    const auto expect = [&](const Answer& answer, int status, const char* text) {
        EXPECT_EQ(answer.status, status) << answer.body;
        EXPECT_THAT(answer.error(), HasSubstr(text));
        EXPECT_EQ(answer.fields.at("content-type"), "application/json");
    };
    expect(one.ask("GET", "/v2/models/other"), 404, "'other': unknown");
    expect(one.ask("GET", "/v2/models/tiny/versions/7"), 404, "version '7'");
    expect(one.ask("POST", "/v2/models/other/infer", "{}"), 404, "unknown");
    const Answer method = one.ask("GET", "/v2/models/tiny/infer");
    expect(method, 405, "expected POST");
    EXPECT_EQ(method.fields.at("allow"), "POST");
    expect(one.ask("GET", "/nothing"), 404, "no such path");
    expect(one.ask("POST", "/v2/models/tiny/infer", "{"), 400, "JSON");
    json negative = infer_body();
    negative["inputs"][0]["shape"][0] = -1;
    expect(one.ask("POST", "/v2/models/tiny/infer", negative.dump()), 400, "shape");
    json type = infer_body();
    type["inputs"][0]["datatype"] = "INT32";
    expect(one.ask("POST", "/v2/models/tiny/infer", type.dump()), 400, "FP32");
    expect(one.ask("POST", "/classify", "no image"), 422, "expected a JPEG, PNG or WebP");
    expect(one.ask("POST", "/classify"), 400, "expected an image");
    expect(one.ask("POST", "/classify", photo_.substr(0, photo_.size() / 2)), 422, "image");
    expect(one.ask("POST", "/classify?top=0", photo_), 400, "top: expected 1 to 1000");
    expect(one.ask("POST", "/classify?model=other", photo_), 404, "unknown");
    expect(one.ask("POST", "/search", photo_), 404, "--index");
    expect(one.ask("POST", "/v2/models/tiny/infer", "no image",
                   "Inference-Header-Content-Length: 0\r\n"),
           400, "image 0");
    expect(one.ask("POST", "/classify", "x", "Content-Encoding: br\r\n"), 415, "gzip or deflate");
    expect(one.ask("POST", "/v2/repository/models/tiny/load",
                   R"({"parameters":{"file:1/model":"x"}})"),
           501, "when the server is started");
    EXPECT_EQ(one.ask("GET", "/v2").status, 200);  // none of them cost the connection
}

// 65500 x 65500 pixels are refused before anything is decoded.
TEST_F(Serve, HugeImagesAreRefusedByTheirHeads) {
    start();
    std::string huge = photo_;
    for (const std::size_t at : {16, 20}) huge.replace(at, 4, std::string("\x00\x00\xff\xdc", 4));
    const Answer answer = ask("POST", "/classify", huge);
    EXPECT_THAT(answer.status, testing::AnyOf(413, 422)) << answer.body;
    EXPECT_LT(answer.seconds, 2);
}

TEST_F(Serve, SaysItsPrecision) {
    start({"--precision", "int8", "--set", "quantize.keep=blocks.0.*"});
    EXPECT_EQ(ask("GET", "/stats").json()["models"][0]["precision"], "int8");
    EXPECT_EQ(ask("GET", "/v2/models/tiny").json()["parameters"]["precision"], "int8");
    EXPECT_EQ(
        ask("GET", "/v2/models/tiny/config").json()["parameters"]["precision"]["string_value"],
        "int8");
    EXPECT_EQ(classify().status, 200);
}

TEST_F(Serve, CountsWhatItDid) {
    start();
    for (int i = 0; i < 3; ++i) ASSERT_EQ(classify().status, 200);
    ask("POST", "/classify", "no image");
    const std::string metrics = ask("GET", "/metrics").body;
    EXPECT_THAT(metrics,
                AllOf(HasSubstr("nv_inference_request_success{model=\"tiny\",version=\"1\"} 3\n"),
                      HasSubstr("nv_inference_request_failure{model=\"tiny\",version=\"1\",reason="
                                "\"OTHER\"} 1\n"),
                      HasSubstr("nv_inference_count{model=\"tiny\",version=\"1\"} 3\n"),
                      HasSubstr("cait_http_responses_total{status=\"422\"} 1\n"),
                      HasSubstr("cait_connections 1\n")));
    const json stats = ask("GET", "/stats").json();
    EXPECT_EQ(stats["models"][0]["requests"], 3);
    EXPECT_GT(double(stats["models"][0]["images_per_second"]), 0);
    const json triton = ask("GET", "/v2/models/tiny/stats").json()["model_stats"][0];
    EXPECT_EQ(triton["inference_count"], 3);
    EXPECT_EQ(triton["inference_stats"]["success"]["count"], 3);
    EXPECT_EQ(ask("GET", "/v2/models/stats").json()["model_stats"].size(), 1U);
}

TEST_F(Serve, WantsATokenWhereOneIsGiven) {
    write("token", "correct-horse-battery\n");
    start({"--token-file", path("token")});
    EXPECT_EQ(ask("GET", "/v2").status, 401);
    EXPECT_EQ(ask("GET", "/metrics").status, 401);
    EXPECT_EQ(classify().status, 401);
    EXPECT_EQ(ask("GET", "/v2", "", "Authorization: Bearer correct-horse\r\n").status, 401);
    EXPECT_EQ(ask("GET", "/v2", "", "Authorization: Bearer correct-horse-batteryx\r\n").status,
              401);
    EXPECT_EQ(ask("GET", "/v2", "", "Authorization: Basic correct-horse-battery\r\n").status, 401);
    EXPECT_EQ(ask("GET", "/v2/health/ready").status, 200);
    EXPECT_EQ(
        ask("GET", "/v2/models/tiny", "", "Authorization: Bearer correct-horse-battery\r\n").status,
        200);
}

TEST_F(Serve, WritesALogLineForEachAnswer) {
    start({"--log", path("log.jsonl")});
    classify();
    ask("GET", "/x%1b[31m\xc3\xa9?secret");
    EXPECT_EQ(stop(), 0);
    std::istringstream lines(read(path("log.jsonl")));
    std::string line;
    ASSERT_TRUE(std::getline(lines, line));
    const json first = json::parse(line);
    EXPECT_EQ(first["status"], 200);
    EXPECT_EQ(first["method"], "POST");
    EXPECT_EQ(first["target"], "/classify");
    EXPECT_EQ(first["received"], photo_.size());
    EXPECT_EQ(first["client"], "127.0.0.1");
    ASSERT_TRUE(std::getline(lines, line));
    EXPECT_EQ(json::parse(line)["status"], 400);
}

TEST_F(Serve, SeveralModelsAndVersions) {
    model(1).save(path("other.safetensors"));
    start({"a=" + path("tiny.safetensors"), "a=" + path("other.safetensors"),
           "b=" + path("tiny.safetensors"), "--control"});
    const json index = ask("POST", "/v2/repository/index").json();
    ASSERT_EQ(index.size(), 3U);
    EXPECT_EQ(index[1],
              (json{{"name", "a"}, {"version", "2"}, {"state", "READY"}, {"reason", ""}}));
    const json newest = classify("?model=a").json(), first = classify("?model=a&version=1").json();
    EXPECT_NE(newest, first);
    EXPECT_EQ(classify("?model=b").json(), first);
    EXPECT_EQ(ask("POST", "/v2/repository/models/a/unload").status, 200);
    EXPECT_EQ(ask("GET", "/v2/models/a/ready").status, 503);
    EXPECT_EQ(ask("GET", "/v2/health/ready").status, 503);
    EXPECT_EQ(classify("?model=a").status, 400);
    EXPECT_EQ(classify("?model=b").status, 200);
    EXPECT_EQ(ask("POST", "/v2/repository/models/a/load").status, 200);
    EXPECT_EQ(classify("?model=a").json(), newest);
}

// Case 30: the old model serves on, and the answer does not say where files lie.
TEST_F(Serve, ACorruptFileLeavesTheOldModelServing) {
    start({"--control"});
    const json before = classify().json();
    write("tiny.safetensors", "garbage");
    const Answer refused = ask("POST", "/v2/repository/models/tiny/load");
    EXPECT_EQ(refused.status, 400);
    EXPECT_THAT(refused.error(), Not(HasSubstr(folder_.string())));
    EXPECT_EQ(classify().json(), before);
    std::filesystem::remove(path("tiny.safetensors"));
    model(1).save(path("tiny.safetensors"));
    EXPECT_EQ(ask("POST", "/v2/repository/models/tiny/load").status, 200);
    EXPECT_NE(classify().json(), before);
    running_->signal(SIGHUP);  // the same by a signal
    model(0).save(path("next"));
    std::filesystem::rename(path("next"), path("tiny.safetensors"));
    running_->signal(SIGHUP);
    EXPECT_TRUE(eventually([&] { return classify().json() == before; }, 30));
    EXPECT_EQ(stop(), 0);
}

TEST_F(Serve, RefusesToStartWithWhatItCannotDo) {
    expect_refused(cait({"serve", path("none.safetensors"), "--port", "0"}), 1,
                   {"none.safetensors", "cannot open"});
    expect_refused(cait({"serve", path("tiny.safetensors"), "--host", "nowhere"}), 2,
                   {"--host", "'nowhere'"});
    expect_refused(cait({"serve", path("tiny.safetensors"), "--key", path("k")}), 2,
                   {"--certificate and --key"});
    expect_refused(cait({"serve", path("tiny.safetensors"), "--pictures", folder_.string()}), 2,
                   {"--pictures: expected --index"});
    expect_refused(cait({"serve", "a/b=" + path("tiny.safetensors"), "--port", "0"}), 2,
                   {"expected a name"});
    write("token", "short");
    expect_refused(
        cait({"serve", path("tiny.safetensors"), "--token-file", path("token"), "--port", "0"}), 1,
        {"8 to 4096"});
    start();
    expect_refused(cait({"serve", path("tiny.safetensors"), "--port", std::to_string(port_)}), 1,
                   {"cannot listen", std::to_string(port_)});
}

// What copies new weights over old ones in place empties the old file first.
TEST_F(Serve, AFileThatIsOverwrittenDisturbsNobody) {
    start();
    const json before = classify().json();
    std::filesystem::resize_file(path("tiny.safetensors"), 10);
    EXPECT_EQ(ask("POST", "/embed", photo_).status, 200);  // outputs that were not prepared yet
    EXPECT_EQ(classify("?attention=1").status, 200);
    EXPECT_EQ(classify().json(), before);
    EXPECT_EQ(stop(), 0);
}

// Refusals and small questions are answered while all processors compute.
TEST_F(Serve, OneThreadAnswersAndTheOthersDoNotInterruptIt) {
    if (!test::may_be_patient()) GTEST_SKIP() << "this system does not allow it";
    start({"--threads", "2", "--workers", "2", "--control"});
    EXPECT_EQ(ask("POST", "/v2/repository/models/tiny/load").status, 200);
    std::map<int, int> threads;  // by policy
    for (const auto& task :
         std::filesystem::directory_iterator("/proc/" + std::to_string(running_->pid()) + "/task"))
        ++threads[::sched_getscheduler(std::stoi(task.path().filename().string()))];
    EXPECT_EQ(threads.size(), 2U);
#if defined(__SANITIZE_THREAD__)
    EXPECT_EQ(threads[SCHED_OTHER], 2);  // the sanitizer has one of its own
#else
    EXPECT_EQ(threads[SCHED_OTHER], 1);
#endif
    EXPECT_GE(threads[SCHED_BATCH], 6);  // two that decode, two of the engine, loader, pictures
}

TEST_F(Serve, RunsInTheSandbox) {
    start();
    EXPECT_EQ(status_of(running_->pid(), "Seccomp"), "2");
    EXPECT_EQ(status_of(running_->pid(), "NoNewPrivs"), "1");
    EXPECT_EQ(classify().status, 200);
}

}  // namespace
}  // namespace cait::e2e
