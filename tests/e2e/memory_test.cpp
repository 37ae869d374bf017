// Small files that promise much: each is refused in one line, quickly and within 200 MB, whatever
// the machine has. And the budget that CAIT_MEMORY sets.
#include <gmock/gmock.h>
#include <zlib.h>

#include <cstdlib>
#include <cstring>

#include "cait/model.h"
#include "e2e/tiny_models.h"
#include "support/broken_images.h"
#include "unit/data/support.h"
#include "weights/safetensors.h"

namespace cait::e2e {
namespace {

using testing::HasSubstr;

class Variable {
public:
    Variable(const char* name, const char* value) : name_(name) { ::setenv(name, value, 1); }
    Variable(const Variable&) = delete;
    Variable& operator=(const Variable&) = delete;
    ~Variable() { ::unsetenv(name_); }

private:
    const char* name_;
};

std::string image_data(const std::string& name) {
    return read((std::filesystem::path(__FILE__).parent_path().parent_path() /
                 "unit/image/data/decode" / name)
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

TEST_F(Memory, DeepAndLongMetadataIsRefused) {
    for (const std::size_t size : {std::size_t{30} << 20, std::size_t{6} << 20}) {
        std::string bytes = read(with_entry("cait.classes", "X"));
        const std::string deep(size, '[');
        const std::size_t at = bytes.find("\"cait.classes\":\"X\"") + 16;
        bytes.replace(at, 1, deep);
        std::uint64_t length = 0;
        std::memcpy(&length, bytes.data(), sizeof length);
        length += deep.size() - 1;
        std::memcpy(bytes.data(), &length, sizeof length);
        write("deep.safetensors", bytes);
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
