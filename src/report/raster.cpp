// Drawings as pixels: smooth lines and discs by how far each pixel lies from them, texts in the
// program's own typeface, so that a chart needs no other program to become a picture.
#include <algorithm>
#include <cmath>

#include "image/draw/draw.h"
#include "image/text/text.h"
#include "report/drawing.h"

namespace cait {

namespace {

struct Stroke {
    Colour colour{};
    double width = 1;
    double on = 0, off = 0;  // of dashes; 0: none
    double opacity = 1;
};

bool has_word(std::string_view style, std::string_view word) {
    return (" " + std::string(style) + " ").find(" " + std::string(word) + " ") !=
           std::string::npos;
}

// As the rules of the page's CSS have it (chart_rules()).
Stroke stroke_of(const std::string& style, const Theme& theme) {
    if (style == "grid") return {.colour = theme.rule, .width = 1};
    if (style == "diagonal") return {.colour = theme.ink, .width = 1.5, .on = 4, .off = 4};
    Stroke stroke{.colour = theme.colour_of(style, theme.ink), .width = 2};
    if (has_word(style, "whisker")) {
        stroke.width = 1;
        stroke.opacity = 0.6;
    }
    if (has_word(style, "dash")) {
        stroke.on = 6;
        stroke.off = 4;
    }
    return stroke;
}

void blend(std::uint8_t* pixel, const Colour& colour, double share) {
    for (std::size_t c = 0; c < 3; ++c)
        pixel[c] =
            std::uint8_t(std::lround(double(pixel[c]) * (1 - share) + double(colour[c]) * share));
}

class Canvas {
public:
    Canvas(const Drawing& drawing, const Theme& theme, int scale)
        : theme_(theme),
          scale_(scale),
          image_(filled(std::int64_t(std::lround(drawing.width() * scale)),
                        std::int64_t(std::lround(drawing.height() * scale)), theme.card)) {}

    Image take() { return std::move(image_); }

    void operator()(const Drawing::Path& path) {
        const Stroke stroke = stroke_of(path.style, theme_);
        std::vector<float> covered(std::size_t(image_.width * image_.height));
        double length = 0;
        for (std::size_t i = 0; i + 1 < path.points.size(); ++i)
            if (path.points[i].is_there() && path.points[i + 1].is_there())
                length = add_segment(path.points[i], path.points[i + 1], stroke, length, covered);
        paint(covered, stroke);
    }

    // What lies over each other counts once, as in one path of SVG.
    void operator()(const Drawing::Marks& marks) {
        const bool square = has_word(marks.style, "square");
        const Stroke stroke{.colour = theme_.colour_of(marks.style, theme_.ink),
                            .width = square ? 3.4 : 4,
                            .opacity = 0.8};
        const double half = stroke.width / 2;
        std::vector<float> covered(std::size_t(image_.width * image_.height));
        for (const DrawingPoint& at : marks.places)
            if (at.is_there())
                for_pixels(at.x - half, at.y - half, at.x + half, at.y + half,
                           [&](std::size_t index, double x, double y) {
                               const double dx = std::fabs(x - at.x), dy = std::fabs(y - at.y);
                               const double away = square ? std::max(dx, dy) : std::hypot(dx, dy);
                               covered[index] = std::max(covered[index], float(share(half - away)));
                           });
        paint(covered, stroke);
    }

    void operator()(const Drawing::Disc& disc) {
        constexpr double kRim = 0.75;  // half the width of the stroke around it
        fill_disc(disc.centre, disc.radius + kRim, theme_.card);
        fill_disc(disc.centre, disc.radius - kRim, theme_.colour_of(disc.style, theme_.ink));
    }

    void operator()(const Drawing::Rectangle& box) {
        const Colour colour =
            box.style == "card" ? theme_.card : theme_.colour_of(box.style, theme_.rule);
        const std::int64_t left = pixel(box.left), top = pixel(box.top);
        fill_rectangle(image_, left, top, pixel(box.left + box.width) - left,
                       pixel(box.top + box.height) - top, colour);
    }

    void operator()(const Drawing::Text& text) {
        const Colour& colour = text.style == "tick" ? theme_.dim : theme_.ink;
        Font font = font_of(text.style);
        font.size *= scale_;
        const std::int64_t width = text_width(text.text, font);
        const std::int64_t back = text.anchor == Drawing::Anchor::end      ? width
                                  : text.anchor == Drawing::Anchor::middle ? width / 2
                                                                           : 0;
        draw_text(image_, pixel(text.at.x) - back, pixel(text.at.y) - ascent(font), text.text,
                  colour, font);
    }

    void operator()(const Drawing::Picture& picture) {
        const std::int64_t left = pixel(picture.left), top = pixel(picture.top);
        paste(image_,
              scaled(picture.image,
                     std::max<std::int64_t>(1, pixel(picture.left + picture.width) - left),
                     std::max<std::int64_t>(1, pixel(picture.top + picture.height) - top),
                     Scaling::nearest),
              left, top);
    }

private:
    std::int64_t pixel(double place) const { return std::lround(place * scale_); }

    // Calls visit(index, x, y) for the pixels around a box, with their centres in units.
    template <class Visit>
    void for_pixels(double left, double top, double right, double bottom, const Visit& visit) {
        const auto first = [&](double place) {
            return std::max<std::int64_t>(0, std::int64_t(std::floor(place * scale_)) - 1);
        };
        const auto last = [&](double place, std::int64_t limit) {
            return std::min(limit, std::int64_t(std::ceil(place * scale_)) + 1);
        };
        for (std::int64_t y = first(top); y < last(bottom, image_.height); ++y)
            for (std::int64_t x = first(left); x < last(right, image_.width); ++x)
                visit(std::size_t(y * image_.width + x), (double(x) + 0.5) / scale_,
                      (double(y) + 0.5) / scale_);
    }

    void paint(const std::vector<float>& covered, const Stroke& stroke) {
        for (std::size_t i = 0; i < covered.size(); ++i)
            if (covered[i] > 0)
                blend(&image_.pixels[3 * i], stroke.colour, stroke.opacity * double(covered[i]));
    }

    // How much of a pixel is inside, by the distance of its centre from the edge, in units.
    double share(double inside) const { return std::clamp(inside * scale_ + 0.5, 0.0, 1.0); }

    // The length so far goes in and comes out: dashes go on from one segment to the next.
    double add_segment(const DrawingPoint& a, const DrawingPoint& b, const Stroke& stroke,
                       double start, std::vector<float>& covered) {
        const double dx = b.x - a.x, dy = b.y - a.y, length = std::hypot(dx, dy);
        const double half = stroke.width / 2;
        for_pixels(
            std::min(a.x, b.x) - half, std::min(a.y, b.y) - half, std::max(a.x, b.x) + half,
            std::max(a.y, b.y) + half, [&](std::size_t index, double x, double y) {
                const double along =
                    length > 0 ? std::clamp(((x - a.x) * dx + (y - a.y) * dy) / length, 0.0, length)
                               : 0;
                const double t = length > 0 ? along / length : 0;
                const double away = std::hypot(x - a.x - t * dx, y - a.y - t * dy);
                if (stroke.on > 0 && std::fmod(start + along, stroke.on + stroke.off) > stroke.on)
                    return;
                covered[index] = std::max(covered[index], float(share(half - away)));
            });
        return start + length;
    }

    void fill_disc(const DrawingPoint& centre, double radius, const Colour& colour) {
        for_pixels(centre.x - radius, centre.y - radius, centre.x + radius, centre.y + radius,
                   [&](std::size_t index, double x, double y) {
                       const double inside = radius - std::hypot(x - centre.x, y - centre.y);
                       blend(&image_.pixels[3 * index], colour, share(inside));
                   });
    }

    const Theme& theme_;
    int scale_;
    Image image_;
};

}  // namespace

Image rasterised(const Drawing& drawing, const Theme& theme, int scale) {
    Canvas canvas(drawing, theme, scale);
    for (const Drawing::Element& element : drawing.elements()) std::visit(canvas, element);
    return canvas.take();
}

}  // namespace cait
