// The whole way of an image to the model's size beside the Pillow that is installed: files that it
// writes on the spot, decoded, resized and cropped by both.
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <sstream>

#include "image/evaluation_transform.h"
#include "support/source_path.h"
#include "support/temporary_folder.h"
#include "unit/image/codec/decode_support.h"

namespace cait::test {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPython =
    "/usr/bin/python3";  // Debian's, whose Pillow the package manager has

struct Ran {
    int status = -1;
    std::string out;
};

Ran run(const std::string& command) {
    Ran ran;
    std::FILE* pipe = ::popen(command.c_str(), "r");
    if (pipe == nullptr) return ran;
    std::array<char, 4096> buffer{};
    for (std::size_t n = 0; (n = std::fread(buffer.data(), 1, buffer.size(), pipe)) > 0;)
        ran.out.append(buffer.data(), n);
    ran.status = ::pclose(pipe);
    return ran;
}

struct Difference {
    std::size_t count = 0;
    int worst = 0;
};

Difference difference(const Image& found, const std::string& wanted) {
    Difference result;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
        const int distance = std::abs(found.pixels[i] - std::uint8_t(wanted[i]));
        result.count += distance != 0;
        result.worst = std::max(result.worst, distance);
    }
    return result;
}

TEST(BesidePillow, DecodedResizedAndCroppedImagesAgree) {
    const std::string python = kPython;
    if (run(python + " -c 'import PIL' 2>&1").status != 0)
        GTEST_SKIP() << kPython << " has no Pillow (Debian: python3-pil)";
    const TemporaryFolder folder;
    const fs::path script = test::source_path(__FILE__).parent_path() / "../pillow_images.py";
    const Ran made =
        run(python + " -B '" + script.string() + "' '" + folder.path().string() + "' 2>&1");
    ASSERT_EQ(made.status, 0) << made.out;

    EvaluationTransform transform;  // to 256 and 224, bicubic
    EvaluationWorkspace workspace;
    Image found;
    std::istringstream lines(made.out);
    std::string file;
    std::string result;
    int images = 0;
    for (; lines >> file >> result; ++images) {
        SCOPED_TRACE(file);
        transform.crop(read_image(folder / file), workspace, found);
        const std::string wanted = read_file(folder / result);
        ASSERT_EQ(found.pixels.size(), wanted.size());
        const auto [count, worst] = difference(found, wanted);
        EXPECT_LE(worst, 1);
        EXPECT_LE(double(count), 0.001 * double(wanted.size()));
    }
    EXPECT_GE(images, 40);
    RecordProperty("images", images);
}

}  // namespace
}  // namespace cait::test
