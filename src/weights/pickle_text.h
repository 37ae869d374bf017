// The two text notations of pickle protocol 0, which old Python 2 checkpoints still use.
#pragma once

#include <string>
#include <string_view>

namespace cait {

// STRING: a quoted Python literal. Only plain text matters to us: escapes are kept as written.
std::string decode_pickle_string(std::string_view line);

// UNICODE: latin-1 with \uXXXX and \UXXXXXXXX; the result is UTF-8.
std::string decode_pickle_unicode(std::string_view line);

}  // namespace cait
