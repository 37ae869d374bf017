// Pascal VOC (Everingham et al. 2010), its boxes: Annotations/NAME.xml beside JPEGImages/NAME.jpg,
// by the lists of ImageSets/Main/. The form that labelImg and CVAT write, too.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "base/display_name.h"
#include "cait/error.h"
#include "data/below_folder.h"
#include "data/data_source.h"
#include "data/formats/xml_element.h"
#include "data/object_list.h"
#include "data/sources/image_folder.h"
#include "data/text_lines.h"
#include "system/file_bytes.h"

namespace cait {

namespace fs = std::filesystem;

namespace {

fs::path list_of(const fs::path& root, Split split) {
    return root / "ImageSets/Main" / (std::string(name_of(split)) + ".txt");
}

bool has_list(const fs::path& root, Split split) {
    std::error_code failure;
    return fs::is_regular_file(list_of(root, split), failure);
}

std::vector<Split> voc_box_parts(const fs::path& folder) {
    std::vector<Split> parts;
    for (const fs::path& root : {folder, folder / "VOCdevkit/VOC2012"})
        for (const Split split : {Split::train, Split::val, Split::test})
            if (parts.size() < 3 && has_list(root, split)) parts.push_back(split);
    return parts;
}

// The images of a part; without lists all that are annotated.
std::vector<std::string> annotated_names(const DatasetUri& uri, const fs::path& root, Split split) {
    const bool has_parts = !voc_box_parts(root).empty() || has_list(root, Split::trainval);
    if (split == Split::any && has_parts) split = Split::train;
    std::vector<std::string> names;
    if (has_parts || uri.option("split")) {
        const fs::path file = list_of(root, split);
        for (const std::string& line : read_lines(file)) {
            names.push_back(first_word(line).word);  // lists of a class have a second one
            if (!is_below_folder(names.back()))
                throw Error(fmt::format("{}:{}: expected the name of an image, found {}",
                                        file.string(), names.size(), display_name(line)));
        }
        return names;
    }
    for (const fs::directory_entry& entry : fs::directory_iterator(root / "Annotations"))
        if (entry.path().extension() == ".xml") names.push_back(entry.path().stem().string());
    std::ranges::sort(names);
    return names;
}

// An object whose class is known by name only.
struct VocObject {
    std::string name;
    Object object;
};

class VocFile {
public:
    explicit VocFile(const fs::path& file)
        : file_(file.string()), root_(read_xml(read_text(file, kLargestXml), file_)) {
        if (root_.name != "annotation")
            throw Error(fmt::format("{}:{}: expected <annotation>, found <{}>", file_, root_.line,
                                    display_name(root_.name)));
    }

    // {0, 0} where it is not said.
    Extent extent() const {
        constexpr double kLongest = 65'535;
        const XmlElement* const size = root_.child("size");
        if (size == nullptr) return {0, 0};
        const auto side = [&](const char* name) {
            const auto value = finite_number(size->text_of(name));
            return value && *value >= 1 && *value <= kLongest ? std::int64_t(*value) : 0;
        };
        const Extent extent{side("width"), side("height")};
        return extent.width > 0 && extent.height > 0 ? extent : Extent{0, 0};
    }

    std::vector<VocObject> objects() const {
        std::vector<VocObject> found;
        for (const XmlElement& element : root_.children)
            if (element.name == "object") found.push_back(object(element));
        return found;
    }

private:
    // Pixels are counted from 1, and the last one is part of the box.
    VocObject object(const XmlElement& element) const {
        VocObject result;
        result.name = element.text_of("name");
        if (result.name.empty()) fail(element, "expected an object with a name, found none");
        const XmlElement* const box = element.child("bndbox");
        if (box == nullptr) fail(element, "expected an object with a bndbox, found none");
        result.object.crowd = element.text_of("difficult") == "1";
        result.object.box = {side(*box, "xmin") - 1, side(*box, "ymin") - 1, side(*box, "xmax"),
                             side(*box, "ymax")};
        return result;
    }

    double side(const XmlElement& box, const char* name) const {
        const auto value = finite_number(box.text_of(name));
        if (!value)
            fail(box, fmt::format("{}: expected a number of pixels, found {}", name,
                                  display_name(box.text_of(name))));
        return *value;
    }

    [[noreturn]] void fail(const XmlElement& element, const std::string& what) const {
        throw Error(fmt::format("{}:{}: {}", file_, element.line, what));
    }

    std::string file_;
    XmlElement root_;
};

DatasetPtr open_voc_boxes(const DatasetUri& uri, Split split) {
    const fs::path root = find_root(uri, "VOCdevkit/VOC2012", "Annotations");
    std::map<std::string, std::string> images;  // by their names without the extension
    for (std::string& image : list_images(root / "JPEGImages")) {
        std::string stem = fs::path(image).replace_extension().string();
        images.emplace(std::move(stem), std::move(image));
    }
    ObjectList objects(uri.text);
    CountedMemory memory(uri.text);
    std::vector<std::string> names;
    std::vector<std::pair<std::size_t, Object>> found;  // with their images
    for (const std::string& name : annotated_names(uri, root, split)) {
        const auto image = images.find(name);
        if (image == images.end())
            throw Error(fmt::format("{}: expected an image {} in JPEGImages, found none", uri.text,
                                    display_name(name)));
        const VocFile file(root / "Annotations" / (name + ".xml"));
        const std::string path = "JPEGImages/" + image->second;
        const Extent extent = file.extent();
        objects.add_image(path, extent.width > 0 ? extent : image_extent(root / path));
        for (VocObject& one : file.objects()) {
            memory.add_text(one.name);
            memory.add(sizeof(found.front()));
            names.push_back(std::move(one.name));
            found.emplace_back(objects.size() - 1, std::move(one.object));
        }
    }
    IndexedLabels indexed = index_labels(names);
    if (indexed.classes.names.empty())
        throw Error(fmt::format("{}: expected objects in Annotations, found none", uri.text));
    for (std::size_t i = 0; i < found.size(); ++i) {
        found[i].second.label = indexed.labels[i];
        objects.add(found[i].first, std::move(found[i].second));
    }
    return make_file_dataset(uri.text, objects.finish(root, std::move(indexed.classes)));
}

}  // namespace

std::vector<DataSource> voc_boxes_sources() {
    return {{.scheme = "voc-boxes",
             .form = "voc-boxes:PATH?split=train|val|trainval|test",
             .help =
                 "PATH holds Annotations/NAME.xml, JPEGImages/NAME.jpg and, where it has parts, "
                 "ImageSets/Main/: boxes of the classes that are named there; difficult ones "
                 "count neither as found nor as missed",
             .options = {"split"},
             .open = open_voc_boxes,
             .is_layout = true,
             .has_trainval = true,
             .parts = voc_box_parts}};
}

}  // namespace cait
