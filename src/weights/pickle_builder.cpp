#include "weights/pickle_builder.h"

#include <fmt/format.h>

#include <utility>

#include "base/printable.h"
#include "cait/error.h"

namespace cait {

namespace {

constexpr std::size_t kMostGlobals = 10'000;
constexpr std::size_t kLongestGlobal = 512;

}  // namespace

PickleBuilder::PickleBuilder(const std::string& where) : where_(where) {
    document_.lists_.emplace_back();  // list 0 is the empty one that scalars refer to
    add({.kind = Kind::none});
    add({.kind = Kind::boolean, .integer = 0});
    add({.kind = Kind::boolean, .integer = 1});
}

void PickleBuilder::fail(const std::string& what) const {
    throw Error(fmt::format("{}: pickle: {}", where_, what));
}

PickleId PickleBuilder::add(const PickleValue& value) {
    if (document_.values_.size() >= kMostValues)
        fail(fmt::format("more than {} values", kMostValues));
    document_.values_.push_back(value);
    return PickleId(document_.values_.size() - 1);
}

PickleId PickleBuilder::add_container(Kind kind, std::vector<PickleId> content) {
    count_references(content.size());
    document_.lists_.push_back(std::move(content));
    return add({.kind = kind, .list = std::uint32_t(document_.lists_.size() - 1)});
}

void PickleBuilder::count_references(std::size_t count) {
    references_ += count;
    if (references_ > kMostReferences)
        fail(fmt::format("more than {} references", kMostReferences));
}

PickleId PickleBuilder::add_text(std::string decoded) {
    document_.owned_.push_back(std::move(decoded));
    return add({.kind = Kind::text, .text = document_.owned_.back()});
}

// Adds to a container; what is added to an opaque object is dropped with it.
void PickleBuilder::extend(PickleId target, Kind kind, std::span<const PickleId> content) {
    if (at(target).kind == Kind::opaque) return;
    if (at(target).kind != kind)
        fail(fmt::format("expected {} to add to, found {}", kind_name(kind),
                         kind_name(at(target).kind)));
    count_references(content.size());
    std::vector<PickleId>& list = items(target);
    list.insert(list.end(), content.begin(), content.end());
}

PickleId PickleBuilder::global(std::string_view module, std::string_view name) {
    if (module.size() > kLongestGlobal || name.size() > kLongestGlobal)
        fail("the name of a global is too long");
    const std::string path = std::string(module) + "." + std::string(name);
    if (const auto known = globals_.find(path); known != globals_.end()) return known->second;
    const GlobalMeaning meaning = meaning_of_global(module, name);
    if (meaning.kind == GlobalKind::refused)
        fail(fmt::format("global '{}' not allowed", printable(path)));
    if (globals_.size() >= kMostGlobals) fail("too many globals");
    document_.owned_.push_back(path);
    const PickleId id = add({.kind = Kind::global,
                             .global = meaning.kind,
                             .dtype = meaning.dtype,
                             .text = document_.owned_.back()});
    globals_.emplace(path, id);
    return id;
}

PickleId PickleBuilder::opaque(PickleId callable) {
    return add({.kind = Kind::opaque, .text = at(callable).text});
}

PickleId PickleBuilder::rebuilt_tensor(GlobalKind how, PickleId arguments) {
    constexpr std::size_t kDTypePosition = 6;
    const std::size_t needed = how == GlobalKind::rebuild_tensor ? 4 : kDTypePosition + 1;
    const auto& list = items(arguments);
    if (list.size() < needed || at(list[0]).kind != Kind::storage)
        fail("a tensor is not built from a storage");
    return add({.kind = Kind::tensor, .global = how, .list = at(arguments).list});
}

// OrderedDict(), or in old files OrderedDict([[key, value], …]).
PickleId PickleBuilder::dictionary(PickleId callable, PickleId arguments) {
    std::vector<PickleId> content;
    if (!items(arguments).empty()) {
        const PickleId list = items(arguments)[0];
        if (at(list).kind == Kind::global) return add_container(Kind::dict);  // defaultdict
        if (at(list).kind != Kind::list) return opaque(callable);
        count_references(items(list).size());
        for (const PickleId pair : items(list)) {
            const bool is_pair = at(pair).kind == Kind::list || at(pair).kind == Kind::tuple;
            if (!is_pair || items(pair).size() != 2) fail("a dictionary item is not a pair");
            content.insert(content.end(), items(pair).begin(), items(pair).end());
        }
    }
    return add_container(Kind::dict, std::move(content));
}

// What calling `callable` would give, for the few callables that we understand.
PickleId PickleBuilder::call(PickleId callable, PickleId arguments) {
    if (at(callable).kind == Kind::opaque) return opaque(callable);
    if (at(callable).kind != Kind::global)
        fail(fmt::format("expected a class or function to call, found {}",
                         kind_name(at(callable).kind)));
    if (at(arguments).kind != Kind::tuple) fail("arguments are not a tuple");
    const GlobalKind how = at(callable).global;
    const std::vector<PickleId>& list = items(arguments);
    const auto first_is = [&](Kind kind) { return !list.empty() && at(list[0]).kind == kind; };
    switch (how) {
        case GlobalKind::dictionary: return dictionary(callable, arguments);
        case GlobalKind::rebuild_tensor:
        case GlobalKind::rebuild_tensor_dtype: return rebuilt_tensor(how, arguments);
        case GlobalKind::parameter:
        case GlobalKind::rebuild_parameter:
            return first_is(Kind::tensor) ? list[0] : opaque(callable);
        case GlobalKind::size: return first_is(Kind::tuple) ? list[0] : opaque(callable);
        case GlobalKind::rebuild_from_type: {
            const bool one_level = list.size() == 4 && first_is(Kind::global) &&
                                   at(list[0]).global != GlobalKind::rebuild_from_type;
            return one_level ? call(list[0], list[2]) : opaque(callable);
        }
        default: return opaque(callable);
    }
}

// The objects that torch keeps outside the pickle: ('storage', class, key, location, count).
PickleId PickleBuilder::persistent(PickleId id) {
    const bool is_tuple = at(id).kind == Kind::tuple && !items(id).empty();
    const PickleValue& tag = is_tuple ? at(items(id)[0]) : at(id);
    if (!is_tuple || tag.kind != Kind::text) fail("persistent id: expected a 'storage' tuple");
    if (tag.text == "module") return add({.kind = Kind::opaque, .text = "module"});
    if (tag.text != "storage")
        fail(fmt::format("persistent id '{}' is not 'storage'", printable(tag.text)));
    if (items(id).size() < 5) fail("a storage has fewer than 5 fields");
    const PickleValue& type = at(items(id)[1]);
    if (type.kind != Kind::global || type.global != GlobalKind::storage)
        fail("a storage has an unknown class");
    return add({.kind = Kind::storage, .dtype = type.dtype, .list = at(id).list});
}

PickleDocument PickleBuilder::finish(PickleId root, std::size_t consumed) {
    document_.root_ = root;
    document_.consumed_ = consumed;
    return std::move(document_);
}

}  // namespace cait
