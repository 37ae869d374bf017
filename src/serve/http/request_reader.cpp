#include "serve/http/request_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include <boost/asio/buffer.hpp>
#include <boost/beast/core/buffers_range.hpp>
#include <boost/beast/http/parser.hpp>

#include "serve/http/head_rules.h"

namespace cait::serve {

namespace {

namespace beast = boost::beast;
namespace http = beast::http;

// As the library's string_body, but memory is taken for bytes that came and not for those that a
// client only promises.
struct GrowingBody {
    using value_type = std::string;
    class reader {
    public:
        template <bool isRequest, class Fields>
        reader(http::header<isRequest, Fields>&, value_type& body) : body_(body) {}
        void init(const boost::optional<std::uint64_t>&, beast::error_code& problem) {
            problem = {};
        }
        template <class Buffers>
        std::size_t put(const Buffers& buffers, beast::error_code& problem) {
            problem = {};
            std::size_t total = 0;
            for (const auto buffer : beast::buffers_range_ref(buffers)) {
                body_.append(static_cast<const char*>(buffer.data()), buffer.size());
                total += buffer.size();
            }
            return total;
        }
        void finish(beast::error_code& problem) { problem = {}; }

    private:
        value_type& body_;
    };
};

int status_of(const beast::error_code& problem) {
    if (problem == http::error::body_limit) return 413;
    if (problem == http::error::header_limit) return 431;
    if (problem == http::error::bad_version) return 505;
    return 400;
}

std::string lower(std::string_view text) {
    std::string result(text);
    std::ranges::transform(result, result.begin(),
                           [](unsigned char c) { return char(std::tolower(c)); });
    return result;
}

std::string text_of(const beast::string_view& view) { return {view.data(), view.size()}; }

}  // namespace

struct RequestReader::State {
    Limits limits;
    HeadScan scan;
    std::string pending;  // what the parser has not taken yet
    http::request_parser<GrowingBody> parser;
    std::size_t chunks = 0;
    std::function<void(std::uint64_t, beast::string_view, beast::error_code&)> count_chunk;
    Request request;
    HeadFacts facts;
    bool head_done = false;

    explicit State(const Limits& with) : limits(with) {
        parser.header_limit(std::uint32_t(limits.head));
        parser.body_limit(limits.body);
        parser.eager(true);
        count_chunk = [this](std::uint64_t, beast::string_view, beast::error_code& problem) {
            problem = {};
            if (++chunks > limits.chunks) problem = http::error::body_limit;
        };
        parser.on_chunk_header(count_chunk);
    }

    // The parser takes what it can; a piece that is cut in the middle stays for the next time.
    void parse() {
        std::size_t used = 0;
        while (used < pending.size() && !parser.is_done()) {
            beast::error_code problem;
            const std::size_t n = parser.put(
                boost::asio::buffer(pending.data() + used, pending.size() - used), problem);
            used += n;
            if (problem && problem != http::error::need_more)
                throw HttpError(status_of(problem), "request: " + problem.message());
            if (!head_done && parser.is_header_done()) read_head();
            if (problem) break;
            if (n == 0) break;
        }
        pending.erase(0, used);
        // Sizes and extensions of chunks, and fields after the last one, are lines as well.
        if (head_done && pending.size() > limits.head + 65536)
            throw HttpError(400, "request: a line of the body is too long");
    }

    void read_head() {
        const auto& message = parser.get();
        request.method = text_of(message.method_string());
        request.target = text_of(message.target());
        for (const auto& field : message)
            request.fields.push_back({lower(text_of(field.name_string())), text_of(field.value())});
        facts = check_fields(request, message.version() < 11);
        if (facts.content_length > limits.body)
            throw HttpError(413, fmt::format("body: expected at most {} bytes, found {}",
                                             limits.body, facts.content_length));
        head_done = true;
    }
};

RequestReader::RequestReader(const Limits& limits) : state_(std::make_unique<State>(limits)) {}
RequestReader::~RequestReader() = default;

RequestReader::Progress RequestReader::feed(std::string_view bytes) {
    State& s = *state_;
    s.pending += bytes;
    if (!s.head_done) {
        const std::size_t end = s.scan.end_of(s.pending);
        if ((end == 0 ? s.pending.size() : end) > s.limits.head)
            throw HttpError(431, fmt::format("head: expected at most {} bytes", s.limits.head));
        if (end == 0) return Progress::head;
    }
    s.parse();
    if (!s.head_done) throw HttpError(400, "request: the head has no end");
    return s.parser.is_done() ? Progress::done : Progress::body;
}

std::size_t RequestReader::held() const {
    return state_->pending.capacity() + state_->parser.get().body().capacity();
}

const Request& RequestReader::request() const { return state_->request; }
bool RequestReader::keep_alive() const {
    return state_->head_done && state_->parser.get().keep_alive();
}

bool RequestReader::expects_continue() const {
    const std::string* expect = state_->request.field("expect");
    return expect != nullptr && lower(*expect) == "100-continue";
}

std::size_t RequestReader::missing() const {
    const State& s = *state_;
    if (s.parser.is_done()) return 0;
    return s.facts.chunked ? s.limits.body : s.facts.content_length - s.parser.get().body().size();
}

Request RequestReader::take() {
    state_->request.body = std::move(state_->parser.get().body());
    return std::move(state_->request);
}

std::string RequestReader::rest() const { return state_->pending; }

}  // namespace cait::serve
