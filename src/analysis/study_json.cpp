// A study for machines.
#include <nlohmann/json.hpp>

#include "analysis/principal.h"
#include "analysis/study.h"

namespace cait {

namespace {

using Json = nlohmann::json;

Json spread_json(const Spread& spread) {
    return {{"mean", spread.mean},
            {"std", spread.deviation ? Json(*spread.deviation) : Json()},
            {"min", spread.least},
            {"max", spread.most}};
}

Json pca_json(const StudiedModel& model) {
    Json components = Json::object();
    for (const double mark : kEnergyMarks)
        components[std::to_string(int(100 * mark + 0.5))] = components_for(model.energy, mark);
    return {{"energy", model.energy}, {"components", components}};
}

Json separability_json(const StudiedModel& model) {
    Json draws = Json::array();
    for (const SeparabilityDraw& draw : model.draws) {
        draws.push_back(
            {{"top1", draw.top1}, {"iterations", draw.iterations}, {"converged", draw.converged}});
        if (model.conditioned) draws.back()["conditional"] = draw.conditional;
    }
    Json json{{"top1", spread_json(separability_spread(model, false))}};
    if (model.conditioned) json["conditional"] = spread_json(separability_spread(model, true));
    json["draws"] = draws;
    return json;
}

Json granularity_json(const StudiedModel& model) {
    Json levels = Json::array();
    for (const GranularityScore& score : model.granularity)
        levels.push_back({{"level", score.level},
                          {"classes", score.classes},
                          {"top1", score.top1},
                          {"k", score.k},
                          {"map", score.map}});
    return levels;
}

Json model_json(const StudiedModel& model) {
    Json json{{"name", model.name},     {"weights", model.weights}, {"model", model.model},
              {"method", model.method}, {"images", model.images},   {"dimension", model.dimension}};
    json["trained_at"] = model.trained.empty() ? Json() : Json(model.trained);
    if (!model.energy.empty()) json["pca"] = pca_json(model);
    if (!model.granularity.empty()) json["granularity"] = granularity_json(model);
    if (model.map)
        json["tsne"] = {{"divergence", model.map->divergence},
                        {"iterations", model.map->iterations},
                        {"points", model.map->points}};
    if (!model.draws.empty()) json["separability"] = separability_json(model);
    return json;
}

}  // namespace

nlohmann::json study_json(const Study& study) {
    Json json{{"data", study.data}};
    if (!study.test.empty()) json["test"] = study.test;
    if (!study.coarse.empty())
        json["split"] = {{"level", study.coarse}, {"classes", study.coarse_classes}};
    if (!study.map_indices.empty()) {
        Json labels = Json::object();
        for (const LabelLevel& level : study.map_levels) labels[level.name] = level.labels;
        json["map"] = {
            {"perplexity", study.perplexity}, {"indices", study.map_indices}, {"labels", labels}};
    }
    json["models"] = Json::array();
    for (const StudiedModel& model : study.models) json["models"].push_back(model_json(model));
    json["notes"] = study.notes;
    return json;
}

}  // namespace cait
