// Runs and trains a model through LibTorch without including LibTorch. Usage: runner IMAGES RUN
#include <cait/train.h>

#include <iostream>

namespace {

void run(const cait::Model& model) {
    const auto images = cait::Tensor::zeros(cait::DType::f32, {2, 3, 16, 16});
    const auto outputs = cait::forward(model, images, {.taps = {"logits", "features"}});
    std::cout << outputs.at("logits").shape().to_string() << " "
              << outputs.at("features").shape().to_string() << '\n';
}

void train(const std::string& images, const std::string& folder) {
    cait::TrainRequest request;
    request.folder = folder;
    request.settings = {{"data.train", "folder:" + images},
                        {"data.val", "folder:" + images},
                        {"data.batch", "2"},
                        {"schedule.epochs", "2"},
                        {"schedule.warmup", "0"},
                        {"model.image_size", "16"},
                        {"model.patch", "8"},
                        {"model.dim", "16"},
                        {"model.depth", "1"},
                        {"model.heads", "2"}};
    int epochs = 0;
    request.observer.epoch = [&](const cait::EpochReport& report) { epochs += report.val ? 1 : 0; };
    cait::train(request);
    const cait::Model trained = cait::Model::load(folder + "/best.safetensors");
    std::cout << epochs << " epochs, " << trained.classes().size() << " classes\n";
}

}  // namespace

int main(int, char** words) {
    run(cait::Model::create(
        "cait_xxs24_224",
        {{"image_size", "16"}, {"patch", "8"}, {"dim", "16"}, {"depth", "1"}, {"classes", "3"}}));
    train(words[1], words[2]);
}
