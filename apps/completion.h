// What `cait completion` prints, each made from the commands' own words.
#pragma once

#include <span>
#include <string>

#include "command_words.h"

namespace cait::app {

std::string bash_completion(std::span<const CommandWords> commands);
std::string zsh_completion(std::span<const CommandWords> commands);
std::string fish_completion(std::span<const CommandWords> commands);
std::string manual_page(std::span<const CommandWords> commands,
                        const std::string& version);  // roff

}  // namespace cait::app
