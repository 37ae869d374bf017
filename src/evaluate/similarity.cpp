#include "evaluate/similarity.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>

#include "cait/error.h"
#include "kernels/dispatch.h"
#include "kernels/thread_pool.h"

namespace cait {

using kernels::Index;

PackedCollection::PackedCollection(const Vectors& collection, int threads) {
    packed_.pack(kernels::forward_source(collection.values.data(), Index(collection.rows),
                                         Index(collection.columns)),
                 kernels::Format::f32, threads);
}

std::size_t PackedCollection::scratch_bytes() const {
    return std::size_t(kernels::product_scratch(packed_.view().rows));
}

void PackedCollection::similarities(const float* queries, std::size_t count_of_queries,
                                    std::size_t first, std::size_t count, float* out,
                                    std::size_t ld, std::byte* scratch) const {
    const Index length = packed_.view().rows;
    kernels::products(kernels::Format::f32)
        .multiply({.m = Index(count_of_queries),
                   .n = Index(count),
                   .k = length,
                   .a = {queries, kernels::Format::f32, length, 1},
                   .b = packed_.view(),
                   .column_begin = Index(first),
                   .c = out,
                   .c_ld = Index(ld),
                   .scratch = scratch});
}

void for_query_blocks(std::size_t queries, std::size_t most, int threads,
                      const std::function<void(std::size_t, std::size_t)>& work) {
    // Small enough that all threads have some; what a block computes does not depend on its size.
    const std::size_t workers = std::size_t(std::max(1, threads));
    const std::size_t even = (queries + workers - 1) / workers;
    const std::size_t size = std::max<std::size_t>(1, std::min(most, even));
    std::atomic<std::size_t> next = 0;
    kernels::ThreadPool pool(threads);
    const kernels::UsePool use(pool);
    kernels::run_workers(int(std::min(workers, (queries + size - 1) / size)), [&](int) {
        for (std::size_t first = next.fetch_add(size); first < queries;
             first = next.fetch_add(size))
            work(first, std::min(size, queries - first));
    });
}

void check_sizes(const Vectors& queries, const Vectors& collection) {
    if (collection.rows == 0) throw Error("the collection is empty: expected at least one vector");
    if (collection.rows > UINT32_MAX)
        throw Error(fmt::format("the collection: expected at most {} vectors, found {}", UINT32_MAX,
                                collection.rows));
    if (queries.columns != collection.columns)
        throw Error(fmt::format("the queries have {} numbers each, the collection's vectors {}",
                                queries.columns, collection.columns));
}

}  // namespace cait
