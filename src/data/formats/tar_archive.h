// The member list of a tar file (POSIX ustar and pax, GNU long names), read in one pass over the
// headers; the contents are left where they are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cait {

struct TarMember {
    std::string name;
    std::span<const std::byte> bytes;
};

class TarReader {
public:
    // `bytes` must outlive the reader and the members; `file` opens error messages.
    TarReader(std::span<const std::byte> bytes, std::string file);

    // The next regular file; false at the end. Throws Error for a header with a wrong checksum or
    // for contents beyond the end of the file.
    bool next(TarMember& member);

    // After the last member: whether the two blocks of zeros follow that end an archive. Without
    // them it may have been cut off between two members; tar reads it all the same, and so do we.
    bool has_end() const;

private:
    std::span<const std::byte> take(std::uint64_t size, std::string_view what);
    void read_pax(std::string_view records);
    [[noreturn]] void fail_long(const std::string& name) const;

    std::span<const std::byte> bytes_;
    std::string file_;
    std::size_t position_ = 0;
    // What an extended header said about the member that follows it.
    std::string next_name_;
    std::int64_t next_size_ = -1;
};

// A header block and its padding, for writing. The same input gives the same bytes on every
// machine: no owner, no date. Throws Error for a name of more than 100 bytes.
std::string tar_header(std::string_view name, std::uint64_t size);
std::string tar_padding(std::uint64_t size);  // up to the next block
std::string tar_end();

// Each file appears whole or not at all; one that is there with the right size is left alone.
// Throws Error for a broken archive, one that unpacks to more than `most` bytes, or a name that
// leads out of the folder. Returns how many files the archive holds.
std::size_t unpack_tar_gz(const std::filesystem::path& archive, const std::filesystem::path& folder,
                          std::size_t most = std::size_t{1} << 28);

}  // namespace cait
