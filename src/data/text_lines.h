// Small text files that data sets describe themselves by: one entry per line, and in each line
// words or columns.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace cait {

// Lines without their ends (\n or \r\n); blank ones at the end are left out.
std::vector<std::string> read_lines(const std::filesystem::path& path);

// What stands between spaces and tabs.
std::vector<std::string> words_of(std::string_view line);

// "7 the rest of it" → {"7", "the rest of it"}; the second is empty where there is one word.
struct FirstWord {
    std::string word, rest;
};
FirstWord first_word(std::string_view line);

}  // namespace cait
