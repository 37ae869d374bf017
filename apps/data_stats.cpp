// `cait data stats`: how many images of which classes, how large, how bright, and what is broken.
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <numeric>

#include "command.h"
#include "data.h"
#include "data/open_dataset.h"
#include "data/sentences/text_statistics.h"
#include "data/statistics.h"
#include "data_open.h"
#include "output.h"
#include "progress.h"
#include "report/html.h"

namespace cait::app {

namespace {

struct StatsArguments {
    DataArguments data;
    int threads = 1;
};

constexpr std::size_t kListedClasses = 30;  // so many classes are listed in full …
constexpr std::size_t kEnds = 10;           // … and of more only the largest and the smallest
constexpr std::size_t kBadListed = 20;
constexpr std::size_t kNameWidth = 40;   // longer names are cut
constexpr std::size_t kPlainWidth = 80;  // where there is no terminal

std::size_t output_width() {
    winsize size{};
    if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return kPlainWidth;
    return size.ws_col;
}

nlohmann::json to_json(const SideRange& range) {
    return {{"least", range.least}, {"median", range.median}, {"most", range.most}};
}

nlohmann::json to_json(const std::string& uri, const Dataset& dataset,
                       const DatasetStatistics& found) {
    nlohmann::json classes = nlohmann::json::array();
    for (std::size_t i = 0; i < found.per_class.size(); ++i) {
        classes.push_back({{"name", dataset.classes()[i]}, {"images", found.per_class[i]}});
        if (found.objects) classes.back()["objects"] = found.objects->per_class[i];
    }
    nlohmann::json json{{"dataset", uri},
                        {"images", found.images},
                        {"classes", classes},
                        {"width", to_json(found.width)},
                        {"height", to_json(found.height)},
                        {"mean", found.mean},
                        {"std", found.std},
                        {"unreadable", app::bad_images_json(found.bad)}};
    if (const auto& objects = found.objects)
        json["objects"] = {{"count", objects->objects},
                           {"crowds", objects->crowds},
                           {"small", objects->small},
                           {"medium", objects->medium},
                           {"large", objects->large},
                           {"masks", dataset.has_object_masks()},
                           {"per_image", to_json(objects->per_image)}};
    return json;
}

std::string cut_name(std::string_view name) {
    return cut_text(printable(name, kNameWidth + 1), kNameWidth);
}

void print_classes(const Dataset& dataset, const std::vector<std::size_t>& counts,
                   std::string_view what) {
    std::vector<std::size_t> order(counts.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    const bool some = counts.size() > kListedClasses;
    if (some)
        std::ranges::stable_sort(order, std::greater<>(), [&](std::size_t i) { return counts[i]; });
    const std::size_t most = std::ranges::max(counts);
    std::vector<std::string> names;
    std::size_t name_width = 5;
    for (const std::size_t i : order) {
        names.push_back(cut_name(dataset.classes()[i]));
        name_width = std::max(name_width, std::min(names.back().size(), kNameWidth + 1));
    }
    const std::size_t number_width =
        std::max<std::size_t>(what.size(), fmt::formatted_size("{}", most));
    const std::size_t used = name_width + number_width + 4;
    const std::size_t width = output_width();
    const std::size_t bar = width > used + 10 ? std::min<std::size_t>(width - used, 60) : 0;

    print_out("\n{:<{}}  {:>{}}\n", "class", name_width, what, number_width);
    for (std::size_t i = 0; i < order.size(); ++i) {
        if (some && i == kEnds) {
            print_out("{:<{}}  {:>{}}\n", "…", name_width, "…", number_width);
            i = order.size() - kEnds;
        }
        const std::size_t count = counts[order[i]];
        const std::size_t length = most == 0 ? 0 : (count * bar + most - 1) / most;
        print_out("{:<{}}  {:>{}}{}{:#<{}}\n", names[i], name_width, count, number_width,
                  length > 0 ? "  " : "", "", length);
    }
    if (some)
        print_out("the {} largest and the {} smallest of {} classes\n", kEnds, kEnds,
                  counts.size());
}

// Sizes are areas below 32 x 32 pixels, below 96 x 96 and above, as COCO has them.
void print_objects(const ObjectStatistics& found) {
    const SideRange& each = found.per_image;
    print_out("{:<12} {:>8} {:>8} {:>8}\n", "per image", each.least, each.median, each.most);
    print_out("{:<12} {:>8} {:>8} {:>8} {:>8}\n", "", "small", "medium", "large", "crowds");
    print_out("{:<12} {:>8} {:>8} {:>8} {:>8}\n", "objects", found.small, found.medium, found.large,
              found.crowds);
}

void print_text(const std::string& uri, const Dataset& dataset, const DatasetStatistics& found) {
    const auto [least, most] = std::ranges::minmax(found.per_class);
    if (found.objects)
        print_out("{}\n{} images with {} objects of {} classes\n\n", uri, found.images,
                  found.objects->objects, found.per_class.size());
    else
        print_out("{}\n{} images in {} classes of {} to {}\n\n", uri, found.images,
                  found.per_class.size(), least, most);
    print_out("{:<12} {:>8} {:>8} {:>8}\n", "", "least", "median", "most");
    for (const auto& [name, range] : {std::pair{"width", found.width}, {"height", found.height}})
        print_out("{:<12} {:>8} {:>8} {:>8}\n", name, range.least, range.median, range.most);
    if (found.objects) print_objects(*found.objects);
    print_out("{:<12} {:>8} {:>8} {:>8}\n", "", "red", "green", "blue");
    for (const auto& [name, v] : {std::pair{"mean", found.mean}, {"std", found.std}})
        print_out("{:<12} {:>8.4f} {:>8.4f} {:>8.4f}\n", name, v[0], v[1], v[2]);
    print_out("{:<12} {:>8}\n", "unreadable", found.bad.size());
    for (std::size_t i = 0; i < std::min(found.bad.size(), kBadListed); ++i)
        print_out("  {}\n", found.bad[i].reason);
    if (found.bad.size() > kBadListed)
        print_out("  … and {} more: `cait data verify {}` lists them\n",
                  found.bad.size() - kBadListed, uri);
    if (found.objects)
        print_classes(dataset, found.objects->per_class, "objects");
    else
        print_classes(dataset, found.per_class, "images");
}

nlohmann::json to_json(const std::string& language, const SideStatistics& side) {
    return {{"language", language},
            {"words", to_json(side.words)},
            {"all_words", side.all_words},
            {"bytes", to_json(side.bytes)},
            {"all_bytes", side.all_bytes}};
}

// Of sentences and their translations.
nlohmann::json measure_text(const std::string& uri, const Dataset& dataset, bool prints) {
    const TextStatistics found = text_statistics(dataset);
    const auto [source, target] = dataset.languages();
    if (prints) {
        print_out("{}\n{} pairs of sentences, {} and {}\n\n", uri, found.pairs, source, target);
        print_out("{:<12} {:>8} {:>8} {:>8} {:>12}\n", "", "least", "median", "most", "all");
        const auto row = [](const std::string& name, const SideRange& range, std::int64_t all) {
            print_out("{:<12} {:>8} {:>8} {:>8} {:>12}\n", name, range.least, range.median,
                      range.most, all);
        };
        for (const auto& [language, side] :
             {std::pair(source, found.source), {target, found.target}}) {
            row(language + " words", side.words, side.all_words);
            row(language + " bytes", side.bytes, side.all_bytes);
        }
    }
    return {{"dataset", uri},
            {"pairs", found.pairs},
            {"source", to_json(source, found.source)},
            {"target", to_json(target, found.target)}};
}

DatasetStatistics measure(const Dataset& dataset, int threads) {
    Progress progress("stats", "images");
    DatasetStatistics found = statistics(
        dataset, {threads, [&](std::size_t done) { progress.update(done, dataset.size()); }});
    if (found.bad.size() == found.images)
        throw BadImagesError(
            fmt::format("{}: {}", dataset.source(), describe(found.bad, found.images)), found.bad);
    return found;
}

void run(const StatsArguments& arguments) {
    enter_sandbox_for({});
    const std::string& uri = arguments.data.uri;
    const std::vector<std::string> parts = dataset_parts(uri);
    nlohmann::json list = nlohmann::json::array();
    for (const std::string& part : parts) {
        const DatasetPtr dataset = open_data(part);
        if (dataset->has_sentences()) {
            if (!arguments.data.json && &part != &parts.front()) print_out("\n");
            list.push_back(measure_text(part, *dataset, !arguments.data.json));
            continue;
        }
        const DatasetStatistics found = measure(*dataset, arguments.threads);
        if (arguments.data.json) {
            list.push_back(to_json(part, *dataset, found));
            continue;
        }
        if (&part != &parts.front()) print_out("\n");
        print_text(part, *dataset, found);
    }
    if (!arguments.data.json) return;
    if (parts.size() == 1) return print_json(list.front());
    print_json({{"dataset", uri}, {"parts", list}});
}

}  // namespace

void add_data_stats(CLI::App& data) {
    CLI::App* command =
        add_command(data, "stats", "Count images and classes, measure sizes and colours");
    set_example(*command,
                "cait data stats folder:photos\n"
                "  cait data stats folder:photos/train");
    auto arguments = std::make_shared<StatsArguments>();
    arguments->data.add_to(*command);
    add_threads_option(*command, arguments->threads);
    command->callback([arguments] { run(*arguments); });
}

}  // namespace cait::app
