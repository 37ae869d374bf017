#include "data/formats/gzip.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <cstdint>
#include <limits>

#include "cait/error.h"

namespace cait {

namespace {

constexpr int kGzipWindow = 15 + 16;  // window bits, "+ 16" asks zlib for the gzip header
constexpr int kZlibWindow = 15;

class Inflater {
public:
    Inflater(int window, const std::string& file) : file_(file) {
        if (inflateInit2(&stream_, window) != Z_OK) throw Error(file + ": zlib does not start");
    }
    Inflater(const Inflater&) = delete;
    Inflater& operator=(const Inflater&) = delete;
    ~Inflater() { inflateEnd(&stream_); }

    // Grows with what comes: neither a claim nor a ratio is believed.
    std::vector<std::byte> run(std::span<const std::byte> bytes, std::size_t most,
                               std::size_t likely = 0) {
        constexpr std::size_t kFirst = std::size_t{1} << 16;
        std::vector<std::byte> out;
        out.reserve(std::min(most, likely));
        pass(bytes, most, [&](std::size_t written) {
            if (written == out.size()) out.resize(std::min(most, std::max(kFirst, 2 * written)));
            return std::span(out).subspan(written);
        });
        out.resize(written_);
        return out;
    }

    std::size_t count(std::span<const std::byte> bytes, std::size_t most) {
        std::vector<std::byte> scratch(std::size_t{1} << 18);
        pass(bytes, most, [&](std::size_t written) {
            return std::span(scratch).first(std::min(scratch.size(), most - written));
        });
        return written_;
    }

    // One file after the other; each time as many bytes as it has.
    void hand_over(std::span<const std::byte> bytes, const ByteSink& sink) {
        std::vector<std::byte> scratch(std::size_t{1} << 18);
        std::size_t handed = 0;
        const auto flush = [&] {
            if (written_ > handed) sink(std::span(scratch).first(written_ - handed));
            handed = written_;
        };
        while (true) {
            const std::size_t read =
                pass(bytes, std::numeric_limits<std::size_t>::max(), [&](std::size_t /*written*/) {
                    flush();
                    return std::span(scratch);
                });
            flush();
            bytes = bytes.subspan(read);
            if (!is_gzip(bytes)) break;
            inflateReset(&stream_);
        }
        // Some tools fill up the last block of a tape.
        if (std::ranges::any_of(bytes, [](std::byte byte) { return byte != std::byte{0}; }))
            throw Error(fmt::format("{}: {} bytes behind the compressed data are none", file_,
                                    bytes.size()));
    }

private:
    static constexpr std::size_t kStep = std::size_t{1} << 30;  // zlib counts in 32 bits

    // `room(written)` is where the next bytes go, at least one. Returns how many bytes were read.
    template <class Room>
    std::size_t pass(std::span<const std::byte> bytes, std::size_t most, const Room& room) {
        std::size_t read = 0;
        int status = Z_OK;
        while (status == Z_OK && written_ < most) {
            const std::span<std::byte> out = room(written_);
            const auto in_now = unsigned(std::min(bytes.size() - read, kStep));
            const auto out_now = unsigned(std::min(out.size(), kStep));
            stream_.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(bytes.data() + read));
            stream_.avail_in = in_now;
            stream_.next_out = reinterpret_cast<Bytef*>(out.data());
            stream_.avail_out = out_now;
            status = inflate(&stream_, Z_NO_FLUSH);
            read += in_now - stream_.avail_in;
            written_ += out_now - stream_.avail_out;
            if (status == Z_BUF_ERROR ||
                (status == Z_OK && read == bytes.size() && stream_.avail_out > 0))
                throw Error(fmt::format("{}: truncated: compressed data ends after {} bytes", file_,
                                        written_));
        }
        if (status != Z_OK && status != Z_STREAM_END)
            throw Error(fmt::format("{}: broken compressed data after {} bytes", file_, written_));
        return read;
    }

    z_stream stream_{};
    std::size_t written_ = 0;
    const std::string& file_;
};

}  // namespace

bool is_gzip(std::span<const std::byte> bytes) noexcept {
    return bytes.size() >= 2 && bytes[0] == std::byte{0x1f} && bytes[1] == std::byte{0x8b};
}

std::vector<std::byte> gunzip(std::span<const std::byte> bytes, std::size_t most,
                              const std::string& file, std::size_t likely) {
    return Inflater(kGzipWindow, file).run(bytes, most, likely);
}

std::size_t gunzipped_size(std::span<const std::byte> bytes, std::size_t most,
                           const std::string& file) {
    return Inflater(kGzipWindow, file).count(bytes, most);
}

void gunzip_blocks(std::span<const std::byte> bytes, const std::string& file,
                   const ByteSink& sink) {
    Inflater(kGzipWindow, file).hand_over(bytes, sink);
}

std::vector<std::byte> inflate_zlib(std::span<const std::byte> bytes, std::size_t most,
                                    const std::string& file) {
    return Inflater(kZlibWindow, file).run(bytes, most);
}

}  // namespace cait
