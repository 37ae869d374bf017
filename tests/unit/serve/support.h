// Helpers of the server's tests: what a refusal says, and tiny models that are served.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "serve/engine/served_model.h"
#include "serve/http/message.h"
#include "serve/service.h"
#include "support/tiny_model.h"
#include "support/tiny_translator.h"

namespace cait::serve {

struct Refusal {
    int status = 0;  // 0: none
    std::string text{};
};

inline Refusal refusal_of(const std::function<void()>& work) {
    try {
        work();
    } catch (const HttpError& error) {
        return {error.status(), error.what()};
    }
    return {};
}

// What the whole service answers, without sockets.
inline Response answer_of(Service& service, const std::string& method, const std::string& target,
                          std::string body = "", std::vector<Field> fields = {}) {
    auto request = std::make_shared<Request>();
    request->method = method;
    request->target = target;
    request->body = std::move(body);
    request->fields = std::move(fields);
    if (auto refused = service.check_head(*request)) return *refused;
    auto promise = std::make_shared<std::promise<Response>>();
    service.handle(request,
                   [promise](Response response) { promise->set_value(std::move(response)); });
    return promise->get_future().get();
}

using test::tiny_model;

inline ModelSource tiny_source(const std::string& name = "tiny", const std::string& version = "1",
                               std::uint64_t seed = 0) {
    return {name, version, "/secret/place/" + name + ".safetensors",
            [seed] { return tiny_model(seed); }};
}

inline EngineOptions tiny_options() { return {.threads = 1, .batch = 4, .bound = 5}; }

// Made once: packing and measuring take a while.
inline ServedModelPtr tiny_served() {
    static const auto model = std::make_shared<const ServedModel>(tiny_source(), tiny_options(),
                                                                  std::make_shared<ModelStats>());
    return model;
}

inline ModelSource translator_source(const std::string& name = "words") {
    return {name, "1", "/secret/place/" + name + ".safetensors",
            [] { return test::tiny_translator(); }};
}

inline ServedModelPtr tiny_served_translator() {
    static const auto model = std::make_shared<const ServedModel>(
        translator_source(), tiny_options(), std::make_shared<ModelStats>());
    return model;
}

}  // namespace cait::serve
