// Small files that promise much: each is refused in one line, quickly and within 200 MB, whatever
// the machine has. And the budget that CAIT_MEMORY sets.
#include <gmock/gmock.h>
#include <zlib.h>

#include <cstring>
#include <nlohmann/json.hpp>
#include <tuple>

#include "base/content_hash.h"
#include "cait/model.h"
#include "e2e/tiny_models.h"
#include "support/broken_images.h"
#include "support/source_path.h"
#include "unit/data/support.h"
#include "weights/safetensors.h"

namespace cait::e2e {
namespace {

using testing::HasSubstr;

std::string image_data(const std::string& name) {
    return read(
        (test::source_path(__FILE__).parent_path().parent_path() / "unit/image/data/decode" / name)
            .string());
}

class Memory : public InFolder {
protected:
    Memory() {
        tiny_cait().save(folder_ / "tiny.safetensors");
        data_test::put(folder_ / "a.png", data_test::png(data_test::numbered_image(7, 60, 40)));
    }

    // The tiny model with another entry in its metadata, and without the checksum over them.
    std::string with_entry(const std::string& key, const std::string& value) const {
        const TensorFile file = TensorFile::open(path("tiny.safetensors"));
        std::map<std::string, std::string> metadata = file.metadata;
        metadata.erase("cait.sha256");
        metadata.erase("cait.crc32");
        metadata[key] = value;
        write_safetensors(path("hostile.safetensors"), file.tensors, metadata);
        return path("hostile.safetensors");
    }

    std::string with_setting(const std::string& key, const std::string& value) const {
        std::string settings =
            TensorFile::open(path("tiny.safetensors")).metadata.at("cait.settings");
        const std::size_t start = settings.find("\"" + key + "\":\"") + key.size() + 4;
        settings.replace(start, settings.find('"', start) - start, value);
        return with_entry("cait.settings", settings);
    }

    static void expect_cheap(const Finished& run, const std::string& what) {
        if (kSanitized) return;
        EXPECT_LT(run.peak_kilobytes, 200'000) << what;
        EXPECT_LT(run.seconds, 8) << what;
    }
};

TEST_F(Memory, SettingsAreHeldAgainstTheTensorsBeforeAnythingIsBuilt) {
    const std::pair<const char*, const char*> settings[] = {
        {"depth", "1000000"},   {"class_layers", "100000"}, {"image_size", "16384"},
        {"image_size", "2048"}, {"classes", "1000000"},     {"classes", "4"},
        {"dim", "1000000"}};
    for (const auto& [key, value] : settings) {
        const std::string file = with_setting(key, value);
        for (const Words& words :
             {Words{"predict", "--weights", file, path("a.png")},
              Words{"predict", "--weights", file, path("a.png"), "--set", "model.drop_path=0"}}) {
            const Finished run = cait(words);
            expect_refused(run, 1, {file});
            if (std::string(key) != "dim") {
                EXPECT_THAT(run.err, HasSubstr("metadata 'cait.settings': " + std::string(key)));
            }
            expect_cheap(run, key);
        }
        if (std::string(key) != "dim") {
            expect_cheap(cait({"inspect", file}), key);
        }
    }
    // What somebody asks for is another matter: that is adapted.
    EXPECT_EQ(cait({"predict", "--weights", path("tiny.safetensors"), path("a.png"), "--set",
                    "model.image_size=32"})
                  .status,
              0);
}

TEST_F(Memory, NoCommandBuildsWhatTheTensorsDoNotExplain) {
    data_test::put_class_folders(folder_ / "set", 3, 1);
    const std::pair<const char*, const char*> settings[] = {
        {"depth", "1000000"}, {"class_layers", "100000"}, {"image_size", "16384"}};
    for (const auto& [key, value] : settings) {
        const std::string file = with_setting(key, value);
        const Words with{"--weights", file};
        for (const Words& words :
             {Words{"eval", "--data", "folder:" + path("set")} + with,
              Words{"attend", path("a.png"), "--output", path("o.png")} + with,
              Words{"forward", "--input", data("images.npy"), "--output", path("o.npy")} + with,
              Words{"preprocess", path("a.png"), "--output", path("o.npy")} + with,
              Words{"bench", file}, Words{"inspect", "--graph", file},
              Words{"convert", file, path("o.safetensors"), "--set", "model.drop_path=0"}}) {
            SCOPED_TRACE(words[0] + " with " + key);
            const Finished run = cait(words);
            expect_refused(run, 1, {file, key});
            expect_cheap(run, words[0]);
        }
    }
}

// Brackets in place of the header itself, or of one of its values.
TEST_F(Memory, ADeepHeaderIsRefused) {
    for (const char* start : {"", R"({"a":)", R"({"__metadata__":{"a":)", R"({"a":{"shape":)"}) {
        const std::string json = start + std::string(std::size_t{30} << 20, '[');
        const std::uint64_t length = json.size();
        write("deep.safetensors", std::string(reinterpret_cast<const char*>(&length), 8) + json);
        const Finished run = cait({"inspect", path("deep.safetensors")});
        expect_refused(run, 1, {path("deep.safetensors")});
        expect_cheap(run, start);
    }
}

// Files of which the disk holds nothing: their size alone must not be believed.
TEST_F(Memory, SparseFilesAreNotReadIntoMemory) {
    const Words with{"--weights", path("tiny.safetensors")};
    const Variable set("CAIT_MEMORY", "100M");
    const auto sparse = [&](const std::string& name, const std::string& start) {
        write(name, start);
        std::filesystem::resize_file(path(name), std::uintmax_t{3} << 30);
        return path(name);
    };
    for (const Words& words :
         {Words{"predict", sparse("s.png", "\x89PNG\r\n\x1a\n")} + with,
          Words{"preprocess", path("s.png"), "--output", path("o.npy")} + with,
          Words{"predict", sparse("list.txt", "a.png\n")} + with,
          Words{"predict", "--classes", sparse("names", "cat\n"), path("a.png")} + with,
          Words{"inspect", sparse("s.safetensors", "")}, Words{"inspect", sparse("s.pth", "PK")},
          Words{"forward", "--input", sparse("s.npy", ""), "--output", path("o.npy")} + with,
          Words{"train", sparse("r.toml", "base = \"small\"\n"), "--print"},
          Words{"data", "stats", "csv:" + sparse("s.csv", "path,label\n")},
          Words{"data", "stats", "tar:" + sparse("s.tar", "")},
          Words{"data", "stats", "idx:" + sparse("images", "") + "?labels=" + path("images")}}) {
        const Finished run = cait(words);
        expect_refused(run, 1, {});
        if (!kSanitized) {
            EXPECT_LT(run.peak_kilobytes, 100'000) << words[0] << " " << words[1];
        }
        EXPECT_LT(run.seconds, kSanitized ? 100 : 8) << words[0] << " " << words[1];
    }
}

// Vectors lie in memory whole: FAISS's file, and what `cait embed` writes.
TEST_F(Memory, AnIndexIsCountedBeforeItIsRead) {
    const Words with{"--weights", path("tiny.safetensors")};
    ASSERT_EQ(
        cait(Words{"embed", path("a.png"), "--output", path("one.safetensors")} + with).status, 0);
    const auto field = [](auto value) {
        return std::string(reinterpret_cast<const char*>(&value), sizeof(value));
    };
    constexpr std::int64_t kRows = 20'000'000, kColumns = 32;
    write("large.faiss", "IxFI" + field(std::int32_t(kColumns)) + field(kRows) +
                             field(std::int64_t{0}) + field(std::int64_t{0}) + '\1' +
                             field(std::int32_t{0}) + field(kRows * kColumns));
    std::filesystem::resize_file(
        path("large.faiss"),
        std::filesystem::file_size(path("large.faiss")) + std::uintmax_t(kRows * kColumns) * 4);

    constexpr std::int64_t kTimes = 600'000;
    const TensorFile file = TensorFile::open(path("one.safetensors"));
    std::vector<NamedTensor> tensors;
    for (const NamedTensor& one : file.tensors) {
        Shape shape = one.tensor.shape();
        shape[0] *= kTimes;
        Tensor many = Tensor::empty(one.tensor.dtype(), shape);
        const auto bytes = many.mutable_bytes();
        const std::size_t size = one.tensor.byte_size();
        for (std::size_t i = 0; i < std::size_t(kTimes); ++i)
            std::memcpy(bytes.data() + i * size, one.tensor.bytes(), size);
        tensors.push_back({one.name, many});
    }
    std::map<std::string, std::string> metadata = file.metadata;
    metadata.erase("cait.sha256");
    metadata.erase("cait.crc32");
    nlohmann::json facts = nlohmann::json::parse(metadata.at("cait.embedding"));
    facts.at("rows") = kTimes;
    metadata["cait.embedding"] = facts.dump();
    write_safetensors(path("many.safetensors"), tensors, metadata);

    const Variable set("CAIT_MEMORY", "30M");
    const Words serve = Words{"serve", path("tiny.safetensors"), "--port", "0", "--index"};
    for (const Words& words :
         {serve + Words{path("large.faiss")}, serve + Words{path("many.safetensors")},
          Words{"search", "--index", path("large.faiss"), path("a.png")} + with}) {
        const Finished run = cait(words);
        expect_refused(run, 1, {"needs", "30 MiB"});
        expect_cheap(run, words[0] + " " + words.back());
    }
}

// A packed file with a right checksum whose index is all brackets.
TEST_F(Memory, PackedWeightsWithADeepIndexAreNotUsed) {
    const Words words = {"predict", "--weights", path("tiny.safetensors"), path("a.png")};
    const std::string expected = cait(words).out;
    const Words packed = words + Words{"--packed", path("packed")};
    ASSERT_EQ(cait(packed).out, expected);
    const std::string brackets = R"({"isa":)" + std::string(std::size_t{7} << 20, '[');
    std::string bytes = read(path("packed")).substr(0, 64) + brackets;
    const std::uint64_t length = brackets.size();
    std::memcpy(bytes.data() + 16, &length, sizeof length);
    std::memset(bytes.data() + 24, 0, sizeof length);
    const std::uint64_t hash = content_hash(std::as_bytes(std::span(bytes)));
    std::memcpy(bytes.data() + 24, &hash, sizeof hash);
    write("packed", bytes);
    const Finished run = cait(packed);
    EXPECT_EQ(run.out, expected);
    EXPECT_THAT(run.err, HasSubstr("its index is too deep"));
    expect_cheap(run, "brackets");
}

TEST_F(Memory, DeepAndLongMetadataIsRefused) {
    for (const std::size_t size : {std::size_t{30} << 20, std::size_t{6} << 20}) {
        write("deep.safetensors",
              with_text(read(with_entry("cait.classes", "X@")), "X@", std::string(size, '[')));
        const Finished run =
            cait({"predict", "--weights", path("deep.safetensors"), path("a.png")});
        expect_refused(run, 1, {path("deep.safetensors")});
        EXPECT_LT(run.err.size(), 2000U);
        expect_cheap(run, std::to_string(size));
    }
}

// A progressive JPEG and a WebP whose headers were changed, so that they promise 177 megapixels.
std::string promising_jpeg() {
    std::string bytes = image_data("jpeg_progressive.jpg");
    const std::size_t frame = bytes.find("\xff\xc2");
    return bytes.replace(frame + 5, 4, test::big_endian(2700, 2) + test::big_endian(65500, 2));
}

std::string promising_webp() {
    std::string bytes = image_data("webp_lossy.webp");
    const std::size_t frame = bytes.find("\x9d\x01\x2a");
    return bytes.replace(frame + 3, 4, std::string("\xff\x3f\xaa\x2a", 4));  // 16383 x 10922
}

TEST_F(Memory, ImagesThatPromiseTooMuchAreRefused) {
    const std::string row = test::deflated_zeros(171);
    const std::tuple<const char*, std::string, const char*> images[] = {
        {"wide.png", test::png(178'956'970, 1, row), "at most 65535 pixels a side"},
        {"tall.png", test::png(1, 178'956'970, row), "at most 65535 pixels a side"},
        {"progressive.jpg", promising_jpeg(), "cannot hold 65500x2700 pixels"},
        {"lossy.webp", promising_webp(), "malformed WebP"}};
    for (const auto& [name, bytes, reason] : images) {
        data_test::put(folder_ / name, bytes);
        const Finished prepared = cait({"preprocess", "--weights", path("tiny.safetensors"),
                                        path(name), "--output", path("x.npy")});
        expect_refused(prepared, 1, {path(name), reason});
        expect_cheap(prepared, name);
        const Finished predicted =
            cait({"predict", "--weights", path("tiny.safetensors"), path(name)});
        expect_refused(predicted, 1, {path(name), reason});
        expect_cheap(predicted, name);
    }
}

// Within the limit, wherever they are resized: as long as an image may be, one pixel wide.
TEST_F(Memory, LinesOfPixelsAreResizedInTime) {
    const std::pair<const char*, std::string> lines[] = {
        {"wide.png", test::png(65535, 1, test::deflate(std::string(65536, '\0')))},
        {"tall.png", test::png(1, 65535, test::deflate(std::string(2 * 65535, '\0')))}};
    const Words with{"--weights", path("tiny.safetensors")};
    for (const auto& [name, bytes] : lines) {
        data_test::put(folder_ / "set/one" / name, bytes);
        const std::string image = path(std::string("set/one/") + name);
        for (const Words& words :
             {Words{"predict", image} + with,
              Words{"preprocess", image, "--output", path("o.npy")} + with,
              Words{"preprocess", image, "--crop-mode", "border", "--output", path("o.npy")} + with,
              Words{"preprocess", image, "--crop-mode", "squash", "--output", path("o.npy")} + with,
              Words{"attend", image, "--output", path("o.png")} + with,
              Words{"data", "stats", "folder:" + path("set")},
              Words{"data", "preview", "folder:" + path("set"), "--augment", "deit", "--output",
                    path("o.png")}}) {
            const Finished run = cait(words);
            EXPECT_THAT(run.status, testing::AnyOf(0, 1)) << words[0] << ": " << run.err;
            expect_cheap(run, words[0] + " " + words[1] + " " + name);
        }
    }
}

// Gigabytes of zeros in some megabytes of gzip: one piece of a megabyte, again and again.
std::string gzipped_zeros(const std::string& start, int megabytes) {
    z_stream stream{};
    ::deflateInit2(&stream, 9, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
    const auto deflated = [&](std::string raw) {
        std::string out(raw.size() / 100 + 1000, '\0');
        stream.next_in = reinterpret_cast<Bytef*>(raw.data());
        stream.avail_in = uInt(raw.size());
        stream.next_out = reinterpret_cast<Bytef*>(out.data());
        stream.avail_out = uInt(out.size());
        ::deflate(&stream, Z_FULL_FLUSH);
        out.resize(out.size() - stream.avail_out);
        return out;
    };
    std::string bytes = deflated(start);
    const std::string piece = deflated(std::string(1 << 20, '\0'));
    ::deflateEnd(&stream);
    for (int i = 0; i < megabytes; ++i) bytes += piece;
    return bytes;
}

TEST_F(Memory, AnUnpackedDataSetIsCountedBeforeItIsKept) {
    const std::uint32_t images = 600;  // of a megapixel
    const std::string header = std::string("\0\0\x08\x03", 4) + test::big_endian(images) +
                               test::big_endian(1024) + test::big_endian(1024);
    write("images.gz", gzipped_zeros(header, int(images) + 1));
    write("labels",
          std::string("\0\0\x08\x01", 4) + test::big_endian(images) + std::string(images, '\0'));
    const Finished run =
        cait({"data", "stats", "idx:" + path("images.gz") + "?labels=" + path("labels")});
    expect_refused(run, 1, {path("images.gz"), "needs"});
    expect_cheap(run, "idx");
}

// Some gzip that claims four gigabytes and holds less.
TEST_F(Memory, AClaimOfGigabytesIsCountedFirst) {
    const std::uint32_t images = 4000;
    const std::string header = std::string("\0\0\x08\x03", 4) + test::big_endian(images) +
                               test::big_endian(1024) + test::big_endian(1024);
    write("images.gz", gzipped_zeros(header, 400));
    write("labels",
          std::string("\0\0\x08\x01", 4) + test::big_endian(images) + std::string(images, '\0'));
    const Finished run =
        cait({"data", "stats", "idx:" + path("images.gz") + "?labels=" + path("labels")});
    expect_refused(run, 1, {path("images.gz")});
    if (!kSanitized) {
        EXPECT_LT(run.peak_kilobytes, 200'000);
    }
}

TEST_F(Memory, TheEnvironmentSetsTheBudget) {
    data_test::put(folder_ / "large.png", data_test::png(data_test::numbered_image(7, 3000, 3000)));
    const Words words = {"predict", "--weights", path("tiny.safetensors"), path("large.png")};
    EXPECT_EQ(cait(words).status, 0);
    {
        const Variable set("CAIT_MEMORY", "20M");
        expect_refused(cait(words), 1, {path("large.png"), "20 MiB", "CAIT_MEMORY"});
        expect_refused(cait({"eval", "--weights", path("tiny.safetensors"), "--data",
                             "folder:" + folder_.string(), "--batch", "65536"}),
                       1, {});
    }
    {
        const Variable set("CAIT_MEMORY", "64M");
        EXPECT_EQ(cait(words).status, 0);
    }
    for (const char* nonsense : {"lots", "0", "-1", "4X", "1e9", "99999999999G", "G"}) {
        const Variable set("CAIT_MEMORY", nonsense);
        expect_refused(cait({"models", "cait"}), 2, {"CAIT_MEMORY", nonsense});
    }
}

}  // namespace
}  // namespace cait::e2e
