// MATLAB level 5 files (.mat), as which some data sets publish their labels: numbers, text, cells
// and struct arrays, compressed or not. Only what label files hold is read, and no size in the file
// is believed before the bytes are there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cait {

// One array of the file; its bytes live as long as the MatFile that it comes from.
struct MatArray {
    std::uint8_t kind = 0;            // MATLAB's array class; 0: an empty one
    std::string name;                 // of a variable; cells and fields have none
    std::size_t count = 0;            // values, cells or structs
    std::span<const std::byte> rest;  // what follows extents and name
};

class MatFile {
public:
    // Throws Error, opening with `file`, for bytes that are no such file, are damaged, or unpack to
    // more than 32 MiB. `bytes` must outlive the MatFile.
    MatFile(std::span<const std::byte> bytes, std::string file);

    const std::string& file() const { return file_; }
    std::vector<std::string> names() const;  // of the variables
    bool has(std::string_view name) const;
    // Throws Error that lists what there is instead.
    const MatArray& variable(std::string_view name) const;

    // The following throw Error for an array of another kind; `what` names it in the message.
    // Whole numbers, however they are stored: MATLAB keeps small ones in small types.
    std::vector<std::int64_t> integers(const MatArray& array, std::string_view what) const;
    std::int64_t integer(const MatArray& array, std::string_view what) const;
    std::string text(const MatArray& array, std::string_view what) const;
    std::vector<std::string> texts(const MatArray& cells, std::string_view what) const;
    // Calls use(values) for each struct of an array, with the values of `fields` in their order.
    using UseRow = std::function<void(std::span<const MatArray>)>;
    void rows(const MatArray& structs, std::span<const std::string_view> fields,
              const UseRow& use) const;
    std::vector<std::string> fields(const MatArray& structs) const;

private:
    void add(std::span<const std::byte> variable);

    std::string file_;
    std::list<std::vector<std::byte>> unpacked_;
    std::size_t room_;  // for what is still to be unpacked
    std::vector<MatArray> variables_;
};

}  // namespace cait
