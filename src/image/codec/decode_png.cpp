#include "image/codec/decode_png.h"

#include <fmt/format.h>
#include <png.h>

#include <array>
#include <csetjmp>
#include <cstdio>
#include <cstring>

#include "image/codec/decode_memory.h"

namespace cait {

namespace {

constexpr png_uint_32 kMostChunks = 1000;
constexpr png_alloc_size_t kMostChunkBytes = 8 << 20;
constexpr png_uint_32 kIdat = 0x49444154;
constexpr int kPasses = 7;

// libpng calls back for every row and reports errors by a jump to attempt(). Nothing that it calls
// may throw, so the image's memory is reserved beforehand.
class PngReader {
public:
    PngReader(Image& image, const PngHeader& header, bool indices,
              const std::function<bool()>& stop)
        : image_(image), header_(header), indices_(indices), stop_(stop) {
        png_ = png_create_read_struct(PNG_LIBPNG_VER_STRING, this, on_error, on_warning);
        if (png_ != nullptr) info_ = png_create_info_struct(png_);
    }

    PngReader(const PngReader&) = delete;
    PngReader& operator=(const PngReader&) = delete;
    ~PngReader() { png_destroy_read_struct(&png_, &info_, nullptr); }

    // False after an error.
    bool read(std::span<const std::byte> bytes) {
        if (png_ == nullptr || info_ == nullptr) return false;
        if (setjmp(jump_) != 0) return false;
        limit();
        png_set_progressive_read_fn(png_, this, on_info, on_row, on_end);
        // libpng only reads the bytes; its interface predates const.
        png_process_data(png_, info_,
                         const_cast<png_bytep>(reinterpret_cast<png_const_bytep>(bytes.data())),
                         bytes.size());
        return true;
    }

    bool ended() const { return ended_; }
    bool has_excess() const { return excess_; }
    bool stopped() const { return stopped_; }
    const char* message() const { return message_.data(); }

    // A stream may end, properly packed, before the last row.
    bool complete() const {
        if (header_.interlaced) return png_get_current_pass_number(png_) >= kPasses;
        return rows_ == header_.height;
    }

private:
    static PngReader& of(png_structp png) {
        return *static_cast<PngReader*>(png_get_progressive_ptr(png));
    }

    [[noreturn]] static void on_error(png_structp png, png_const_charp message) {
        auto& reader = *static_cast<PngReader*>(png_get_error_ptr(png));
        std::snprintf(reader.message_.data(), reader.message_.size(), "%s", message);
        std::longjmp(reader.jump_, 1);
    }

    // Inside the image data a warning means more data than the image needs: a bomb, or damage.
    static void on_warning(png_structp png, png_const_charp) {
        if (png_get_io_chunk_type(png) == kIdat)
            static_cast<PngReader*>(png_get_error_ptr(png))->excess_ = true;
    }

    // Only what pixels need is looked at: header, palette, data. Text and profiles are never
    // inflated.
    void limit() {
        constexpr std::array<png_byte, 5> kTransparency{'t', 'R', 'N', 'S', 0};
        png_set_keep_unknown_chunks(png_, PNG_HANDLE_CHUNK_NEVER, nullptr, -1);
        png_set_keep_unknown_chunks(png_, PNG_HANDLE_CHUNK_NEVER, kTransparency.data(), 1);
        png_set_chunk_cache_max(png_, kMostChunks);
        png_set_chunk_malloc_max(png_, kMostChunkBytes);
        png_set_user_limits(png_, png_uint_32(header_.width), png_uint_32(header_.height));
        png_set_check_for_invalid_index(png_, 0);  // black, as in Pillow
    }

    static void on_info(png_structp png, png_infop info) {
        const PngReader& reader = of(png);
        if (png_get_image_width(png, info) != reader.header_.width ||
            png_get_image_height(png, info) != reader.header_.height)
            png_error(png, "more than one header");
        png_set_packing(png);
        if (!reader.indices_) reader.set_colours(png);
        png_set_interlace_handling(png);
        png_read_update_info(png, info);
        if (png_get_rowbytes(png, info) != reader.row_size()) png_error(png, "unexpected row size");
    }

    void set_colours(png_structp png) const {
        png_set_strip_16(png);
        if (header_.colour_type == PNG_COLOR_TYPE_PALETTE) png_set_palette_to_rgb(png);
        if (header_.colour_type == PNG_COLOR_TYPE_GRAY) png_set_expand_gray_1_2_4_to_8(png);
        png_set_strip_alpha(png);
        if (image_.channels == 3) png_set_gray_to_rgb(png);
    }

    // Rows are appended as they come, so that a header that promises much and a body that holds
    // little cost no memory; only an interlaced image has to be there as a whole.
    static void on_row(png_structp png, png_bytep row, png_uint_32 y, int) {
        PngReader& reader = of(png);
        reader.ask_whether_to_stop(png);
        if (row == nullptr) return;
        std::vector<std::uint8_t>& pixels = reader.image_.pixels;
        const std::size_t size = reader.row_size();
        const std::size_t at = y * size;
        if (reader.header_.interlaced) {
            if (pixels.empty()) pixels.resize(size * std::size_t(reader.header_.height));
            png_progressive_combine_row(png, pixels.data() + at, row);
            return;
        }
        pixels.resize(at + size);
        std::memcpy(pixels.data() + at, row, size);
        ++reader.rows_;
    }

    void ask_whether_to_stop(png_structp png) {
        constexpr unsigned kRows = 16;  // between two questions
        if (!stop_ || ++calls_ % kRows != 0 || !stop_()) return;
        stopped_ = true;
        png_error(png, "stopped");
    }

    static void on_end(png_structp png, png_infop) { of(png).ended_ = true; }

    std::size_t row_size() const { return std::size_t(image_.width * image_.channels); }

    Image& image_;
    const PngHeader& header_;
    bool indices_;
    png_structp png_ = nullptr;
    png_infop info_ = nullptr;
    std::jmp_buf jump_{};
    std::array<char, 128> message_{"out of memory"};
    std::int64_t rows_ = 0;
    bool ended_ = false;
    bool excess_ = false;
    const std::function<bool()>& stop_;
    unsigned calls_ = 0;
    bool stopped_ = false;
};

// The form of the image is set; the pixels are read into it.
void read_png(Image& image, std::span<const std::byte> bytes, const PngHeader& header, bool indices,
              const std::string& name, const DecodeOptions& options) {
    const auto size = std::size_t(image.width * image.height * image.channels);
    constexpr std::size_t kRowBytes = 32;  // a pixel in libpng's rows: this one, the last, a copy
    const MemoryShare memory = memory_to_decode(size + std::size_t(image.width) * kRowBytes, name);
    image.pixels.clear();
    image.pixels.reserve(size);

    const auto fail = [&](const std::string& what) {
        throw ImageError(ImageError::Why::malformed,
                         fmt::format("{}: malformed PNG: {}", name, what));
    };
    PngReader reader(image, header, indices, options.stop);
    const bool whole = reader.read(bytes);
    if (reader.stopped()) throw DecodingStopped(name + ": decoding was stopped");
    if (!whole) fail(reader.message());
    if (reader.has_excess())
        fail(fmt::format("the data holds more than the {}x{} pixels of the header", header.width,
                         header.height));
    if (!reader.ended()) fail(fmt::format("truncated after {} bytes", bytes.size()));
    if (!reader.complete()) fail("the data ends before the last row");
}

}  // namespace

void decode_png(Image& image, std::span<const std::byte> bytes, const PngHeader& header,
                const std::string& name, const DecodeOptions& options) {
    const bool grey = header.channels() < 3;
    image.width = header.width;
    image.height = header.height;
    image.channels = grey && options.channels == 1 ? 1 : 3;
    read_png(image, bytes, header, false, name, options);
}

void decode_png_indices(Image& image, std::span<const std::byte> bytes, const PngHeader& header,
                        const std::string& name, const DecodeOptions& options) {
    const bool single =
        header.colour_type == PNG_COLOR_TYPE_PALETTE || header.colour_type == PNG_COLOR_TYPE_GRAY;
    if (!single || header.bits > 8)
        throw ImageError(
            ImageError::Why::malformed,
            fmt::format("{}: expected a number from 0 to 255 for each pixel (a grey or palette PNG "
                        "of at most 8 bits), found {} channels of {} bits",
                        name, header.channels(), header.bits));
    image.width = header.width;
    image.height = header.height;
    image.channels = 1;
    read_png(image, bytes, header, true, name, options);
}

}  // namespace cait
