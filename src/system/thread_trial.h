// Whether threads can be started, asked before a library starts its own: libgomp ends the program
// where it gets none, and pthreadpool waits for ever for a thread that was never there.
#pragma once

namespace cait {

// Starts this many threads at once and ends them again; some microseconds each. Throws Error where
// the system refuses (`ulimit -u`, `ulimit -v`, a container's limit).
void require_threads(int count);

}  // namespace cait
