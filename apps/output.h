// Everything that the program says goes through here: results to stdout, messages to stderr. Text
// from outside is made printable, nothing throws, and what could not be written is known at the
// end: a full disk under a log must not end a training run, and a lost result must not look like
// success.
#pragma once

#include <fmt/format.h>

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <type_traits>

#include "base/printable.h"

namespace cait::app {

// First thing in main: descriptors 0 to 2 that are closed become /dev/null, or the first file that
// is opened would be taken for one of them; SIGPIPE and SIGXFSZ are ignored, so that the write that
// fails answers for them.
void prepare_output() noexcept;

// Last thing in main: the exit code, once everything is written. A stdout that could not be written
// makes it 1 and is reported on stderr; one whose reader has left (`| head -1`) makes it 141, as if
// SIGPIPE had ended the program, and is not. Another code than 0 stays.
int finish_output(int status) noexcept;

// Whether stdout is known to be lost: no reason to work on for it alone.
bool output_lost() noexcept;

// Results as whole lines of our own: names in them are printable already.
void write_out(std::string_view lines) noexcept;
// Text that is the result itself, such as a translation: as it is, unless a terminal would obey it.
void write_text(std::string_view lines) noexcept;
void flush_out() noexcept;  // for programs that wait for a line
void print_json(const nlohmann::json& value) noexcept;

// To stderr as it is, cursor movements included: for bars on terminals.
void draw(std::string_view text) noexcept;

namespace detail {

template <class T>
inline constexpr bool kIsText = std::is_convertible_v<const T&, std::string_view>;

// What stands in the place of an argument: of a text, what can be shown of it on one line.
template <class T>
using Shown = std::conditional_t<kIsText<T>, std::string, T>;

template <class T>
decltype(auto) shown(const T& argument) {
    if constexpr (kIsText<T>)
        return printable(argument, kLongestMessage);
    else
        return (argument);
}

template <class... Shown>
std::string text_of(fmt::string_view format, const Shown&... shown) {
    return fmt::vformat(format, fmt::make_format_args(shown...));
}

void write_message(std::string_view text) noexcept;  // to stderr, cut where it is too long
// There was no memory for the text itself.
void lose_output() noexcept;
void lose_message() noexcept;

}  // namespace detail

// As fmt::print, with every text among the arguments made printable: line ends stand only where the
// format has them. A text that is too long is cut.
template <class... Args>
void print_out(fmt::format_string<detail::Shown<Args>...> format, const Args&... args) noexcept {
    try {
        write_out(detail::text_of(format, detail::shown(args)...));
    } catch (...) {
        detail::lose_output();
    }
}

template <class... Args>
void print_error(fmt::format_string<detail::Shown<Args>...> format, const Args&... args) noexcept {
    try {
        detail::write_message(detail::text_of(format, detail::shown(args)...));
    } catch (...) {
        detail::lose_message();
    }
}

}  // namespace cait::app
