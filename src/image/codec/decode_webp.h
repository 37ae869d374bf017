// WebP through libwebp; of an animation, the first frame.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "image/codec/decode.h"

struct WebPDemuxer;

namespace cait {

// The parsed container; refers to the bytes that it was made from.
class WebpFile {
public:
    // Throws ImageError (malformed) unless the container is whole.
    WebpFile(std::span<const std::byte> bytes, std::string name);

    std::int64_t width() const;
    std::int64_t height() const;
    bool has_alpha() const;
    int orientation() const;

    // The caller has checked width() * height(). Always gives 3 channels. `stop` as in
    // DecodeOptions.
    void decode(Image& image, const std::function<bool()>& stop) const;

private:
    struct Delete {
        void operator()(WebPDemuxer* demuxer) const;
    };

    std::string name_;
    std::unique_ptr<WebPDemuxer, Delete> demuxer_;
};

}  // namespace cait
