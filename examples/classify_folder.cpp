// Names every photograph of a folder: classify_folder MODEL.safetensors FOLDER
#include <cait/classifier.h>

#include <cstdio>
#include <exception>
#include <filesystem>

int main(int argc, char** argv) try {
    if (argc != 3) {
        std::fprintf(stderr, "usage: %s MODEL.safetensors FOLDER\n", argv[0]);
        return 2;
    }
    const cait::Classifier classifier(cait::Model::load(argv[1]));
    int unreadable = 0;
    for (const auto& entry : std::filesystem::directory_iterator(argv[2])) {
        if (!entry.is_regular_file()) continue;
        try {
            const cait::Answer best = classifier.classify(entry.path(), 1).front();
            std::printf("%s: %s (%.1f %%)\n", entry.path().filename().c_str(), best.name.c_str(),
                        100 * best.probability);
        } catch (const cait::Error& error) {  // names the file and what is wrong with it
            std::fprintf(stderr, "%s\n", error.what());
            ++unreadable;
        }
    }
    return unreadable == 0 ? 0 : 1;
} catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
}
