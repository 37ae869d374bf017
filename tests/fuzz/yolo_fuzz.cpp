// A label file and a list of names around YOLO; the input is either. Any text may be refused with
// cait::Error; everything else that escapes is a finding, and so are objects that no data set may
// have.
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "as_file.h"
#include "check_objects.h"
#include "data/formats/yaml_names.h"
#include "data/open_dataset.h"
#include "image/codec/encode.h"
#include "support/temporary_folder.h"

namespace {

// One image of 6x4 pixels whose label file is a link to the input.
class YoloFolder {
public:
    YoloFolder() {
        std::filesystem::create_directories(folder_ / "images");
        std::filesystem::create_directories(folder_ / "labels");
        const std::vector<std::byte> png = cait::encode_png(cait::Image::blank(6, 4, 3));
        cait::write_file(folder_ / "images/a.png",
                         {reinterpret_cast<const char*>(png.data()), png.size()});
    }
    std::string uri_with(const std::filesystem::path& labels) const {
        const std::filesystem::path link = folder_ / "labels/a.txt";
        std::filesystem::remove(link);
        std::filesystem::create_symlink(labels, link);
        return "yolo:" + (folder_ / "").string();
    }

private:
    cait::TemporaryFolder folder_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static const YoloFolder kFolder;
    const cait::AsFile file(data, size);
    cait::check_objects([&] { return cait::open_dataset(kFolder.uri_with(file.path())); });
    try {
        cait::read_yaml_names({reinterpret_cast<const char*>(data), size}, "input");
    } catch (const cait::Error&) {
    }
    return 0;
}
