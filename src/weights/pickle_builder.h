// Gives the opcodes of a pickle their meaning: makes values, fills containers, and decides what a
// call would have returned, for the few callables that we understand.
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weights/pickle.h"

namespace cait {

class PickleBuilder {
public:
    using Kind = PickleValue::Kind;

    // A checkpoint of a large model with its optimiser has well under 100,000 values. References
    // are counted over all containers, copies included, so that sharing cannot multiply work.
    static constexpr std::size_t kMostValues = 2'000'000;
    static constexpr std::size_t kMostReferences = 8'000'000;
    static constexpr PickleId kNone = 0, kFalse = 1, kTrue = 2;  // made once, up front

    explicit PickleBuilder(const std::string& where);

    const PickleValue& at(PickleId id) const { return document_[id]; }

    // All of these throw Error when a limit is reached or the values do not make sense together.
    PickleId add(const PickleValue& value);
    PickleId add_text(std::string decoded);
    PickleId add_container(Kind kind, std::vector<PickleId> content = {});
    void extend(PickleId target, Kind kind, std::span<const PickleId> content);
    PickleId global(std::string_view module, std::string_view name);
    PickleId call(PickleId callable, PickleId arguments);
    PickleId persistent(PickleId id);

    PickleDocument finish(PickleId root, std::size_t consumed);

private:
    [[noreturn]] void fail(const std::string& what) const;
    std::vector<PickleId>& items(PickleId id) { return document_.lists_[at(id).list]; }
    void count_references(std::size_t count);
    PickleId opaque(PickleId callable);
    PickleId rebuilt_tensor(GlobalKind how, PickleId arguments);
    PickleId dictionary(PickleId callable, PickleId arguments);

    std::string where_;
    PickleDocument document_;
    std::map<std::string, PickleId> globals_;
    std::size_t references_ = 0;
};

}  // namespace cait
