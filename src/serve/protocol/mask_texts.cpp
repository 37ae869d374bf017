#include "serve/protocol/mask_texts.h"

#include <algorithm>

namespace cait::serve {

MaskTexts mask_texts(std::span<const DetectedObject> found, std::size_t most) {
    MaskTexts result;
    for (const DetectedObject& object : found) {
        std::string& text = result.texts.emplace_back();
        if (most == 0) {
            ++result.left_out;
            continue;
        }
        text = mask_text(object.mask);
        // The only character among them that JSON writes as two.
        const std::size_t escaped = text.size() + std::size_t(std::ranges::count(text, '\\'));
        if (escaped <= most) {
            most -= escaped;
            continue;
        }
        most = 0;  // the rest is less likely, and has to go as well
        text = {};
        ++result.left_out;
    }
    return result;
}

}  // namespace cait::serve
