// What `cait predict` does with a model that segments: label images, overlays and the area of each
// class. One image at a time is in memory, whatever the number of them.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <set>

#include "data/formats/csv_reader.h"
#include "evaluate/segment_classes.h"
#include "image/codec/encode.h"
#include "image/draw/legend.h"
#include "image/draw/palette.h"
#include "output.h"
#include "predict.h"
#include "progress.h"
#include "segment_options.h"
#include "system/atomic_file.h"

namespace cait::app {

namespace {

namespace fs = std::filesystem;

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

// Files named after the images in a folder of their own.
class NamedFiles {
public:
    explicit NamedFiles(std::string folder) : folder_(std::move(folder)) {}

    bool wanted() const { return !folder_.empty(); }
    // "photo.png", or "photo-2.png" where another image has that name.
    std::string next(const std::string& image) {
        const std::string stem = fs::path(image).stem().string();
        std::string name = stem + ".png";
        for (int i = 2; !used_.insert(name).second; ++i) name = fmt::format("{}-{}.png", stem, i);
        return (fs::path(folder_) / name).string();
    }
    // A label image must not take the place of a photograph.
    void check_apart(const std::vector<Picture>& pictures) const {
        if (!wanted()) return;
        std::set<fs::path> seen;
        for (const Picture& picture : pictures) {
            if (picture.file.empty()) continue;
            const fs::path parent = picture.file.parent_path();
            std::error_code error;
            if (seen.insert(parent).second &&
                fs::equivalent(parent.empty() ? "." : parent, folder_, error))
                throw UsageError(fmt::format(
                    "{}: expected another folder than that of the images, whose files it could "
                    "replace",
                    folder_));
        }
    }

private:
    std::string folder_;
    std::set<std::string> used_;
};

void write_bytes(const std::string& name, std::span<const std::byte> bytes) {
    AtomicFile file(name);
    file.write(bytes);
    file.commit();
}

class SegmentOutput {
public:
    SegmentOutput(const PredictArguments& arguments, SegmentClasses classes)
        : arguments_(arguments),
          classes_(std::move(classes)),
          labels_(arguments.labels),
          overlays_(arguments.overlays),
          file_(arguments.output.empty() ? nullptr
                                         : std::make_unique<AtomicFile>(arguments.output)) {
        if (arguments.format() == AnswerFormat::json) write("[");
        if (arguments.format() == AnswerFormat::csv) write("image,class,index,pixels,share\n");
    }

    void check_apart(const std::vector<Picture>& pictures) const {
        labels_.check_apart(pictures);
        overlays_.check_apart(pictures);
    }

    void add(const std::string& name, const Image& image, const SegmentedImage& found) {
        const std::vector<ClassArea> areas = areas_of(found);
        std::string labels, overlay;
        if (labels_.wanted()) {
            labels = labels_.next(name);
            write_bytes(labels, encode_palette_png({found.labels.width, found.labels.height, 1,
                                                    found.labels.values},
                                                   classes_.colours));
        }
        if (overlays_.wanted()) {
            overlay = overlays_.next(name);
            write_bytes(overlay, encode_png(drawn(image, found, areas)));
        }
        switch (arguments_.format()) {
            case AnswerFormat::lines: write(line(name, areas)); break;
            case AnswerFormat::csv: write(rows(name, areas)); break;
            case AnswerFormat::jsonl:
                write(json(name, image, areas, labels, overlay, -1) + "\n");
                break;
            case AnswerFormat::json:
                write((count_ == 0 ? "\n" : ",\n") + json(name, image, areas, labels, overlay, 2));
                break;
        }
        ++count_;
    }

    void finish() {
        if (arguments_.format() == AnswerFormat::json) write(count_ == 0 ? "]\n" : "\n]\n");
        if (file_) file_->commit();
    }

private:
    void write(const std::string& text) {
        if (file_)
            file_->write(std::string_view(text));
        else
            write_out(text);
    }

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
        const auto field = [](const std::string& text) {
            return csv_field(printable(text, text.size()));
        };
        std::string text;
        for (const ClassArea& area : areas)
            text +=
                fmt::format("{},{},{},{},{:.6f}\n", field(name), field(classes_.names[area.index]),
                            area.index, area.pixels, area.share);
        return text;
    }

    std::string json(const std::string& name, const Image& image,
                     const std::vector<ClassArea>& areas, const std::string& labels,
                     const std::string& overlay, int indent) const {
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
        return json.dump(indent, ' ', false, nlohmann::json::error_handler_t::replace);
    }

    const PredictArguments& arguments_;
    SegmentClasses classes_;
    NamedFiles labels_, overlays_;
    std::unique_ptr<AtomicFile> file_;
    std::size_t count_ = 0;
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
    Progress progress("predict", "images");
    std::size_t unreadable = 0;
    for (std::size_t i = 0; i < pictures.size(); ++i) {
        Image image;
        try {
            image = pictures[i].read();
        } catch (const Error& error) {
            print_error("cait: {}\n", error.what());
            ++unreadable;
            continue;
        }
        output.add(pictures[i].name, image, segmenter.segment(image, pictures[i].name));
        progress.update(i + 1, pictures.size());
        if (output_lost()) break;
    }
    output.finish();
    if (unreadable == 0) return;
    *invocation.status = 1;
    if (pictures.size() > 1)
        print_error("cait: {} of {} images could not be read\n", unreadable, pictures.size());
}

}  // namespace cait::app
