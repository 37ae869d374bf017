// Whether the system lets threads be patient, asked by other means than the program's own.
#pragma once

#include <sched.h>

#include <thread>

namespace cait::test {

inline bool may_be_patient() {
    bool allowed = false;
    std::thread([&] {
        const ::sched_param none{};
        allowed = ::sched_setscheduler(0, SCHED_BATCH, &none) == 0;
    }).join();
    return allowed;
}

}  // namespace cait::test
