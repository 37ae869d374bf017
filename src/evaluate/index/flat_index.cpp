#include "evaluate/index/flat_index.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "base/display_name.h"
#include "evaluate/index/index_fields.h"
#include "system/mapped_file.h"
#include "system/memory_budget.h"

namespace cait {

namespace {

constexpr const char* kExpected =
    "a flat index of FAISS by inner product, as `cait index` makes it without --factory";

}  // namespace

Vectors read_flat_index_bytes(std::span<const std::byte> bytes, const std::string& name) {
    IndexFields fields(bytes, name, kExpected);
    const std::string kind = fields.take_tag();
    if (kind != "IxFI") fields.fail(fmt::format("found {}", display_name(kind)));
    const auto columns = fields.take<std::int32_t>();
    const auto rows = fields.take<std::int64_t>();
    fields.take<std::int64_t>();  // two numbers that FAISS no longer uses
    fields.take<std::int64_t>();
    fields.take<std::uint8_t>();  // trained: there is nothing to train
    if (fields.take<std::int32_t>() != 0) fields.fail("its metric is another");
    const auto numbers = fields.take<std::uint64_t>();
    const std::uint64_t held = fields.left() / sizeof(float);
    // All are below the size of the file before anything is multiplied.
    const bool fits = columns > 0 && rows > 0 && std::uint64_t(rows) <= held &&
                      std::uint64_t(columns) <= held / std::uint64_t(rows) &&
                      std::uint64_t(rows) * std::uint64_t(columns) == numbers &&
                      fields.left() == numbers * sizeof(float);
    if (!fits)
        fields.fail(
            fmt::format("its sizes do not fit each other ({} vectors of {}, {} numbers, "
                        "{} bytes)",
                        rows, columns, numbers, fields.left()));
    const MemoryShare share =
        MemoryBudget::of_process().reserve(numbers * sizeof(float), display_name(name));
    Vectors vectors{std::size_t(rows), std::size_t(columns), std::vector<float>(numbers)};
    std::memcpy(vectors.values.data(), fields.take_bytes(numbers * sizeof(float)).data(),
                numbers * sizeof(float));
    // Of the copy: changes to the file meanwhile do not matter here.
    if (const auto odd = std::ranges::find_if_not(vectors.values,
                                                  [](float value) { return std::isfinite(value); });
        odd != vectors.values.end())
        fields.fail(fmt::format("number {} is not finite", odd - vectors.values.begin()));
    return vectors;
}

Vectors read_flat_index(const std::filesystem::path& file) {
    return read_flat_index_bytes(MappedFile::open(file)->bytes(), file.string());
}

}  // namespace cait
