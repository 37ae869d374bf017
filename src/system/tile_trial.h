// Tries AMX in a child process: flags and permissions do not tell whether a virtual machine lets
// tiles work, and an illegal instruction must end that child, not the program.
#pragma once

#include <chrono>
#include <cstdint>

namespace cait {

enum class TileTrial { passed, wrong, died, timed_out, not_started };

inline constexpr std::chrono::milliseconds kTrialLimit{5000};

// Forks; the child answers with body()'s result through a pipe. The answer does not come from the
// child's exit status, which a program that ignores SIGCHLD never sees. `body` may do only what a
// signal handler may.
TileTrial try_in_child(bool (*body)(), std::chrono::milliseconds limit);

// What LDTILECFG reads. Palette 1 is named here and not taken from CPUID, which may hide it.
struct alignas(64) TileConfig {
    std::uint8_t palette = 1;
    std::uint8_t start_row = 0;
    std::uint8_t reserved[14] = {};
    std::uint16_t row_bytes[16] = {};  // by tile; 8 of them exist
    std::uint8_t rows[16] = {};
};
// All 8 tiles as large as they get: 16 rows of 64 bytes.
TileConfig full_tiles();

// Multiplies two tiles of bfloat16 and two of bytes and checks the results. Traps where AMX does
// not work; the process needs the kernel's permission.
bool tile_product_is_right();

}  // namespace cait
