// Bytes of a connection to requests: the library's parser between our limits and rules. Knows no
// sockets, so that tests and fuzzers can feed it.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "serve/http/limits.h"
#include "serve/http/message.h"
#include "serve/memory_account.h"

namespace cait::serve {

class RequestReader {
public:
    enum class Progress { head, body, done };  // what is being read

    // What it takes is charged to `memory` before it is taken.
    explicit RequestReader(const Limits& limits,
                           std::shared_ptr<MemoryAccount> memory = MemoryAccount::of_process());
    ~RequestReader();

    // Takes more bytes, as many as there are. Throws HttpError, after which the connection is of no
    // more use: where the next request would begin is not known.
    Progress feed(std::string_view bytes);

    // Bytes that it holds.
    std::uint64_t held() const;

    // Of the head, once that was read. The body is missing until all is done.
    Request& request();
    bool keep_alive() const;
    bool expects_continue() const;
    // What of the body is still to come, as far as that is known.
    std::size_t missing() const;

    Request take();            // with what was charged for it
    std::string rest() const;  // what came after the request: the beginning of the next

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace cait::serve
