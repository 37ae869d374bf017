#include "data/text_lines.h"

#include <fmt/format.h>

#include <algorithm>
#include <istream>
#include <utility>

#include "cait/error.h"
#include "system/counted_memory.h"
#include "system/file_bytes.h"

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

// Takes text block by block and refuses too much of it before it is kept.
class LineCollector {
public:
    LineCollector(std::string name, const LineLimits& limits)
        : name_(std::move(name)), limits_(limits), memory_(name_) {}

    void add(std::string_view block) {
        while (!block.empty()) {
            const std::size_t end = block.find('\n');
            const std::string_view part = block.substr(0, end);
            if (part.find('\0') != std::string_view::npos)
                fail("expected text, found a byte of value 0");
            if (part.size() > limits_.line - line_.size())
                fail(fmt::format("expected at most {} bytes in a line, found more", limits_.line));
            line_ += part;
            if (end == std::string_view::npos) return;
            finish_line();
            block.remove_prefix(end + 1);
        }
    }

    std::vector<std::string> finish() {
        if (!line_.empty()) finish_line();
        while (!lines_.empty() && lines_.back().empty()) lines_.pop_back();
        return std::move(lines_);
    }

private:
    [[noreturn]] void fail(const std::string& what) const {
        throw Error(fmt::format("{}:{}: {}", name_, lines_.size() + 1, what));
    }

    void finish_line() {
        if (lines_.size() == limits_.lines)
            fail(fmt::format("expected at most {} lines, found more", limits_.lines));
        if (line_.ends_with('\r')) line_.pop_back();
        memory_.add_text(line_);
        lines_.push_back(std::exchange(line_, {}));
    }

    std::string name_;
    LineLimits limits_;
    CountedMemory memory_;
    std::string line_;
    std::vector<std::string> lines_;
};

}  // namespace

std::vector<std::string> read_lines(const std::filesystem::path& path, const LineLimits& limits) {
    LineCollector lines(path.string(), limits);
    lines.add(read_text(path));
    return lines.finish();
}

std::vector<std::string> read_lines(std::istream& in, const std::string& name,
                                    const LineLimits& limits) {
    LineCollector lines(name, limits);
    std::size_t total = 0;
    std::string block(std::size_t{1} << 16, '\0');
    while (in.read(block.data(), std::streamsize(block.size())) || in.gcount() > 0) {
        const auto count = std::size_t(in.gcount());
        total += count;
        if (total > kLargestFile)
            throw Error(
                fmt::format("{}: expected at most {} bytes, found more", name, kLargestFile));
        lines.add(std::string_view(block).substr(0, count));
    }
    return lines.finish();
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
