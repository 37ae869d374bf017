// What a decoder needs, drawn from the process's budget before it allocates.
#pragma once

#include <cstdint>
#include <string>

#include "image/codec/decode.h"
#include "system/memory_budget.h"

namespace cait {

// Held while an image is decoded. Throws ImageError (too_large).
inline MemoryShare memory_to_decode(std::uint64_t bytes, const std::string& name) {
    try {
        return MemoryBudget::of_process().reserve(bytes, name + ": decoding");
    } catch (const UsageError&) {  // CAIT_MEMORY, which has nothing to do with the image
        throw;
    } catch (const Error& error) {
        throw ImageError(ImageError::Why::too_large, error.what());
    }
}

}  // namespace cait
