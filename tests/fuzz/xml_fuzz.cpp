// Any text may be refused with cait::Error; everything else that escapes is a finding. As deep as
// it is, a document must not be deeper than its limit.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "cait/error.h"
#include "data/formats/xml_element.h"

namespace {

std::size_t depth_of(const cait::XmlElement& element) {
    std::size_t deepest = 0;
    for (const cait::XmlElement& child : element.children)
        deepest = std::max(deepest, depth_of(child));
    return deepest + 1;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    try {
        const cait::XmlElement root =
            cait::read_xml({reinterpret_cast<const char*>(data), size}, "input");
        if (root.name.empty() || depth_of(root) > cait::kDeepestXml) std::abort();
    } catch (const cait::Error&) {
    }
    return 0;
}
