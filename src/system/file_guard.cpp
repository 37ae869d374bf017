#include "system/file_guard.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

namespace cait {

namespace {

enum class Condition : std::uint8_t { whole, changed, forgiven };

// What the signal handler reads, without locks. Empty slots have end == 0.
struct Slot {
    std::atomic<std::uintptr_t> begin, end;
    std::atomic<Condition> condition;
};

// As many as Linux lets a process map by default. Untouched ones take no memory.
constexpr std::size_t kSlots = 65536;
constexpr std::size_t kNoSlot = kSlots;
constinit std::array<Slot, kSlots> slots{};
constinit std::atomic<std::size_t> used_slots = 0;  // slots above have never been used
constinit std::atomic<bool> any_changed = false;
constinit std::uintptr_t page_size = 4096;
struct sigaction previous_action {};
static_assert(std::atomic<std::uintptr_t>::is_always_lock_free &&
              std::atomic<Condition>::is_always_lock_free);

// What the handler does not need.
struct Details {
    std::filesystem::path path;
    FileId id;
};

struct Register {
    std::mutex mutex;
    std::vector<Details> details;   // by slot
    std::vector<std::size_t> free;  // slots to use again
    std::filesystem::path gone;     // a changed file that is no longer mapped
};

Register& the_register() {
    static Register* const instance = new Register;  // outlives static objects that map files
    return *instance;
}

void mark_changed(Slot& slot) {
    Condition whole = Condition::whole;
    if (slot.condition.compare_exchange_strong(whole, Condition::changed)) any_changed = true;
}

Slot* slot_at(std::uintptr_t address) {
    const std::size_t count = used_slots.load(std::memory_order_acquire);
    for (std::size_t i = 0; i < count; ++i)
        if (address >= slots[i].begin.load(std::memory_order_relaxed) &&
            address < slots[i].end.load(std::memory_order_acquire))
            return &slots[i];
    return nullptr;
}

// Zeros in place of the page that is not there any more; the reader goes on, and is stopped at the
// next safe point. Only what may be done in a signal handler: atomics and system calls.
void on_bus_error(int signal, siginfo_t* info, void*) {
    const int error = errno;
    const auto address = reinterpret_cast<std::uintptr_t>(info->si_addr);
    Slot* slot = info->si_code == BUS_ADRERR ? slot_at(address) : nullptr;
    void* page = reinterpret_cast<void*>(address / page_size * page_size);
    if (slot == nullptr || ::mmap(page, page_size, PROT_READ,
                                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED) {
        ::sigaction(signal, &previous_action, nullptr);  // it happens again, and is not ours
        return;
    }
    mark_changed(*slot);
    errno = error;
}

[[noreturn]] void refuse(const std::filesystem::path& path) {
    throw FileChanged(
        fmt::format("{}: changed while in use (shortened, or its disk failed)", path.string()));
}

}  // namespace

void install_file_guard() {
    static std::once_flag once;
    std::call_once(once, [] {
        page_size = std::uintptr_t(::sysconf(_SC_PAGESIZE));
        struct sigaction action {};
        action.sa_sigaction = on_bus_error;
        action.sa_flags = SA_SIGINFO | SA_RESTART;
        ::sigemptyset(&action.sa_mask);
        ::sigaction(SIGBUS, &action, &previous_action);
    });
}

void check_mapped_files() {
    if (!any_changed.load(std::memory_order_acquire)) return;
    Register& known = the_register();
    const std::lock_guard lock(known.mutex);
    for (std::size_t i = 0; i < known.details.size(); ++i)
        if (slots[i].condition == Condition::changed) refuse(known.details[i].path);
    if (!known.gone.empty()) refuse(known.gone);
}

void recheck_mapped_files() {
    {
        Register& known = the_register();
        const std::lock_guard lock(known.mutex);
        for (std::size_t i = 0; i < known.details.size(); ++i) {
            const std::uintptr_t end = slots[i].end;
            struct stat info {};
            // A file that was replaced or removed is still there for us as it was.
            if (end == 0 || ::stat(known.details[i].path.c_str(), &info) != 0) continue;
            const FileId id{std::uint64_t(info.st_dev), std::uint64_t(info.st_ino)};
            if (id == known.details[i].id && std::uintptr_t(info.st_size) < end - slots[i].begin)
                mark_changed(slots[i]);
        }
    }
    check_mapped_files();
}

void forgive_changed_files() {
    Register& known = the_register();
    const std::lock_guard lock(known.mutex);
    for (std::size_t i = 0; i < known.details.size(); ++i) {
        Condition changed = Condition::changed;
        slots[i].condition.compare_exchange_strong(changed, Condition::forgiven);
    }
    known.gone.clear();
    any_changed = false;
}

bool release_mapped_pages(std::span<const std::byte> bytes) {
    const auto begin = reinterpret_cast<std::uintptr_t>(bytes.data()), end = begin + bytes.size();
    const Slot* slot = slot_at(begin);
    if (slot == nullptr || end > slot->end) return false;
    const auto page = std::uintptr_t(::sysconf(_SC_PAGESIZE));
    const std::uintptr_t first = (begin + page - 1) / page * page, last = end / page * page;
    if (first < last) ::madvise(reinterpret_cast<void*>(first), last - first, MADV_DONTNEED);
    return true;
}

GuardedRange::GuardedRange(std::span<const std::byte> bytes, const std::filesystem::path& path,
                           const FileId& id)
    : slot_(kNoSlot) {
    Register& known = the_register();
    const std::lock_guard lock(known.mutex);
    if (!known.free.empty()) {
        slot_ = known.free.back();
        known.free.pop_back();
        known.details[slot_] = {path, id};
    } else if (known.details.size() < kSlots) {
        slot_ = known.details.size();
        known.details.push_back({path, id});
        known.free.reserve(known.details.size());  // giving it back must not fail
    } else {
        return;
    }
    Slot& slot = slots[slot_];
    slot.condition = Condition::whole;
    slot.begin = reinterpret_cast<std::uintptr_t>(bytes.data());
    slot.end = reinterpret_cast<std::uintptr_t>(bytes.data()) + bytes.size();
    used_slots = std::max(used_slots.load(), slot_ + 1);
}

GuardedRange::~GuardedRange() {
    if (slot_ == kNoSlot) return;
    Register& known = the_register();
    const std::lock_guard lock(known.mutex);
    // What was read from it may still be on its way to a result.
    if (slots[slot_].condition == Condition::changed)
        known.gone = std::move(known.details[slot_].path);
    slots[slot_].end = 0;
    slots[slot_].condition = Condition::whole;
    known.free.push_back(slot_);
}

}  // namespace cait
