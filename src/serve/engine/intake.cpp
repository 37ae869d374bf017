#include "serve/engine/intake.h"

#include <fmt/format.h>

#include <chrono>
#include <span>

namespace cait::serve {

namespace {

std::span<const std::byte> bytes_of(const std::string& file) {
    return std::as_bytes(std::span(file));
}

}  // namespace

// What the heads of a request's images say.
class Intake::Sum {
public:
    Sum(const DecodeTime& time, const PixelLimits& limits) : time_(time), limits_(limits) {}

    void add(const std::string& file, const std::string& name) {
        const ImageInfo image = probe_image(bytes_of(file), name);
        if (image.height > 0 && image.width > limits_.image / image.height)
            throw HttpError(413, fmt::format("{}: expected at most {} pixels, found {}x{}", name,
                                             limits_.image, image.width, image.height));
        pixels_ += image.width * image.height;
        if (pixels_ > limits_.request)
            throw HttpError(413, fmt::format("{}: expected at most {} pixels in all images of a "
                                             "request, found {} or more",
                                             name, limits_.request, pixels_));
        seconds_ += time_.expected(image);
    }
    std::int64_t pixels() const { return pixels_; }
    double seconds() const { return seconds_; }

private:
    const DecodeTime& time_;
    const PixelLimits& limits_;
    std::int64_t pixels_ = 0;
    double seconds_ = 0;
};

void Intake::admit(const std::string& photo) const {
    Sum sum(time_, rules_.pixels);
    sum.add(photo, "image");
    grow(1, sum);
}

void Intake::admit(const std::vector<std::string>& files) const {
    Sum sum(time_, rules_.pixels);
    for (std::size_t i = 0; i < files.size(); ++i) sum.add(files[i], image_name(i));
    grow(files.size(), sum);
}

void Intake::grow(std::size_t images, const Sum& sum) const {
    constexpr double kMargin = 2;  // the estimate may be wrong; what is late is stopped
    if (sum.seconds() > kMargin * rules_.left)
        throw HttpError(503,
                        fmt::format("server: decoding {} pixels takes about {:.2f} s, expected "
                                    "at most the {:.2f} s in which it would have to answer",
                                    sum.pixels(), sum.seconds(), rules_.left));
    rules_.grow(images, sum.seconds());
}

Image Intake::decode(const std::string& file, const std::string& name) const {
    DecodeOptions options;
    options.limits.pixels = rules_.pixels.image;
    options.stop = rules_.stop;
    const auto begin = Clock::now();
    Image image = decode_image(bytes_of(file), name, options);
    time_.observe(probe_image(bytes_of(file), name),
                  std::chrono::duration<double>(Clock::now() - begin).count());
    return image;
}

std::string image_name(std::size_t index) { return fmt::format("image {}", index); }

}  // namespace cait::serve
