#include "weights/verify_weights.h"

#include <fmt/format.h>
#include <zlib.h>

#include "base/printable.h"
#include "cait/error.h"
#include "system/file_guard.h"
#include "system/mapped_file.h"
#include "weights/byte_reader.h"
#include "weights/checksum.h"
#include "weights/weight_file.h"
#include "weights/zip_directory.h"

namespace cait {

namespace {

std::size_t verify_zip(std::span<const std::byte> bytes, const std::string& file) {
    std::size_t checked = 0;
    const ZipDirectory zip = ZipDirectory::read(bytes, file);
    for (const ZipEntry& entry : zip.entries()) {
        if (entry.crc == 0) continue;  // torch.save without checksums leaves it out
        const auto* data = reinterpret_cast<const Bytef*>(entry.bytes.data());
        const auto found = std::uint32_t(::crc32_z(0, data, z_size_t(entry.bytes.size())));
        if (found != entry.crc)
            throw Error(
                fmt::format("{}: zip: '{}': damaged: expected checksum {:08x}, found {:08x}", file,
                            printable(entry.name), entry.crc, found));
        ++checked;
    }
    return checked;
}

}  // namespace

std::size_t verify_weights(const std::filesystem::path& path) {
    const auto mapping = MappedFile::open(path);
    const std::string file = path.string();
    const WeightFile weights = open_weights_bytes(mapping, mapping->bytes(), file);
    std::size_t checked = 0;
    if (weights.format == "pytorch zip") {
        checked = verify_zip(mapping->bytes(), file);
    } else if (weights.metadata.contains(kChecksumKey)) {
        verify_checksums(weights.tensors, weights.metadata, file);
        checked = weights.tensors.size();
    }
    recheck_mapped_files();
    return checked;
}

}  // namespace cait
