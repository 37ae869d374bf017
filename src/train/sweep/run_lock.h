// One process at a time works on a run: another sweep on the same folder, a shard of it, or what a
// sweep that was killed has left running. The kernel gives the lock up when the last of them ends.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "system/descriptor.h"
#include "system/folder.h"

namespace cait {

// Nothing where somebody else has it. A child that inherits the descriptor keeps the lock.
std::optional<Descriptor> try_lock(const FolderPtr& folder, const std::string& name);

// Whether somebody trains in the folder of a run, a person by hand or a child that is just ending:
// a process gives its locks up one after the other.
bool is_trained_by_another(const std::filesystem::path& run);

}  // namespace cait
