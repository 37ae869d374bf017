#include "models/own_settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <string_view>

#include "base/printable.h"
#include "graph/expected.h"
#include "models/file_tensors.h"

namespace cait {

namespace {

// Settings that say how often something with parameters of its own is repeated; a list counts with
// its sum. The tests hold every whole number of every family against this list.
constexpr std::array<std::string_view, 9> kLayers{"depth",        "depths",        "blocks",
                                                  "layers",       "class_layers",  "plain_blocks",
                                                  "class_insert", "encoder_depth", "decoder_depth"};

[[noreturn]] void refuse(const std::string& path, std::string_view key, const std::string& what) {
    throw Error(fmt::format("{}: metadata 'cait.settings': {}: {}", path, key, what));
}

// "24" or "2,4,11,1"; configure() has seen that these are numbers of at most seven digits.
std::int64_t sum_of(std::string_view text) {
    std::int64_t sum = 0;
    for (const char *at = text.data(), *end = at + text.size(); at < end; ++at) {
        std::int64_t number = 0;
        at = std::from_chars(at, end, number).ptr;
        sum += number;
    }
    return sum;
}

std::int64_t values_in(const WeightFile& file) {
    std::int64_t count = 0;
    for (const NamedTensor& entry : file.tensors) count += entry.tensor.count();
    return count;
}

// All that must hold before a graph is recorded.
void check_size(const ModelSpec& spec, const WeightFile& file, const std::string& path) {
    constexpr std::int64_t kAnyImage = 1 << 22;  // pixels that need no explanation
    const auto tensors = std::int64_t(file.tensors.size());
    const std::int64_t values = values_in(file);
    for (const auto& [key, text] : spec.settings())
        if (std::ranges::find(kLayers, key) != kLayers.end() && sum_of(text) > tensors)
            refuse(path, key,
                   fmt::format("expected at most {}, as the file has {} tensors, found {}", tensors,
                               tensors, text));
    const CommonConfig& common = spec.architecture->common();
    if (common.classes > values / 2)  // each has a weight and a bias at least
        refuse(path, "classes",
               fmt::format("expected at most {}, as the file has {} values, found {}", values / 2,
                           values, common.classes));
    if (spec.head.has_own_classes() && class_count(spec) > values / 2)
        refuse(path, "head.classes",
               fmt::format("expected at most {}, as the file has {} values, found {}", values / 2,
                           values, class_count(spec)));
    const auto [height, width] = common.image_size;
    if (height * width > std::max(kAnyImage, values))
        refuse(path, "image_size",
               fmt::format("expected at most {} pixels for a file of {} values, found {}x{}",
                           std::max(kAnyImage, values), values, height, width));
}

std::string_view setting_of(ExpectedTensor::Kind kind) {
    using Kind = ExpectedTensor::Kind;
    switch (kind) {
        case Kind::class_axis0:
        case Kind::class_tokens:
        case Kind::class_row: return "classes";
        case Kind::position:
        case Kind::patch_mixing: return "image_size";
        default: return {};
    }
}

std::vector<ExpectedTensor> expected_of(const ModelSpec& spec, const std::string& path) {
    try {
        return expected_tensors(record(spec));
    } catch (const Error& error) {  // sizes that overflow
        throw Error(fmt::format("{}: metadata: {}", path, error.what()));
    }
}

// Whether loading would make another number of classes or positions out of what the file has.
bool would_be_adapted(const ExpectedTensor& wanted, const Shape& found) {
    using Kind = ExpectedTensor::Kind;
    if (found.rank() == 0 || wanted.shape.rank() == 0) return false;
    if (wanted.kind == Kind::class_axis0) return found[0] != wanted.shape[0];
    if (wanted.kind == Kind::class_row)
        return found.count() != wanted.shape.count() && found[0] != wanted.rows;
    if (wanted.kind == Kind::patch_mixing) return found.count() != wanted.shape.count();
    const std::int64_t prefix = wanted.prefix_in_tokens ? wanted.prefix_tokens : 0;
    if (prefix > 0 && found.count() == wanted.shape.count() - prefix * wanted.shape[-1])
        return false;
    return found[-1] == wanted.shape[-1] && found.count() != wanted.shape.count();
}

// Heads and position embeddings would be made to fit: that is for what somebody asks for, and not
// for what a file says about itself.
void check_tensors(const ModelSpec& spec, const WeightFile& file, const std::string& path) {
    const std::map<std::string, const Tensor*> by_name = tensors_by_name(file, spec);
    for (const ExpectedTensor& wanted : expected_of(spec, path)) {
        const std::string_view setting = setting_of(wanted.kind);
        if (setting.empty()) continue;
        auto found = by_name.find(wanted.name);
        if (found == by_name.end()) found = by_name.find(wanted.stacked);
        // What is missing is told with everything else that does not fit.
        if (found == by_name.end() || !would_be_adapted(wanted, found->second->shape())) continue;
        refuse(path, setting,
               fmt::format("{} does not fit: expected {}, found {}", printable(found->first),
                           wanted.shape.to_string(), found->second->shape().to_string()));
    }
}

}  // namespace

ModelSpec own_model(const WeightFile& file, const FileFacts& facts, const std::string& path) {
    try {
        ModelSpec spec = configure(facts.model, facts.settings);
        check_size(spec, file, path);
        check_tensors(spec, file, path);
        return spec;
    } catch (const UsageError& error) {  // the file's mistake, not the caller's
        throw Error(fmt::format("{}: metadata: {}", path, error.what()));
    }
}

}  // namespace cait
