// Helpers of the server's tests: what a refusal says, and tiny models that are served.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>

#include "serve/engine/served_model.h"
#include "serve/http/message.h"
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
