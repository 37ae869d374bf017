#include "weights/state_dict.h"

#include <fmt/format.h>

#include <array>
#include <optional>
#include <string_view>
#include <unordered_set>

#include "base/printable.h"
#include "cait/error.h"

namespace cait {

namespace {

using Kind = PickleValue::Kind;

// Shared values may be reached along many paths, so the walk itself is bounded, not only the file.
constexpr int kDeepest = 16;
constexpr std::size_t kMostNames = 250'000;
constexpr std::size_t kMostNameBytes = 32'000'000;

bool is_container(Kind kind) {
    return kind == Kind::dict || kind == Kind::list || kind == Kind::tuple;
}

class Flattener {
public:
    Flattener(const PickleDocument& pickle, const std::string& file)
        : pickle_(pickle), file_(file) {}

    void add(const std::string& name, PickleId id, int depth) {
        count(name);
        const Kind kind = pickle_[id].kind;
        if (kind == Kind::tensor) {
            if (!names_.insert(name).second)
                throw Error(fmt::format("{}: duplicate key '{}'", file_, printable(name)));
            result_.entries.push_back({name, id});
        } else if (is_container(kind) && depth < kDeepest) {
            const std::size_t tensors = result_.entries.size();
            const std::size_t skipped = result_.skipped.size();
            add_items(name + ".", id, depth);
            if (result_.entries.size() > tensors) return;
            result_.skipped.resize(skipped);  // nothing in it: one name stands for the whole
            result_.skipped.push_back(name);
        } else {
            result_.skipped.push_back(name);
        }
    }

    void add_items(const std::string& prefix, PickleId container, int depth) {
        const auto items = pickle_.items(container);
        if (pickle_[container].kind == Kind::dict) {
            for (std::size_t i = 0; i + 1 < items.size(); i += 2)
                add(prefix + key_name(items[i]), items[i + 1], depth + 1);
        } else {
            for (std::size_t i = 0; i < items.size(); ++i)
                add(prefix + std::to_string(i), items[i], depth + 1);
        }
    }

    void skip(const std::string& name) {
        count(name);
        result_.skipped.push_back(name);
    }

    StateDict take() { return std::move(result_); }

    std::string key_name(PickleId key) const {
        const PickleValue& value = pickle_[key];
        if (value.kind == Kind::text || value.kind == Kind::bytes) return std::string(value.text);
        if (value.kind == Kind::integer) return std::to_string(value.integer);
        return fmt::format("({})", kind_name(value.kind));
    }

private:
    void count(const std::string& name) {
        name_bytes_ += name.size();
        if (++name_count_ > kMostNames || name_bytes_ > kMostNameBytes)
            throw Error(fmt::format("{}: the state dict has too many or too long names", file_));
    }

    const PickleDocument& pickle_;
    const std::string& file_;
    StateDict result_;
    std::unordered_set<std::string> names_;
    std::size_t name_count_ = 0;
    std::size_t name_bytes_ = 0;
};

std::optional<PickleId> lookup(const PickleDocument& pickle, PickleId dict, std::string_view key) {
    const auto items = pickle.items(dict);
    for (std::size_t i = 0; i + 1 < items.size(); i += 2)
        if (pickle[items[i]].kind == Kind::text && pickle[items[i]].text == key)
            return items[i + 1];
    return std::nullopt;
}

// The wrapped dictionary, or the root itself when none of the usual keys leads to one.
PickleId choose(const PickleDocument& pickle, bool prefer_ema) {
    using namespace std::string_view_literals;
    // DINO's teacher is the average of its student, and what its authors evaluate.
    constexpr std::array kPlain{"model"sv, "state_dict"sv, "model_state_dict"sv, "teacher"sv,
                                "student"sv};
    constexpr std::array kAveraged{"model_ema"sv, "state_dict_ema"sv};
    std::vector<std::string_view> keys(kPlain.begin(), kPlain.end());
    keys.insert(prefer_ema ? keys.begin() : keys.end(), kAveraged.begin(), kAveraged.end());
    for (const std::string_view key : keys) {
        const auto found = lookup(pickle, pickle.root(), key);
        if (found && pickle[*found].kind == Kind::dict && !pickle.items(*found).empty())
            return *found;
    }
    return pickle.root();
}

// A whole model that was saved as a Python object, at the top or under the usual key.
std::string_view pickled_object(const PickleDocument& pickle) {
    const PickleValue& root = pickle[pickle.root()];
    if (root.kind == Kind::opaque) return root.text;
    if (root.kind != Kind::dict) return {};
    const auto model = lookup(pickle, pickle.root(), "model");
    return model && pickle[*model].kind == Kind::opaque ? pickle[*model].text : std::string_view{};
}

}  // namespace

StateDict find_state_dict(const PickleDocument& pickle, bool prefer_ema, const std::string& file) {
    const Kind root_kind = pickle[pickle.root()].kind;
    StateDict result;
    if (root_kind == Kind::dict) {
        Flattener flattener(pickle, file);
        const PickleId chosen = choose(pickle, prefer_ema);
        flattener.add_items("", chosen, 0);
        if (chosen != pickle.root()) {
            const auto items = pickle.items(pickle.root());
            for (std::size_t i = 0; i + 1 < items.size(); i += 2)
                if (items[i + 1] != chosen) flattener.skip(flattener.key_name(items[i]));
        }
        result = flattener.take();
        if (chosen == lookup(pickle, pickle.root(), "teacher") &&
            lookup(pickle, pickle.root(), "student"))
            result.note = "the file has a teacher and a student: the teacher is taken";
    }
    if (root_kind == Kind::tensor) result.entries.push_back({"tensor", pickle.root()});
    if (!result.entries.empty()) return result;
    if (const std::string_view type = pickled_object(pickle); !type.empty())
        throw Error(
            fmt::format("{}: holds a pickled '{}' object, expected a state dict (save "
                        "model.state_dict() instead)",
                        file, printable(type)));
    if (root_kind != Kind::dict)
        throw Error(fmt::format("{}: expected a state dict, found {}", file, kind_name(root_kind)));
    throw Error(fmt::format("{}: the state dict holds no tensors", file));
}

}  // namespace cait
