// Lists of one number per stage in the settings of networks with four stages.
#pragma once

#include <array>
#include <string>

#include "models/settings.h"

namespace cait {

inline constexpr std::size_t kStages = 4;
using PerStage = std::array<std::int64_t, kStages>;

// A key with one number per stage, written "2,2,2,2".
void bind_stages(Settings& settings, std::string name, PerStage& field, std::string help,
                 std::int64_t least = 1);

// Blocks of all stages together.
std::int64_t total(const PerStage& depths);

}  // namespace cait
