#include "data/text_lines.h"

#include <algorithm>

#include "core/file_bytes.h"

namespace cait {

namespace {

constexpr std::string_view kSpace = " \t";

// Takes the first word off the front of `line`, with the space around it.
std::string_view take_word(std::string_view& line) {
    line.remove_prefix(std::min(line.find_first_not_of(kSpace), line.size()));
    const std::string_view word = line.substr(0, line.find_first_of(kSpace));
    line.remove_prefix(word.size());
    line.remove_prefix(std::min(line.find_first_not_of(kSpace), line.size()));
    return word;
}

}  // namespace

std::vector<std::string> read_lines(const std::filesystem::path& path) {
    const std::string text = read_text(path);
    std::vector<std::string> lines;
    for (std::size_t begin = 0; begin < text.size();) {
        const std::size_t end = std::min(text.find('\n', begin), text.size());
        std::string line = text.substr(begin, end - begin);
        if (line.ends_with('\r')) line.pop_back();
        lines.push_back(std::move(line));
        begin = end + 1;
    }
    while (!lines.empty() && lines.back().empty()) lines.pop_back();
    return lines;
}

FirstWord first_word(std::string_view line) {
    const std::string_view word = take_word(line);
    return {std::string(word), std::string(line.substr(0, line.find_last_not_of(kSpace) + 1))};
}

std::vector<std::string> words_of(std::string_view line) {
    std::vector<std::string> words;
    for (std::string_view word = take_word(line); !word.empty(); word = take_word(line))
        words.emplace_back(word);
    return words;
}

}  // namespace cait
