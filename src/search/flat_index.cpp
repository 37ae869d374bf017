#include "search/flat_index.h"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>

#include "cait/error.h"
#include "core/display_name.h"
#include "core/mapped_file.h"
#include "core/memory_budget.h"

namespace cait {

namespace {

static_assert(std::endian::native == std::endian::little, "FAISS writes as the machine has it");

// Takes fields off the front.
class Fields {
public:
    Fields(std::span<const std::byte> bytes, const std::string& name) : left_(bytes), name_(name) {}

    [[noreturn]] void fail(const std::string& why) const {
        throw Error(
            fmt::format("{}: expected a flat index of FAISS by inner product, as `cait "
                        "index` makes it without --factory: {}",
                        name_, why));
    }

    template <class T>
    T take() {
        if (left_.size() < sizeof(T)) fail("it ends too early");
        T value{};
        std::memcpy(&value, left_.data(), sizeof(T));
        left_ = left_.subspan(sizeof(T));
        return value;
    }
    std::span<const std::byte> left() const { return left_; }

private:
    std::span<const std::byte> left_;
    const std::string& name_;
};

}  // namespace

Vectors read_flat_index_bytes(std::span<const std::byte> bytes, const std::string& name) {
    Fields fields(bytes, name);
    const auto kind = fields.take<std::array<char, 4>>();
    const std::string_view word(kind.data(), kind.size());
    if (word != "IxFI") fields.fail(fmt::format("found {}", display_name(word)));
    const auto columns = fields.take<std::int32_t>();
    const auto rows = fields.take<std::int64_t>();
    fields.take<std::int64_t>();  // two numbers that FAISS no longer uses
    fields.take<std::int64_t>();
    fields.take<std::uint8_t>();  // trained: there is nothing to train
    if (fields.take<std::int32_t>() != 0) fields.fail("its metric is another");
    const auto numbers = fields.take<std::uint64_t>();
    const std::uint64_t held = fields.left().size() / sizeof(float);
    // All are below the size of the file before anything is multiplied.
    const bool fits = columns > 0 && rows > 0 && std::uint64_t(rows) <= held &&
                      std::uint64_t(columns) <= held / std::uint64_t(rows) &&
                      std::uint64_t(rows) * std::uint64_t(columns) == numbers &&
                      fields.left().size() == numbers * sizeof(float);
    if (!fits)
        fields.fail(
            fmt::format("its sizes do not fit each other ({} vectors of {}, {} numbers, "
                        "{} bytes)",
                        rows, columns, numbers, fields.left().size()));
    const MemoryShare share =
        MemoryBudget::of_process().reserve(numbers * sizeof(float), display_name(name));
    Vectors vectors{std::size_t(rows), std::size_t(columns), std::vector<float>(numbers)};
    std::memcpy(vectors.values.data(), fields.left().data(), numbers * sizeof(float));
    return vectors;
}

Vectors read_flat_index(const std::filesystem::path& file) {
    return read_flat_index_bytes(MappedFile::open(file)->bytes(), file.string());
}

}  // namespace cait
