#include "search/faiss_index.h"

#include <faiss/AutoTune.h>
#include <faiss/IVFlib.h>
#include <faiss/IndexFlat.h>
#include <faiss/IndexIVF.h>
#include <faiss/impl/FaissException.h>
#include <faiss/impl/io.h>
#include <faiss/index_factory.h>
#include <faiss/index_io.h>
#include <fmt/format.h>
#include <omp.h>

#include <cstring>
#include <new>
#include <stdexcept>

#include "cait/error.h"
#include "core/atomic_file.h"
#include "core/display_name.h"
#include "core/mapped_file.h"
#include "core/memory_budget.h"
#include "search/nearest.h"

namespace cait {

namespace {

// "Error in … at …:123: Error: 'nx >= k' failed: Number of training points …" → the end of it.
std::string reason(const faiss::FaissException& error) {
    std::string text = error.what();
    if (const std::size_t failed = text.rfind("failed: "); failed != std::string::npos)
        text = text.substr(failed + 8);
    return text.substr(0, text.find('\n'));
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

}  // namespace

FaissIndex FaissIndex::build(const Vectors& vectors, const std::string& factory) {
    if (vectors.rows == 0) throw Error("an index needs at least one vector, found none");
    try {
        std::shared_ptr<faiss::Index> index(faiss::index_factory(
            int(vectors.columns), factory.c_str(), faiss::METRIC_INNER_PRODUCT));
        FaissIndex result(index);
        result.prepare_lists(vectors.rows);
        index->train(faiss::Index::idx_t(vectors.rows), vectors.values.data());
        index->add(faiss::Index::idx_t(vectors.rows), vectors.values.data());
        return result;
    } catch (const faiss::FaissException& error) {
        throw UsageError(fmt::format("--factory {}: {}", display_name(factory), reason(error)));
    }
}

void FaissIndex::prepare_lists(std::size_t rows) {
    auto* lists = faiss::ivflib::try_extract_index_ivf(index_.get());
    if (lists == nullptr) return;
    // FAISS would print its advice; it is said here instead.
    const auto advised = std::size_t(lists->cp.min_points_per_centroid) * lists->nlist;
    if (rows < advised)
        notes_.push_back(fmt::format("{} lists from {} vectors: FAISS advises at least {}",
                                     lists->nlist, rows, advised));
    lists->cp.min_points_per_centroid = 1;
}

FaissIndex FaissIndex::open(const std::filesystem::path& file) {
    const std::shared_ptr<const MappedFile> mapped = MappedFile::open(file);
    const MemoryShare share =
        MemoryBudget::of_process().reserve(mapped->bytes().size(), display_name(file.string()));
    const auto damaged = [&](const std::string& why) {
        return Error(fmt::format("{}: expected an index that FAISS reads: {}", file.string(), why));
    };
    try {
        FromBytes bytes(mapped->bytes());
        std::shared_ptr<faiss::Index> index(faiss::read_index(&bytes));
        if (index->metric_type != faiss::METRIC_INNER_PRODUCT)
            throw damaged("it is not by inner product");
        const auto* flat = dynamic_cast<const faiss::IndexFlat*>(index.get());
        if (index->d < 1 || index->ntotal < 1 ||
            (flat != nullptr && flat->codes.size() != std::size_t(flat->ntotal) *
                                                          std::size_t(flat->d) * sizeof(float)))
            throw damaged("its sizes do not fit each other");
        return FaissIndex(std::move(index));
    } catch (const faiss::FaissException& error) {
        throw damaged(reason(error));
    } catch (const std::bad_alloc&) {
        throw damaged("it asks for more memory than there is");
    } catch (const std::length_error&) {
        throw damaged("it asks for more memory than there is");
    }
}

void FaissIndex::save(const std::filesystem::path& file) const {
    AtomicFile out(file);
    ToFile writer(out);
    faiss::write_index(index_.get(), &writer);
    out.commit();
}

std::size_t FaissIndex::rows() const { return std::size_t(index_->ntotal); }
std::size_t FaissIndex::columns() const { return std::size_t(index_->d); }
bool FaissIndex::exact() const {
    return dynamic_cast<const faiss::IndexFlat*>(index_.get()) != nullptr;
}

void FaissIndex::set_parameters(const std::string& text) {
    if (text.empty()) return;
    try {
        faiss::ParameterSpace().set_index_parameters(index_.get(), text.c_str());
    } catch (const faiss::FaissException& error) {
        throw UsageError(fmt::format("--parameters {}: {}", display_name(text), reason(error)));
    }
}

std::vector<float> FaissIndex::vector(std::size_t row) const {
    std::vector<float> values(columns());
    try {
        if (auto* lists = dynamic_cast<faiss::IndexIVF*>(index_.get())) lists->make_direct_map();
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
    if (const auto* flat = dynamic_cast<const faiss::IndexFlat*>(index_.get())) {
        const Vectors rows{
            this->rows(), columns(), {flat->get_xb(), flat->get_xb() + this->rows() * columns()}};
        const std::vector<Neighbour> all = nearest(queries, rows, {.k = k, .threads = threads});
        for (std::size_t q = 0; q < queries.rows; ++q)
            found[q].assign(all.begin() + std::ptrdiff_t(q * k),
                            all.begin() + std::ptrdiff_t((q + 1) * k));
        return found;
    }
    ::omp_set_num_threads(threads);
    std::vector<float> similarities(queries.rows * k);
    std::vector<faiss::Index::idx_t> rows(queries.rows * k, -1);
    index_->search(faiss::Index::idx_t(queries.rows), queries.values.data(), faiss::Index::idx_t(k),
                   similarities.data(), rows.data());
    for (std::size_t i = 0; i < rows.size(); ++i)
        if (rows[i] >= 0)  // -1: nothing more was found
            found[i / k].push_back({std::uint32_t(rows[i]), double(similarities[i])});
    return found;
}

}  // namespace cait
