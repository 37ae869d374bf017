// Outputs as the protocol writes them: an object for each in the JSON, with its values, or with
// their number of bytes where these follow the JSON.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "cait/tensor.h"
#include "serve/engine/served_model.h"
#include "serve/http/message.h"
#include "serve/protocol/infer_request.h"

namespace cait::serve {

// What it points to has to outlive it.
struct WrittenOutput {
    std::string_view name;
    bool binary = false;
    std::vector<std::int64_t> shape;
    std::variant<std::span<const float>, std::span<const std::int64_t>,
                 std::span<const std::string>>
        values;
};

// `most`: bytes that the answer has at most; memory for as many is allocated, and none besides.
Response written_response(const InferRequest& request, const ServedModel& model,
                          std::span<const WrittenOutput> outputs, std::uint64_t most);

// Bytes of what every answer has, and of an output without its values.
std::uint64_t frame_bytes(const InferRequest& request, const ServedModel& model);
inline constexpr std::uint64_t kNumberBytes = 16;  // of a number as text, at most
inline constexpr std::uint64_t kEscapedBytes = 6;  // of a character of a text in JSON, at most

std::string json_text(std::string_view text);

}  // namespace cait::serve
