// The one exception type that the library throws; it never prints, exits or aborts.
#pragma once

#include <stdexcept>
#include <string>

namespace cait {

// Whose mistake it was. A command exits with 1 for data and with 2 for usage.
enum class ErrorKind { data, usage };

// what() is one line: what is wrong, where (file, tensor, line), what was expected, what was found.
class Error : public std::runtime_error {
public:
    explicit Error(const std::string& message, ErrorKind kind = ErrorKind::data)
        : std::runtime_error(message), kind_(kind) {}

    ErrorKind kind() const noexcept { return kind_; }

private:
    ErrorKind kind_;
};

// A wrong option, name or setting, as opposed to a wrong file.
class UsageError : public Error {
public:
    explicit UsageError(const std::string& message) : Error(message, ErrorKind::usage) {}
};

}  // namespace cait
