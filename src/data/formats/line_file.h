// A text of many lines, plain or packed by gzip or xz, of which any line can be had: one side of a
// text for translation. Every line is checked when the file is opened.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "system/counted_memory.h"
#include "system/mapped_file.h"

namespace cait {

class LineFile {
public:
    // Throws Error ("FILE:LINE: …") for a line that is empty or blank, that is no UTF-8, or that
    // check_sentence() refuses otherwise, and for more text than the budget of memory allows.
    explicit LineFile(const std::filesystem::path& path);
    LineFile(const LineFile&) = delete;
    LineFile& operator=(const LineFile&) = delete;

    std::size_t size() const noexcept { return ends_.size(); }
    // Without its end (\n or \r\n). Throws Error where the file has changed and the line is none
    // any more.
    std::string line(std::size_t index) const;
    std::string name(std::size_t index) const;  // "FILE:LINE"

private:
    void add_block(std::span<const std::byte> block);
    void index_lines();
    void finish_line(std::size_t end);
    std::string_view raw_line(std::size_t begin, std::size_t end) const;
    void check_line(std::string_view line, std::size_t number) const;

    std::string path_;
    CountedMemory memory_;
    std::shared_ptr<const MappedFile> file_;  // of plain text
    std::string unpacked_;                    // else the text itself
    std::string_view text_;
    std::size_t begin_ = 0;            // of the first line that is not in ends_
    std::size_t searched_ = 0;         // for its end, up to here
    std::vector<std::uint64_t> ends_;  // of each line in text_, without its line end
};

}  // namespace cait
