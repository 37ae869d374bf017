// Small text files that data sets describe themselves by, and lists on standard input: one entry
// per line, and in each line words or columns. Lines and their number are limited, so that no file
// and no device can fill the memory.
#pragma once

#include <cstddef>
#include <filesystem>
#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

namespace cait {

struct LineLimits {
    std::size_t line = std::size_t{1} << 16;  // bytes of one
    std::size_t lines = 10'000'000;
};

// Lines without their ends (\n or \r\n); blank ones at the end are left out. Throws Error
// ("FILE:LINE: …") for more than the limits and for a zero byte, which no text has.
std::vector<std::string> read_lines(const std::filesystem::path& path,
                                    const LineLimits& limits = {});
// The same of a stream, to its end; `name` opens the messages.
std::vector<std::string> read_lines(std::istream& in, const std::string& name,
                                    const LineLimits& limits = {});

// What stands between spaces and tabs.
std::vector<std::string> words_of(std::string_view line);

// "7 the rest of it" → {"7", "the rest of it"}; the second is empty where there is one word.
struct FirstWord {
    std::string word, rest;
};
FirstWord first_word(std::string_view line);

}  // namespace cait
