#include "weights/match.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "cait/error.h"
#include "core/convert.h"
#include "weights/match_position.h"
#include "weights/non_finite.h"
#include "weights/printable.h"

namespace cait {

namespace {

// Extents of 1 carry no information: (1, 1, D) and (D) are the same numbers.
std::vector<std::int64_t> squeezed(std::span<const std::int64_t> extents) {
    std::vector<std::int64_t> result;
    std::ranges::copy_if(extents, std::back_inserter(result), [](auto e) { return e != 1; });
    return result;
}

bool same_but_ones(const Shape& a, const Shape& b) {
    return squeezed(a.extents()) == squeezed(b.extents());
}

// The same layer for another number of classes.
bool other_class_count(const Shape& expected, const Shape& found) {
    if (expected.rank() == 0 || found.rank() == 0) return false;
    const auto tail = [](const Shape& shape) {
        return squeezed(std::span(shape.extents()).subspan(1));
    };
    return expected[0] != found[0] && tail(expected) == tail(found);
}

// Everything that does not fit, for one message.
struct Misfits {
    std::vector<std::string> missing, unexpected, wrong_shape;

    bool empty() const { return missing.empty() && unexpected.empty() && wrong_shape.empty(); }
};

void append_list(std::string& message, std::string_view title, std::span<const std::string> items) {
    constexpr std::size_t kMost = 5;
    if (items.empty()) return;
    message += fmt::format("; {} {}: {}", items.size(), title,
                           fmt::join(items.first(std::min(items.size(), kMost)), ", "));
    if (items.size() > kMost) message += fmt::format(" … and {} more", items.size() - kMost);
}

class Matcher {
public:
    Matcher(const WeightFile& file, const std::string& file_name, const MatchOptions& options)
        : file_(file), file_name_(file_name), options_(options) {}

    Matched run(std::span<const ExpectedTensor> expected, std::span<const Rename> renames) {
        index_file(expected, renames);
        for (const ExpectedTensor& wanted : expected) {
            const auto found = by_name_.find(wanted.name);
            if (found != by_name_.end())
                place(wanted, *found->second);
            else if (wanted.required)
                misfits_.missing.push_back(
                    fmt::format("{} {}", wanted.name, wanted.shape.to_string()));
        }
        if (!misfits_.empty()) report();
        return std::move(result_);
    }

private:
    void index_file(std::span<const ExpectedTensor> expected, std::span<const Rename> renames) {
        std::set<std::string_view> wanted;
        for (const ExpectedTensor& tensor : expected) wanted.insert(tensor.name);
        for (const NamedTensor& entry : file_.tensors) {
            // A name that the model knows is never an alias.
            const std::string name =
                wanted.contains(entry.name) ? entry.name : to_official(entry.name, renames);
            if (!wanted.contains(name)) {
                if (!name.ends_with(".num_batches_tracked"))
                    misfits_.unexpected.push_back(printable(entry.name));
            } else if (!by_name_.emplace(name, &entry.tensor).second) {
                throw Error(fmt::format("{}: tensor '{}' is there twice, once as '{}'", file_name_,
                                        printable(name), printable(entry.name)));
            }
        }
    }

    void place(const ExpectedTensor& wanted, const Tensor& found) {
        if (wanted.kind == ExpectedTensor::Kind::position) {
            place_fitted(wanted, fit_position(wanted, found, file_.metadata));
        } else if (wanted.kind == ExpectedTensor::Kind::patch_mixing) {
            place_fitted(wanted, fit_patch_mixing(wanted, found, file_.metadata));
        } else if (same_but_ones(wanted.shape, found.shape())) {
            keep(wanted, convert(found, DType::f32));
        } else if (wanted.kind == ExpectedTensor::Kind::class_axis0 &&
                   other_class_count(wanted.shape, found.shape())) {
            result_.fresh.push_back(wanted.name);
            note(fmt::format("{} replaced: {} -> {} classes",
                             wanted.name.substr(0, wanted.name.rfind('.')), found.shape()[0],
                             wanted.shape[0]));
        } else {
            misfits_.wrong_shape.push_back(fmt::format("{} expected {}, found {}", wanted.name,
                                                       wanted.shape.to_string(),
                                                       found.shape().to_string()));
        }
    }

    void place_fitted(const ExpectedTensor& wanted, const GridFit& fit) {
        if (!fit.problem.empty()) {
            misfits_.wrong_shape.push_back(wanted.name + " " + fit.problem);
            return;
        }
        if (!fit.note.empty()) note(fit.note);
        keep(wanted, fit.tensor);
    }

    void keep(const ExpectedTensor& wanted, const Tensor& tensor) {
        if (!options_.allow_non_finite)
            if (const auto bad = first_non_finite(tensor))
                throw Error(fmt::format("{}: tensor '{}': {} at {}, expected finite numbers",
                                        file_name_, wanted.name, bad->value,
                                        index_text(tensor.shape(), bad->index)));
        result_.tensors.insert_or_assign(wanted.name, tensor.reshaped(wanted.shape));
    }

    // A head's weight and bias give the same note.
    void note(const std::string& text) {
        if (std::ranges::find(result_.notes, text) == result_.notes.end())
            result_.notes.push_back(text);
    }

    [[noreturn]] void report() const {
        std::string message = fmt::format("{}: does not fit the model", file_name_);
        append_list(message, "missing", misfits_.missing);
        append_list(message, "unexpected", misfits_.unexpected);
        append_list(message, "of wrong shape", misfits_.wrong_shape);
        throw Error(message);
    }

    const WeightFile& file_;
    const std::string& file_name_;
    const MatchOptions& options_;
    std::unordered_map<std::string, const Tensor*> by_name_;
    Misfits misfits_;
    Matched result_;
};

}  // namespace

Matched match_weights(const WeightFile& file, const std::string& file_name,
                      std::span<const ExpectedTensor> expected, std::span<const Rename> renames,
                      const MatchOptions& options) {
    return Matcher(file, file_name, options).run(expected, renames);
}

}  // namespace cait
