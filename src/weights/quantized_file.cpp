#include "weights/quantized_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "base/printable.h"
#include "base/quantized.h"
#include "cait/error.h"
#include "weights/metadata_json.h"

namespace cait {

namespace {

std::vector<std::string> list_of(const nlohmann::json& entry, const char* name,
                                 const std::string& path) {
    const auto refuse = [&] {
        throw Error(fmt::format("{}: metadata '{}': expected a list of names as '{}'", path,
                                kQuantizedKey, name));
    };
    std::vector<std::string> names;
    if (!entry.contains(name) || !entry[name].is_array()) refuse();
    for (const auto& one : entry[name]) {
        if (!one.is_string()) refuse();
        names.push_back(one.get<std::string>());
    }
    return names;
}

void check_tensor(const std::map<std::string, Tensor>& tensors, const std::string& name,
                  const std::string& path) {
    const auto fail = [&](const std::string& of, const std::string& what) {
        throw Error(fmt::format("{}: tensor '{}': {}", path, printable(of), what));
    };
    const auto found = tensors.find(name);
    if (found == tensors.end()) fail(name, "expected int8 numbers, found no such tensor");
    if (found->second.dtype() != DType::i8 || found->second.shape().rank() == 0)
        fail(name, fmt::format("expected int8 numbers in rows, found {} {}",
                               name_of(found->second.dtype()), found->second.shape().to_string()));
    const auto scales = tensors.find(scale_name(name));
    if (scales == tensors.end())
        fail(scale_name(name),
             fmt::format("expected the scales of {}, found no such tensor", printable(name)));
    if (const auto fault = scale_fault(scales->second, found->second.shape()[0]))
        fail(scale_name(name), *fault);
}

}  // namespace

std::string quantized_metadata(const QuantizedFacts& facts) {
    return nlohmann::json{{"format", "int8"}, {"tensors", facts.tensors}, {"keep", facts.keep}}
        .dump();
}

std::optional<QuantizedFacts> read_quantized(const WeightFile& file, const std::string& path) {
    const auto text = file.metadata.find(kQuantizedKey);
    if (text == file.metadata.end()) return std::nullopt;
    const nlohmann::json entry = parse_metadata_json(text->second);
    if (!entry.is_object() || !entry.contains("format") || entry["format"] != "int8")
        throw Error(fmt::format("{}: metadata '{}': expected a JSON object with format int8", path,
                                kQuantizedKey));
    const QuantizedFacts facts{list_of(entry, "tensors", path), list_of(entry, "keep", path)};
    std::map<std::string, Tensor> tensors;
    for (const NamedTensor& one : file.tensors) tensors.emplace(one.name, one.tensor);
    for (const std::string& name : facts.tensors) check_tensor(tensors, name, path);
    return facts;
}

void dequantize_file(WeightFile& file, const std::string& path) {
    const auto facts = read_quantized(file, path);
    if (!facts) return;
    std::map<std::string, Tensor> tensors;
    for (const NamedTensor& one : file.tensors) tensors.emplace(one.name, one.tensor);
    std::set<std::string> scales;
    for (const std::string& name : facts->tensors) scales.insert(scale_name(name));
    const std::set<std::string> whole(facts->tensors.begin(), facts->tensors.end());
    std::erase_if(file.tensors, [&](const NamedTensor& one) { return scales.contains(one.name); });
    for (NamedTensor& one : file.tensors)
        if (whole.contains(one.name)) one.tensor = float_tensor(one.name, tensors);
    file.metadata.erase(kQuantizedKey);
}

}  // namespace cait
