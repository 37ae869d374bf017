// Measures a model on a folder of photographs and compares their vectors. Usage: evaluator MODEL
// PHOTOS
#include <cait/embed.h>
#include <cait/evaluate.h>

#include <cmath>
#include <iostream>
#include <numeric>

int main(int, char** words) {
    cait::Model model = cait::Model::load(words[1]);
    model.set_classes({"one", "two", "three"});
    const std::string data = std::string("folder:") + words[2];

    const cait::ModelEvaluation found = cait::evaluate(model, data);
    std::cout << found.images << " images:";
    for (const auto& [name, value] : found.scores) std::cout << " " << name;
    std::cout << (found["top1"] >= 0 && found["top1"] <= 1 ? "" : ", no fraction") << "\n";

    const cait::ImageVectors vectors = cait::embed_data(model, data, {.normalise = true});
    const auto first = vectors.row(0);
    const double length = std::inner_product(first.begin(), first.end(), first.begin(), 0.0);
    std::cout << vectors.rows() << " vectors of " << vectors.columns << ", length "
              << std::lround(1000 * length) / 1000.0 << "\n";
}
