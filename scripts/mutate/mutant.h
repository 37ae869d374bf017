// What a planted bug asks at run time: am I switched on? Included by the files that scripts/mutate
// changes, in its copy of the tree. CAIT_MUTANT is the number of the one bug that is on.
// CAIT_MUTANT_REACHED names a file with a byte for each bug, set when execution comes by it: mapped
// before main, since the sandbox refuses to open it later, and shared, so that child processes add
// to it. Functions are static: files compiled for different instruction sets must not share them.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>

// The bug, not the compiler, is to be found.
#pragma GCC diagnostic ignored "-Wparentheses"
#pragma GCC diagnostic ignored "-Wunused-variable"
#pragma GCC diagnostic ignored "-Wunused-but-set-variable"
#pragma GCC diagnostic ignored "-Wunused-but-set-parameter"
#pragma GCC diagnostic ignored "-Wunused-value"
#pragma GCC diagnostic ignored "-Wunused-result"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wbool-compare"
#pragma GCC diagnostic ignored "-Wbool-operation"
#pragma GCC diagnostic ignored "-Wint-in-bool-context"
#pragma GCC diagnostic ignored "-Wsign-compare"
#pragma GCC diagnostic ignored "-Wtype-limits"
#pragma GCC diagnostic ignored "-Wtautological-compare"
#pragma GCC diagnostic ignored "-Wreturn-type"
#pragma GCC diagnostic ignored "-Wextra"
#pragma GCC diagnostic ignored "-Wdiv-by-zero"
#pragma GCC diagnostic ignored "-Wnonnull"
#pragma GCC diagnostic ignored "-Warray-bounds"
#pragma GCC diagnostic ignored "-Wstringop-overflow"
#pragma GCC diagnostic ignored "-Wstringop-overread"
#pragma GCC diagnostic ignored "-Waggressive-loop-optimizations"

struct CaitMutants {
    bool ready = false;
    int active = 0;
    unsigned char* reached = nullptr;
};
inline CaitMutants cait_mutants{};  // data may be shared; initialised before any code runs

[[gnu::constructor(101)]] static void cait_read_mutants() {
    if (cait_mutants.ready) return;
    cait_mutants.ready = true;
    if (const char* number = ::getenv("CAIT_MUTANT")) cait_mutants.active = ::atoi(number);
    const char* file = ::getenv("CAIT_MUTANT_REACHED");
    if (file == nullptr) return;
    const int fd = ::open(file, O_RDWR | O_CLOEXEC);
    struct stat info {};
    if (fd >= 0 && ::fstat(fd, &info) == 0) {
        void* bytes = ::mmap(nullptr, info.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (bytes != MAP_FAILED) cait_mutants.reached = static_cast<unsigned char*>(bytes);
    }
    if (fd >= 0) ::close(fd);
}

[[gnu::always_inline]] static inline bool cait_mutant(int id) {
    if (cait_mutants.reached != nullptr)
        __atomic_store_n(cait_mutants.reached + id, 1, __ATOMIC_RELAXED);
    return cait_mutants.active == id;
}
