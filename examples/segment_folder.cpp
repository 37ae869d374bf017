// Labels every pixel of the photographs of a folder and writes pictures of that:
// segment_folder MODEL.safetensors FOLDER OUTPUT_FOLDER
#include <cait/segmenter.h>

#include <cstdio>
#include <exception>
#include <filesystem>

int main(int argc, char** argv) try {
    if (argc != 4) {
        std::fprintf(stderr, "usage: %s MODEL.safetensors FOLDER OUTPUT_FOLDER\n", argv[0]);
        return 2;
    }
    const cait::Segmenter segmenter(cait::Model::load(argv[1]));
    const std::filesystem::path output = argv[3];
    std::filesystem::create_directories(output);
    int unreadable = 0;
    for (const auto& entry : std::filesystem::directory_iterator(argv[2])) {
        if (!entry.is_regular_file()) continue;
        try {
            const cait::Segmentation found = segmenter.segment(entry.path());
            const std::string stem = entry.path().stem().string();
            segmenter.save(found, output / (stem + ".png"));
            segmenter.draw(entry.path(), found, output / (stem + "-overlay.jpg"));
            std::printf("%s:", entry.path().filename().c_str());
            for (std::size_t i = 0; i < found.areas.size(); ++i)
                if (found.areas[i] > 0)
                    std::printf(" %s %.1f %%", segmenter.classes()[i].c_str(),
                                100 * double(found.areas[i]) / double(found.labels.size()));
            std::printf("\n");
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
