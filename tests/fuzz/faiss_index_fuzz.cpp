// Any bytes may be refused with cait::Error. FAISS reads and searches what is not refused; where it
// objects, comes back with a row that is not there or crashes, the check has missed something.
#include <faiss/Index.h>
#include <faiss/impl/FaissException.h>
#include <faiss/impl/io.h>
#include <faiss/index_io.h>
#include <omp.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "cait/error.h"
#include "evaluate/index/index_file.h"

namespace {

void search(faiss::Index& index) {
    constexpr std::size_t kQueries = 3;
    std::vector<float> queries;
    for (std::size_t i = 0; i < kQueries * std::size_t(index.d); ++i)
        queries.push_back(float(i % 7) - 3);
    const auto k = std::min<faiss::Index::idx_t>(index.ntotal, 5);
    std::vector<float> similarities(kQueries * std::size_t(k));
    std::vector<faiss::Index::idx_t> rows(similarities.size());
    index.search(kQueries, queries.data(), k, similarities.data(), rows.data());
    for (const faiss::Index::idx_t row : rows)
        if (row < -1 || row >= index.ntotal) __builtin_trap();
    try {
        index.reconstruct(index.ntotal - 1, queries.data());
    } catch (const faiss::FaissException&) {  // not every kind gives its vectors back
    }
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int*, char***);
extern "C" int LLVMFuzzerInitialize(int*, char***) {
    ::omp_set_num_threads(1);  // small indexes, and many
    return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    cait::IndexFacts facts;
    try {
        facts = cait::check_index(std::as_bytes(std::span(data, size)), "input");
    } catch (const cait::Error&) {
        return 0;
    }
    faiss::VectorIOReader reader;
    reader.data.assign(data, data + size);
    const std::unique_ptr<faiss::Index> index(
        faiss::read_index(&reader, faiss::IO_FLAG_SKIP_PRECOMPUTE_TABLE));
    if (std::size_t(index->ntotal) != facts.rows || std::size_t(index->d) != facts.columns)
        __builtin_trap();
    search(*index);
    return 0;
}
