// Runs a model through LibTorch without including LibTorch.
#include <cait/train.h>

#include <iostream>

int main() {
    const cait::Model model = cait::Model::create(
        "cait_xxs24_224",
        {{"image_size", "16"}, {"patch", "8"}, {"dim", "16"}, {"depth", "1"}, {"classes", "3"}});
    const auto images = cait::Tensor::zeros(cait::DType::f32, {2, 3, 16, 16});
    const auto outputs = cait::forward(model, images, {.taps = {"logits", "features"}});
    std::cout << outputs.at("logits").shape().to_string() << " "
              << outputs.at("features").shape().to_string() << '\n';
}
