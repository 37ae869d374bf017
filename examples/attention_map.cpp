// Draws where the model looks: attention_map MODEL.safetensors PHOTO.jpg OUTPUT.png
#include <cait/classifier.h>

#include <cstdio>
#include <exception>

int main(int argc, char** argv) try {
    if (argc != 4) {
        std::fprintf(stderr, "usage: %s MODEL.safetensors PHOTO OUTPUT.png\n", argv[0]);
        return 2;
    }
    const cait::Classifier classifier(cait::Model::load(argv[1]));
    const cait::Answer best = classifier.classify(argv[2], 1).front();
    const cait::AttentionMap map = classifier.attention(argv[2]);
    classifier.draw(argv[2], map, argv[3]);
    std::printf("%s (%.1f %%), seen in %ld x %ld patches: %s\n", best.name.c_str(),
                100 * best.probability, long(map.width), long(map.height), argv[3]);
    return 0;
} catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
}
