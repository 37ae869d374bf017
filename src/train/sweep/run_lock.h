// One process at a time works on a run: another sweep on the same folder, a shard of it, or what a
// sweep that was killed has left running. The kernel gives the lock up when the last of them ends.
#pragma once

#include <optional>
#include <string>

#include "system/descriptor.h"
#include "system/folder.h"

namespace cait {

// Nothing where somebody else has it. A child that inherits the descriptor keeps the lock.
std::optional<Descriptor> try_lock(const FolderPtr& folder, const std::string& name);

}  // namespace cait
