#include "image/preprocessing_json.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "image/evaluation_transform.h"

namespace cait {

namespace {

using Json = nlohmann::json;
using Channels = std::array<float, 3>;

// 0.485 and not 0.48500001430511475: what a float is meant to be.
Json short_numbers(const Channels& values) {
    Json list = Json::array();
    for (const float value : values) list.push_back(std::stod(fmt::format("{}", value)));
    return list;
}

double number(const Json& json, const char* name) {
    if (!json.is_number() || !std::isfinite(json.get<double>()))
        throw Error(fmt::format("expected finite numbers for '{}'", name));
    return json.get<double>();
}

void read(const Json& json, const char* name, double& value) {
    if (const auto found = json.find(name); found != json.end()) value = number(*found, name);
}

void read(const Json& json, const char* name, std::string& value) {
    const auto found = json.find(name);
    if (found == json.end()) return;
    if (!found->is_string()) throw Error(fmt::format("expected a string for '{}'", name));
    value = found->get<std::string>();
}

void read(const Json& json, const char* name, Channels& values) {
    const auto found = json.find(name);
    if (found == json.end()) return;
    if (!found->is_array() || found->size() != values.size())
        throw Error(fmt::format("expected three numbers for '{}'", name));
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = float(number((*found)[i], name));
}

// What a file says is checked here, where the field can still be named; what a person says, by
// EvaluationTransform.
void check(const Preprocessing& preprocessing) {
    const auto range = [](const char* name, double value, double least, double most) {
        if (!(value >= least && value <= most))
            throw Error(
                fmt::format("'{}': expected {:g} to {:g}, found {:g}", name, least, most, value));
    };
    range("crop_ratio", preprocessing.crop_ratio, kLeastCropRatio, kMostCropRatio);
    for (const float value : preprocessing.mean)
        range("mean", double(value), -kMostMean, kMostMean);
    for (const float value : preprocessing.std) range("std", double(value), kLeastStd, kMostStd);
    try {
        parse_crop_mode(preprocessing.crop_mode);
        parse_filter(preprocessing.interpolation);
    } catch (const UsageError& error) {  // the file's mistake, not the caller's
        throw Error(error.what());
    }
}

}  // namespace

void to_json(Json& json, const Preprocessing& preprocessing) {
    json = Json{{"crop_ratio", preprocessing.crop_ratio},
                {"crop_mode", preprocessing.crop_mode},
                {"interpolation", preprocessing.interpolation},
                {"mean", short_numbers(preprocessing.mean)},
                {"std", short_numbers(preprocessing.std)}};
}

void from_json(const Json& json, Preprocessing& preprocessing) {
    if (!json.is_object()) throw Error("expected a JSON object");
    read(json, "crop_ratio", preprocessing.crop_ratio);
    read(json, "crop_mode", preprocessing.crop_mode);
    read(json, "interpolation", preprocessing.interpolation);
    read(json, "mean", preprocessing.mean);
    read(json, "deviation", preprocessing.std);  // its older name, in the state of runs
    read(json, "std", preprocessing.std);
    check(preprocessing);
}

}  // namespace cait
