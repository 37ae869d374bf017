#include "data/formats/line_file.h"

#include <fmt/format.h>

#include "cait/error.h"
#include "data/formats/gzip.h"
#include "data/formats/xz.h"
#include "data/sentence_pair.h"
#include "system/file_guard.h"

namespace cait {

LineFile::LineFile(const std::filesystem::path& path)
    : path_(path.string()), memory_(path_), file_(MappedFile::open(path)) {
    const std::span<const std::byte> bytes = file_->bytes();
    const ByteSink sink = [this](std::span<const std::byte> block) { add_block(block); };
    if (is_gzip(bytes)) {
        gunzip_blocks(bytes, path_, sink);
        file_.reset();
    } else if (is_xz(bytes)) {
        unxz_blocks(bytes, path_, sink);
        file_.reset();
    } else {
        text_ = {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
        index_lines();
    }
    // The last line need not have an end.
    if (begin_ < text_.size()) finish_line(text_.size());
    check_mapped_files();
}

// What is unpacked is looked at at once: a small file that becomes a large one of nonsense ends
// here, and one of sense where the memory does.
void LineFile::add_block(std::span<const std::byte> block) {
    memory_.add(2 * block.size());  // a text that grows is there twice for a moment
    unpacked_.append(reinterpret_cast<const char*>(block.data()), block.size());
    text_ = unpacked_;
    index_lines();
}

void LineFile::index_lines() {
    for (std::size_t end = 0; (end = text_.find('\n', searched_)) != std::string_view::npos;)
        finish_line(end);
    searched_ = text_.size();
    if (text_.size() - begin_ > kLongestSentence + 1) check_line(text_.substr(begin_), size() + 1);
}

void LineFile::finish_line(std::size_t end) {
    check_line(raw_line(begin_, end), size() + 1);
    memory_.add(sizeof(ends_[0]));
    ends_.push_back(end);
    begin_ = searched_ = end + 1;
}

std::string_view LineFile::raw_line(std::size_t begin, std::size_t end) const {
    std::string_view line = text_.substr(begin, end - begin);
    if (line.ends_with('\r')) line.remove_suffix(1);
    return line;
}

void LineFile::check_line(std::string_view line, std::size_t number) const {
    const bool is_blank = line.find_first_not_of(" \t\r") == std::string_view::npos;
    const std::string fault =
        is_blank ? "expected a sentence, found an empty line" : sentence_fault(line);
    if (fault.empty()) return;
    check_mapped_files();  // whose change would be the reason
    throw Error(fmt::format("{}:{}: {}", path_, number, fault));
}

std::string LineFile::line(std::size_t index) const {
    const std::size_t begin = index == 0 ? 0 : std::size_t(ends_.at(index - 1)) + 1;
    // A mapped file can change: what is used is a copy that has been checked.
    const std::string line(raw_line(begin, std::size_t(ends_.at(index))));
    check_line(line, index + 1);
    return line;
}

std::string LineFile::name(std::size_t index) const {
    return fmt::format("{}:{}", path_, index + 1);
}

}  // namespace cait
