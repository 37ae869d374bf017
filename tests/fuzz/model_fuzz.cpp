// A whole model file: its metadata, its settings and its tensors together. Any bytes may be refused
// with cait::Error; everything else that escapes is a finding.
#include <cstdint>

#include "as_file.h"
#include "cait/model.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const cait::AsFile file(data, size);
    try {
        cait::Model::load(file.path());
    } catch (const cait::Error& error) {
        // Whatever is wrong is the file's mistake, unless it does not say which model it is.
        if (error.kind() == cait::ErrorKind::usage &&
            std::string(error.what()).find("does not say") == std::string::npos)
            std::abort();
    }
    return 0;
}
