// A whole connection: the server's own, over a pair of sockets whose loop is polled. Whatever is
// sent, nothing may escape, every answer must be one, and all memory must come back. Some bytes are
// no text but say what the client does, so that long lines and pauses need few of them:
//   0xff N C   the character C, 512 * N times
//   0xfe       the server gets what was sent so far
//   0xfd       the client sends nothing more
#include <cstdint>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "serve/http/query.h"
#include "support/polled_connection.h"

namespace {

using namespace cait::serve;

constexpr const char* kOnPurpose = "on purpose";

void check(bool holds) {
    if (!holds) std::abort();
}

std::optional<Response> refusal(const Request& head) {
    path_words(head.path());
    if (head.target.starts_with("/refuse")) return error_response(404, "refused");
    if (head.target == "/throw-early") throw std::runtime_error(kOnPurpose);
    return std::nullopt;
}

void answer(const Request& request, const Reply& reply, std::vector<Reply>& later) {
    if (request.target == "/throw") throw std::runtime_error(kOnPurpose);
    if (request.target == "/none") return;
    if (request.target == "/later") return later.push_back(reply);
    reply({.body = std::string(request.target == "/large" ? 300'000 : request.body.size(), 'x')});
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    std::vector<Reply> later;
    cait::test::PolledConnection client;
    client.most_kept = 64;
    client.limits.body = std::size_t{1} << 20;
    client.hooks.on_head = refusal;
    client.hooks.on_request = [&](const auto& request, const Reply& reply) {
        answer(*request, reply, later);
    };
    client.hooks.on_answer = [](const Exchange& exchange) { check(exchange.status >= 200); };
    client.hooks.on_fault = [](std::string_view what) { check(what == kOnPurpose); };
    client.start();
    std::string text;
    const auto flush = [&] {
        client.send(text);
        text.clear();
        client.turn();
    };
    for (std::size_t i = 0; i < size; ++i) {
        if (data[i] == 0xff && i + 2 < size) {
            text.append(std::size_t{512} * data[i + 1], char(data[i + 2]));
            i += 2;
        } else if (data[i] == 0xfe) {
            flush();
        } else if (data[i] == 0xfd) {
            flush();
            client.send_no_more();
        } else {
            text += char(data[i]);
        }
        if (text.size() > (std::size_t{4} << 20)) flush();
    }
    flush();
    client.turns();
    check(client.got.empty() || client.got.starts_with("HTTP/1.1 "));
    while (!later.empty()) {  // nobody answers, nor what was sent behind it
        later.clear();
        client.turn();
    }
    client.leave();
    check(client.is_over());
    check(client.account->used() == 0);
    return 0;
}
