// Lines of a file or of standard input, one after the other: any number of them, of any length,
// take the same memory.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "system/open_file.h"

namespace cait::app {

class LineReader {
public:
    // "-" is standard input. Of longer lines than `longest` bytes only one byte more is kept.
    LineReader(const std::string& file, std::size_t longest);

    // The next line without its end, \n or \r\n; false at the end of the input.
    bool next(std::string& line);
    // Whether next() has something to return without waiting for it.
    bool ready();

    std::size_t lines() const { return lines_; }  // that next() has returned
    std::string place() const;                    // of the last one: "en.txt:7"
    std::size_t bytes_read() const { return bytes_; }
    std::size_t size() const;  // bytes of the file; 0: of no file

private:
    bool fill();
    std::string_view rest() const;  // of the block

    std::string name_;
    std::unique_ptr<OpenFile> file_;  // null: standard input
    std::size_t longest_;
    std::vector<char> block_;
    std::size_t begin_ = 0, end_ = 0;  // of what is left of the block
    std::size_t lines_ = 0, bytes_ = 0;
    bool over_ = false;
};

}  // namespace cait::app
