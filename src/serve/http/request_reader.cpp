#include "serve/http/request_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include <boost/asio/buffer.hpp>
#include <boost/beast/core/buffers_range.hpp>
#include <boost/beast/http/parser.hpp>

#include "base/text.h"
#include "serve/http/head_rules.h"

namespace cait::serve {

namespace {

namespace beast = boost::beast;
namespace http = beast::http;

// A body whose memory is charged before it is taken.
struct ChargedText {
    std::string text;
    Charge* charge = nullptr;
    std::size_t most = 0;  // bytes
};

// As the library's string_body, but memory is taken for bytes that came and not for those that a
// client only promises.
struct GrowingBody {
    using value_type = ChargedText;
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
                append_charged(body_.text, {static_cast<const char*>(buffer.data()), buffer.size()},
                               body_.most, *body_.charge, "body");
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

std::string text_of(const beast::string_view& view) { return {view.data(), view.size()}; }

}  // namespace

struct RequestReader::State {
    Limits limits;
    Charge charge;
    HeadScan scan;
    std::string pending;  // what the parser has not taken yet
    http::request_parser<GrowingBody> parser;
    std::size_t chunks = 0, extensions = 0;
    std::function<void(std::uint64_t, beast::string_view, beast::error_code&)> count_chunk;
    Request request;
    HeadFacts facts;
    bool head_done = false;

    State(const Limits& with, std::shared_ptr<MemoryAccount> memory)
        : limits(with), charge(std::move(memory), Charge::Stage::small) {
        parser.header_limit(std::uint32_t(limits.head));
        parser.body_limit(limits.body);
        parser.eager(true);
        parser.get().body().charge = &charge;
        parser.get().body().most = limits.body;
        count_chunk = [this](std::uint64_t, beast::string_view extension,
                             beast::error_code& problem) {
            problem = {};
            extensions += extension.size();
            if (extensions > limits.head) problem = http::error::header_limit;
            if (++chunks > limits.chunks) problem = http::error::body_limit;
        };
        parser.on_chunk_header(count_chunk);
    }

    void append(std::string_view bytes) {
        append_charged(pending, bytes, limits.head + bytes.size(), charge, "request");
    }

    // The parser takes what it can; returns how much that is. Lines of a body (sizes of chunks,
    // fields after the last one) it takes whole, and would take at any length: it is shown no more
    // than a head may have.
    std::size_t parse(std::string_view bytes) {
        std::size_t used = 0;
        while (used < bytes.size() && !parser.is_done()) {
            const std::size_t left = bytes.size() - used;
            const std::size_t shown = std::min(left, limits.head);
            beast::error_code problem;
            const std::size_t n =
                parser.put(boost::asio::buffer(bytes.data() + used, shown), problem);
            used += n;
            if (problem && problem != http::error::need_more)
                throw HttpError(status_of(problem), "request: " + problem.message());
            if (!head_done && parser.is_header_done()) read_head();
            if (n == 0 && shown == limits.head)
                throw HttpError(431, fmt::format("request: expected at most {} bytes in a line "
                                                 "and in the fields after the last chunk",
                                                 limits.head));
            if (n == 0 || shown == left) break;
        }
        if (facts.chunked && parser.is_done()) check_field_count();
        return used;
    }

    void check_field_count() const {
        const auto& message = parser.get();
        const auto count = std::size_t(std::distance(message.begin(), message.end()));
        if (count > limits.fields)
            throw HttpError(431, fmt::format("head: expected at most {} fields, found {}",
                                             limits.fields, count));
    }

    void read_head() {
        check_field_count();
        charge_head();
        const auto& message = parser.get();
        request.method = text_of(message.method_string());
        request.target = text_of(message.target());
        for (const auto& field : message)
            request.fields.push_back(
                {lower_case(text_of(field.name_string())), text_of(field.value())});
        facts = check_fields(request, message.version() < 11);
        if (facts.chunked || facts.content_length > 0) charge.begin(Charge::Stage::receiving);
        const std::uint64_t most = std::min<std::uint64_t>(limits.body, charge.most());
        if (facts.content_length > most)
            throw HttpError(413, fmt::format("body: expected at most {} bytes, found {}", most,
                                             facts.content_length));
        if (!facts.chunked) parser.get().body().most = facts.content_length;
        head_done = true;
    }

    // Twice: as the parser keeps it, and as ours.
    void charge_head() {
        constexpr std::uint64_t kParser = 4096, kField = 256;
        std::uint64_t bytes = kParser;
        for (const auto& field : parser.get())
            bytes += kField + 2 * (field.name_string().size() + field.value().size());
        charge.add(bytes, "head");
    }
};

RequestReader::RequestReader(const Limits& limits, std::shared_ptr<MemoryAccount> memory)
    : state_(std::make_unique<State>(limits, std::move(memory))) {}
RequestReader::~RequestReader() = default;

RequestReader::Progress RequestReader::feed(std::string_view bytes) {
    State& s = *state_;
    const auto progress = [&] { return s.parser.is_done() ? Progress::done : Progress::body; };
    if (s.head_done && s.pending.empty()) {  // most of a body: not copied once more
        s.append(bytes.substr(s.parse(bytes)));
        return progress();
    }
    s.append(bytes);
    if (!s.head_done) {
        const std::size_t end = s.scan.end_of(s.pending);
        if ((end == 0 ? s.pending.size() : end) > s.limits.head)
            throw HttpError(431, fmt::format("head: expected at most {} bytes", s.limits.head));
        if (end == 0) return Progress::head;
    }
    s.pending.erase(0, s.parse(s.pending));
    if (!s.head_done) throw HttpError(400, "request: the head has no end");
    return progress();
}

std::uint64_t RequestReader::held() const { return state_->charge.bytes(); }

Request& RequestReader::request() { return state_->request; }
bool RequestReader::keep_alive() const {
    return state_->head_done && state_->parser.get().keep_alive();
}

bool RequestReader::expects_continue() const {
    const std::string* expect = state_->request.field("expect");
    return expect != nullptr && lower_case(*expect) == "100-continue";
}

std::size_t RequestReader::missing() const {
    const State& s = *state_;
    if (s.parser.is_done()) return 0;
    return s.facts.chunked ? s.limits.body
                           : s.facts.content_length - s.parser.get().body().text.size();
}

Request RequestReader::take() {
    state_->request.body = std::move(state_->parser.get().body().text);
    state_->charge.begin(Charge::Stage::working);
    state_->request.memory = std::make_shared<Charge>(std::move(state_->charge));
    return std::move(state_->request);
}

std::string RequestReader::rest() const { return state_->pending; }

}  // namespace cait::serve
