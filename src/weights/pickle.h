// Reads a Python pickle as data. Nothing is ever imported or called: opcodes build a small tree of
// values, and objects that we do not know stay opaque.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cait/tensor.h"
#include "weights/pickle_globals.h"

namespace cait {

// Values live in one table and refer to each other by number: shared and even cyclic structures
// cost nothing, and nothing recurses, not even a destructor.
using PickleId = std::uint32_t;

struct PickleValue {
    enum class Kind : std::uint8_t {
        none,
        boolean,
        integer,
        big_integer,  // text holds its little-endian bytes, or its digits
        real,
        text,
        bytes,
        list,
        tuple,
        dict,  // items: key, value, key, value …
        set,
        global,   // text: "module.name"
        storage,  // items: "storage", class, key, location, number of elements, view
        tensor,   // items: storage, offset, extents, strides …
        opaque,   // text: the class, where known
    };

    Kind kind = Kind::none;
    GlobalKind global = GlobalKind::unknown;  // of a global; of a tensor, how it was rebuilt
    std::optional<DType> dtype = {};          // of a global that is a storage or a dtype
    std::uint32_t list = 0;                   // where the items are, in PickleDocument
    std::int64_t integer = 0;                 // also a boolean's 0 or 1
    double real = 0;
    std::string_view text = {};
};

class PickleDocument {
public:
    const PickleValue& operator[](PickleId id) const { return values_[id]; }
    std::span<const PickleId> items(PickleId id) const { return lists_[values_[id].list]; }
    std::span<const PickleId> items(const PickleValue& value) const { return lists_[value.list]; }
    std::size_t size() const noexcept { return values_.size(); }

    PickleId root() const noexcept { return root_; }
    std::size_t consumed() const noexcept { return consumed_; }  // bytes, up to the STOP opcode

private:
    friend class PickleBuilder;

    std::deque<PickleValue> values_;
    std::deque<std::vector<PickleId>> lists_;
    std::deque<std::string> owned_;  // decoded text, names and keys
    PickleId root_ = 0;
    std::size_t consumed_ = 0;
};

// The first pickle in `bytes`, which must outlive the document: long text refers to it. Memory and
// work are bounded by the input and by fixed limits. Throws Error; `where` names the file.
PickleDocument parse_pickle(std::span<const std::byte> bytes, const std::string& where);

std::string_view kind_name(PickleValue::Kind kind) noexcept;  // for messages: "a list", "a tensor"

}  // namespace cait
