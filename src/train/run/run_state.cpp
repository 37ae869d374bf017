#include "train/run/run_state.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "prepare/preprocessing_json.h"
#include "weights/checksum.h"
#include "weights/safetensors.h"

namespace cait {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(EpochTotals, steps, images, loss, correct, data_seconds,
                                   forward_seconds, backward_seconds, optimizer_seconds, seconds)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(BestSoFar, value, epoch, any)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Position, epoch, batch)

namespace {

constexpr const char* kStateKey = "cait.state";

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

void save_state(const std::filesystem::path& path, const RunState& state) {
    const nlohmann::json json = {{"step", state.step},
                                 {"position", state.position},
                                 {"totals", state.totals},
                                 {"best", state.best},
                                 {"skipped", state.skipped},
                                 {"skipped_in_a_row", state.skipped_in_a_row},
                                 {"preprocessing", state.preprocessing},
                                 {"classes", state.classes},
                                 {"made_with", state.made_with}};
    std::vector<NamedTensor> tensors;
    for (const auto& [name, tensor] : state.tensors) tensors.push_back({name, tensor});
    write_safetensors(path, tensors,
                      {{kStateKey, json.dump()}, {kChecksumKey, checksums(tensors)}});
}

RunState load_state(const std::filesystem::path& path) {
    const TensorFile file = TensorFile::open(path);
    const auto entry = file.metadata.find(kStateKey);
    if (entry == file.metadata.end() || !file.metadata.contains(kChecksumKey))
        throw Error(
            fmt::format("{}: not the state of a run: no metadata '{}'", path.string(), kStateKey));
    verify_checksums(file.tensors, file.metadata, path.string());
    RunState state;
    try {
        const auto json = nlohmann::json::parse(entry->second);
        json.at("step").get_to(state.step);
        json.at("position").get_to(state.position);
        json.at("totals").get_to(state.totals);
        json.at("best").get_to(state.best);
        json.at("skipped").get_to(state.skipped);
        json.at("skipped_in_a_row").get_to(state.skipped_in_a_row);
        json.at("preprocessing").get_to(state.preprocessing);
        json.at("classes").get_to(state.classes);
        if (json.contains("made_with")) json.at("made_with").get_to(state.made_with);
    } catch (const std::exception& error) {  // of the JSON, or of a value in it
        throw Error(fmt::format("{}: metadata '{}': {}", path.string(), kStateKey, error.what()));
    }
    for (const NamedTensor& named : file.tensors) state.tensors.emplace(named.name, named.tensor);
    return state;
}

}  // namespace cait
