// An index of vectors in a file that FAISS (Johnson et al. 2017) reads and writes. The only user of
// FAISS, which brings a BLAS with it; linked into `cait-faiss` alone.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "evaluate/knn.h"
#include "evaluate/vectors.h"

namespace faiss {
struct Index;
}

namespace cait {

class FaissIndex {
public:
    // Of unit vectors, by inner product. `factory` is FAISS's description of an index: "Flat" is
    // exact, "IVF256,Flat", "HNSW32" or "IVF256,PQ16" are not. Throws UsageError, with FAISS's own
    // words, for one that it does not know or that does not suit the vectors, and for kinds that
    // open() would refuse (evaluate/index/index_file.h).
    static FaissIndex build(const Vectors& vectors, const std::string& factory);
    // Throws Error, naming the file, when it holds no index of vectors by inner product. Nothing
    // reaches FAISS before its structure has been checked.
    static FaissIndex open(const std::filesystem::path& file);

    // What a user should know about how it was built, a line each.
    const std::vector<std::string>& notes() const { return notes_; }

    void save(const std::filesystem::path& file) const;  // replaces it whole

    std::size_t rows() const;
    std::size_t columns() const;

    // FAISS's settings of a search, "nprobe=16" or "efSearch=64". Throws UsageError.
    void set_parameters(const std::string& text);

    // A stored vector, as exactly as the index keeps it. Throws UsageError where it keeps none.
    std::vector<float> vector(std::size_t row) const;

    // For each query at most k rows by falling similarity; an index that is not exact may find
    // fewer. An exact one is searched by evaluate/nearest.h, which is faster than FAISS and says
    // who comes first among equals. Throws Error, naming the file, for a row that is not there.
    std::vector<std::vector<Neighbour>> search(const Vectors& queries, std::size_t k,
                                               int threads) const;

private:
    explicit FaissIndex(std::string name) : name_(std::move(name)) {}
    void prepare_lists(std::size_t rows);
    void search_by_faiss(const Vectors& queries, std::size_t k, int threads,
                         std::vector<std::vector<Neighbour>>& found) const;

    std::string name_;                     // opens messages
    std::shared_ptr<faiss::Index> index_;  // none where `flat_` was read
    std::optional<Vectors> flat_;
    std::vector<std::string> notes_;
};

}  // namespace cait
