// How long decoding takes, by format: what admission knows of an image before its first pixel is
// decoded. Guessed at first, then learned from what decoding took.
#pragma once

#include <array>
#include <atomic>

#include "image/codec/decode.h"

namespace cait::serve {

class DecodeTime {
public:
    double expected(const ImageInfo& image) const;  // seconds of one thread
    // From any thread. What clients send moves the estimate within bounds only: odd images of one
    // must not shut out those of others.
    void observe(const ImageInfo& image, double seconds);

private:
    std::array<std::atomic<double>, 3> scale_{1, 1, 1};  // by ImageFormat: this machine, now
};

}  // namespace cait::serve
