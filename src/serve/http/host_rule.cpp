#include "serve/http/host_rule.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <utility>

#include "base/text.h"

namespace cait::serve {

namespace {

bool is_number(std::string_view text) {
    return text.size() <= 5 &&
           std::ranges::all_of(text, [](unsigned char c) { return std::isdigit(c); });
}

// "[::1]:80" is ::1, "localhost:80" is localhost; empty where it is neither.
std::string without_port(std::string_view host) {
    const bool bracket = host.starts_with('[');
    const std::size_t end = bracket ? host.find(']') : host.find(':');
    if (bracket && end == std::string_view::npos) return {};
    const std::string_view name = bracket ? host.substr(1, end - 1) : host.substr(0, end);
    const std::string_view rest =
        end == std::string_view::npos ? std::string_view() : host.substr(end + (bracket ? 1 : 0));
    if (!rest.empty() && (rest[0] != ':' || !is_number(rest.substr(1)))) return {};
    return lower_case(name);
}

bool is_address(const std::string& text) {
    in6_addr parsed{};
    return ::inet_pton(AF_INET, text.c_str(), &parsed) == 1 ||
           ::inet_pton(AF_INET6, text.c_str(), &parsed) == 1;
}

}  // namespace

bool is_loopback(std::string_view address) {
    const std::string text(address);
    in_addr four{};
    in6_addr six{};
    if (::inet_pton(AF_INET, text.c_str(), &four) == 1) return ntohl(four.s_addr) >> 24 == 127;
    return ::inet_pton(AF_INET6, text.c_str(), &six) == 1 && IN6_IS_ADDR_LOOPBACK(&six);
}

HostRule::HostRule(std::string_view address, std::vector<std::string> names)
    : loopback_(is_loopback(address)), names_(std::move(names)) {
    for (std::string& name : names_) name = lower_case(name);
}

bool HostRule::allows(std::string_view host) const {
    const std::string name = without_port(host);
    if (name == "localhost" || std::ranges::find(names_, name) != names_.end())
        return !name.empty();
    return loopback_ ? is_loopback(name) : is_address(name);
}

std::string HostRule::expected() const {
    return fmt::format("localhost, {}{}{} or a name that --name gives",
                       loopback_ ? "a loopback address" : "an IP address",
                       names_.empty() ? "" : ", ", fmt::join(names_, ", "));
}

}  // namespace cait::serve
