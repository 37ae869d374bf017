#include "data/formats/xz.h"

#include <fmt/format.h>
#include <lzma.h>

#include <algorithm>
#include <array>
#include <vector>

#include "cait/error.h"
#include "system/memory_budget.h"

namespace cait {

namespace {

constexpr std::uint64_t kMostMemory = std::uint64_t{128} << 20;  // `xz -9` needs 65 MiB

class XzDecoder {
public:
    XzDecoder() {
        const std::uint64_t most = std::min(kMostMemory, MemoryBudget::of_process().allowed() / 2);
        started_ = lzma_stream_decoder(&stream_, most, LZMA_CONCATENATED) == LZMA_OK;
    }
    XzDecoder(const XzDecoder&) = delete;
    XzDecoder& operator=(const XzDecoder&) = delete;
    ~XzDecoder() { lzma_end(&stream_); }

    bool started() const { return started_; }
    lzma_stream& stream() { return stream_; }

private:
    lzma_stream stream_ = LZMA_STREAM_INIT;
    bool started_ = false;
};

}  // namespace

bool is_xz(std::span<const std::byte> bytes) noexcept {
    constexpr std::array<unsigned char, 6> kMagic = {0xfd, '7', 'z', 'X', 'Z', 0};
    return bytes.size() >= kMagic.size() &&
           std::ranges::equal(bytes.first(kMagic.size()), kMagic, {},
                              [](std::byte byte) { return std::to_integer<unsigned char>(byte); });
}

void unxz_blocks(std::span<const std::byte> bytes, const std::string& file, const ByteSink& sink) {
    XzDecoder decoder;
    if (!decoder.started()) throw Error(file + ": liblzma does not start");
    std::vector<std::byte> scratch(std::size_t{1} << 18);
    lzma_stream& stream = decoder.stream();
    stream.next_in = reinterpret_cast<const std::uint8_t*>(bytes.data());
    stream.avail_in = bytes.size();
    for (lzma_ret status = LZMA_OK; status != LZMA_STREAM_END;) {
        stream.next_out = reinterpret_cast<std::uint8_t*>(scratch.data());
        stream.avail_out = scratch.size();
        status = lzma_code(&stream, LZMA_FINISH);
        switch (status) {
            case LZMA_OK:
            case LZMA_STREAM_END: break;
            case LZMA_BUF_ERROR:
                throw Error(fmt::format("{}: truncated: compressed data ends after {} bytes", file,
                                        stream.total_out));
            case LZMA_MEM_ERROR:
            case LZMA_MEMLIMIT_ERROR:
                throw Error(fmt::format("{}: its compressed data needs more than {} to unpack",
                                        file, memory_size_text(lzma_memlimit_get(&stream))));
            default:
                throw Error(fmt::format("{}: broken compressed data after {} bytes", file,
                                        stream.total_out));
        }
        if (const std::size_t count = scratch.size() - stream.avail_out; count > 0)
            sink(std::span(scratch).first(count));
    }
}

}  // namespace cait
