// Touches each installed header once, so that a missing symbol shows up at the final link.
#include <cait/error.h>
#include <cait/tensor.h>

#include <array>
#include <iostream>
#include <numeric>

int main() {
    const std::array<float, 6> values{1, 2, 3, 4, 5, 6};
    const cait::Tensor tensor = cait::Tensor::of({2, 3}, values);
    const auto floats = tensor.floats();
    std::cout << cait::name_of(tensor.dtype()) << ' ' << tensor.shape().to_string() << " sum "
              << std::accumulate(floats.begin(), floats.end(), 0.0F) << " | ";
    try {
        (void)cait::Shape{4, -2}.count();
    } catch (const cait::Error& error) {
        std::cout << error.what() << '\n';
    }
}
