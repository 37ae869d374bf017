// A crash of FAISS, or memory that ends in a thread of its own, ends the command with one line.
#include "apps/faiss_guard.h"

#include <gtest/gtest.h>

#include <csignal>
#include <new>
#include <stdexcept>
#include <thread>

namespace cait::app {
namespace {

// In a process of its own: the guard ends it.
template <class Failure>
void fail_in_a_thread(Failure fail) {
    const FaissGuard guard("photos.index");
    std::thread(fail).join();
}

TEST(FaissGuardDeathTest, MemoryThatEndsInAThreadIsNamed) {
    EXPECT_EXIT(fail_in_a_thread([] { throw std::bad_alloc(); }), testing::ExitedWithCode(1),
                "^cait: photos.index: out of memory\n$");
}

TEST(FaissGuardDeathTest, AnotherExceptionOfAThreadIsACrash) {
    EXPECT_EXIT(fail_in_a_thread([] { throw std::runtime_error("x"); }), testing::ExitedWithCode(1),
                "^cait: photos.index: FAISS crashed on it \\(SIGABRT\\)\n$");
}

TEST(FaissGuardDeathTest, ASignalIsACrash) {
    EXPECT_EXIT(fail_in_a_thread([] { std::raise(SIGSEGV); }), testing::ExitedWithCode(1),
                "^cait: photos.index: FAISS crashed on it \\(SIGSEGV\\)\n$");
}

}  // namespace
}  // namespace cait::app
