// Any bytes may be refused as a side of a text with cait::Error. What is read consists of
// sentences: UTF-8, not empty, as long as allowed, whatever it was packed by.
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>

#include "as_file.h"
#include "cait/error.h"
#include "data/open_dataset.h"

namespace {

// FOLDER/train.en and train.de that lead to the bytes.
class TextFolder {
public:
    explicit TextFolder(const std::filesystem::path& file) {
        std::string name = (std::filesystem::temp_directory_path() / "cait-fuzz-XXXXXX").string();
        if (::mkdtemp(name.data()) == nullptr) std::abort();
        path_ = name;
        for (const char* side : {"train.en", "train.de"})
            std::filesystem::create_symlink(file, path_ / side);
    }
    TextFolder(const TextFolder&) = delete;
    TextFolder& operator=(const TextFolder&) = delete;
    ~TextFolder() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }

    std::string uri() const { return "text:" + path_.string() + "?source=en&target=de"; }

private:
    std::filesystem::path path_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const cait::AsFile file(data, size);
    const TextFolder folder(file.path());
    try {
        const cait::DatasetPtr dataset = cait::open_dataset(folder.uri());
        for (std::size_t i = 0; i < dataset->size(); ++i) {
            const cait::SentencePair pair = dataset->sentences(i);
            if (pair.source != pair.target || pair.source.empty() ||
                !cait::sentence_fault(pair.source).empty())
                std::abort();
        }
    } catch (const cait::Error&) {
    }
    return 0;
}
