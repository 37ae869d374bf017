#include "serve/protocol/inflate.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <vector>

#include "base/display_name.h"
#include "base/text.h"
#include "serve/http/message.h"

namespace cait::serve {

namespace {

class Inflater {
public:
    explicit Inflater(int window_bits) {
        if (::inflateInit2(&stream_, window_bits) != Z_OK) throw std::bad_alloc();
    }
    Inflater(const Inflater&) = delete;
    Inflater& operator=(const Inflater&) = delete;
    ~Inflater() { ::inflateEnd(&stream_); }

    std::string all_of(std::string_view bytes, std::size_t most, Charge& charge) {
        stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
        stream_.avail_in = uInt(bytes.size());
        std::string result;
        std::vector<char> buffer(65536);
        for (int status = Z_OK; status != Z_STREAM_END;) {
            stream_.next_out = reinterpret_cast<Bytef*>(buffer.data());
            stream_.avail_out = uInt(buffer.size());
            status = ::inflate(&stream_, Z_NO_FLUSH);
            const std::size_t count = buffer.size() - stream_.avail_out;
            if (status != Z_OK && status != Z_STREAM_END)
                throw HttpError(400, "body: the compressed bytes are damaged or end too early");
            if (count > most - result.size())
                throw HttpError(413, fmt::format("body: expected at most {} bytes after "
                                                 "decompression, found more",
                                                 most));
            append_charged(result, {buffer.data(), count}, most, charge, "body");
        }
        if (stream_.avail_in > 0)
            throw HttpError(400, "body: expected nothing after the compressed bytes");
        return result;
    }

private:
    z_stream stream_{};
};

// zlib's two bytes: the method, and a multiple of 31.
bool has_zlib_frame(std::string_view bytes) {
    if (bytes.size() < 2) return true;
    const auto first = static_cast<unsigned char>(bytes[0]);
    const auto second = static_cast<unsigned char>(bytes[1]);
    return (first & 15) == Z_DEFLATED && (first * 256 + second) % 31 == 0;
}

}  // namespace

std::string decoded_body(std::string body, std::string_view encoding, std::size_t most,
                         Charge& charge) {
    const std::string name = lower_case(encoding);
    if (name.empty() || name == "identity") return body;
    constexpr int kGzip = 16 + MAX_WBITS, kZlib = MAX_WBITS, kRaw = -MAX_WBITS;
    const auto decoded = [&](int window_bits) {
        std::string result = Inflater(window_bits).all_of(body, most, charge);
        charge.lower_by(body.capacity());
        return result;
    };
    if (name == "gzip" || name == "x-gzip") return decoded(kGzip);
    if (name == "deflate") return decoded(has_zlib_frame(body) ? kZlib : kRaw);
    throw HttpError(415, fmt::format("Content-Encoding: expected gzip or deflate, found {}",
                                     display_name(encoding)));
}

}  // namespace cait::serve
