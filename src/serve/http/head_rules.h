// The forms of a request's head that two programs could read differently, and that are therefore
// refused ("request smuggling"). The library's parser lets some of them pass.
#pragma once

#include <cstddef>
#include <string_view>

#include "serve/http/message.h"

namespace cait::serve {

// Finds the end of a head in bytes that come piece by piece.
class HeadScan {
public:
    // Looks at what was added to `head`; returns the length of the head once its end is there,
    // otherwise 0. Throws HttpError(400) for a line end other than CR LF and for a line that goes
    // on in the next one.
    std::size_t end_of(std::string_view head);

private:
    std::size_t seen_ = 0;
};

// What must hold between the fields. Throws HttpError.
struct HeadFacts {
    bool chunked = false;
    std::size_t content_length = 0;
};
HeadFacts check_fields(const Request& head, bool version_1_0);

}  // namespace cait::serve
