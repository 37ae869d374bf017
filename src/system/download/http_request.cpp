#include "system/download/http_request.h"

#include <curl/curl.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <exception>
#include <memory>
#include <string_view>

#include "base/text.h"
#include "cait/error.h"

namespace cait {

namespace {

constexpr long kOk = 200;
constexpr long kPartial = 206;
constexpr long kTimeout = 408;
constexpr long kRangeNotSatisfiable = 416;
constexpr long kTooMany = 429;
constexpr long kServerError = 500;
constexpr long kConnectSeconds = 20;
constexpr long kRedirections = 10;

struct FreeHandle {
    void operator()(CURL* handle) const { curl_easy_cleanup(handle); }
};

// The numbers of "Content-Range: bytes 100-199/200"; the last may be "*".
struct ContentRange {
    std::uint64_t start = 0;
    std::uint64_t total = 0;
};

bool parse_range(std::string_view header, ContentRange& range) {
    constexpr std::string_view kName = "content-range:";
    const bool named = equals_ignoring_case(header.substr(0, kName.size()), kName);
    const std::size_t digits = header.find_first_of("0123456789");
    const std::size_t slash = header.find('/');
    if (!named || digits > slash || slash == std::string_view::npos) return false;
    const char* end = header.data() + header.size();
    const bool good = std::from_chars(header.data() + digits, end, range.start).ec == std::errc{};
    if (std::from_chars(header.data() + slash + 1, end, range.total).ec != std::errc{})
        range.total = 0;
    return good;
}

// The state of a transfer. Exceptions must not pass through libcurl's frames, so they wait here.
struct Transfer {
    const HttpRequest& request;
    CURL* handle;
    ContentRange range;
    bool has_range = false;
    bool begun = false;
    std::exception_ptr failure;

    long status() const {
        long code = 0;
        curl_easy_getinfo(handle, CURLINFO_RESPONSE_CODE, &code);
        return code;
    }

    void begin() {
        if (begun) return;
        begun = true;
        const bool partial = status() == kPartial;
        if (!partial && status() != kOk)
            throw Error(fmt::format("{}: expected status 200 or 206, found {}",
                                    without_credentials(request.address), status()));
        curl_off_t length = -1;
        curl_easy_getinfo(handle, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &length);
        if (partial && (!has_range || range.start != request.from))
            throw Error(fmt::format("{}: expected bytes from {} on, found those from {}",
                                    without_credentials(request.address), request.from,
                                    has_range ? std::to_string(range.start) : "nowhere"));
        const std::uint64_t whole = length < 0 ? 0 : std::uint64_t(length);
        request.begin(partial ? request.from : 0, partial ? range.total : whole);
    }

    static std::size_t on_header(const char* data, std::size_t, std::size_t size, void* self) {
        auto& transfer = *static_cast<Transfer*>(self);
        const std::string_view line(data, size);
        // Each answer of a chain of redirections has its own headers.
        if (line.starts_with("HTTP/")) transfer.has_range = false;
        if (parse_range(line, transfer.range)) transfer.has_range = true;
        return size;
    }

    static std::size_t on_body(const char* data, std::size_t, std::size_t size, void* self) {
        auto& transfer = *static_cast<Transfer*>(self);
        try {
            transfer.begin();
            transfer.request.receive(std::as_bytes(std::span(data, size)));
            return size;
        } catch (...) {
            transfer.failure = std::current_exception();
            return 0;
        }
    }
};

HttpOutcome judge(CURLcode code, long status) {
    if (code == CURLE_OPERATION_TIMEDOUT) return HttpOutcome::too_slow;
    if (code == CURLE_UNSUPPORTED_PROTOCOL || code == CURLE_URL_MALFORMAT)
        return HttpOutcome::refused;
    if (code != CURLE_HTTP_RETURNED_ERROR) return HttpOutcome::interrupted;
    if (status == kRangeNotSatisfiable) return HttpOutcome::nothing_there;
    const bool later = status == kTimeout || status == kTooMany || status >= kServerError;
    return later ? HttpOutcome::interrupted : HttpOutcome::refused;
}

// "user:password@" of "http://user:password@host/path". The last @ before the path ends it: a
// password that somebody forgot to escape is still one.
std::string_view credentials_of(std::string_view address) {
    const std::size_t scheme = address.find("://");
    const std::size_t start = scheme == std::string_view::npos ? 0 : scheme + 3;
    const std::size_t host_end = std::min(address.find_first_of("/?#", start), address.size());
    const std::size_t at = address.substr(0, host_end).rfind('@');
    if (at == std::string_view::npos || at < start) return {};
    return address.substr(start, at + 1 - start);
}

}  // namespace

std::string without_credentials(std::string_view address) {
    std::string text(address);
    if (const std::string_view secret = credentials_of(address); !secret.empty())
        text.erase(std::size_t(secret.data() - address.data()), secret.size());
    return text;
}

HttpResult perform(const HttpRequest& request) {
    const std::unique_ptr<CURL, FreeHandle> owner(curl_easy_init());
    CURL* handle = owner.get();
    if (handle == nullptr) throw Error("libcurl cannot be started");
    std::array<char, CURL_ERROR_SIZE> message{};
    Transfer transfer{request, handle, {}, false, false, nullptr};
    const std::string range = fmt::format("{}-", request.from);

    curl_easy_setopt(handle, CURLOPT_URL, request.address.c_str());
    curl_easy_setopt(handle, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(handle, CURLOPT_REDIR_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(handle, CURLOPT_FOLLOWLOCATION, 1L);
    curl_easy_setopt(handle, CURLOPT_MAXREDIRS, kRedirections);
    curl_easy_setopt(handle, CURLOPT_FAILONERROR, 1L);
    curl_easy_setopt(handle, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(handle, CURLOPT_USERAGENT, "cait");
    curl_easy_setopt(handle, CURLOPT_CONNECTTIMEOUT, kConnectSeconds);
    curl_easy_setopt(handle, CURLOPT_LOW_SPEED_LIMIT, long(request.slowest));
    curl_easy_setopt(handle, CURLOPT_LOW_SPEED_TIME, long(request.stall.count()));
    curl_easy_setopt(handle, CURLOPT_ERRORBUFFER, message.data());
    curl_easy_setopt(handle, CURLOPT_HEADERFUNCTION, &Transfer::on_header);
    curl_easy_setopt(handle, CURLOPT_HEADERDATA, &transfer);
    curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, &Transfer::on_body);
    curl_easy_setopt(handle, CURLOPT_WRITEDATA, &transfer);
    if (request.from > 0) curl_easy_setopt(handle, CURLOPT_RANGE, range.c_str());

    const CURLcode code = curl_easy_perform(handle);
    if (transfer.failure) std::rethrow_exception(transfer.failure);
    if (code == CURLE_OK) {
        transfer.begin();  // a file of no bytes never got to on_body
        return {};
    }
    std::string text = message[0] != 0 ? message.data() : curl_easy_strerror(code);
    // libcurl may quote what it could not understand.
    const std::string secret(credentials_of(request.address));
    for (std::size_t at = 0; !secret.empty() && (at = text.find(secret, at)) != std::string::npos;)
        text.erase(at, secret.size());
    return {judge(code, transfer.status()), text};
}

}  // namespace cait
