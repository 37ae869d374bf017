// The part of a report about label images and boxes: the worst images, as they are labelled and as
// the model sees them, and what their colours mean.
#include <fmt/format.h>

#include "report/html.h"
#include "report/report_parts.h"

namespace cait {

namespace {

std::string legend_html(const ReportData& data) {
    std::string items;
    for (std::size_t i = 0; i < data.colours.size(); ++i) {
        const auto& [red, green, blue] = data.colours[i];
        items +=
            fmt::format("<span><i class=\"key\" style=\"background:rgb({},{},{})\"></i>{}</span>\n",
                        red, green, blue, class_label(data, std::int64_t(i)));
    }
    return items.empty() ? "" : fmt::format("<p class=\"legend\">\n{}</p>\n", items);
}

std::string picture_html(const Image& picture, const std::string& what) {
    if (picture.pixels.empty()) return {};
    return fmt::format(R"(<img src="{}" width="{}" height="{}" alt="{}" title="{}">)",
                       png_uri(picture), picture.width, picture.height, what, what);
}

}  // namespace

std::string report_segments(const ReportData& data) {
    if (data.segments.empty()) return {};
    std::string cards;
    for (const ReportSegment& one : data.segments) {
        const std::string name = html_text(one.name);
        cards += fmt::format(
            "<figure>{}{}<figcaption><b>{:.1f} %</b> {}<br><span class=\"dim\">{}</span>"
            "</figcaption></figure>\n",
            picture_html(one.labelled, "labelled: " + name),
            picture_html(one.predicted, "predicted: " + name), 100 * one.value,
            html_text(one.score), name);
    }
    return section(
        "Worst images",
        "Left as it is labelled, right as the model sees it. Wrong labels show up here, "
        "too.",
        legend_html(data) + fmt::format("<div class=\"cards wide\">\n{}</div>\n", cards));
}

}  // namespace cait
