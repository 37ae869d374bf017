// What goes on inside models and what they get right under other conditions: each analysis gives
// charts, a table and numbers.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/work_observer.h"
#include "cait/session.h"
#include "models/executor.h"
#include "report/analysis_report.h"

namespace cait {

struct AnalysedModel {
    std::string name;  // in charts
    std::string file;
    Model model;
    std::unique_ptr<Executor> executor;
    // The same weights for images of another size.
    std::function<Model(std::int64_t size)> at_size;
    Tensor images{};  // prepared, for what is measured inside; undefined where none were given
};

struct AnalysisRequest {
    std::string data{};                   // data set that accuracies are measured on
    std::string second{};                 // another one: accuracy on it by that on `data`
    std::size_t limit = 0;                // images of each; 0: all
    std::uint64_t seed = 0;               // chooses them
    std::vector<std::int64_t> sizes{};    // empty: around the model's own
    std::vector<double> ratios{};         // crop ratios; empty: 0.6 to 1
    std::vector<std::string> reported{};  // models of the catalogue with their papers' figures
    SessionOptions session{};
    int loader_threads = 1;  // that read images
    WorkObserver observer{};
};

struct Finding {
    AnalysisSection section;
    nlohmann::json numbers;
};

// An analysis takes the models that it fits; the others are reported to the observer. One that fits
// none of them throws UsageError with the first reason.
Finding analyze_residual(const AnalysisRequest& request, std::vector<AnalysedModel>& models);
Finding analyze_layerscale(const AnalysisRequest& request, std::vector<AnalysedModel>& models);
Finding analyze_filters(const AnalysisRequest& request, std::vector<AnalysedModel>& models);
Finding analyze_tokens(const AnalysisRequest& request, std::vector<AnalysedModel>& models);
Finding analyze_similarity(const AnalysisRequest& request, std::vector<AnalysedModel>& models);
Finding analyze_resolution(const AnalysisRequest& request, std::vector<AnalysedModel>& models);
Finding analyze_crop(const AnalysisRequest& request, std::vector<AnalysedModel>& models);
Finding analyze_cost(const AnalysisRequest& request, std::vector<AnalysedModel>& models);
Finding analyze_second(const AnalysisRequest& request, std::vector<AnalysedModel>& models);

// Calls measure(model) for each, with the rule above.
void for_fitting(const std::string& what, const AnalysisRequest& request,
                 std::vector<AnalysedModel>& models,
                 const std::function<void(AnalysedModel&)>& measure);

}  // namespace cait
