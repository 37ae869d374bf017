// What is recorded for training only: chance, which each executor of a graph draws by itself.
#include "graph/ops/support.h"

namespace cait::op {

Shape DropPath::infer(Shapes in) const { return same_as_input(kName, in); }
std::string DropPath::attributes() const { return fmt::format("rate={:g}", rate); }

Shape Dropout::infer(Shapes in) const { return same_as_input(kName, in); }
std::string Dropout::attributes() const { return fmt::format("rate={:g}", rate); }

Shape Dropout2d::infer(Shapes in) const {
    expect_count(kName, in, 1, 1);
    if (in[0].rank() < 2)
        reject(kName, "expected a batch with channels, got {}", in[0].to_string());
    return in[0];
}
std::string Dropout2d::attributes() const { return fmt::format("rate={:g}", rate); }

Shape MixTokens::infer(Shapes in) const {
    expect_count(kName, in, 1, 1);
    expect_rank(kName, "tokens by row and column", in[0], 4);
    if (cell < 1 || in[0][1] % cell != 0 || in[0][2] % cell != 0)
        reject(kName, "expected rows and columns in cells of {}, got {}", cell, in[0].to_string());
    return in[0];
}
std::string MixTokens::attributes() const { return fmt::format("cell={}", cell); }

}  // namespace cait::op
