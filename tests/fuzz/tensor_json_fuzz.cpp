// Any bytes may be refused with HttpError; everything else that escapes is a finding.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "serve/http/message.h"
#include "serve/protocol/base64.h"
#include "serve/protocol/tensor_json.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    try {
        const cait::serve::RequestJson parsed = cait::serve::parse_request_json(text);
        for (const cait::serve::JsonData& one : parsed.data) {
            // Lists of one depth and length hold as many values as their extents say.
            std::size_t count = 1;
            for (const std::int64_t extent : one.extents) count *= std::size_t(extent);
            if (one.given && count != one.numbers.size() + one.texts.size()) std::abort();
            for (const std::string& element : one.texts)
                cait::serve::base64_decoded(element, "input");
        }
    } catch (const cait::serve::HttpError&) {
    }
    return 0;
}
