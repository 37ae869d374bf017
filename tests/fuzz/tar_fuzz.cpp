// Any bytes may be refused with cait::Error; everything else that escapes is a finding. All of each
// member is read, so that one outside the input is found.
#include <cstdint>
#include <span>

#include "cait/error.h"
#include "data/formats/tar_archive.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    try {
        cait::TarReader reader(std::as_bytes(std::span(data, size)), "input");
        volatile std::byte sum{};
        for (cait::TarMember member; reader.next(member);)
            for (const std::byte byte : member.bytes) sum = sum ^ byte;
    } catch (const cait::Error&) {
    }
    return 0;
}
