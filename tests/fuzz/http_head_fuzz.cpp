// Requests in pieces: any bytes may be refused with HttpError; everything else that escapes is a
// finding. The first byte says how large the pieces are.
#include <cstdint>
#include <string_view>

#include "serve/http/query.h"
#include "serve/http/request_reader.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) return 0;
    const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
    const std::size_t piece = 1 + data[0];
    cait::serve::Limits limits;
    limits.body = 1 << 20;
    try {
        cait::serve::RequestReader reader(limits);
        for (std::size_t i = 0; i < text.size(); i += piece)
            if (reader.feed(text.substr(i, piece)) == cait::serve::RequestReader::Progress::done)
                break;
        const cait::serve::Request& request = reader.request();
        cait::serve::path_words(request.path());
        const cait::serve::Parameters parameters(request.target);
    } catch (const cait::serve::HttpError&) {
    }
    return 0;
}
