// Any text may be refused with cait::Error; everything else that escapes is a finding. What is read
// must come back from its own text.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "cait/error.h"
#include "train/recipe/recipe_file.h"
#include "train/recipe/recipe_keys.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    if (text.find("base") != std::string_view::npos) return 0;  // opens files
    cait::Recipe recipe;
    try {
        recipe = cait::parse_recipe(text, "input");
    } catch (const cait::Error&) {
        return 0;
    }
    if (!(cait::parse_recipe(cait::recipe_text(recipe), "again") == recipe)) std::abort();
    try {
        cait::check(recipe);
    } catch (const cait::UsageError&) {
    }
    return 0;
}
