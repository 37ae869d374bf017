#include "serve/routes/attention.h"

#include <fmt/format.h>

#include <algorithm>

#include "image/draw/heat_map.h"
#include "models/attention_map.h"
#include "models/top_answers.h"
#include "report/html.h"
#include "serve/routes/replies.h"

namespace cait::serve {

namespace {

using nlohmann::json;

json map_json(const AttentionMap& map) {
    const auto [least, most] = std::ranges::minmax(map.values);
    return {{"png", png_uri(grey_map({map.width, map.height, map.values}))},
            {"least", least},
            {"most", most}};
}

}  // namespace

Tensor prepared_photo(const ServedModel& model, const std::string& file, const Intake& images,
                      const Request& of, SeenPart& seen) {
    const Image photo = decoded_image(file, "image", images, of);
    Preparer preparer = model.preparer();
    seen = {photo.width, photo.height, preparer.seen(photo)};
    return preparer.batch(1, [&](std::size_t) -> const Image& { return photo; });
}

json attention_json(const ServedModel& model, const std::map<std::string, Tensor>& outputs,
                    const SeenPart& seen) {
    std::int64_t query = 0;
    if (has_map_per_class(model.model()))
        query = top_answers(outputs.at("logits").floats(), 1).front().index;
    json layers = json::array();
    for (const std::string& tap : model.attention_taps()) {
        const Tensor& values = outputs.at(tap);
        const auto map = [&](std::int64_t head) {
            return map_json(
                patch_attention(values.floats(), values.shape(), model.grid(), head, query));
        };
        json heads = json::array();
        for (std::int64_t head = 0; head < values.shape()[1]; ++head) heads.push_back(map(head));
        layers.push_back(
            {{"layer", layers.size()}, {"mean", map(-1)}, {"heads", std::move(heads)}});
    }
    const double width = double(seen.width), height = double(seen.height);
    return {{"width", model.grid().width},
            {"height", model.grid().height},
            {"seen",
             {seen.box.left / width, seen.box.top / height, seen.box.right / width,
              seen.box.bottom / height}},
            {"usual", model.usual_attention()},
            {"layers", std::move(layers)}};
}

}  // namespace cait::serve
