// Who goes first where threads share a processor. Nothing here takes time from other programs: the
// shares stay as they are. A system that does not know it, or forbids it, is left as it is.
#pragma once

namespace cait {

// The calling thread, and those that it starts later, compute for long: when they wake, they do not
// interrupt what runs.
void compute_patiently() noexcept;

// The calling thread works for moments at a time and is waited for: it asks to be let in soon and
// to be taken off soon (Linux 6.12 and later).
void answer_promptly() noexcept;

}  // namespace cait
