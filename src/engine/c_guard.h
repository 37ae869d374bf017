// What the functions of cait/c.h share: exceptions become messages.
#pragma once

#include <cstddef>
#include <exception>
#include <filesystem>
#include <span>
#include <string>

namespace cait {

std::string& c_last_error();  // of this thread

// What `work` returns, or a zero of that kind and a message.
template <class Work>
auto c_guarded(const Work& work) noexcept -> decltype(work()) {
    try {
        c_last_error().clear();
        return work();
    } catch (const std::exception& error) {
        try {
            c_last_error() = error.what();
        } catch (...) {  // no memory for the message either
        }
    } catch (...) {
    }
    return {};
}

// Throws UsageError where a pointer that is needed is null.
void c_expect(bool given, const char* what);
std::span<const std::byte> c_bytes(const void* data, std::size_t size);
std::filesystem::path c_path(const char* file);

}  // namespace cait
