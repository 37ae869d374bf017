// Words and punctuation as BLEU's public figures count them: mteval-v13a's rules, as sacreBLEU has
// them (Post 2018, arXiv 1804.08771).
#pragma once

#include <string>
#include <string_view>

namespace cait {

// The tokens of a line of plain text, one space between each two.
std::string tokenize_13a(std::string_view line);

// (\S)-(\S) → \1 ##AT##-##AT## \2, from left to right: how figures for English to German have been
// computed since Luong et al. Raises BLEU by up to a point.
std::string split_compounds(std::string_view tokens);

}  // namespace cait
