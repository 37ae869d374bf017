// The bytes are tried as a whole checkpoint and, to get past the containers, as a bare pickle.
#include <cstdint>
#include <memory>
#include <vector>

#include "cait/error.h"
#include "touch.h"
#include "weights/pickle.h"
#include "weights/pytorch_file.h"
#include "weights/state_dict.h"

namespace {

void read_checkpoint(const std::shared_ptr<const std::vector<std::byte>>& owner, bool prefer_ema) {
    try {
        const cait::WeightFile file =
            cait::read_pytorch(owner, *owner, "input", {.prefer_ema = prefer_ema});
        for (const cait::NamedTensor& entry : file.tensors) cait::touch(entry.tensor);
    } catch (const cait::Error&) {
    }
}

void read_pickle(const std::vector<std::byte>& bytes) {
    try {
        const cait::PickleDocument pickle = cait::parse_pickle(bytes, "input");
        cait::find_state_dict(pickle, false, "input");
    } catch (const cait::Error&) {
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto bytes = std::as_bytes(std::span(data, size));
    const auto owner = std::make_shared<const std::vector<std::byte>>(bytes.begin(), bytes.end());
    read_checkpoint(owner, false);
    read_checkpoint(owner, true);
    read_pickle(*owner);
    return 0;
}
