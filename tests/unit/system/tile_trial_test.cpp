// A trial that goes wrong must end the child and nothing else.
#include "system/tile_trial.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "system/cpu.h"

namespace cait {
namespace {

using namespace std::chrono_literals;

bool right() { return true; }
bool wrong() { return false; }
bool illegal_instruction() {
#if defined(__x86_64__)
    asm volatile("ud2");
#else
    ::raise(SIGILL);
#endif
    return true;
}
bool killed() { return ::raise(SIGKILL) == 0; }
bool endless() {
    while (true) ::pause();
}

void expect_every_answer() {
    EXPECT_EQ(try_in_child(right, 10s), TileTrial::passed);
    EXPECT_EQ(try_in_child(wrong, 10s), TileTrial::wrong);
    EXPECT_EQ(try_in_child(illegal_instruction, 10s), TileTrial::died);
    EXPECT_EQ(try_in_child(killed, 10s), TileTrial::died);
    EXPECT_EQ(try_in_child(endless, 50ms), TileTrial::timed_out);
}

class SignalAction {
public:
    SignalAction(int signal, void (*handler)(int))
        : signal_(signal), before_(::signal(signal, handler)) {}
    SignalAction(const SignalAction&) = delete;
    SignalAction& operator=(const SignalAction&) = delete;
    ~SignalAction() { ::signal(signal_, before_); }

private:
    int signal_;
    void (*before_)(int);
};

TEST(TileTrial, TellsSuccessDeathAndSilenceApart) {
    expect_every_answer();
    EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);  // no child is left, not even as a zombie
}

TEST(TileTrial, WorksInAProgramThatIgnoresItsChildren) {
    const SignalAction ignored(SIGCHLD, SIG_IGN);
    expect_every_answer();
}

// Written by the child's copy of a handler, read by us.
volatile int* shared_flag() {
    static void* const kPage =
        ::mmap(nullptr, sizeof(int), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return static_cast<volatile int*>(kPage);
}

TEST(TileTrial, AHandlerOfTheProgramDoesNotRunForTheTrap) {
    *shared_flag() = 0;
    // It would report a crash that is none.
    const SignalAction handled(SIGILL, [](int) {
        *shared_flag() = 1;
        ::_exit(1);
    });
    EXPECT_EQ(try_in_child(illegal_instruction, 10s), TileTrial::died);
    EXPECT_EQ(*shared_flag(), 0);
}

TEST(TileTrial, TheTileProductNeverEndsTheProgram) {
    const TileTrial result = try_in_child(tile_product_is_right, kTrialLimit);
    // Without the permission it traps even where AMX works.
    if (amx_answer().usable)
        EXPECT_EQ(result, TileTrial::passed);
    else
        EXPECT_NE(result, TileTrial::timed_out);
}

TEST(TileTrial, TheConfigurationIsWhatTheProcessorReads) {
    static_assert(sizeof(TileConfig) == 64);
    const TileConfig config = full_tiles();
    EXPECT_EQ(config.palette, 1);
    EXPECT_EQ(config.row_bytes[7], 64);
    EXPECT_EQ(config.rows[7], 16);
    EXPECT_EQ(config.row_bytes[8], 0);  // there are no more; anything else traps
    EXPECT_EQ(config.rows[8], 0);
}

}  // namespace
}  // namespace cait
