#include "data/sources/csv_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "cait/error.h"

namespace cait {

CsvReader::CsvReader(std::string_view text, std::string file)
    : text_(text), file_(std::move(file)) {
    constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";  // spreadsheets like to write it
    if (text_.starts_with(kByteOrderMark)) position_ = kByteOrderMark.size();
}

std::string CsvReader::field() {
    if (position_ == text_.size() || text_[position_] != '"') {
        const std::size_t begin = position_;
        position_ = std::min(text_.find_first_of(",\r\n", begin), text_.size());
        return std::string(text_.substr(begin, position_ - begin));
    }
    std::string value;
    const std::size_t opened = line_;
    for (++position_;; ++position_) {
        if (position_ >= text_.size())
            throw Error(fmt::format("{}:{}: a quoted field has no end", file_, opened));
        const char c = text_[position_];
        if (c == '\n') ++line_;
        if (c == '"') {
            if (position_ + 1 >= text_.size() || text_[position_ + 1] != '"') break;
            ++position_;
        }
        value += c;
    }
    ++position_;
    if (position_ < text_.size() && text_.find_first_of(",\r\n", position_) != position_)
        throw Error(fmt::format("{}:{}: expected a comma after a quoted field", file_, line_));
    return value;
}

bool CsvReader::next(std::vector<std::string>& fields) {
    while (position_ < text_.size() && (text_[position_] == '\n' || text_[position_] == '\r'))
        if (text_[position_++] == '\n') ++line_;
    if (position_ == text_.size()) return false;
    row_line_ = line_;
    fields.clear();
    fields.push_back(field());
    while (position_ < text_.size() && text_[position_] == ',') {
        ++position_;
        fields.push_back(field());
    }
    return true;
}

std::string csv_field(std::string_view text) {
    if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
    std::string quoted = "\"";
    for (const char c : text) {
        if (c == '"') quoted += '"';
        quoted += c;
    }
    return quoted + '"';
}

}  // namespace cait
