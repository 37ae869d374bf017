// A training whose numbers are no longer finite: an error of its own kind, so that callers that run
// many of them counts it as an outcome.
#pragma once

#include "cait/error.h"

namespace cait {

// The last good checkpoint is intact.
class DivergedError : public Error {
public:
    using Error::Error;
};

inline constexpr int kDivergedExit = 3;  // of `cait train`

}  // namespace cait
