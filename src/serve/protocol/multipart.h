// Files of HTML forms (multipart/form-data, RFC 7578), as browsers and `curl -F` send them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cait::serve {

struct FormPart {
    std::string name;  // of the form's field
    bool is_file = false;
    std::string_view content;  // of the body that was parsed
};

bool is_multipart(std::string_view content_type);

// `content_type` is the request's, with the boundary. Throws HttpError(400).
std::vector<FormPart> parse_multipart(std::string_view content_type, std::string_view body);

}  // namespace cait::serve
