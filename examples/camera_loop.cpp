// Raw frames in, names out, as behind a camera:
//   ffmpeg -i clip.mp4 -f rawvideo -pix_fmt rgb24 -s 320x240 - | camera_loop MODEL.safetensors 320
//   240
#include <cait/classifier.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <vector>

int main(int argc, char** argv) try {
    if (argc != 4) {
        std::fprintf(stderr, "usage: %s MODEL.safetensors WIDTH HEIGHT < frames.rgb\n", argv[0]);
        return 2;
    }
    const long width = std::atol(argv[2]), height = std::atol(argv[3]);
    const cait::Classifier classifier(cait::Model::load(argv[1]));
    std::vector<std::uint8_t> frame(std::size_t(3 * width * height));
    for (long number = 0; std::fread(frame.data(), 1, frame.size(), stdin) == frame.size();
         ++number) {
        const auto start = std::chrono::steady_clock::now();
        const auto answers = classifier.classify(cait::Pixels{frame.data(), width, height}, 1);
        const std::chrono::duration<double, std::milli> taken =
            std::chrono::steady_clock::now() - start;
        std::printf("frame %ld: %s (%.1f %%), %.1f ms\n", number, answers[0].name.c_str(),
                    100 * answers[0].probability, taken.count());
    }
    return 0;
} catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
}
