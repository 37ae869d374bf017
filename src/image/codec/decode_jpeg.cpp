#include "image/codec/decode_jpeg.h"

#include <fmt/format.h>

#include <array>
#include <csetjmp>
#include <cstdio>
#include <vector>

#include <jpeglib.h>  // needs <cstdio> before it

#include "image/codec/decode_memory.h"
#include "image/ops/colour_convert.h"

namespace cait {

namespace {

// libjpeg reports errors through a function that must not return and must not throw through its C
// frames: it jumps back to attempt(), and only there does an error become an exception.
class JpegReader {
public:
    JpegReader(std::span<const std::byte> bytes, const DecodeOptions& options)
        : scan_limit_(options.limits.scans), stop_(options.stop) {
        state_.err = jpeg_std_error(&errors_);
        state_.client_data = this;
        errors_.error_exit = [](j_common_ptr state) {
            JpegReader& reader = of(state);
            state->err->format_message(state, reader.message_.data());
            std::longjmp(reader.jump_, 1);
        };
        errors_.output_message = [](j_common_ptr) {};
        errors_.emit_message = [](j_common_ptr, int) {};  // Pillow ignores warnings too
        progress_.progress_monitor = watch;
        set_source(bytes);
    }

    JpegReader(const JpegReader&) = delete;
    JpegReader& operator=(const JpegReader&) = delete;
    ~JpegReader() { jpeg_destroy_decompress(&state_); }

    // False after an error. `step` is left by a jump then, so it must own nothing.
    template <class Step>
    bool attempt(const Step& step) {
        if (setjmp(jump_) != 0) return false;
        step(state_);
        return true;
    }

    void create() {
        // Clears the whole state except for err and client_data.
        jpeg_create_decompress(&state_);
        state_.src = &source_;
        state_.progress = &progress_;
    }

    const char* message() const { return message_.data(); }
    bool stopped() const { return stopped_; }

private:
    static JpegReader& of(j_common_ptr state) {
        return *static_cast<JpegReader*>(state->client_data);
    }

    [[noreturn]] void give_up(const char* message) {
        std::snprintf(message_.data(), message_.size(), "%s", message);
        std::longjmp(jump_, 1);
    }

    // Called for every row of blocks of every scan. The scans have been counted before; this holds
    // even where libjpeg finds markers differently.
    static void watch(j_common_ptr state) {
        constexpr unsigned kCalls = 8;  // between two questions
        JpegReader& reader = of(state);
        if (reader.state_.input_scan_number > reader.scan_limit_) reader.give_up("too many scans");
        if (!reader.stop_ || ++reader.calls_ % kCalls != 0 || !reader.stop_()) return;
        reader.stopped_ = true;
        reader.give_up("stopped");
    }

    // libjpeg's own memory source invents the missing end of a truncated file; this one refuses.
    void set_source(std::span<const std::byte> bytes) {
        source_.next_input_byte = reinterpret_cast<const JOCTET*>(bytes.data());
        source_.bytes_in_buffer = bytes.size();
        source_.init_source = [](j_decompress_ptr) {};
        source_.term_source = [](j_decompress_ptr) {};
        source_.resync_to_restart = jpeg_resync_to_restart;
        source_.fill_input_buffer = [](j_decompress_ptr state) -> boolean {
            of(reinterpret_cast<j_common_ptr>(state)).give_up("truncated");
        };
        source_.skip_input_data = [](j_decompress_ptr state, long count) {
            if (count <= 0) return;
            jpeg_source_mgr& source = *state->src;
            if (std::size_t(count) > source.bytes_in_buffer) source.fill_input_buffer(state);
            source.next_input_byte += count;
            source.bytes_in_buffer -= std::size_t(count);
        };
    }

    jpeg_decompress_struct state_{};
    jpeg_error_mgr errors_{};
    jpeg_source_mgr source_{};
    jpeg_progress_mgr progress_{};
    std::jmp_buf jump_{};
    std::array<char, JMSG_LENGTH_MAX> message_{};
    int scan_limit_;
    const std::function<bool()>& stop_;
    unsigned calls_ = 0;
    bool stopped_ = false;
};

// Rows are appended as they come, so that a header that promises much and a body that holds little
// cost no memory. The image's memory is reserved: nothing here allocates or throws.
void read_rows(jpeg_decompress_struct& state, Image& image) {
    constexpr JDIMENSION kMost = 16;
    const auto row_size = std::size_t(image.width * image.channels);
    std::array<JSAMPROW, kMost> rows{};
    while (state.output_scanline < state.output_height) {
        const JDIMENSION left = state.output_height - state.output_scanline;
        const JDIMENSION wanted = left < kMost ? left : kMost;
        const std::size_t first = state.output_scanline * row_size;
        image.pixels.resize(first + wanted * row_size);
        for (JDIMENSION i = 0; i < wanted; ++i)
            rows[i] = image.pixels.data() + first + i * row_size;
        for (JDIMENSION done = 0; done < wanted;)
            done += jpeg_read_scanlines(&state, rows.data() + done, wanted - done);
    }
}

void read_cmyk_rows(jpeg_decompress_struct& state, Image& image, std::vector<JSAMPLE>& buffer) {
    const auto width = std::size_t(image.width);
    while (state.output_scanline < state.output_height) {
        const std::size_t first = state.output_scanline * width * 3;
        JSAMPROW row = buffer.data();
        jpeg_read_scanlines(&state, &row, 1);
        image.pixels.resize(first + width * 3);
        inverted_cmyk_to_rgb(buffer.data(), image.pixels.data() + first, width);
    }
}

// More than libjpeg takes for some rows of the widest image and to fill up groups of blocks.
constexpr long kRowBytes = 64 << 20;

}  // namespace

// Coefficients of the whole image, which libjpeg keeps where there are several scans.
std::uint64_t coefficient_bytes(const JpegHeader& header) {
    constexpr std::uint64_t kBlockBytes = 64 * sizeof(JCOEF);
    return header.one_scan ? 0 : std::uint64_t(header.blocks) * kBlockBytes;
}

namespace {

void check_supported(const JpegHeader& header, std::span<const std::byte> bytes,
                     const std::string& name, const DecodeLimits& limits) {
    if (header.bits != 8)
        malformed_jpeg(name, fmt::format("expected 8 bits per sample, found {}", header.bits));
    if (header.components != 1 && header.components != 3 && header.components != 4)
        malformed_jpeg(name,
                       fmt::format("expected 1, 3 or 4 components, found {}", header.components));
    // A Huffman code has at least one bit, and each block at least one code. libjpeg would make up
    // what is missing, and a file of some bytes would become a grey image of a gigabyte. Arithmetic
    // codes can do with less, but nobody writes large images with them in several scans.
    constexpr std::uint64_t kManyCoefficients = std::uint64_t{128} << 20;
    const std::uint64_t coded = bytes.size() - header.first_scan;
    const bool bounded = header.huffman || coefficient_bytes(header) > kManyCoefficients;
    if (bounded && std::uint64_t(header.blocks) > 8 * coded)
        malformed_jpeg(name, fmt::format("truncated: {} bytes of data cannot hold {}x{} pixels",
                                         coded, header.width, header.height));
    if (!header.one_scan && count_jpeg_scans(bytes, header, limits.scans) > limits.scans)
        malformed_jpeg(name, fmt::format("expected at most {} scans, found more", limits.scans));
}

}  // namespace

void decode_jpeg(Image& image, std::span<const std::byte> bytes, const JpegHeader& header,
                 const std::string& name, const DecodeOptions& options) {
    check_supported(header, bytes, name, options.limits);
    image.width = header.width;
    image.height = header.height;
    image.channels = header.components == 1 && options.channels == 1 ? 1 : 3;
    const auto size = std::size_t(image.width * image.height * image.channels);
    const MemoryShare memory = memory_to_decode(size + coefficient_bytes(header), name);
    image.pixels.clear();
    image.pixels.reserve(size);
    std::vector<JSAMPLE> cmyk(header.components == 4 ? std::size_t(image.width) * 4 : 0);

    JpegReader reader(bytes, options);
    bool same_header = true;
    const bool decoded = reader.attempt([&](jpeg_decompress_struct& state) {
        reader.create();
        state.mem->max_memory_to_use = long(coefficient_bytes(header)) + kRowBytes;
        jpeg_read_header(&state, TRUE);
        same_header = state.image_width == JDIMENSION(header.width) &&
                      state.image_height == JDIMENSION(header.height) &&
                      state.num_components == header.components;
        if (!same_header) return;
        if (header.components == 4)
            state.out_color_space = JCS_CMYK;
        else
            state.out_color_space = image.channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
        jpeg_start_decompress(&state);
        if (header.components == 4)
            read_cmyk_rows(state, image, cmyk);
        else
            read_rows(state, image);
        jpeg_finish_decompress(&state);  // a missing end marker is a truncation too
    });
    if (reader.stopped()) throw DecodingStopped(name + ": decoding was stopped");
    if (!decoded) malformed_jpeg(name, reader.message());
    if (!same_header) malformed_jpeg(name, "more than one frame header");
}

}  // namespace cait
