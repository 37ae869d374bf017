// The keys of [views], several views of each image, and the views that they make of a model's size.
#include <fmt/format.h>

#include "cait/error.h"
#include "train/recipe/bind_values.h"
#include "train/recipe/model_settings.h"
#include "train/recipe/recipe_data.h"

namespace cait {

namespace {

constexpr std::int64_t kMostViews = 64;
constexpr std::int64_t kMostPixels = 4096;  // a side
constexpr double kMostRadius = 100;

// "1,0.1,0.5": the first global view, the other global ones, the local ones.
void bind_per_view(Settings& s, std::string name, PerView& field, std::string help) {
    s.custom({std::move(name), std::move(help),
              [&field] { return fmt::format("{},{},{}", field[0], field[1], field[2]); },
              [&field](const std::string& text) {
                  const std::size_t first = text.find(','), second = text.find(',', first + 1);
                  if (first == std::string::npos || second == std::string::npos)
                      throw UsageError(
                          fmt::format("expected FIRST,OTHERS,LOCAL, found '{}'", text));
                  const PerView read{parse_number(text.substr(0, first)),
                                     parse_number(text.substr(first + 1, second - first - 1)),
                                     parse_number(text.substr(second + 1))};
                  for (const double value : read)
                      if (!(value >= 0 && value <= 1))
                          throw UsageError(
                              fmt::format("expected probabilities from 0 to 1, found '{}'", text));
                  field = read;
              },
              Settings::Kind::list, "FIRST,OTHERS,LOCAL from 0 to 1"});
}

}  // namespace

void bind_views(Settings& s, ViewsPart& p) {
    s.choice("views.name", p.name,
             {{"none", ViewsKind::none},
              {"same", ViewsKind::same},
              {"multi-crop", ViewsKind::multi_crop}},
             "views of each image, for losses that compare them: one; several, as [augment] makes "
             "them; or large and small crops, as the keys below make them");
    s.integer("views.count", p.count, 2, "same: how many", kMostViews);
    s.integer("views.globals", p.globals, 2, "multi-crop: large crops", kMostViews);
    s.integer("views.locals", p.locals, 0, "multi-crop: small crops; 0: none", kMostViews);
    s.integer("views.global_size", p.global_size, 0, "their pixels a side; 0: the model's",
              kMostPixels);
    s.integer("views.local_size", p.local_size, 0,
              "the same of small crops; a model that mixes a fixed number of patches sees them at "
              "the size of the large ones",
              kMostPixels);
    bind_interval(s, "views.global_scale", p.global_scale, 1, "large crops: share of the area");
    bind_interval(s, "views.local_scale", p.local_scale, 1, "small crops: share of the area");
    bind_filter(s, "views.filter", p.filter);
    s.number("views.flip", p.flip, 0, 1, "probability of mirroring");
    bind_jitter(s, "views.jitter", p.jitter);
    s.number("views.jitter_probability", p.jitter_probability, 0, 1, "of that");
    s.number("views.grey", p.grey, 0, 1, "probability of taking the colours away");
    bind_per_view(s, "views.blur", p.blur,
                  "probability of blurring the first global view, the others, the local ones");
    bind_interval(s, "views.blur_radius", p.blur_radius, kMostRadius,
                  "its standard deviation in pixels");
    bind_per_view(s, "views.solarize", p.solarize,
                  "probability of inverting values from 128 on, for the same three");
}

MultiCropSettings multi_crop_settings(const ViewsPart& views, ImageSize size,
                                      const ChannelValues& mean, const ChannelValues& std) {
    const auto side = [size](std::int64_t pixels) {
        return pixels > 0 ? ImageSize{pixels, pixels} : size;
    };
    MultiCropSettings settings{.globals = views.globals,
                               .locals = views.locals,
                               .global_size = side(views.global_size),
                               .local_size = side(views.local_size),
                               .global_scale = views.global_scale,
                               .local_scale = views.local_scale,
                               .filter = views.filter,
                               .flip = views.flip,
                               .jitter = ColourJitter::parse(views.jitter),
                               .jitter_probability = views.jitter_probability,
                               .grey = views.grey,
                               .blur = views.blur,
                               .radius = views.blur_radius,
                               .solarize = views.solarize,
                               .mean = mean,
                               .std = std};
    settings.check();
    return settings;
}

ViewTransform view_transform(const Recipe& recipe, const TrainSettings& settings) {
    const ViewsPart& views = recipe.views;
    if (views.name == ViewsKind::same)
        return {{{views.count, settings.height, settings.width}},
                [transform = TrainTransform(settings), workspace = TrainWorkspace()](
                    const Image& image, const SampleKey& key, std::span<float> out) mutable {
                    return transform.apply(image, key, workspace, out);
                }};
    const MultiCrop crops(
        multi_crop_settings(views, {settings.height, settings.width}, settings.mean, settings.std));
    const ImageSize global = crops.settings().global_size, local = crops.settings().local_size;
    ViewTransform transform{
        {{views.globals, global.height, global.width}},
        [crops, workspace = MultiCropWorkspace()](const Image& image, const SampleKey& key,
                                                  std::span<float> out) mutable {
            return crops.apply(image, key, workspace, out);
        }};
    if (views.locals > 0) transform.groups.push_back({views.locals, local.height, local.width});
    return transform;
}

std::string fit_views_to_model(Recipe& recipe) {
    ViewsPart& views = recipe.views;
    if (views.name != ViewsKind::multi_crop ||
        !has_fixed_size(recipe.model.name, recipe.model.settings))
        return {};
    const ImageSize size = model_image_size(recipe.model.name, recipe.model.settings);
    const auto differs = [size](std::int64_t pixels) {
        return pixels > 0 && ImageSize{pixels, pixels} != size;
    };
    if (!differs(views.global_size) && (views.locals == 0 || !differs(views.local_size))) return {};
    views.global_size = views.local_size = 0;
    return fmt::format("{} mixes a fixed number of patches: all views are shown at {}x{}",
                       recipe.model.name, size.width, size.height);
}

}  // namespace cait
