#include "models/file_tensors.h"

#include <algorithm>
#include <set>

#include "base/rename.h"
#include "cait/error.h"
#include "graph/expected.h"
#include "models/fairseq_file.h"

namespace cait {

namespace {

using Kind = ExpectedTensor::Kind;
using TensorsByName = std::map<std::string, const Tensor*>;

std::int64_t first_extent(const Tensor& tensor) {
    return tensor.shape().rank() > 0 ? tensor.shape()[0] : 1;
}

// Of a head, its stacked rows, or the tokens of classes.
std::optional<std::int64_t> rows_of(const ExpectedTensor& wanted, const TensorsByName& tensors) {
    const auto find = [&](const std::string& name) {
        const auto found = tensors.find(name);
        return found == tensors.end() ? nullptr : found->second;
    };
    if (wanted.kind == Kind::class_axis0)
        if (const Tensor* head = find(wanted.name)) return wanted.classes_of(first_extent(*head));
    if (wanted.kind == Kind::class_row)
        if (const Tensor* head = find(wanted.stacked)) return first_extent(*head);
    if (wanted.kind == Kind::class_tokens)
        // One token alone is repeated for the classes of a stacked head, which has their number.
        // With more, each class has tensors of its own: a file of fewer tensors lies.
        if (const Tensor* tokens = find(wanted.name);
            tokens != nullptr && tokens->shape().rank() == 3 && tokens->shape()[1] > 1 &&
            tokens->shape()[1] <= std::int64_t(tensors.size()))
            return tokens->shape()[1];
    return std::nullopt;
}

// A head may be for any number of classes; class and distillation tokens may have taken in their
// positions.
bool has_shape(const ExpectedTensor& wanted, const Shape& found) {
    Shape shape = wanted.shape;
    if (wanted.kind == Kind::class_axis0 && found.rank() > 0) shape[0] = found[0];
    const std::int64_t prefix = wanted.prefix_in_tokens ? wanted.prefix_tokens : 0;
    return same_but_ones(shape, found) ||
           (prefix > 0 && found.count() == shape.count() - prefix * shape[-1]);
}

bool is_known(const std::string& name, const std::set<std::string>& wanted,
              const std::vector<std::string>& left_out) {
    return wanted.contains(name) || is_for_training(name) ||
           std::ranges::any_of(
               left_out, [&](const std::string& scope) { return name.starts_with(scope + "."); });
}

// By names and shapes alone.
bool fits(const WeightFile& file, const ModelSpec& spec) {
    const Graph graph = record(spec);
    const TensorsByName tensors = tensors_by_name(file, spec);
    std::set<std::string> wanted;
    std::size_t heads = 0, missing_heads = 0;
    for (const ExpectedTensor& one : expected_tensors(graph)) {
        if (one.kind == Kind::left_out) continue;
        wanted.insert(one.name);
        const auto found = tensors.find(one.name);
        const bool is_head = one.kind == Kind::class_axis0;
        heads += is_head ? 1 : 0;
        if (found == tensors.end() && is_head)
            ++missing_heads;
        else if (found == tensors.end() ? one.required : !has_shape(one, found->second->shape()))
            return false;
    }
    const std::vector<Rename> renames = known_renames(spec);
    return (missing_heads == 0 || missing_heads == heads) &&
           std::ranges::all_of(file.tensors, [&](const NamedTensor& entry) {
               return is_known(entry.name, wanted, graph.left_out) ||
                      is_known(to_official(entry.name, renames), wanted, graph.left_out);
           });
}

// Whether the file has any parameter of the family: what is about something else altogether is not
// compared with every preset.
bool shares_names(const WeightFile& file, const ModelSpec& spec) {
    const TensorsByName tensors = tensors_by_name(file, spec);
    return std::ranges::any_of(
        record(spec).params, [&](const ParamSpec& param) { return tensors.contains(param.name); });
}

// Any number of pieces fits, and fairseq's forms do.
void add_translators(const WeightFile& file, const Family& family,
                     std::vector<std::string>& names) {
    const auto pieces = pieces_in(file);
    if (!pieces) return;
    try {
        const WeightFile ours = from_fairseq(file, "file");
        for (const Preset& preset : family.presets)
            if (fits(ours, configure(preset.name, {{"vocabulary", std::to_string(*pieces)}})))
                names.push_back(preset.name);
    } catch (const Error&) {
        return;  // several tables, or a number of pieces that no model has
    }
}

}  // namespace

TensorsByName tensors_by_name(const WeightFile& file, const ModelSpec& spec) {
    TensorsByName tensors;
    const std::vector<Rename> renames = known_renames(spec);
    for (const NamedTensor& entry : file.tensors) tensors.emplace(entry.name, &entry.tensor);
    for (const NamedTensor& entry : file.tensors)
        tensors.emplace(to_official(entry.name, renames), &entry.tensor);
    return tensors;
}

std::optional<std::int64_t> classes_in(const WeightFile& file, const ModelSpec& spec) {
    const TensorsByName tensors = tensors_by_name(file, spec);
    const Graph graph = record(spec);
    const std::vector<ExpectedTensor> expected = expected_tensors(graph);
    for (std::size_t i = 0; i < graph.params.size(); ++i) {
        const ExpectedTensor& wanted = expected[i];
        const bool is_dense = graph.params[i].role.kind == ParamRole::Kind::dense_head;
        if (is_dense != spec.head.has_own_classes()) continue;
        if (const auto rows = rows_of(wanted, tensors);
            rows && *rows > 0 && *rows <= Settings::kLargest)
            return rows;
    }
    return std::nullopt;
}

std::vector<std::string> fitting_models(const WeightFile& file) {
    std::vector<std::string> names;
    for (const Family& family : families()) {
        if (family.takes_text) {
            add_translators(file, family, names);
            continue;
        }
        // A detector may have names of its own for the trunk, too.
        const bool is_known = std::ranges::any_of(family.presets, [&](const Preset& preset) {
            return (&preset == &family.presets.front() || preset.head.is_detector()) &&
                   shares_names(file, configure(preset.name));
        });
        if (!is_known) continue;
        for (const Preset& preset : family.presets)
            if (fits(file, configure(preset.name))) names.push_back(preset.name);
    }
    return names;
}

}  // namespace cait
