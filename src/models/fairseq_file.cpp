#include "models/fairseq_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "cait/error.h"

namespace cait {

namespace {

constexpr std::string_view kTable = "encoder.embed_tokens.weight";
// Of the same pieces; the last one in the form of old files.
constexpr std::array<std::string_view, 3> kSameTables{
    "decoder.embed_tokens.weight", "decoder.output_projection.weight", "decoder.embed_out"};

const Tensor* table_in(const WeightFile& file) {
    const auto found = std::ranges::find(file.tensors, kTable, &NamedTensor::name);
    return found == file.tensors.end() ? nullptr : &found->tensor;
}

bool same_values(const Tensor& a, const Tensor& b) {
    return a.dtype() == b.dtype() && a.shape() == b.shape() &&
           (a.bytes() == b.bytes() || std::memcmp(a.bytes(), b.bytes(), a.byte_size()) == 0);
}

bool holds_nothing(std::string_view name) {
    return name == "encoder.version" || name == "decoder.version" ||
           name.ends_with(".embed_positions._float_tensor");
}

// "encoder.layers.3.fc1_weight" and its like: fairseq 0.12 keeps room for copies of an encoder
// layer's parameters, which it fills when it loads a file.
bool is_copy(std::string_view name) {
    constexpr std::string_view kLayers = "encoder.layers.";
    constexpr std::array<std::string_view, 8> kCopies{
        "in_proj_weight", "in_proj_bias", "out_proj_weight", "out_proj_bias",
        "fc1_weight",     "fc1_bias",     "fc2_weight",      "fc2_bias"};
    if (!name.starts_with(kLayers)) return false;
    name.remove_prefix(kLayers.size());
    const std::size_t dot = name.find('.');
    return dot != std::string_view::npos &&
           std::ranges::find(kCopies, name.substr(dot + 1)) != kCopies.end();
}

// "…self_attn.in_proj_weight" [3 D, …] as q_proj.weight, k_proj.weight and v_proj.weight; false for
// anything else.
bool append_thirds(const NamedTensor& entry, std::vector<NamedTensor>& tensors) {
    constexpr std::string_view kStacked = "_attn.in_proj_";
    std::size_t at = entry.name.rfind(kStacked);
    if (at != std::string::npos) at += kStacked.find('.');
    const Shape& shape = entry.tensor.shape();
    if (at == std::string::npos || shape.rank() == 0 || shape[0] == 0 || shape[0] % 3 != 0)
        return false;
    Shape third = shape;
    third[0] = shape[0] / 3;
    const std::size_t bytes = entry.tensor.byte_size() / 3;
    std::size_t begin = 0;
    for (const char* part : {"q_proj", "k_proj", "v_proj"}) {
        tensors.push_back(
            {fmt::format("{}.{}.{}", entry.name.substr(0, at), part,
                         entry.name.substr(at + std::string_view(".in_proj_").size())),
             Tensor::view(entry.tensor.dtype(), third, entry.tensor.bytes() + begin,
                          entry.tensor.owner())});
        begin += bytes;
    }
    return true;
}

}  // namespace

WeightFile from_fairseq(WeightFile file, const std::string& path) {
    const Tensor* table = table_in(file);
    std::vector<NamedTensor> tensors;
    for (const NamedTensor& entry : file.tensors) {
        const bool is_table = std::ranges::count(kSameTables, entry.name) > 0;
        if (is_table && table != nullptr) {
            if (!same_values(entry.tensor, *table))
                throw Error(
                    fmt::format("{}: {}: expected the values of {}, as sources, targets "
                                "and output share one table, found others",
                                path, entry.name, kTable));
        } else if (!holds_nothing(entry.name) && !is_copy(entry.name) &&
                   !append_thirds(entry, tensors)) {
            tensors.push_back(entry);
        }
    }
    file.tensors = std::move(tensors);
    return file;
}

void add_for_fairseq(std::vector<NamedTensor>& tensors) {
    constexpr float kVersion = 3;  // norms at the ends are told by the files' settings alone
    const auto table = std::ranges::find(tensors, kTable, &NamedTensor::name);
    if (table == tensors.end()) return;
    const Tensor pieces = table->tensor;
    tensors.push_back({"decoder.embed_tokens.weight", pieces});
    tensors.push_back({"decoder.output_projection.weight", pieces});
    for (const char* side : {"encoder", "decoder"})
        tensors.push_back(
            {fmt::format("{}.version", side), Tensor::of({1}, std::span(&kVersion, 1))});
}

std::optional<std::int64_t> pieces_in(const WeightFile& file) {
    const Tensor* table = table_in(file);
    if (table == nullptr || table->shape().rank() != 2) return std::nullopt;
    return table->shape()[0];
}

}  // namespace cait
