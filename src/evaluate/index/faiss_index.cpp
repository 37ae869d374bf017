#include "evaluate/index/faiss_index.h"

#include <faiss/AutoTune.h>
#include <faiss/IVFlib.h>
#include <faiss/IndexFlat.h>
#include <faiss/IndexHNSW.h>
#include <faiss/IndexIDMap.h>
#include <faiss/IndexIVFFlat.h>
#include <faiss/IndexIVFPQ.h>
#include <faiss/IndexPQ.h>
#include <faiss/IndexPreTransform.h>
#include <faiss/IndexRefine.h>
#include <faiss/IndexScalarQuantizer.h>
#include <faiss/impl/FaissException.h>
#include <faiss/impl/io.h>
#include <faiss/index_factory.h>
#include <faiss/index_io.h>
#include <faiss/utils/distances.h>
#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <regex>
#include <stdexcept>
#include <typeinfo>

#include "base/display_name.h"
#include "cait/error.h"
#include "evaluate/index/faiss_blas.h"
#include "evaluate/index/flat_index.h"
#include "evaluate/index/index_file.h"
#include "evaluate/nearest.h"
#include "system/atomic_file.h"
#include "system/mapped_file.h"
#include "system/memory_budget.h"

namespace cait {

namespace {

// "Error in F() at SOURCE:123: Error: 'nx >= k' failed: Number of training points …" → the end of
// it; where FAISS has no words of its own, none of its conditions either.
std::string reason(const faiss::FaissException& error) {
    std::string text = error.what();
    if (const std::size_t failed = text.rfind("failed: "); failed != std::string::npos)
        text = text.substr(failed + 8);
    else if (text.ends_with("failed"))
        return "FAISS cannot do this";
    static const std::regex source(R"(.* at \S+:[0-9]+: |\w+::\w+:?\s*)");
    text = std::regex_replace(text.substr(0, text.find('\n')), source, "");
    return printable(text);
}

class ToFile final : public faiss::IOWriter {
public:
    explicit ToFile(AtomicFile& file) : file_(file) {}
    size_t operator()(const void* data, size_t size, size_t items) override {
        file_.write({static_cast<const std::byte*>(data), size * items});
        return items;
    }

private:
    AtomicFile& file_;
};

class FromBytes final : public faiss::IOReader {
public:
    explicit FromBytes(std::span<const std::byte> bytes) : left_(bytes) {}
    size_t operator()(void* data, size_t size, size_t items) override {
        if (size == 0 || items == 0) return items;
        items = std::min(items, left_.size() / size);
        std::memcpy(data, left_.data(), items * size);
        left_ = left_.subspan(items * size);
        return items;
    }

private:
    std::span<const std::byte> left_;
};

// What check_index() knows: exactly these classes, for others that derive from them are written in
// forms of their own.
template <class... Kinds>
bool is_one_of(const faiss::Index& index) {
    return (... || (typeid(index) == typeid(Kinds)));
}

bool is_codes(const faiss::Index& index) {
    using namespace faiss;
    return is_one_of<IndexFlat, IndexFlatIP, IndexFlatL2, IndexScalarQuantizer, IndexPQ>(index);
}

bool is_known_kind(const faiss::Index& index) {
    using namespace faiss;
    const bool graph = is_one_of<IndexHNSWFlat, IndexHNSWSQ>(index);
    if (graph || is_codes(index)) return true;
    if (const auto* with = dynamic_cast<const IndexPreTransform*>(&index))
        return is_known_kind(*with->index);
    if (const auto* with = dynamic_cast<const IndexIDMap*>(&index))
        return is_known_kind(*with->index);
    if (const auto* with = dynamic_cast<const IndexRefine*>(&index))
        return is_known_kind(*with->base_index) && is_codes(*with->refine_index);
    const auto* lists = dynamic_cast<const IndexIVF*>(&index);
    return lists != nullptr &&
           is_one_of<IndexIVFFlat, IndexIVFScalarQuantizer, IndexIVFPQ>(index) &&
           (is_codes(*lists->quantizer) ||
            is_one_of<IndexHNSWFlat, IndexHNSWSQ>(*lists->quantizer));
}

}  // namespace

FaissIndex FaissIndex::build(const Vectors& vectors, const std::string& factory) {
    if (vectors.rows == 0 || vectors.columns == 0)
        throw Error("an index needs at least one vector, found none");
    const auto refused = [&](const std::string& why) {
        return UsageError(fmt::format("--factory {}: {}", display_name(factory), why));
    };
    claim_blas_memory();
    try {
        FaissIndex result("the index");
        result.index_.reset(faiss::index_factory(int(vectors.columns), factory.c_str(),
                                                 faiss::METRIC_INNER_PRODUCT));
        if (!is_known_kind(*result.index_))
            throw refused(
                fmt::format("`cait search` does not read this kind; it reads {}", kIndexKinds));
        result.prepare_lists(vectors.rows);
        result.index_->train(faiss::Index::idx_t(vectors.rows), vectors.values.data());
        result.index_->add(faiss::Index::idx_t(vectors.rows), vectors.values.data());
        return result;
    } catch (const faiss::FaissException& error) {
        throw refused(reason(error));
    } catch (const std::logic_error&) {  // a number that is none, or too large a one
        throw refused("FAISS cannot read it");
    }
}

void FaissIndex::prepare_lists(std::size_t rows) {
    auto* lists = faiss::ivflib::try_extract_index_ivf(index_.get());
    if (lists == nullptr) return;
    // FAISS would print its advice; it is given here instead.
    const auto advised = std::size_t(lists->cp.min_points_per_centroid) * lists->nlist;
    if (rows < advised)
        notes_.push_back(fmt::format("{} lists from {} vectors: FAISS advises at least {}",
                                     lists->nlist, rows, advised));
    lists->cp.min_points_per_centroid = 1;
}

FaissIndex FaissIndex::open(const std::filesystem::path& file) {
    const std::shared_ptr<const MappedFile> mapped = MappedFile::open(file);
    const std::span<const std::byte> bytes = mapped->bytes();
    FaissIndex result(file.string());
    if (bytes.size() >= 4 && std::memcmp(bytes.data(), "IxFI", 4) == 0) {
        result.flat_ = read_flat_index_bytes(bytes, result.name_);
        return result;
    }
    const auto reserve = [&](std::uint64_t more) {
        return MemoryBudget::of_process().reserve(2 * bytes.size() + more,
                                                  display_name(file.string()));
    };
    MemoryShare share = reserve(0);
    // A copy is checked and read, so that nobody can change it in between.
    const std::vector<std::byte> copy(bytes.begin(), bytes.end());
    const IndexFacts facts = check_index(copy, result.name_);
    if (facts.rows > UINT32_MAX)
        throw Error(fmt::format("{}: expected at most {} vectors, found {}", result.name_,
                                UINT32_MAX, facts.rows));
    share = {};
    share = reserve(facts.extra_memory);
    claim_blas_memory();
    try {
        FromBytes reader(copy);
        // Those tables are for other metrics, and much larger than the file.
        result.index_.reset(faiss::read_index(&reader, faiss::IO_FLAG_SKIP_PRECOMPUTE_TABLE));
    } catch (const faiss::FaissException& error) {
        throw Error(
            fmt::format("{}: expected an index that FAISS reads: {}", result.name_, reason(error)));
    }
    return result;
}

void FaissIndex::save(const std::filesystem::path& file) const {
    AtomicFile out(file);
    ToFile writer(out);
    faiss::write_index(index_.get(), &writer);
    out.commit();
}

std::size_t FaissIndex::rows() const { return flat_ ? flat_->rows : std::size_t(index_->ntotal); }
std::size_t FaissIndex::columns() const { return flat_ ? flat_->columns : std::size_t(index_->d); }

void FaissIndex::set_parameters(const std::string& text) {
    if (text.empty()) return;
    const auto refused = [&](const std::string& why) {
        return UsageError(fmt::format("--parameters {}: {}", display_name(text), why));
    };
    if (flat_) throw refused("a flat index has no settings");
    try {
        faiss::ParameterSpace().set_index_parameters(index_.get(), text.c_str());
    } catch (const faiss::FaissException& error) {
        throw refused(reason(error));
    }
}

std::vector<float> FaissIndex::vector(std::size_t row) const {
    if (flat_) return {flat_->row(row).begin(), flat_->row(row).end()};
    std::vector<float> values(columns());
    try {
        if (auto* lists = faiss::ivflib::try_extract_index_ivf(index_.get()))
            lists->make_direct_map();
        index_->reconstruct(faiss::Index::idx_t(row), values.data());
    } catch (const faiss::FaissException& error) {
        throw UsageError(
            fmt::format("this index does not give its vectors back: {}", reason(error)));
    }
    return values;
}

std::vector<std::vector<Neighbour>> FaissIndex::search(const Vectors& queries, std::size_t k,
                                                       int threads) const {
    std::vector<std::vector<Neighbour>> found(queries.rows);
    if (!std::ranges::all_of(queries.values, [](float value) { return std::isfinite(value); }))
        throw Error(fmt::format("{}: a query is not finite", name_));
    if (!flat_) {
        search_by_faiss(queries, k, threads, found);
        return found;
    }
    try {
        const std::vector<Neighbour> all = nearest(queries, *flat_, {.k = k, .threads = threads});
        for (std::size_t q = 0; q < queries.rows; ++q)
            found[q].assign(all.begin() + std::ptrdiff_t(q * k),
                            all.begin() + std::ptrdiff_t((q + 1) * k));
    } catch (const UsageError&) {
        throw;
    } catch (const Error& error) {
        throw Error(fmt::format("{}: {}", name_, error.what()));
    }
    return found;
}

void FaissIndex::search_by_faiss(const Vectors& queries, std::size_t k, int threads,
                                 std::vector<std::vector<Neighbour>>& found) const {
    ::omp_set_num_threads(threads);
    if (queries.rows >= std::size_t(faiss::distance_compute_blas_threshold))
        check_blas_memory(threads);
    std::vector<float> similarities(queries.rows * k);
    std::vector<faiss::Index::idx_t> rows(queries.rows * k, -1);
    try {
        index_->search(faiss::Index::idx_t(queries.rows), queries.values.data(),
                       faiss::Index::idx_t(k), similarities.data(), rows.data());
    } catch (const faiss::FaissException& error) {
        throw Error(fmt::format("{}: it cannot be searched: {}", name_, reason(error)));
    }
    for (std::size_t i = 0; i < rows.size(); ++i) {
        if (rows[i] == -1) continue;  // nothing more was found
        const std::uint32_t row = checked_row(rows[i], this->rows(), name_);
        if (!std::isfinite(similarities[i]))
            throw Error(fmt::format("{}: the similarity of row {} is not finite", name_, row));
        found[i / k].push_back({row, double(similarities[i])});
    }
}

}  // namespace cait
