// What `cait predict` does with a model that segments: label images, overlays and the area of each
// class. One image at a time is in memory, whatever the number of them.
#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "evaluate/segment_classes.h"
#include "image/codec/encode.h"
#include "image/draw/legend.h"
#include "image/draw/palette.h"
#include "output.h"
#include "predict.h"
#include "predict_pictures.h"
#include "segment_options.h"

namespace cait::app {

namespace {

struct ClassArea {
    std::size_t index = 0;
    std::uint64_t pixels = 0;
    double share = 0;
};

// Those that occur, the largest first.
std::vector<ClassArea> areas_of(const SegmentedImage& found) {
    const auto all = double(found.labels.values.size());
    std::vector<ClassArea> areas;
    for (std::size_t i = 0; i < found.areas.size(); ++i)
        if (found.areas[i] > 0) areas.push_back({i, found.areas[i], double(found.areas[i]) / all});
    std::ranges::stable_sort(areas, std::greater{}, &ClassArea::pixels);
    return areas;
}

class SegmentOutput {
public:
    SegmentOutput(const PredictArguments& arguments, SegmentClasses classes)
        : arguments_(arguments),
          classes_(std::move(classes)),
          labels_(arguments.labels),
          overlays_(arguments.overlays),
          stream_(arguments, "image,class,index,pixels,share\n") {}

    void check_apart(const std::vector<Picture>& pictures) const {
        labels_.check_apart(pictures);
        overlays_.check_apart(pictures);
    }

    void add(const std::string& name, const Image& image, const SegmentedImage& found) {
        const std::vector<ClassArea> areas = areas_of(found);
        std::string labels, overlay;
        if (labels_.wanted()) {
            labels = labels_.next(name);
            write_whole(labels, encode_palette_png({found.labels.width, found.labels.height, 1,
                                                    found.labels.values},
                                                   classes_.colours));
        }
        if (overlays_.wanted()) {
            overlay = overlays_.next(name);
            write_whole(overlay, encode_png(drawn(image, found, areas)));
        }
        stream_.add({.line = [&] { return line(name, areas); },
                     .rows = [&] { return rows(name, areas); },
                     .json = [&] { return json(name, image, areas, labels, overlay); }});
    }

    void finish() { stream_.finish(); }

private:
    Image drawn(const Image& image, const SegmentedImage& found,
                const std::vector<ClassArea>& areas) const {
        std::vector<LegendEntry> legend;
        for (const ClassArea& area : areas)
            legend.push_back(
                {classes_.colours[area.index],
                 fmt::format("{} {:.1f} %", classes_.names[area.index], 100 * area.share)});
        return with_legend(label_overlay(image, found.labels.values, classes_.colours), legend);
    }

    std::string line(const std::string& name, const std::vector<ClassArea>& areas) const {
        constexpr std::size_t kUsual = 5;
        std::string text = printable(name, kLongestMessage);
        const std::size_t most = std::min(arguments_.top.value_or(kUsual), areas.size());
        for (std::size_t i = 0; i < most; ++i)
            text += fmt::format("  {} {:.1f} %",
                                printable(classes_.names[areas[i].index], kLongestMessage),
                                100 * areas[i].share);
        return text + "\n";
    }

    std::string rows(const std::string& name, const std::vector<ClassArea>& areas) const {
        std::string text;
        for (const ClassArea& area : areas)
            text += fmt::format("{},{},{},{},{:.6f}\n", answer_field(name),
                                answer_field(classes_.names[area.index]), area.index, area.pixels,
                                area.share);
        return text;
    }

    nlohmann::json json(const std::string& name, const Image& image,
                        const std::vector<ClassArea>& areas, const std::string& labels,
                        const std::string& overlay) const {
        nlohmann::json list = nlohmann::json::array();
        for (const ClassArea& area : areas)
            list.push_back({{"label", classes_.names[area.index]},
                            {"index", area.index},
                            {"pixels", area.pixels},
                            {"share", area.share}});
        nlohmann::json json{{"image", name},
                            {"width", image.width},
                            {"height", image.height},
                            {"areas", std::move(list)}};
        if (!labels.empty()) json["labels"] = labels;
        if (!overlay.empty()) json["overlay"] = overlay;
        return json;
    }

    const PredictArguments& arguments_;
    SegmentClasses classes_;
    NamedFiles labels_, overlays_;
    AnswerStream stream_;
};

}  // namespace

void predict_segments(const PredictArguments& arguments, const Model& model,
                      const Invocation& invocation) {
    if (arguments.threshold) throw UsageError("--threshold: expected a model that names classes");
    if (arguments.tta != "none")
        throw UsageError(
            "--tta: expected a model that names classes; --flip looks at the mirror "
            "image");
    std::unique_ptr<Executor> executor;
    const ImageSegmenter segmenter =
        make_segmenter(model, arguments.segment, arguments.executor, executor);
    const std::vector<Picture> pictures = arguments.pictures.list();
    SegmentOutput output(arguments, segment_classes(model, segmenter.network().classes));
    output.check_apart(pictures);
    answer_pictures(pictures, invocation, [&](const Picture& picture, const Image& image) {
        output.add(picture.name, image, segmenter.segment(image, picture.name));
    });
    output.finish();
}

}  // namespace cait::app
