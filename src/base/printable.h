// Text from outside (names in files, words of the command line, messages that quote them) made fit
// to be shown: whatever could move a cursor, colour a terminal, break a line or turn the direction
// of writing stands there as an escape. Letters of all languages stay.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace cait {

// On one line. Control characters below U+0020 and bytes that are no UTF-8 become \xNN; U+007F to
// U+009F, line separators and bidirectional controls become \uNNNN. What has more than `most`
// characters is cut and ends in "...".
std::string printable(std::string_view text, std::size_t most = 160);

// The same for whole lines of our own: line ends and tabs stay, and nothing is cut. JSON stays the
// same JSON.
std::string printable_lines(std::string_view text);

// Printable lines for people: of one with more than kLongestMessage characters the beginning,
// which then says that it was cut.
inline constexpr std::size_t kLongestMessage = 2000;
std::string printable_message(std::string_view text);

}  // namespace cait
