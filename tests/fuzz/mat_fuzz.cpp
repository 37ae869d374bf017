// Any bytes may be refused with cait::Error; everything else that escapes is a finding. Every
// variable is read in each of the ways that data sets read theirs.
#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "cait/error.h"
#include "data/formats/mat_file.h"

namespace {

void attempt(const std::function<void()>& action) {
    try {
        action();
    } catch (const cait::Error&) {
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    attempt([&] {
        const cait::MatFile file(std::as_bytes(std::span(data, size)), "input");
        for (const std::string& name : file.names()) {
            const cait::MatArray& array = file.variable(name);
            attempt([&] { file.integers(array, "x"); });
            attempt([&] { file.text(array, "x"); });
            attempt([&] { file.texts(array, "x"); });
            attempt([&] {
                constexpr std::array<std::string_view, 2> kFields{"fname", "class"};
                file.rows(array, kFields, [&](std::span<const cait::MatArray> values) {
                    attempt([&] { file.text(values[0], "fname"); });
                    attempt([&] { file.integer(values[1], "class"); });
                });
            });
        }
    });
    return 0;
}
