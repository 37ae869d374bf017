// A study as a page and as JSON, as both were when somebody last looked at them.
#include "analysis/study.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "support/source_path.h"
#include "support/stored_text.h"

namespace cait {
namespace {

StudiedModel model(int i, const std::string& trained) {
    StudiedModel one{
        .name = "model " + std::to_string(i),
        .method = "ours",
        .weights = "m" + std::to_string(i) + ".safetensors",
        .model = "resnet18",
        .trained = trained,
        .images = 8,
        .dimension = 4,
        .energy = {0.4 + 0.1 * i, 0.75, 0.92, 1},
        .map = Tsne{{}, 0.25 * i, 100},
        .granularity = {{"coarse", 2, 5, 0.9 - 0.1 * i, 0.8}, {"fine", 4, 10, 0.5 + 0.1 * i, 0.4}},
        .draws = {{0.7, 0.8, 12, true}, {0.75 + 0.01 * i, 0.85, 100, false}},
        .conditioned = i == 1};
    for (int p = 0; p < 8; ++p) one.map->points.push_back({std::cos(p) * (i + 1), std::sin(p)});
    return one;
}

Study study() {
    Study study{.data = "folder:train",
                .test = "folder:test",
                .models = {model(0, "coarse"), model(1, "fine"), model(2, "")},
                .notes = {"one model was <left> out"},
                .facts = {{"machine", "2 cores"}},
                .map_indices = {3, 5, 8, 13, 21, 34, 55, 89},
                .map_levels = {{"coarse", {{"animal", "plant"}, false}, {0, 0, 0, 0, 1, 1, 1, 1}},
                               {"fine", {{"a", "b", "c", "d"}, false}, {0, 0, 1, 1, 2, 2, 3, 3}}},
                .perplexity = 2.5,
                .coarse = "coarse",
                .coarse_classes = 2};
    return study;
}

TEST(Study, IsDrawnAsItWas) {
    const auto folder = test::source_path(__FILE__).parent_path() / "data";
    test::expect_drawn(folder / "study.html", study_html(study()));
    test::expect_stored(folder / "study.json", study_json(study()).dump(1) + "\n");
}

}  // namespace
}  // namespace cait
