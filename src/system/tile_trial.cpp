#include "system/tile_trial.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace cait {

namespace {

constexpr char kRight = 'y';
constexpr char kWrong = 'n';

extern "C" void end_quietly(int) { ::_exit(1); }

// A handler of the host program must not run for our trap, nor a core be dumped.
[[noreturn]] void answer(int pipe, bool (*body)()) {
    struct sigaction quiet {};
    quiet.sa_handler = end_quietly;
    for (const int trap : {SIGILL, SIGSEGV, SIGBUS, SIGFPE}) ::sigaction(trap, &quiet, nullptr);
    const char result = body() ? kRight : kWrong;
    const ssize_t written = ::write(pipe, &result, 1);
    ::_exit(written == 1 ? 0 : 1);
}

// Waits for the byte; none comes from a child that died.
TileTrial read_answer(int pipe, std::chrono::milliseconds limit) {
    using Clock = std::chrono::steady_clock;
    const Clock::time_point end = Clock::now() + limit;
    while (true) {
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now());
        pollfd event{.fd = pipe, .events = POLLIN, .revents = 0};
        const int ready = ::poll(&event, 1, int(std::max<std::int64_t>(0, left.count())));
        if (ready < 0 && errno == EINTR) continue;
        if (ready == 0) return TileTrial::timed_out;
        char result = 0;
        const ssize_t count = ready < 0 ? 0 : ::read(pipe, &result, 1);
        if (count < 0 && errno == EINTR) continue;
        if (count != 1) return TileTrial::died;
        return result == kRight ? TileTrial::passed : TileTrial::wrong;
    }
}

}  // namespace

TileTrial try_in_child(bool (*body)(), std::chrono::milliseconds limit) {
    int ends[2] = {-1, -1};
    if (::pipe2(ends, O_CLOEXEC) != 0) return TileTrial::not_started;
    const pid_t child = ::fork();
    if (child == 0) answer(ends[1], body);
    ::close(ends[1]);
    const TileTrial result = child < 0 ? TileTrial::not_started : read_answer(ends[0], limit);
    ::close(ends[0]);
    if (child < 0) return result;
    if (result == TileTrial::timed_out) ::kill(child, SIGKILL);
    // Fails with ECHILD, after the child's end, where SIGCHLD is ignored.
    while (::waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
    }
    return result;
}

TileConfig full_tiles() {
    TileConfig config;
    std::fill_n(config.row_bytes, 8, std::uint16_t{64});
    std::fill_n(config.rows, 8, std::uint8_t{16});
    return config;
}

#if defined(__x86_64__)

namespace {

// With the tiles configured.
[[gnu::target("amx-tile,amx-bf16")]] bool bfloat16_product_is_right() {
    constexpr int kRows = 16, kDepth = 32, kColumns = 16;
    // c[i][j] = sum over 32 products of 2^(i / 4) and 3
    std::uint16_t a[kRows][kDepth];
    std::uint16_t b[kDepth / 2][kColumns * 2];
    float c[kRows][kColumns];
    for (int i = 0; i < kRows; ++i)
        for (int k = 0; k < kDepth; ++k) a[i][k] = std::uint16_t(0x3F80 + 0x80 * (i / 4));
    for (auto& row : b)
        for (std::uint16_t& value : row) value = 0x4040;
    asm volatile("" ::: "memory");  // the loads below do not tell the compiler what they read
    _tile_zero(0);
    _tile_loadd(1, a, 64);
    _tile_loadd(2, b, 64);
    _tile_dpbf16ps(0, 1, 2);
    _tile_stored(0, c, 64);
    asm volatile("" ::: "memory");
    bool right = true;
    for (int i = 0; i < kRows; ++i)
        for (const float value : c[i]) right = right && value == float(3 * kDepth * (1 << (i / 4)));
    return right;
}

// Bytes up to 255 on the left and down to -128 on the right: what is signed shows.
[[gnu::target("amx-tile,amx-int8")]] bool byte_product_is_right() {
    constexpr int kRows = 16, kDepth = 64, kColumns = 16;
    // c[i][j] = sum over 64 products of 255 - i and 8 j - 128
    std::uint8_t a[kRows][kDepth];
    std::int8_t b[kDepth / 4][kColumns * 4];
    std::int32_t c[kRows][kColumns];
    for (int i = 0; i < kRows; ++i)
        for (std::uint8_t& value : a[i]) value = std::uint8_t(255 - i);
    for (auto& row : b)
        for (int j = 0; j < kColumns * 4; ++j) row[j] = std::int8_t(8 * (j / 4) - 128);
    asm volatile("" ::: "memory");
    _tile_zero(0);
    _tile_loadd(1, a, 64);
    _tile_loadd(2, b, 64);
    _tile_dpbusd(0, 1, 2);
    _tile_stored(0, c, 64);
    asm volatile("" ::: "memory");
    bool right = true;
    for (int i = 0; i < kRows; ++i)
        for (int j = 0; j < kColumns; ++j)
            right = right && c[i][j] == kDepth * (255 - i) * (8 * j - 128);
    return right;
}

}  // namespace

[[gnu::target("amx-tile")]] bool tile_product_is_right() {
    const TileConfig config = full_tiles();
    _tile_loadconfig(&config);
    asm volatile("" ::: "memory");
    const bool right = bfloat16_product_is_right() && byte_product_is_right();
    _tile_release();
    return right;
}

#else

bool tile_product_is_right() { return false; }

#endif

}  // namespace cait
