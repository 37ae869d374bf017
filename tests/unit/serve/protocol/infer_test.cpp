// Requests of the protocol and their answers, against a tiny model of 16x16 pixels and 3 classes.
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>

#include "report/html.h"
#include "serve/protocol/infer_request.h"
#include "serve/protocol/infer_response.h"
#include "unit/serve/support.h"

namespace cait::serve {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::size_t kPixels = 3 * 16 * 16;

Request request_of(const json& tree, const std::string& binary = "") {
    Request request;
    request.body = tree.dump();
    if (!binary.empty())
        request.fields.push_back(
            {"inference-header-content-length", std::to_string(request.body.size())});
    request.body += binary;
    return request;
}

json images_input(std::int64_t count = 1) {
    return {{"name", "images"},
            {"datatype", "FP32"},
            {"shape", {count, 3, 16, 16}},
            {"data", std::vector<float>(std::size_t(count) * kPixels, 0.5F)}};
}
json with(const json& input) { return {{"inputs", json::array({input})}}; }
json with(json input, const char* key, const json& value) {
    input[key] = value;
    return with(input);
}

InferRequest parse(const Request& request) { return parse_infer_request(request, *tiny_served()); }
Refusal refused(const Request& request) {
    return refusal_of([&] { parse(request); });
}
Refusal refused(const json& tree) { return refused(request_of(tree)); }

std::string bytes_of(const std::vector<float>& values) {
    return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)};
}
std::string element(const std::string& bytes) {
    const auto length = std::uint32_t(bytes.size());
    return std::string(reinterpret_cast<const char*>(&length), 4) + bytes;
}

TEST(InferRequest, ReadsJsonTensors) {
    json tree = with(images_input(2));
    tree["id"] = "seven";
    const InferRequest flat = parse(request_of(tree));
    EXPECT_EQ(flat.id, "seven");
    EXPECT_EQ(flat.count(), 2U);
    EXPECT_THAT(flat.taps(), ElementsAre("logits"));
    EXPECT_FALSE(flat.outputs[0].binary);
    json nested = json::array();
    for (int c = 0; c < 3; ++c) nested.push_back(std::vector(16, std::vector<float>(16, float(c))));
    const InferRequest deep =
        parse(request_of(with(images_input(), "data", json::array({nested}))));
    EXPECT_EQ(deep.images.floats()[0], 0);
    EXPECT_EQ(deep.images.floats()[kPixels - 1], 2);
}

TEST(InferRequest, ReadsBinaryTensors) {
    json input = images_input();
    input.erase("data");
    input["parameters"] = {{"binary_data_size", kPixels * 4}};
    std::vector<float> values(kPixels);
    for (std::size_t i = 0; i < kPixels; ++i) values[i] = float(i);
    const InferRequest request = parse(request_of(with(input), bytes_of(values)));
    EXPECT_EQ(request.images.floats()[17], 17);
    for (const std::size_t size : {kPixels * 4 - 4, kPixels * 4 + 4, std::size_t{0}}) {
        input["parameters"]["binary_data_size"] = size;
        EXPECT_EQ(refused(request_of(with(input), bytes_of(values))).status, 400) << size;
    }
    input["parameters"]["binary_data_size"] = -1;
    EXPECT_EQ(refused(request_of(with(input), bytes_of(values))).status, 400);
    input["parameters"]["binary_data_size"] = kPixels * 4;
    EXPECT_EQ(refused(request_of(with(input), bytes_of(values) + "x")).status, 400);
}

TEST(InferRequest, ReadsFilesAsBytes) {
    json input{{"name", "encoded"}, {"datatype", "BYTES"}, {"shape", {2}}};
    const std::string binary = element("first") + element("second file");
    input["parameters"] = {{"binary_data_size", binary.size()}};
    EXPECT_THAT(parse(request_of(with(input), binary)).encoded,
                ElementsAre("first", "second file"));
    input["shape"] = {2, 1};
    EXPECT_EQ(parse(request_of(with(input), binary)).count(), 2U);
    input["shape"] = {3};
    EXPECT_EQ(refused(request_of(with(input), binary)).status, 400);
    input["shape"] = {1};
    EXPECT_EQ(refused(request_of(with(input), binary)).status, 400);
    const std::string cut = binary.substr(0, binary.size() - 1);
    input = {{"name", "encoded"},
             {"datatype", "BYTES"},
             {"shape", {2}},
             {"parameters", {{"binary_data_size", cut.size()}}}};
    EXPECT_EQ(refused(request_of(with(input), cut)).status, 400);
    const InferRequest text = parse(request_of(with(
        json{{"name", "encoded"}, {"datatype", "BYTES"}, {"shape", {1}}, {"data", {"aGVsbG8="}}})));
    EXPECT_THAT(text.encoded, ElementsAre("hello"));
}

TEST(InferRequest, ABodyWithoutJsonIsOneImage) {
    Request request;
    request.fields.push_back({"inference-header-content-length", "0"});
    request.body = bytes_of(std::vector<float>(kPixels, 0.25F));
    EXPECT_EQ(parse(request).images.floats()[5], 0.25F);
    request.body = "a file";
    EXPECT_THAT(parse(request).encoded, ElementsAre("a file"));
    EXPECT_TRUE(parse(request).outputs[0].binary);
    request.body = "";
    EXPECT_EQ(refused(request).status, 400);
    for (const char* wrong : {"-1", "1x", "", "99999999999999999999", "7"}) {
        request.body = "{}";
        request.fields[0].value = wrong;
        EXPECT_EQ(refused(request).status, 400) << wrong;
    }
}

// Case 27 of what a server must refuse.
TEST(InferRequest, RefusesWhatDoesNotFitTogether) {
    const json one = images_input();
    std::vector<float> short_data(kPixels - 1, 0.5F);
    const std::vector<std::pair<const char*, json>> wrong = {
        {"fewer values than the shape says", with(one, "data", short_data)},
        {"more images than data", with(one, "shape", {2, 3, 16, 16})},
        {"a negative extent", with(one, "shape", {-1, 3, 16, 16})},
        {"extents that overflow", with(one, "shape", {std::uint64_t{1} << 62, 3, 16, 16})},
        {"an extent beyond 64 bits", with(one, "shape", {1e30, 3, 16, 16})},
        {"a fraction", with(one, "shape", {1.5, 3, 16, 16})},
        {"no images", with(one, "shape", {0, 3, 16, 16})},
        {"another size", with(one, "shape", {1, 3, 8, 32})},
        {"another rank", with(one, "shape", {3, 16, 16})},
        {"no shape", with(one, "shape", nullptr)},
        {"another type", with(one, "datatype", "INT64")},
        {"a type that does not exist", with(one, "datatype", "FLOAT")},
        {"no type", with(one, "datatype", 5)},
        {"another name", with(one, "name", "pixels")},
        {"texts", with(one, "data", std::vector<std::string>(kPixels, "a"))},
        {"data and binary data", with(one, "parameters", {{"binary_data_size", 4}})},
        {"lists of another shape",
         with(one, "data", json::array({std::vector<float>(kPixels, 1)}))},
        {"no inputs", json::object()},
        {"two inputs", {{"inputs", json::array({one, one})}}},
        {"an input that is no object", {{"inputs", {1}}}},
        {"inputs that are no list", {{"inputs", one}}},
        {"a list", json::array()},
        {"an id that is no text",
         [&] {
             json t = with(one);
             t["id"] = 5;
             return t;
         }()},
        {"parameters that are no object", with(one, "parameters", {1})},
        {"too many images", with(images_input(65))},
    };
    for (const auto& [name, tree] : wrong) EXPECT_EQ(refused(tree).status, 400) << name;
    json none = images_input();
    none.erase("data");
    EXPECT_EQ(refused(with(none)).status, 400);
    std::vector<float> values(kPixels, 1);
    values[7] = std::numeric_limits<float>::quiet_NaN();
    none["parameters"] = {{"binary_data_size", kPixels * 4}};
    EXPECT_THAT(refused(request_of(with(none), bytes_of(values))).text, HasSubstr("finite"));
}

TEST(InferRequest, ChecksOutputs) {
    const auto outputs = [](const json& list) {
        json tree = with(images_input());
        tree["outputs"] = list;
        return tree;
    };
    const InferRequest two = parse(
        request_of(outputs({{{"name", "logits"}, {"parameters", {{"classification", 2}}}},
                            {{"name", "features"}, {"parameters", {{"binary_data", true}}}}})));
    EXPECT_THAT(two.taps(), ElementsAre("features", "logits"));
    EXPECT_EQ(two.outputs[0].classes, 2U);
    EXPECT_TRUE(two.outputs[1].binary);
    json all = outputs({{{"name", "logits"}}});
    all["parameters"] = {{"binary_data_output", true}, {"timeout", 2'000'000}};
    EXPECT_TRUE(parse(request_of(all)).outputs[0].binary);
    EXPECT_EQ(parse(request_of(all)).timeout, 2);
    for (const json& wrong :
         {json({{{"name", "nonsense"}}}), json({{{"name", "logits"}}, {{"name", "logits"}}}),
          json({{{"name", 5}}}), json({5}), json("logits"),
          json({{{"name", "logits"}, {"parameters", {{"binary_data", 1}}}}}),
          json({{{"name", "logits"}, {"parameters", {{"classification", -1}}}}}),
          json({{{"name", "tokens"}, {"parameters", {{"classification", 1}}}}})})
        EXPECT_EQ(refused(outputs(wrong)).status, 400) << wrong;
}

std::map<std::string, Tensor> some_outputs() {
    return {{"logits", Tensor::of({2, 3}, std::vector<float>{0.1F, 2, -1, 3, 1e-7F, 0.5F})}};
}

TEST(InferResponse, PrintsNumbersThatReadBackAsTheSame) {
    InferRequest request{.id = "a\"b", .outputs = {{"logits"}}};
    const Response response = infer_response(request, *tiny_served(), some_outputs());
    const json tree = json::parse(response.body);
    EXPECT_EQ(tree["model_name"], "tiny");
    EXPECT_EQ(tree["model_version"], "1");
    EXPECT_EQ(tree["id"], "a\"b");
    EXPECT_EQ(tree["outputs"][0]["shape"], (json{2, 3}));
    EXPECT_EQ(tree["outputs"][0]["datatype"], "FP32");
    EXPECT_EQ(tree["outputs"][0]["data"].get<std::vector<float>>(),
              (std::vector<float>{0.1F, 2, -1, 3, 1e-7F, 0.5F}));
}

TEST(InferResponse, PutsBinaryOutputsAfterTheJson) {
    InferRequest request{.outputs = {{"logits", true}}};
    const Response response = infer_response(request, *tiny_served(), some_outputs());
    ASSERT_EQ(response.fields.at(0).name, "Inference-Header-Content-Length");
    const std::size_t length = std::stoul(response.fields[0].value);
    const json tree = json::parse(response.body.substr(0, length));
    EXPECT_EQ(tree["outputs"][0]["parameters"]["binary_data_size"], 24);
    EXPECT_FALSE(tree["outputs"][0].contains("data"));
    float value = 0;
    std::memcpy(&value, response.body.data() + length + 4, sizeof value);
    EXPECT_EQ(value, 2);
    EXPECT_EQ(response.body.size(), length + 24);
}

TEST(InferResponse, NamesTheLikeliestClasses) {
    InferRequest request{.outputs = {{"logits", false, 2}}};
    const json tree =
        json::parse(infer_response(request, *tiny_served(), some_outputs()).body)["outputs"][0];
    EXPECT_EQ(tree["datatype"], "BYTES");
    EXPECT_EQ(tree["shape"], (json{2, 2}));
    EXPECT_EQ(tree["data"],
              (json{"2.000000:1:dog", "0.100000:0:cat", "3.000000:0:cat", "0.500000:2:fish"}));
    request.outputs[0].classes = 10;  // as many as there are
    EXPECT_EQ(
        json::parse(
            infer_response(request, *tiny_served(), some_outputs()).body)["outputs"][0]["shape"],
        (json{2, 3}));
}

TEST(InferResponse, NeverAnswersWithNumbersThatAreNone) {
    InferRequest request{.outputs = {{"logits"}}};
    std::map<std::string, Tensor> outputs = some_outputs();
    outputs["logits"].mutable_floats()[0] = std::numeric_limits<float>::infinity();
    EXPECT_THROW(infer_response(request, *tiny_served(), outputs), Error);
}

// Whose fault it is: values that no prepared image has are the request's.
TEST(InferResponse, BlamesWhoeverMadeItOverflow) {
    std::map<std::string, Tensor> outputs = some_outputs();
    outputs["logits"].mutable_floats()[4] = std::numeric_limits<float>::quiet_NaN();
    const auto status = [&](std::optional<float> largest, const char* text) {
        const InferRequest request{.largest = largest, .outputs = {{"logits"}}};
        try {
            infer_response(request, *tiny_served(), outputs);
        } catch (const HttpError& error) {
            EXPECT_THAT(error.what(), testing::HasSubstr(text));
            return error.status();
        } catch (const Error& error) {
            EXPECT_THAT(error.what(), testing::HasSubstr(text));
            return 500;
        }
        return 200;
    };
    EXPECT_EQ(status(3e38F,
                     "input images: image 1: output logits: expected finite values, found "
                     "nan: the input's values reach 3e+38"),
              400);
    EXPECT_EQ(status(2.5F,
                     "input images: image 1: output logits: expected finite values, found "
                     "nan: the weights are damaged"),
              500);
    EXPECT_EQ(status({}, "input encoded: image 1: "), 500);
}

// Known before anything is computed, and enough for what then comes.
TEST(InferResponse, ItsSizeIsKnownBefore) {
    InferRequest request{.id = std::string(100, '"'), .images = Tensor::zeros(DType::f32, {40, 1})};
    Tensor values = Tensor::empty(DType::f32, {40, 3});
    for (std::size_t i = 0; i < 120; ++i)
        values.mutable_floats()[i] = (i % 2 == 0 ? -1.2345678e-30F : 0.12345678F) * float(i + 1);
    for (const RequestedOutput& output :
         {RequestedOutput{"logits"}, {"logits", true}, {"logits", false, 3}, {"logits", true, 2}}) {
        request.outputs = {output};
        const std::uint64_t expected = answer_bytes(request, *tiny_served(), request.count());
        const Response response = infer_response(request, *tiny_served(), {{"logits", values}});
        EXPECT_LE(response.body.size(), expected);
        EXPECT_EQ(response.body.capacity(), expected);  // taken once
        EXPECT_LT(expected, 2 * response.body.size() + 20'000);
    }
    request.outputs = {{"logits"}};
    const std::uint64_t small = answer_bytes(request, *tiny_served(), request.count());
    request.images = Tensor::zeros(DType::f32, {4000, 1});
    EXPECT_NEAR(double(answer_bytes(request, *tiny_served(), request.count()) - small), 3960.0 * 3 * 16, 1);
}

}  // namespace
}  // namespace cait::serve
