// The images of one request on their way from files to pixels. Heads of files tell what decoding
// would cost, so too much is refused before it begins; and it ends when nobody needs it any more.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "serve/engine/decode_time.h"
#include "serve/http/message.h"

namespace cait::serve {

struct PixelLimits {
    std::int64_t image = 64'000'000;
    std::int64_t request = 256'000'000;  // all images of a request together
};

class Intake {
public:
    struct Rules {
        PixelLimits pixels{};
        double left = 0;  // seconds until the request must be answered
        std::function<bool()> stop{};
        // Asks for a place for this many images and seconds of decoding; throws HttpError(503).
        std::function<void(std::size_t images, double decoding)> grow{};
    };
    Intake(DecodeTime& time, Rules rules) : time_(time), rules_(std::move(rules)) {}

    // Before anything is done with the images of a request: prepared pixels, one photograph
    // ("image" in messages), several files ("image 0", …). Throws HttpError, 413 or 503, and
    // ImageError.
    void admit(std::size_t images) const { rules_.grow(images, 0); }
    void admit(const std::string& photo) const;
    void admit(const std::vector<std::string>& files) const;

    // Throws ImageError, and DecodingStopped where nobody waits for it any more.
    Image decode(const std::string& file, const std::string& name) const;

private:
    class Sum;
    void grow(std::size_t images, const Sum& sum) const;

    DecodeTime& time_;
    Rules rules_;
};

// "image 3" of several.
std::string image_name(std::size_t index);

}  // namespace cait::serve
