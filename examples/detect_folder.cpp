// Finds what is in the photographs of a folder and writes pictures of that:
// detect_folder MODEL.safetensors FOLDER OUTPUT_FOLDER
#include <cait/detector.h>

#include <cstdio>
#include <exception>
#include <filesystem>

int main(int argc, char** argv) try {
    if (argc != 4) {
        std::fprintf(stderr, "usage: %s MODEL.safetensors FOLDER OUTPUT_FOLDER\n", argv[0]);
        return 2;
    }
    const cait::Detector detector(cait::Model::load(argv[1]));
    const std::filesystem::path output = argv[3];
    std::filesystem::create_directories(output);
    int unreadable = 0;
    for (const auto& entry : std::filesystem::directory_iterator(argv[2])) {
        if (!entry.is_regular_file()) continue;
        try {
            const cait::Detections found = detector.detect(entry.path());
            detector.draw(entry.path(), found, output / (entry.path().stem().string() + ".png"));
            std::printf("%s: %zu objects\n", entry.path().filename().c_str(), found.objects.size());
            for (const cait::Detection& object : found.objects)
                std::printf("  %s %.1f %% from %.0f,%.0f to %.0f,%.0f\n", object.name.c_str(),
                            100 * object.score, object.left, object.top, object.right,
                            object.bottom);
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
