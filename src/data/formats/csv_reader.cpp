#include "data/formats/csv_reader.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "base/display_name.h"
#include "cait/error.h"

namespace cait {

namespace {

constexpr std::size_t kLongestField = std::size_t{1} << 16;
constexpr std::size_t kMostFields = 10'000;  // of a row

}  // namespace

CsvReader::CsvReader(std::string_view text, std::string file)
    : text_(text), file_(std::move(file)) {
    constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";  // spreadsheets like to write it
    if (text_.starts_with(kByteOrderMark)) position_ = kByteOrderMark.size();
}

std::string CsvReader::field() {
    if (position_ == text_.size() || text_[position_] != '"') {
        const std::size_t begin = position_;
        position_ = std::min(text_.find_first_of(",\r\n", begin), text_.size());
        const std::string_view value = text_.substr(begin, position_ - begin);
        check_field(value, line_);
        return std::string(value);
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
        if (value.size() > kLongestField) break;
    }
    check_field(value, opened);
    ++position_;
    if (position_ < text_.size() && text_.find_first_of(",\r\n", position_) != position_)
        throw Error(fmt::format("{}:{}: expected a comma after a quoted field", file_, line_));
    return value;
}

void CsvReader::check_field(std::string_view value, std::size_t line) const {
    if (value.size() > kLongestField)
        throw Error(fmt::format("{}:{}: expected at most {} bytes in a field, found more", file_,
                                line, kLongestField));
    if (value.find('\0') != std::string_view::npos)
        throw Error(fmt::format("{}:{}: expected text, found a byte of value 0", file_, line));
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
        if (fields.size() == kMostFields)
            throw Error(fmt::format("{}:{}: expected at most {} fields in a row, found more", file_,
                                    row_line_, kMostFields));
        fields.push_back(field());
    }
    return true;
}

std::size_t find_column(const std::vector<std::string>& header, const std::string& name,
                        const std::string& file) {
    const auto found = std::ranges::find(header, name);
    if (found == header.end())
        throw Error(fmt::format("{}: expected a column '{}', found {}", file, name,
                                display_name(fmt::format("{}", fmt::join(header, ",")))));
    return std::size_t(found - header.begin());
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
