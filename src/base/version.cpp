#include "base/version.h"

namespace cait {

std::string_view version() { return CAIT_VERSION; }

}  // namespace cait
