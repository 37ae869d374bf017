#include "weights/match.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <set>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "base/convert.h"
#include "base/printable.h"
#include "base/quantized.h"
#include "cait/error.h"
#include "weights/match_position.h"
#include "weights/non_finite.h"
#include "weights/quantized_file.h"

namespace cait {

namespace {

std::vector<std::int64_t> squeezed(std::span<const std::int64_t> extents) {
    std::vector<std::int64_t> result;
    std::ranges::copy_if(extents, std::back_inserter(result), [](auto e) { return e != 1; });
    return result;
}

// The same layer for another number of classes.
bool other_class_count(const ExpectedTensor& wanted, const Shape& found) {
    const Shape& expected = wanted.shape;
    if (expected.rank() == 0 || found.rank() == 0 || !wanted.classes_of(found[0])) return false;
    const auto tail = [](const Shape& shape) {
        return squeezed(std::span(shape.extents()).subspan(1));
    };
    return expected[0] != found[0] && tail(expected) == tail(found);
}

// One token, [D] values, for each of several classes: [1, classes, D].
Tensor repeated(const Tensor& token, const Shape& shape) {
    Tensor result = Tensor::empty(DType::f32, shape);
    const std::span<float> out = result.mutable_floats();
    const std::span<const float> values = token.floats();
    for (std::size_t start = 0; start < out.size(); start += values.size())
        std::ranges::copy(values, out.begin() + std::ptrdiff_t(start));
    return result;
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
        index_scales();
        index_file(expected, renames);
        const bool backbone = options_.may_lack_heads && lacks_heads(expected);
        find_other_heads(expected);
        for (const ExpectedTensor& wanted : expected) {
            if (wanted.kind == ExpectedTensor::Kind::left_out) continue;
            if (other_heads_.contains(head_of(wanted.name))) {
                result_.fresh.push_back(wanted.name);
                continue;
            }
            const auto found = by_name_.find(wanted.name);
            const auto stacked = by_name_.find(wanted.stacked);
            if (found != by_name_.end())
                place(wanted, *found->second);
            else if (stacked != by_name_.end())
                place_row(wanted, *stacked->second);
            else if (backbone && wanted.kind == ExpectedTensor::Kind::class_axis0)
                make_head(wanted);
            else if (wanted.required)
                misfits_.missing.push_back(
                    fmt::format("{} {}", wanted.name, wanted.shape.to_string()));
        }
        if (!misfits_.empty()) report();
        return std::move(result_);
    }

private:
    void index_file(std::span<const ExpectedTensor> expected, std::span<const Rename> renames) {
        std::set<std::string_view> in_file, wanted;
        for (const NamedTensor& entry : file_.tensors) in_file.insert(entry.name);
        std::vector<std::string_view> left_out;
        for (const ExpectedTensor& tensor : expected) {
            if (tensor.kind == ExpectedTensor::Kind::left_out)
                left_out.push_back(tensor.name);
            else
                wanted.insert(tensor.name);
            if (!tensor.stacked.empty() && !in_file.contains(tensor.name))
                wanted.insert(tensor.stacked);
        }
        for (const NamedTensor& entry : file_.tensors) {
            if (scale_names_.contains(entry.name)) continue;
            // A name that the model knows is never an alias.
            const std::string name =
                wanted.contains(entry.name) ? entry.name : to_official(entry.name, renames);
            if (!wanted.contains(name)) {
                const auto part = std::ranges::find_if(left_out, [&](std::string_view scope) {
                    return name.starts_with(fmt::format("{}.", scope));
                });
                if (part != left_out.end())
                    note(fmt::format("{} left out: the model is set to do without it", *part));
                else if (!is_for_training(name))
                    misfits_.unexpected.push_back(printable(entry.name));
            } else if (!by_name_.emplace(name, &entry.tensor).second) {
                throw Error(fmt::format("{}: tensor '{}' is there twice, once as '{}'", file_name_,
                                        printable(name), printable(entry.name)));
            }
        }
    }

    void index_scales() {
        const auto facts = read_quantized(file_, file_name_);
        if (!facts) return;
        std::map<std::string_view, const Tensor*> tensors;
        for (const NamedTensor& entry : file_.tensors) tensors.emplace(entry.name, &entry.tensor);
        for (const std::string& name : facts->tensors) {
            scale_names_.insert(scale_name(name));
            scales_.emplace(tensors.at(name), tensors.at(scale_name(name)));
        }
    }

    // int8 that fits stays as it is; what has to be adapted is made of floats.
    void place_int8(const ExpectedTensor& wanted, const Tensor& found, const Tensor& scales) {
        if (wanted.kind != ExpectedTensor::Kind::plain || wanted.shape != found.shape())
            return place(wanted, dequantize(found, scales));
        result_.tensors.insert_or_assign(wanted.name, found);
        result_.tensors.insert_or_assign(scale_name(wanted.name), convert(scales, DType::f32));
    }

    void place(const ExpectedTensor& wanted, const Tensor& found) {
        if (const auto scales = scales_.find(&found); scales != scales_.end())
            return place_int8(wanted, found, *scales->second);
        if (wanted.kind == ExpectedTensor::Kind::position) {
            place_fitted(wanted, found, fit_position(wanted, found, file_.metadata));
        } else if (wanted.kind == ExpectedTensor::Kind::patch_mixing) {
            place_fitted(wanted, found, fit_patch_mixing(wanted, found, file_.metadata));
        } else if (same_but_ones(wanted.shape, found.shape())) {
            keep(wanted, convert(found, DType::f32), &found);
        } else if (wanted.kind == ExpectedTensor::Kind::class_axis0 &&
                   other_class_count(wanted, found.shape())) {
            replace(wanted, wanted.name, *wanted.classes_of(found.shape()[0]),
                    *wanted.classes_of(wanted.shape[0]));
        } else if (wanted.kind == ExpectedTensor::Kind::class_tokens &&
                   same_but_ones({wanted.shape[-1]}, found.shape())) {
            keep(wanted, repeated(convert(found, DType::f32), wanted.shape));
            note(fmt::format("{} repeated for {} classes", wanted.name, wanted.shape[1]));
        } else {
            misfit(wanted.name, wanted.shape, found);
        }
    }

    void place_row(const ExpectedTensor& wanted, const Tensor& stacked) {
        const Shape& shape = stacked.shape();
        Shape all = wanted.shape;  // of as many rows as the file has; each one's first extent is 1
        all[0] = shape.rank() > 0 ? shape[0] : 1;
        if (!same_but_ones(all, shape)) {
            misfit(wanted.stacked, all, stacked);
        } else if (all[0] != wanted.rows) {
            replace(wanted, wanted.stacked, all[0], wanted.rows);
        } else {
            // All rows are converted with the first of them.
            auto [rows, is_new] = stacked_.try_emplace(wanted.stacked);
            const auto scales = scales_.find(&stacked);
            if (is_new)
                rows->second = scales == scales_.end() ? convert(stacked, DType::f32)
                                                       : dequantize(stacked, *scales->second);
            const Tensor& numbers = rows->second;
            const float* row = numbers.floats().data() + wanted.row * wanted.shape.count();
            keep(wanted, Tensor::view(DType::f32, wanted.shape, row, numbers.owner()));
            note(fmt::format("{} divided into a head for each of {} classes",
                             head_of(wanted.stacked), wanted.rows));
        }
    }

    // Whether not one tensor of a class head is there: half a head is a damaged file.
    bool lacks_heads(std::span<const ExpectedTensor> expected) const {
        return std::ranges::none_of(expected, [&](const ExpectedTensor& wanted) {
            return wanted.kind == ExpectedTensor::Kind::class_axis0 &&
                   by_name_.contains(wanted.name);
        });
    }

    // Heads that read more or fewer features than the file's (model.head_blocks): neither weight
    // nor bias of such a one means anything. A model of another width fails by its other tensors.
    void find_other_heads(std::span<const ExpectedTensor> expected) {
        for (const ExpectedTensor& wanted : expected) {
            const auto found = by_name_.find(wanted.name);
            if (wanted.kind != ExpectedTensor::Kind::class_axis0 || found == by_name_.end() ||
                wanted.shape.rank() != 2 || found->second->shape().rank() != 2 ||
                found->second->shape()[1] == wanted.shape[1])
                continue;
            other_heads_.insert(head_of(wanted.name));
            note_fresh(fmt::format("{} rebuilt: it reads {} features, that of the file {}",
                                   head_of(wanted.name), wanted.shape[1],
                                   found->second->shape()[1]));
        }
    }

    void make_head(const ExpectedTensor& wanted) {
        result_.fresh.push_back(wanted.name);
        note_fresh(fmt::format("{} rebuilt for {} classes: the file has none", head_of(wanted.name),
                               wanted.shape[0]));
    }

    static std::string head_of(const std::string& name) { return name.substr(0, name.rfind('.')); }

    void replace(const ExpectedTensor& wanted, const std::string& name, std::int64_t found,
                 std::int64_t expected) {
        result_.fresh.push_back(wanted.name);
        note_fresh(fmt::format("{} replaced: {} -> {} classes", head_of(name), found, expected));
    }

    void note_fresh(const std::string& text) {
        if (result_.why_fresh.empty()) result_.why_fresh = text;
        note(text);
    }

    void misfit(const std::string& name, const Shape& expected, const Tensor& found) {
        std::string text = fmt::format("{} expected {}, found {}", name, expected.to_string(),
                                       found.shape().to_string());
        // Each class of a stacked head says the same.
        if (std::ranges::find(misfits_.wrong_shape, text) == misfits_.wrong_shape.end())
            misfits_.wrong_shape.push_back(std::move(text));
    }

    void place_fitted(const ExpectedTensor& wanted, const Tensor& found, const GridFit& fit) {
        if (!fit.problem.empty()) {
            misfits_.wrong_shape.push_back(wanted.name + " " + fit.problem);
            return;
        }
        if (!fit.note.empty()) note(fit.note);
        keep(wanted, fit.tensor, &found);
    }

    // Half floats of a file with int8 weights stay what they are, so that the model is saved as
    // small as it was; not those that had to be adapted.
    bool stays_half(const Tensor& tensor, const Tensor& found) const {
        if (scales_.empty() || found.dtype() != DType::f16 || tensor.count() != found.count())
            return false;
        const Tensor half = convert(tensor, DType::f16);
        return std::memcmp(half.bytes(), found.bytes(), half.byte_size()) == 0;
    }

    // `tensor`, float32, is what was made of `found` where that is of any use.
    void keep(const ExpectedTensor& wanted, const Tensor& tensor, const Tensor* found = nullptr) {
        if (!options_.allow_non_finite)
            if (const auto bad = first_non_finite(tensor))
                throw Error(fmt::format("{}: tensor '{}': {} at {}, expected finite numbers",
                                        file_name_, wanted.name, bad->value,
                                        index_text(tensor.shape(), bad->index)));
        const Tensor& kept = found != nullptr && stays_half(tensor, *found) ? *found : tensor;
        result_.tensors.insert_or_assign(wanted.name, kept.reshaped(wanted.shape));
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
    std::unordered_map<std::string, Tensor> stacked_;  // float32
    std::set<std::string> other_heads_;
    std::set<std::string> scale_names_;                        // of tensors that are int8
    std::unordered_map<const Tensor*, const Tensor*> scales_;  // by these tensors
    Misfits misfits_;
    Matched result_;
};

}  // namespace

bool same_but_ones(const Shape& a, const Shape& b) {
    return squeezed(a.extents()) == squeezed(b.extents());
}

bool is_for_training(std::string_view name) {
    return name.ends_with(".num_batches_tracked") || name == "mask_token";
}

Matched match_weights(const WeightFile& file, const std::string& file_name,
                      std::span<const ExpectedTensor> expected, std::span<const Rename> renames,
                      const MatchOptions& options) {
    return Matcher(file, file_name, options).run(expected, renames);
}

}  // namespace cait
