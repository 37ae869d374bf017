// Comma-separated values (RFC 4180): quoted fields may hold commas, line ends and doubled quotes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cait {

class CsvReader {
public:
    // `text` must outlive the reader; `file` opens error messages.
    CsvReader(std::string_view text, std::string file);

    // The next row that is not blank; false at the end. Throws Error for a broken quote, a zero
    // byte, and fields or rows that are too long.
    bool next(std::vector<std::string>& fields);
    std::size_t line() const noexcept { return row_line_; }  // on which the last row started

private:
    std::string field();
    void check_field(std::string_view value, std::size_t line) const;

    std::string_view text_;
    std::string file_;
    std::size_t position_ = 0;
    std::size_t line_ = 1;
    std::size_t row_line_ = 1;
};

// Bytes of a table that is read whole.
inline constexpr std::size_t kLargestTable = std::size_t{1} << 32;

// The place of a column in a header row. Throws Error, opening with `file`, where it is missing.
std::size_t find_column(const std::vector<std::string>& header, const std::string& name,
                        const std::string& file);

// Quoted only where it has to be.
std::string csv_field(std::string_view text);

}  // namespace cait
