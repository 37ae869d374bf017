#include "attend_numbers.h"

#include <algorithm>

#include "weights/npy.h"
#include "weights/safetensors.h"

namespace cait::app {

void RawMaps::add(const Seen& seen) {
    ++images_;
    for (std::size_t m = 0; m < seen.looks.size(); ++m) {
        const std::vector<LookMap>& maps = seen.looks[m].maps;
        const AttentionMap& one = maps.front().mean;
        shapes_[m] = {std::int64_t(maps.size()), std::int64_t(maps.front().heads.size()),
                      one.height, one.width};
        memory_.push_back(MemoryBudget::of_process().keep(
            std::uint64_t(shapes_[m].count()) * sizeof(float), "attend: maps for --raw"));
        for (const LookMap& map : maps)
            for (const AttentionMap& head : map.heads)
                values_[m].insert(values_[m].end(), head.values.begin(), head.values.end());
    }
}

void RawMaps::write(const std::string& file, const std::vector<Looker>& models) const {
    std::vector<NamedTensor> tensors;
    for (std::size_t m = 0; m < models.size(); ++m) {
        const Shape& one = shapes_[m];
        tensors.push_back(
            {models[m].name(),
             Tensor::of({std::int64_t(images_), one[0], one[1], one[2], one[3]}, values_[m])});
    }
    if (file.ends_with(".npy")) return write_npy(file, tensors.front().tensor);
    write_safetensors(file, tensors, {});
}

namespace {

nlohmann::json to_json(const LookMap& map) {
    const auto most = std::ranges::max_element(map.mean.values);
    const std::int64_t place = most - map.mean.values.begin();
    nlohmann::json json{{"map", map.layer ? "class" : "rollout"},
                        {"heads", map.heads.size()},
                        {"height", map.mean.height},
                        {"width", map.mean.width},
                        {"least", std::ranges::min(map.mean.values)},
                        {"most", *most},
                        {"most_at", {place / map.mean.width, place % map.mean.width}}};
    if (map.layer) json["layer"] = *map.layer;
    if (map.of) json["label"] = map.of->name;
    return json;
}

}  // namespace

nlohmann::json to_json(const Seen& seen, const std::vector<Looker>& models) {
    nlohmann::json json{{"image", seen.name}, {"models", nlohmann::json::array()}};
    if (seen.label) json["label"] = *seen.label;
    for (std::size_t m = 0; m < models.size(); ++m) {
        nlohmann::json predictions = nlohmann::json::array(), maps = nlohmann::json::array();
        for (const Answer& one : seen.looks[m].classes)
            predictions.push_back(
                {{"label", one.name}, {"index", one.index}, {"score", one.probability}});
        for (const LookMap& map : seen.looks[m].maps) maps.push_back(to_json(map));
        json["models"].push_back({{"model", models[m].name()},
                                  {"weights", models[m].weights()},
                                  {"predictions", std::move(predictions)},
                                  {"maps", std::move(maps)}});
    }
    return json;
}

}  // namespace cait::app
