#include "train/run/run_state.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>

#include "image/preprocessing_json.h"
#include "models/file_facts.h"
#include "weights/checksum.h"
#include "weights/metadata_json.h"
#include "weights/safetensors.h"

namespace cait {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(EpochTotals, steps, images, loss, correct, data_seconds,
                                   forward_seconds, backward_seconds, optimizer_seconds, seconds)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(BestSoFar, value, epoch, any)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Position, epoch, batch)

namespace {

constexpr const char* kStateKey = "cait.state";
constexpr const char* kClusters = "clusters";
constexpr const char* kVocabulary = "vocabulary";  // its bytes

// A whole number that a run could have reached: -1 or 1e30 must not become some other number.
std::uint64_t count(const nlohmann::json& json, const char* key) {
    constexpr std::uint64_t kMost = std::uint64_t{1} << 48;
    const auto found = json.find(key);
    if (found == json.end() || !found->is_number_unsigned() || found->get<std::uint64_t>() > kMost)
        throw Error(fmt::format("{}: expected a whole number from 0 to {}, found {}", key, kMost,
                                found == json.end() ? "none" : found->dump()));
    return found->get<std::uint64_t>();
}

Tensor tensor_of(const std::vector<std::int64_t>& numbers) {
    Tensor tensor = Tensor::empty(DType::i64, {std::int64_t(numbers.size())});
    std::ranges::copy(std::as_bytes(std::span(numbers)), tensor.mutable_bytes().begin());
    return tensor;
}

std::vector<std::int64_t> numbers_of(const Tensor& tensor, const std::filesystem::path& path) {
    if (tensor.dtype() != DType::i64)
        throw Error(fmt::format("{}: {}: expected int64, found {}", path.string(), kClusters,
                                name_of(tensor.dtype())));
    std::vector<std::int64_t> numbers(tensor.byte_size() / sizeof(std::int64_t));
    std::memcpy(numbers.data(), tensor.bytes(), numbers.size() * sizeof(std::int64_t));
    return numbers;
}

// The languages and the kind stand in the JSON, the bytes in a tensor of their own.
nlohmann::json json_of(const TextFacts& text) {
    return {{"source", text.source}, {"target", text.target}, {"kind", text.kind}};
}

Tensor tensor_of(const std::string& bytes) {
    Tensor tensor = Tensor::empty(DType::u8, {std::int64_t(bytes.size())});
    std::ranges::copy(std::as_bytes(std::span(bytes)), tensor.mutable_bytes().begin());
    return tensor;
}

TextFacts text_of(const nlohmann::json& json, const Tensor& bytes) {
    if (bytes.dtype() != DType::u8)
        throw Error(
            fmt::format("{}: expected uint8, found {}", kVocabulary, name_of(bytes.dtype())));
    TextFacts text{
        .source = json.at("source"),
        .target = json.at("target"),
        .kind = json.at("kind"),
        .vocabulary = std::string(reinterpret_cast<const char*>(bytes.bytes()), bytes.byte_size())};
    check_text_facts(text, kVocabulary);
    return text;
}

}  // namespace

EpochTotals operator-(EpochTotals a, const EpochTotals& b) {
    a.steps -= b.steps;
    a.images -= b.images;
    a.loss -= b.loss;
    a.correct -= b.correct;
    a.data_seconds -= b.data_seconds;
    a.forward_seconds -= b.forward_seconds;
    a.backward_seconds -= b.backward_seconds;
    a.optimizer_seconds -= b.optimizer_seconds;
    a.seconds -= b.seconds;
    return a;
}

void save_state(const FilePlace& place, const RunState& state) {
    nlohmann::json json = {{"step", state.step},
                           {"position", state.position},
                           {"totals", state.totals},
                           {"best", state.best},
                           {"skipped", state.skipped},
                           {"skipped_in_a_row", state.skipped_in_a_row},
                           {"preprocessing", state.preprocessing},
                           {"classes", state.classes},
                           {"made_with", state.made_with}};
    std::map<std::string, Tensor> tensors = state.tensors;
    if (!state.clusters.empty()) tensors.emplace(kClusters, tensor_of(state.clusters));
    if (state.kept.window > 0)
        json["kept"] = {{"window", state.kept.window}, {"since", state.kept.since}};
    if (state.text) {
        json["text"] = json_of(*state.text);
        tensors.emplace(kVocabulary, tensor_of(state.text->vocabulary));
    }
    write_sealed(place, tensors, {{kStateKey, json.dump()}});
}

RunState load_state(const FilePlace& place) {
    const std::filesystem::path path = place.path();
    const TensorFile file = TensorFile::open(place);
    const auto entry = file.metadata.find(kStateKey);
    if (entry == file.metadata.end() || !file.metadata.contains(kChecksumKey))
        throw Error(
            fmt::format("{}: not the state of a run: no metadata '{}'", path.string(), kStateKey));
    verify_metadata(file.tensors, file.metadata, path.string());
    verify_checksums(file.tensors, file.metadata, path.string());
    RunState state;
    for (const NamedTensor& named : file.tensors) state.tensors.emplace(named.name, named.tensor);
    const auto vocabulary = state.tensors.extract(kVocabulary);
    try {
        const auto json = parse_metadata_json(entry->second);
        if (!json.is_object()) throw Error("expected a JSON object");
        state.step = count(json, "step");
        state.position = {count(json.at("position"), "epoch"), count(json.at("position"), "batch")};
        json.at("totals").get_to(state.totals);
        for (const char* key : {"steps", "images"}) count(json["totals"], key);
        json.at("best").get_to(state.best);
        state.skipped = count(json, "skipped");
        state.skipped_in_a_row = count(json, "skipped_in_a_row");
        json.at("preprocessing").get_to(state.preprocessing);
        json.at("classes").get_to(state.classes);
        if (json.contains("made_with")) json.at("made_with").get_to(state.made_with);
        if (json.contains("kept"))
            state.kept = {count(json["kept"], "window"), count(json["kept"], "since")};
        if (json.contains("text") != !vocabulary.empty())
            throw Error(fmt::format("expected 'text' alongside the tensor '{}'", kVocabulary));
        if (!vocabulary.empty()) state.text = text_of(json.at("text"), vocabulary.mapped());
    } catch (const std::exception& error) {  // of the JSON, or of a value in it
        throw Error(fmt::format("{}: metadata '{}': {}", path.string(), kStateKey, error.what()));
    }
    if (const auto clusters = state.tensors.extract(kClusters); !clusters.empty())
        state.clusters = numbers_of(clusters.mapped(), path);
    return state;
}

void check_position(const RunState& state, std::uint64_t epochs, std::uint64_t batches,
                    const std::filesystem::path& path) {
    const auto check = [&](const char* what, std::uint64_t found, std::uint64_t most) {
        if (found > most)
            throw Error(fmt::format("{}: {}: expected at most {}, found {}", path.string(), what,
                                    most, found));
    };
    check("epoch", state.position.epoch, epochs);
    check("batch", state.position.batch, batches);
    check("best epoch", state.best.epoch, epochs);
}

}  // namespace cait
