#include "engine/slabs.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <new>

namespace cait::engine {

namespace {

using kernels::Index;

constexpr Index kLargePage = Index{2} << 20;
constexpr Index kSlab = 16 * kLargePage;

}  // namespace

// What is not touched takes no memory, so that a slab may be larger than what will lie in it.
void Slabs::add(Index bytes) {
    const Index size = std::max(kSlab, kernels::round_up(bytes, kLargePage)),
                all = size + kLargePage;
    void* memory = ::mmap(nullptr, std::size_t(all), PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    Slab& slab = slabs_.emplace_back();
    slab.memory = {static_cast<std::byte*>(memory),
                   [all](std::byte* all_of_it) { ::munmap(all_of_it, std::size_t(all)); }};
    const auto address = Index(reinterpret_cast<std::uintptr_t>(memory));
    slab.used = kernels::round_up(address, kLargePage) - address;
    slab.size = slab.used + size;
#if defined(MADV_HUGEPAGE)
    ::madvise(slab.memory.get() + slab.used, std::size_t(size), MADV_HUGEPAGE);
#endif
}

std::byte* Slabs::take(Index bytes) {
    const Index size = kernels::aligned(std::max<Index>(1, bytes));
    if (slabs_.empty() || slabs_.back().size - slabs_.back().used < size) add(size);
    Slab& slab = slabs_.back();
    std::byte* part = slab.memory.get() + slab.used;
    slab.used += size;
    used_ += size;
    return part;
}

}  // namespace cait::engine
