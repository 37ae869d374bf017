// A `cait serve` that runs while a test asks it.
#pragma once

#include <algorithm>
#include <csignal>

#include "e2e/tiny_models.h"
#include "support/http_client.h"
#include "support/tiny_model.h"
#include "unit/data/support.h"

namespace cait::e2e {

using test::Answer;
using test::HttpClient;

class Served : public InFolder {
protected:
    Served() {
        model(0).save(path("tiny.safetensors"));
        photo_ = data_test::png(data_test::numbered_image(7, 60, 40));
    }

    static Model model(std::uint64_t seed) { return test::tiny_model(seed); }

    // On a port that is free. Its stderr goes to a file that can be read meanwhile.
    void start(const Words& words = {}, const std::string& prefix = "") {
        const Words files =
            words.empty() || words[0].starts_with("-") ? Words{path("tiny.safetensors")} : Words{};
        std::filesystem::remove(path("stderr"));  // of one that ran before
        running_.emplace(
            prefix + "exec \"$@\" 2>'" + path("stderr") + "'",
            Words{"serve"} + files + words + Words{"--port", "0"} +
                (std::ranges::count(words, "--grace") > 0 ? Words{} : Words{"--grace", "0"}));
        const auto announced = [&] {
            const std::string text = read(path("stderr"));
            const std::size_t at = text.find("listening at ");
            const std::size_t end = text.find('\n', at == std::string::npos ? 0 : at);
            if (at == std::string::npos || end == std::string::npos) return false;
            port_ = std::stoi(text.substr(text.rfind(':', end) + 1));
            return true;
        };
        ASSERT_TRUE(eventually([&] { return announced() || running_->over(); }, 120));
        ASSERT_TRUE(announced()) << read(path("stderr"));
    }

    HttpClient client() const { return HttpClient(port_); }
    Answer ask(const std::string& method, const std::string& target, const std::string& body = "",
               const std::string& fields = "") const {
        return client().ask(method, target, body, fields);
    }
    Answer classify(const std::string& query = "") const {
        return ask("POST", "/classify" + query, photo_);
    }

    // Ends it as a system would; its exit code.
    int stop() {
        running_->signal(SIGTERM);
        return running_->wait().status;
    }

    std::optional<Running> running_;
    int port_ = 0;
    std::string photo_;
};

}  // namespace cait::e2e
