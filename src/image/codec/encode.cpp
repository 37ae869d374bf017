#include "image/codec/encode.h"

#include <fmt/format.h>
#include <png.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <csetjmp>
#include <cstdio>
#include <exception>
#include <span>
#include <string>
#include <utility>

#include <jpeglib.h>  // needs <cstdio> before it

#include "base/text.h"
#include "cait/error.h"
#include "system/atomic_file.h"

namespace cait {

namespace {

constexpr std::int64_t kMostPng = 1'000'000;  // libpng's own limit on a side
constexpr std::int64_t kMostJpeg = JPEG_MAX_DIMENSION;

void check(const Image& image, const char* format, std::int64_t most) {
    const auto fail = [&](const std::string& what) {
        throw Error(fmt::format("cannot encode {}: {}", format, what));
    };
    if (image.channels != 1 && image.channels != 3)
        fail(fmt::format("expected 1 or 3 channels, found {}", image.channels));
    if (image.width < 1 || image.height < 1 || image.width > most || image.height > most)
        fail(fmt::format("expected sides of 1 to {} pixels, found {}x{}", most, image.width,
                         image.height));
    const auto size = std::size_t(image.width * image.height * image.channels);
    if (image.pixels.size() != size)
        fail(fmt::format("{}x{}x{} needs {} bytes of pixels, found {}", image.width, image.height,
                         image.channels, size, image.pixels.size()));
}

std::string lower_extension(const std::filesystem::path& path) {
    return lower_case(path.extension().string());
}

// Where the encoders put their output. They are C, so nothing may be thrown through them.
class Sink {
public:
    // False when there is no memory.
    bool append(std::span<const std::byte> part) noexcept {
        try {
            bytes_.insert(bytes_.end(), part.begin(), part.end());
            return true;
        } catch (const std::exception&) {
            return false;
        }
    }

    std::vector<std::byte> take() { return std::move(bytes_); }

private:
    std::vector<std::byte> bytes_;
};

// As when reading, libpng and libjpeg jump back to write() on an error.
class PngWriter {
public:
    PngWriter() {
        png_ = png_create_write_struct(PNG_LIBPNG_VER_STRING, this, on_error,
                                       [](png_structp, png_const_charp) {});
        if (png_ != nullptr) info_ = png_create_info_struct(png_);
    }

    PngWriter(const PngWriter&) = delete;
    PngWriter& operator=(const PngWriter&) = delete;
    ~PngWriter() { png_destroy_write_struct(&png_, &info_); }

    // False after an error. An empty palette: values are brightnesses or colours themselves.
    bool write(const Image& image, std::span<const png_color> palette = {}) {
        if (png_ == nullptr || info_ == nullptr) return false;
        if (setjmp(jump_) != 0) return false;
        png_set_write_fn(png_, this, on_data, [](png_structp) {});
        png_set_IHDR(png_, info_, png_uint_32(image.width), png_uint_32(image.height), 8,
                     !palette.empty()      ? PNG_COLOR_TYPE_PALETTE
                     : image.channels == 1 ? PNG_COLOR_TYPE_GRAY
                                           : PNG_COLOR_TYPE_RGB,
                     PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
        if (!palette.empty()) png_set_PLTE(png_, info_, palette.data(), int(palette.size()));
        png_write_info(png_, info_);
        for (std::int64_t y = 0; y < image.height; ++y) png_write_row(png_, image.row(y));
        png_write_end(png_, info_);
        return true;
    }

    std::vector<std::byte> take() { return sink_.take(); }
    const char* message() const { return message_.data(); }

private:
    [[noreturn]] static void on_error(png_structp png, png_const_charp message) {
        auto& writer = *static_cast<PngWriter*>(png_get_error_ptr(png));
        std::snprintf(writer.message_.data(), writer.message_.size(), "%s", message);
        std::longjmp(writer.jump_, 1);
    }

    static void on_data(png_structp png, png_bytep data, png_size_t size) {
        const auto part = std::as_bytes(std::span(data, size));
        if (!static_cast<PngWriter*>(png_get_io_ptr(png))->sink_.append(part))
            png_error(png, "out of memory");
    }

    png_structp png_ = nullptr;
    png_infop info_ = nullptr;
    std::jmp_buf jump_{};
    std::array<char, 128> message_{"out of memory"};
    Sink sink_;
};

class JpegWriter {
public:
    JpegWriter() {
        state_.err = jpeg_std_error(&errors_);
        state_.client_data = this;
        errors_.error_exit = [](j_common_ptr state) {
            auto& writer = *static_cast<JpegWriter*>(state->client_data);
            state->err->format_message(state, writer.message_.data());
            std::longjmp(writer.jump_, 1);
        };
        errors_.output_message = [](j_common_ptr) {};
        errors_.emit_message = [](j_common_ptr, int) {};
        target_.init_destination = [](j_compress_ptr state) { of(state).empty_block(); };
        target_.empty_output_buffer = [](j_compress_ptr state) -> boolean {
            of(state).save(kBlock);
            return TRUE;
        };
        target_.term_destination = [](j_compress_ptr state) {
            of(state).save(kBlock - of(state).target_.free_in_buffer);
        };
    }

    JpegWriter(const JpegWriter&) = delete;
    JpegWriter& operator=(const JpegWriter&) = delete;
    ~JpegWriter() { jpeg_destroy_compress(&state_); }

    // False after an error.
    bool write(const Image& image, int quality) {
        if (setjmp(jump_) != 0) return false;
        jpeg_create_compress(&state_);
        state_.dest = &target_;
        state_.image_width = JDIMENSION(image.width);
        state_.image_height = JDIMENSION(image.height);
        state_.input_components = int(image.channels);
        state_.in_color_space = image.channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
        jpeg_set_defaults(&state_);
        jpeg_set_quality(&state_, quality, TRUE);
        jpeg_start_compress(&state_, TRUE);
        while (state_.next_scanline < state_.image_height) {
            // libjpeg only reads the row; its interface predates const.
            auto row = const_cast<JSAMPROW>(image.row(state_.next_scanline));
            jpeg_write_scanlines(&state_, &row, 1);
        }
        jpeg_finish_compress(&state_);
        return true;
    }

    std::vector<std::byte> take() { return sink_.take(); }
    const char* message() const { return message_.data(); }

private:
    static constexpr std::size_t kBlock = 1 << 14;

    static JpegWriter& of(j_compress_ptr state) {
        return *static_cast<JpegWriter*>(state->client_data);
    }

    void empty_block() {
        target_.next_output_byte = block_.data();
        target_.free_in_buffer = kBlock;
    }

    void save(std::size_t size) {
        if (!sink_.append(std::as_bytes(std::span(block_.data(), size)))) {
            std::snprintf(message_.data(), message_.size(), "out of memory");
            std::longjmp(jump_, 1);
        }
        empty_block();
    }

    jpeg_compress_struct state_{};
    jpeg_error_mgr errors_{};
    std::jmp_buf jump_{};
    std::array<char, JMSG_LENGTH_MAX> message_{};
    jpeg_destination_mgr target_{};
    std::array<JOCTET, kBlock> block_{};
    Sink sink_;
};

}  // namespace

std::vector<std::byte> encode_png(const Image& image) {
    check(image, "PNG", kMostPng);
    PngWriter writer;
    if (!writer.write(image)) throw Error(fmt::format("cannot encode PNG: {}", writer.message()));
    return writer.take();
}

std::vector<std::byte> encode_palette_png(const Image& image, std::span<const Colour> palette) {
    constexpr std::size_t kMostColours = 256;
    check(image, "PNG", kMostPng);
    if (image.channels != 1 || palette.empty() || palette.size() > kMostColours)
        throw Error(fmt::format(
            "cannot encode PNG: expected 1 channel and 1 to {} colours, found {} and {}",
            kMostColours, image.channels, palette.size()));
    std::vector<png_color> colours;
    for (const auto& [red, green, blue] : palette) colours.push_back({red, green, blue});
    const std::uint8_t most = *std::ranges::max_element(image.pixels);
    if (most == kMostColours - 1) colours.resize(kMostColours);  // black: no class
    for (const std::uint8_t value : image.pixels)
        if (value >= palette.size() && value != kMostColours - 1)
            throw Error(fmt::format("cannot encode PNG: expected values below {}, found {}",
                                    palette.size(), value));
    PngWriter writer;
    if (!writer.write(image, colours))
        throw Error(fmt::format("cannot encode PNG: {}", writer.message()));
    return writer.take();
}

std::vector<std::byte> encode_jpeg(const Image& image, int quality) {
    if (quality < 1 || quality > 100)
        throw UsageError(fmt::format("JPEG quality: expected 1 to 100, found {}", quality));
    check(image, "JPEG", kMostJpeg);
    JpegWriter writer;
    if (!writer.write(image, quality))
        throw Error(fmt::format("cannot encode JPEG: {}", writer.message()));
    return writer.take();
}

void check_image_name(const std::filesystem::path& path) {
    const std::string extension = lower_extension(path);
    if (extension != ".png" && extension != ".jpg" && extension != ".jpeg")
        throw UsageError(
            fmt::format("{}: expected a name that ends in .png, .jpg or .jpeg", path.string()));
}

void write_image(const std::filesystem::path& path, const Image& image, int jpeg_quality) {
    check_image_name(path);
    const std::vector<std::byte> bytes =
        lower_extension(path) == ".png" ? encode_png(image) : encode_jpeg(image, jpeg_quality);
    AtomicFile file(path);
    file.write(bytes);
    file.commit();
}

}  // namespace cait
