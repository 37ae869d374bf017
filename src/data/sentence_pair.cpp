#include "data/sentence_pair.h"

#include <fmt/format.h>

#include "base/utf8.h"
#include "cait/error.h"

namespace cait {

std::string sentence_fault(std::string_view line) {
    if (line.size() > kLongestSentence)
        return fmt::format("expected at most {} bytes in a line, found {}", kLongestSentence,
                           line.size());
    for (std::size_t at = 0; at < line.size();) {
        if (line[at] == '\0' || line[at] == '\n')
            return fmt::format("expected text, found a byte of value {} at byte {}", int(line[at]),
                               at + 1);
        const std::size_t length = utf8_length(line, at);
        if (length == 0)
            return fmt::format("expected UTF-8, found the byte 0x{:02x} at byte {}",
                               static_cast<unsigned char>(line[at]), at + 1);
        at += length;
    }
    return {};
}

void check_sentence(std::string_view line, const std::string& where) {
    if (const std::string fault = sentence_fault(line); !fault.empty())
        throw Error(fmt::format("{}: {}", where, fault));
}

}  // namespace cait
