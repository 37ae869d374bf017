#include "engine/packed_file.h"

#include <gmock/gmock.h>

#include <cstring>

#include "base/content_hash.h"
#include "kernels/dispatch.h"
#include "support/temporary_folder.h"

namespace cait::engine {
namespace {

using testing::HasSubstr;

// Two small matrices in a file.
class PackedFiles : public testing::Test {
protected:
    PackedFiles() {
        for (std::size_t i = 0; i < values_.size(); ++i) values_[i] = float(i) - 20;
        first_.pack(kernels::forward_source(values_.data(), 5, 7), kernels::Format::f32);
        second_.pack(kernels::forward_source(values_.data(), 3, 4), kernels::Format::f32);
        PackedFile::write(file_, {{"first", PackedEntry::of(first_.view())},
                                  {"second", PackedEntry::of(second_.view())}});
        whole_ = read_file(file_);
    }

    PackedFile::Opened with(const std::string& bytes) const {
        write_file(file_, bytes);
        return PackedFile::open(file_);
    }

    // With another text of the same length in the index, and the checksum that fits.
    std::string with_index(const std::string& mark, const std::string& text) const {
        std::string bytes = whole_;
        bytes.replace(bytes.find(mark), mark.size(), text);
        std::uint64_t length = 0, hash = 0;
        std::memcpy(&length, bytes.data() + 16, sizeof length);
        std::memset(bytes.data() + 24, 0, sizeof hash);
        hash = content_hash(std::as_bytes(std::span(bytes).first(64 + length)));
        std::memcpy(bytes.data() + 24, &hash, sizeof hash);
        return bytes;
    }

    TemporaryFolder folder_;
    std::filesystem::path file_ = folder_ / "packed";
    std::vector<float> values_ = std::vector<float>(35);
    kernels::PackedMatrix first_, second_;
    std::string whole_;
};

TEST_F(PackedFiles, GiveBackWhatWasWritten) {
    const PackedFile::Opened opened = PackedFile::open(file_);
    ASSERT_TRUE(opened.file);
    EXPECT_EQ(opened.damage, "");
    const PackedEntry* found = opened.file->find("second");
    ASSERT_TRUE(found);
    EXPECT_EQ(found->view.rows, 4);
    EXPECT_EQ(found->view.columns, 3);
    EXPECT_EQ(std::memcmp(found->view.data, second_.view().data, packed_size(found->view)), 0);
    EXPECT_EQ(opened.file->find("third"), nullptr);
}

TEST_F(PackedFiles, AnyByteThatChangedIsNoticed) {
    for (std::size_t i = 0; i < whole_.size(); ++i)
        for (const int mask : {1, 128}) {
            std::string bytes = whole_;
            bytes[i] = char(bytes[i] ^ mask);
            const PackedFile::Opened opened = with(bytes);
            EXPECT_FALSE(opened.file) << "byte " << i;
            EXPECT_NE(opened.damage, "") << "byte " << i;
            EXPECT_TRUE(PackedFile::may_replace(file_)) << "byte " << i;
        }
}

TEST_F(PackedFiles, SoIsWhatIsMissingOrAdded) {
    for (const std::size_t size : {whole_.size() - 1, whole_.size() - 64, std::size_t{70},
                                   std::size_t{64}, std::size_t{63}, std::size_t{9}}) {
        EXPECT_FALSE(with(whole_.substr(0, size)).file) << size;
        EXPECT_TRUE(PackedFile::may_replace(file_)) << size;
    }
    EXPECT_THAT(with(whole_ + std::string(64, '\0')).damage, HasSubstr("bytes, found"));
    EXPECT_FALSE(with("").file);
    EXPECT_FALSE(with(std::string(whole_.size(), '\0')).file);
    EXPECT_FALSE(PackedFile::may_replace(file_));  // nobody can tell that it was ours
}

// Another instruction set lays matrices out in another way; a file of it is whole, but not ours.
TEST_F(PackedFiles, OfAnotherProcessorIsNotUsed) {
    const std::string isa = kernels::best_kernels().name;
    EXPECT_TRUE(with(with_index(isa, isa)).file);
    const PackedFile::Opened opened = with(with_index(isa, std::string(isa.size(), 'x')));
    EXPECT_FALSE(opened.file);
    EXPECT_EQ(opened.damage, "");
    EXPECT_TRUE(PackedFile::may_replace(file_));
}

// The index may be right by its checksum and still lie.
TEST_F(PackedFiles, PlacesThatDoNotFitAreRefused) {
    EXPECT_THAT(with(with_index("\"rows\":4", "\"rows\":9")).damage, HasSubstr("second"));
    EXPECT_THAT(with(with_index("\"rows\":4", "\"rows\":0")).damage, HasSubstr("does not fit"));
    EXPECT_THAT(with(with_index("\"offset\"", "\"offxet\"")).damage, HasSubstr("index is broken"));
}

// What is written again carries the checksum of when it was read and found right.
TEST_F(PackedFiles, DamageIsNotVouchedFor) {
    PackedEntry entry = PackedEntry::of(first_.view());
    entry.hash ^= 1;
    PackedFile::write(file_, {{"first", entry}});
    EXPECT_THAT(PackedFile::open(file_).damage, HasSubstr("matrix 'first': wrong checksum"));
}

}  // namespace
}  // namespace cait::engine
