#include "image/codec/decode_webp.h"

#include <fmt/format.h>
#include <webp/decode.h>
#include <webp/demux.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

#include "image/codec/decode_memory.h"
#include "image/codec/exif.h"

namespace cait {

namespace {

[[noreturn]] void fail_webp(const std::string& name, const char* what) {
    throw ImageError(ImageError::Why::malformed, fmt::format("{}: malformed WebP: {}", name, what));
}

const char* text_of(VP8StatusCode status) {
    switch (status) {
        case VP8_STATUS_OUT_OF_MEMORY: return "out of memory";
        case VP8_STATUS_UNSUPPORTED_FEATURE: return "unsupported feature";
        case VP8_STATUS_SUSPENDED:
        case VP8_STATUS_NOT_ENOUGH_DATA: return "truncated";
        default: return "the compressed data is damaged";
    }
}

struct Frame : WebPIterator {
    Frame() : WebPIterator{} {}
    Frame(const Frame&) = delete;
    Frame& operator=(const Frame&) = delete;
    ~Frame() { WebPDemuxReleaseIterator(this); }
};

struct MetadataChunk : WebPChunkIterator {
    MetadataChunk() : WebPChunkIterator{} {}
    MetadataChunk(const MetadataChunk&) = delete;
    MetadataChunk& operator=(const MetadataChunk&) = delete;
    ~MetadataChunk() { WebPDemuxReleaseChunkIterator(this); }
};

// From here on libwebp decodes into memory of its own, which the system provides as rows are
// written, and which is then copied: a small file that promises a large image and is damaged costs
// what is in it. A vector would be filled with zeros first.
constexpr std::size_t kLarge = 48 << 20;  // bytes of the whole canvas

// What a frame of an animation does not cover is black.
void make_room(Image& image, const Frame& frame, std::size_t size) {
    const bool whole = frame.width == image.width && frame.height == image.height;
    if (!whole) image.pixels.clear();
    image.pixels.resize(size);
}

// libwebp has no row to stop at, but takes a file piece by piece. That costs a little, and a small
// image is decoded before anybody could wish to stop it.
constexpr std::size_t kSmall = 2 << 20, kPiece = 2 << 20;  // pixels

VP8StatusCode decode_in_pieces(const WebPData& data, WebPDecoderConfig& config, std::size_t pixels,
                               const std::function<bool()>& stop) {
    const std::unique_ptr<WebPIDecoder, void (*)(WebPIDecoder*)> decoder(
        WebPIDecode(nullptr, 0, &config), WebPIDelete);
    if (decoder == nullptr) return VP8_STATUS_OUT_OF_MEMORY;
    // As if pixels were spread evenly over the bytes.
    const std::size_t piece = data.size / (pixels / kPiece + 1) + 1;
    for (std::size_t given = 0; given < data.size;) {
        if (stop()) return VP8_STATUS_USER_ABORT;
        given += std::min(piece, data.size - given);
        const VP8StatusCode status = WebPIUpdate(decoder.get(), data.bytes, given);
        if (status != VP8_STATUS_SUSPENDED) return status;
    }
    return VP8_STATUS_SUSPENDED;
}

}  // namespace

void WebpFile::Delete::operator()(WebPDemuxer* demuxer) const { WebPDemuxDelete(demuxer); }

WebpFile::WebpFile(std::span<const std::byte> bytes, std::string name) : name_(std::move(name)) {
    const WebPData data{reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()};
    demuxer_.reset(WebPDemux(&data));
    if (demuxer_ == nullptr) fail_webp(name_, "truncated, or its chunks are damaged");
}

std::int64_t WebpFile::width() const { return WebPDemuxGetI(demuxer_.get(), WEBP_FF_CANVAS_WIDTH); }

std::int64_t WebpFile::height() const {
    return WebPDemuxGetI(demuxer_.get(), WEBP_FF_CANVAS_HEIGHT);
}

bool WebpFile::has_alpha() const {
    return (WebPDemuxGetI(demuxer_.get(), WEBP_FF_FORMAT_FLAGS) & ALPHA_FLAG) != 0;
}

int WebpFile::orientation() const {
    MetadataChunk chunk;
    if (WebPDemuxGetChunk(demuxer_.get(), "EXIF", 1, &chunk) == 0) return 1;
    return exif_orientation(std::as_bytes(std::span(chunk.chunk.bytes, chunk.chunk.size)));
}

void WebpFile::decode(Image& image, const std::function<bool()>& stop) const {
    Frame frame;
    if (WebPDemuxGetFrame(demuxer_.get(), 1, &frame) == 0 || frame.complete == 0)
        fail_webp(name_, "no whole frame");
    WebPDecoderConfig config;
    if (WebPInitDecoderConfig(&config) == 0) fail_webp(name_, "libwebp has another version");
    const VP8StatusCode header =
        WebPGetFeatures(frame.fragment.bytes, frame.fragment.size, &config.input);
    if (header != VP8_STATUS_OK) fail_webp(name_, text_of(header));
    if (config.input.width != frame.width || config.input.height != frame.height ||
        frame.x_offset < 0 || frame.y_offset < 0 || frame.x_offset + frame.width > width() ||
        frame.y_offset + frame.height > height())
        fail_webp(name_, "a frame lies outside the canvas");

    image.width = width();
    image.height = height();
    image.channels = 3;
    const auto size = std::size_t(image.width * image.height * 3);
    const auto pixels = std::size_t(frame.width) * std::size_t(frame.height);
    const bool lossless = config.input.format == 2;
    const bool large = size > kLarge;
    const MemoryShare memory =
        memory_to_decode(size + (lossless ? 4 * pixels : 0) + (large ? 3 * pixels : 0), name_);
    const std::size_t start = std::size_t(frame.y_offset * image.width + frame.x_offset) * 3;
    config.output.colorspace = MODE_RGB;
    if (!large) {
        make_room(image, frame, size);
        config.output.is_external_memory = 1;
        config.output.u.RGBA.rgba = image.pixels.data() + start;
        config.output.u.RGBA.stride = int(image.width * 3);
        config.output.u.RGBA.size = image.pixels.size() - start;
    }
    const VP8StatusCode status =
        stop && pixels > kSmall ? decode_in_pieces(frame.fragment, config, pixels, stop)
                                : WebPDecode(frame.fragment.bytes, frame.fragment.size, &config);
    const std::unique_ptr<WebPDecBuffer, void (*)(WebPDecBuffer*)> output(&config.output,
                                                                          WebPFreeDecBuffer);
    if (status == VP8_STATUS_USER_ABORT) throw DecodingStopped(name_ + ": decoding was stopped");
    if (status != VP8_STATUS_OK) fail_webp(name_, text_of(status));
    if (!large) return;
    make_room(image, frame, size);
    for (int y = 0; y < frame.height; ++y)
        std::memcpy(image.pixels.data() + start + std::size_t(y * image.width) * 3,
                    output->u.RGBA.rgba + std::ptrdiff_t(y) * output->u.RGBA.stride,
                    std::size_t(frame.width) * 3);
}

}  // namespace cait
