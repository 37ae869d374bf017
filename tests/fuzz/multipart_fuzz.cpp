// A type and a body, apart at the first line end. Any bytes may be refused with HttpError.
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string_view>

#include "serve/http/message.h"
#include "serve/memory_account.h"
#include "serve/protocol/inflate.h"
#include "serve/protocol/multipart.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos) return 0;
    const std::string_view type = text.substr(0, end), body = text.substr(end + 1);
    try {
        for (const cait::serve::FormPart& part : cait::serve::parse_multipart(type, body)) {
            const bool inside =
                part.content.data() >= body.data() &&
                part.content.data() + part.content.size() <= body.data() + body.size();
            if (!inside) std::abort();
        }
    } catch (const cait::serve::HttpError&) {
    }
    try {
        const auto account = std::make_shared<cait::serve::MemoryAccount>(8 << 20);
        cait::serve::Charge charge(account);
        cait::serve::decoded_body(std::string(body), type, 1 << 20, charge);
    } catch (const cait::serve::HttpError&) {
    }
    return 0;
}
