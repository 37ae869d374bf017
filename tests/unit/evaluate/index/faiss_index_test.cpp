// Indexes that FAISS builds, writes and reads back through us, and files that lie: each is one that
// FAISS wrote after a field of it was changed.
#include "evaluate/index/faiss_index.h"

#include <faiss/IndexFlat.h>
#include <faiss/IndexHNSW.h>
#include <faiss/IndexIDMap.h>
#include <faiss/IndexIVFFlat.h>
#include <faiss/IndexIVFPQ.h>
#include <faiss/IndexPQ.h>
#include <faiss/IndexPreTransform.h>
#include <faiss/IndexRefine.h>
#include <faiss/IndexScalarQuantizer.h>
#include <faiss/VectorTransform.h>
#include <faiss/index_factory.h>
#include <faiss/index_io.h>
#include <gmock/gmock.h>

#include <cmath>
#include <numeric>

#include "base/philox.h"
#include "unit/data/support.h"

namespace cait {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr std::size_t kRows = 300;
constexpr std::size_t kColumns = 8;

const Vectors& vectors() {
    static const Vectors made = [] {
        RandomStream random(7, "vectors");
        Vectors some{kRows, kColumns, std::vector<float>(kRows * kColumns)};
        for (float& value : some.values) value = random.normal();
        normalise(some, "test");
        return some;
    }();
    return made;
}

std::unique_ptr<faiss::Index> made(const std::string& factory) {
    std::unique_ptr<faiss::Index> index(
        faiss::index_factory(int(kColumns), factory.c_str(), faiss::METRIC_INNER_PRODUCT));
    if (auto* lists = dynamic_cast<faiss::IndexIVF*>(index.get()))
        lists->cp.min_points_per_centroid = 1;
    index->train(kRows, vectors().values.data());
    std::vector<faiss::Index::idx_t> ids(kRows);
    std::iota(ids.rbegin(), ids.rend(), 0);
    if (factory.find("IDMap") != std::string::npos)
        index->add_with_ids(kRows, vectors().values.data(), ids.data());
    else
        index->add(kRows, vectors().values.data());
    return index;
}

struct FaissFile : testing::Test {
    TemporaryFolder folder;
    std::filesystem::path file = folder / "x.faiss";

    FaissIndex reopened(const faiss::Index& index) const {
        faiss::write_index(&index, file.c_str());
        return FaissIndex::open(file);
    }
};

struct Kind : FaissFile, testing::WithParamInterface<const char*> {};

TEST_P(Kind, IsReadAndSearchedAsFaissDoesIt) {
    const std::unique_ptr<faiss::Index> index = made(GetParam());
    const FaissIndex back = reopened(*index);
    EXPECT_EQ(back.rows(), kRows);
    EXPECT_EQ(back.columns(), kColumns);
    constexpr std::size_t kQueries = 50, kWanted = 4;
    const Vectors queries{
        kQueries, kColumns, {vectors().values.begin(), vectors().values.begin() + 50 * kColumns}};
    std::vector<float> similarities(kQueries * kWanted);
    std::vector<faiss::Index::idx_t> rows(kQueries * kWanted);
    index->search(kQueries, queries.values.data(), kWanted, similarities.data(), rows.data());
    const auto found = back.search(queries, kWanted, 2);
    ASSERT_EQ(found.size(), kQueries);
    for (std::size_t q = 0; q < kQueries; ++q) {
        const auto expected = std::span(rows).subspan(q * kWanted, kWanted);
        ASSERT_EQ(found[q].size(), kWanted - std::size_t(std::ranges::count(expected, -1)));
        ASSERT_FALSE(found[q].empty());
        for (std::size_t i = 0; i < found[q].size(); ++i)
            EXPECT_NEAR(found[q][i].similarity, similarities[q * kWanted + i], 1e-5);
    }
}

// "np": without a training of the codes' order, which takes seconds and which we have no use for.
INSTANTIATE_TEST_SUITE_P(Faiss, Kind,
                         testing::Values("Flat", "SQ8", "SQ4", "SQ6", "SQfp16", "PQ4x4np", "PQ2np",
                                         "PQ4x6np", "HNSW8", "HNSW8,SQ8", "IVF4,Flat", "IVF4,SQ8",
                                         "IVF4,PQ4x4np", "IVF200,SQfp16", "IVF4_HNSW8,Flat",
                                         "IVF4(SQ8),PQ2x5np", "PCA4,Flat", "PCAWR4,IVF4,SQ8",
                                         "OPQ2_4,IVF4,PQ2x4np", "RR4,SQ8", "ITQ4,Flat",
                                         "L2norm,HNSW8", "Pad12,PQ3x4np", "IVF4,PQ4x4np,RFlat",
                                         "SQ4,Refine(SQ8)", "IDMap,SQ8", "IDMap2,IVF4,Flat",
                                         "IDMap,PCA4,HNSW8"),
                         [](const auto& one) {
                             std::string name = one.param;
                             std::ranges::replace_if(
                                 name, [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
                             return name;
                         });

template <class Part>
Part& part(faiss::Index& index) {
    auto* found = dynamic_cast<Part*>(&index);
    if (found == nullptr) throw std::logic_error("the index is of another kind");
    return *found;
}
faiss::HNSW& graph(faiss::Index& index) { return part<faiss::IndexHNSW>(index).hnsw; }
faiss::ArrayInvertedLists& lists(faiss::Index& index) {
    return dynamic_cast<faiss::ArrayInvertedLists&>(*part<faiss::IndexIVF>(index).invlists);
}
faiss::VectorTransform& first_transform(faiss::Index& index) {
    return *part<faiss::IndexPreTransform>(index).chain[0];
}
faiss::LinearTransform& matrix(faiss::Index& index) {
    return dynamic_cast<faiss::LinearTransform&>(first_transform(index));
}
float& number(std::vector<std::uint8_t>& codes) { return *reinterpret_cast<float*>(codes.data()); }

struct Lie {
    const char* name;
    const char* factory;
    void (*change)(faiss::Index&);
    const char* expected;
};

struct Lies : FaissFile, testing::WithParamInterface<Lie> {};

TEST_P(Lies, AreRefusedBeforeFaissReadsThem) {
    const Lie& lie = GetParam();
    const std::unique_ptr<faiss::Index> index = made(lie.factory);
    EXPECT_EQ(reopened(*index).rows(), kRows);
    lie.change(*index);
    EXPECT_THAT(data_test::error_of([&] { reopened(*index); }),
                AllOf(HasSubstr("x.faiss: expected "), HasSubstr(lie.expected),
                      Not(HasSubstr("::")), Not(HasSubstr(".cpp"))));
}

using I = faiss::Index;
constexpr I::idx_t kFar = (I::idx_t{1} << 40) + 3;

const Lie kIdLies[] = {
    {"IdOfAList", "IVF4,Flat", [](I& i) { lists(i).ids[1].at(0) = kRows; }, "found 300"},
    {"IdAbove32Bits", "IVF4,SQ8", [](I& i) { lists(i).ids[1].at(0) = kFar; },
     "found 1099511627779"},
    {"IdBelow0", "IVF4,PQ4x4np", [](I& i) { lists(i).ids[2].at(0) = -1; }, "found -1"},
    {"IdTwice", "IVF4,Flat", [](I& i) { lists(i).ids[2].at(0) = lists(i).ids[1].at(0); }, "twice"},
    {"IdOfAMap", "IDMap,Flat", [](I& i) { part<faiss::IndexIDMap>(i).id_map[5] = kRows; },
     "found 300"},
    {"IdOfAMapAbove32Bits", "IDMap2,SQ8", [](I& i) { part<faiss::IndexIDMap>(i).id_map[5] = kFar; },
     "found 1099511627779"},
    {"IdsTooFew", "IDMap,Flat", [](I& i) { part<faiss::IndexIDMap>(i).id_map.pop_back(); },
     "ids: expected 300 numbers, found 299"},
    {"IdOfAListWithinAMap", "IDMap2,IVF4,Flat",
     [](I& i) { lists(*part<faiss::IndexIDMap>(i).index).ids[0].at(0) = kFar; },
     "found 1099511627779"},
    {"DirectMap", "IVF4,Flat",
     [](I& i) {
         auto& ivf = part<faiss::IndexIVF>(i);
         ivf.make_direct_map();
         ivf.direct_map.array[7] = I::idx_t{9} << 32;
     },
     "direct map: vector 7"},
    {"DirectMapTable", "IVF4,Flat",
     [](I& i) { part<faiss::IndexIVF>(i).set_direct_map_type(faiss::DirectMap::Hashtable); },
     "direct map: expected type 0 or 1"},
};

const Lie kGraphLies[] = {
    {"Neighbour", "HNSW8", [](I& i) { graph(i).neighbors[3] = kRows; }, "leads to 300"},
    {"NeighbourBelow", "HNSW8", [](I& i) { graph(i).neighbors[3] = -2; }, "leads to -2"},
    {"NeighbourWithoutThisLevel", "HNSW8",
     [](I& i) {
         faiss::HNSW& g = graph(i);
         const int low = int(std::ranges::find(g.levels, 1) - g.levels.begin());
         const std::size_t top = g.offsets[std::size_t(g.entry_point)];
         g.neighbors[top + std::size_t(g.cum_nneighbor_per_level[1])] = low;
     },
     "its link at level 1 leads to"},
    {"EntryPoint", "HNSW8", [](I& i) { graph(i).entry_point = kRows; }, "entry point"},
    {"EntryPointNone", "HNSW8", [](I& i) { graph(i).entry_point = -1; }, "entry point"},
    {"HighestLevel", "HNSW8", [](I& i) { graph(i).max_level += 1; }, "highest level"},
    {"Levels", "HNSW8", [](I& i) { graph(i).levels[4] = 60; }, "levels of vector 4"},
    {"LevelsTooFew", "HNSW8", [](I& i) { graph(i).levels.pop_back(); },
     "levels: expected 300 numbers"},
    {"Offset", "HNSW8", [](I& i) { graph(i).offsets[9] += 1000; }, "links of vector 9"},
    {"OffsetsEnd", "HNSW8", [](I& i) { graph(i).offsets[kRows] += 8; }, "an end at"},
    {"LinksTooFew", "HNSW8,SQ8", [](I& i) { graph(i).neighbors.resize(40); }, "found 40"},
    {"Widths", "HNSW8", [](I& i) { graph(i).cum_nneighbor_per_level[1] = 1 << 20; },
     "negative width"},
    {"SearchWidth", "HNSW8", [](I& i) { graph(i).efSearch = 2'000'000'000; }, "efSearch"},
    {"Beam", "HNSW8", [](I& i) { graph(i).upper_beam = 0; }, "upper_beam"},
    {"VectorsOfTheGraph", "HNSW8",
     [](I& i) {
         auto& storage = part<faiss::IndexFlat>(*part<faiss::IndexHNSW>(i).storage);
         storage.ntotal = 200;
         storage.codes.resize(200 * kColumns * 4);
     },
     "vectors of the graph: expected 300"},
};

const Lie kSizeLies[] = {
    {"RowsOfLists", "IVF4,Flat", [](I& i) { i.ntotal = 301; }, "its lists hold 300 of the 301"},
    {"RowsOfListsFewer", "IVF4,SQ8", [](I& i) { i.ntotal = 299; }, "more than the 299"},
    {"ListsWithoutCentroid", "IVF4,Flat", [](I& i) { part<faiss::IndexIVF>(i).nlist = 1U << 30; },
     "lists: expected"},
    {"Centroids", "IVF4,Flat",
     [](I& i) {
         auto& flat = part<faiss::IndexFlat>(*part<faiss::IndexIVF>(i).quantizer);
         flat.ntotal = 3;
         flat.codes.resize(3 * kColumns * 4);
     },
     "quantizer: expected 4 vectors of 8 numbers, found 3 of 8"},
    {"CodeSize", "IVF4,PQ4x4np", [](I& i) { part<faiss::IndexIVF>(i).code_size = 1; },
     "bytes of a code: expected 2, found 1"},
    {"CodeSizeOfLists", "IVF4,SQ8", [](I& i) { lists(i).code_size = 7; },
     "bytes of a code: expected 8 to 8, found 7"},
    {"Probes", "IVF4,Flat", [](I& i) { part<faiss::IndexIVF>(i).nprobe = 0; }, "nprobe"},
    {"Vectors", "IVF4,Flat", [](I& i) { number(lists(i).codes[1]) = NAN; }, "not finite"},
    {"Groups", "PQ4x4np", [](I& i) { part<faiss::IndexPQ>(i).pq.M = 0; }, "groups"},
    {"GroupsThatDoNotDivide", "PQ4x4np", [](I& i) { part<faiss::IndexPQ>(i).pq.M = 3; },
     "do not divide"},
    {"Bits", "PQ4x4np", [](I& i) { part<faiss::IndexPQ>(i).pq.nbits = 24; }, "centroids: expected"},
    {"BitsTooMany", "IVF4,PQ4x4np", [](I& i) { part<faiss::IndexIVFPQ>(i).pq.nbits = 63; },
     "bits of a group"},
    {"CodesTooFew", "PQ4x4np", [](I& i) { part<faiss::IndexPQ>(i).codes.pop_back(); }, "codes"},
    {"SearchType", "PQ4x4np",
     [](I& i) { part<faiss::IndexPQ>(i).search_type = faiss::IndexPQ::ST_polysemous; },
     "search type"},
    {"ScalarKind", "SQ8",
     [](I& i) {
         part<faiss::IndexScalarQuantizer>(i).sq.qtype =
             static_cast<faiss::ScalarQuantizer::QuantizerType>(77);
     },
     "unknown kind, 77"},
    {"ScalarRanges", "SQ8",
     [](I& i) { part<faiss::IndexScalarQuantizer>(i).sq.trained.pop_back(); },
     "ranges: expected 16 numbers, found 15"},
    {"ScalarCode", "SQ8", [](I& i) { part<faiss::IndexScalarQuantizer>(i).sq.code_size = 1; },
     "bytes of a code"},
    {"Metric", "SQ8", [](I& i) { i.metric_type = faiss::METRIC_L2; }, "not by inner product"},
    {"Untrained", "SQ8", [](I& i) { i.is_trained = false; }, "not been trained"},
    {"Matrix", "PCA4,Flat", [](I& i) { matrix(i).A.pop_back(); }, "matrix: expected 32 numbers"},
    {"MatrixNotFinite", "PCA4,Flat", [](I& i) { matrix(i).A[1] = INFINITY; }, "not finite"},
    {"Bias", "PCA4,Flat", [](I& i) { matrix(i).b.pop_back(); }, "bias: expected 4 numbers"},
    {"TransformedSize", "RR4,SQ8",
     [](I& i) {
         matrix(i).d_out = 5;
         matrix(i).A.resize(40);
     },
     "expected an index of 5 numbers, found 4"},
    {"TransformUntrained", "ITQ4,Flat", [](I& i) { first_transform(i).is_trained = false; },
     "a transform has not been trained"},
    {"TransformIn", "L2norm,Flat", [](I& i) { first_transform(i).d_in = 9; }, "expected 9 numbers"},
    {"MapOfComponents", "Pad12,SQ8",
     [](I& i) { dynamic_cast<faiss::RemapDimensionsTransform&>(first_transform(i)).map[3] = 8; },
     "map of components: expected -1 to 7, found 8"},
    {"Candidates", "SQ4,RFlat", [](I& i) { part<faiss::IndexRefine>(i).k_factor = 1e9F; },
     "candidates for each answer"},
    {"Refined", "SQ4,RFlat",
     [](I& i) {
         auto& flat = part<faiss::IndexFlat>(*part<faiss::IndexRefine>(i).refine_index);
         flat.ntotal = 10;
         flat.codes.resize(10 * kColumns * 4);
     },
     "refined vectors: expected 300"},
    {"FlatVectors", "Flat", [](I& i) { number(part<faiss::IndexFlat>(i).codes) = NAN; },
     "number 0 is not finite"},
};

const auto name_of_lie = [](const auto& one) { return std::string(one.param.name); };
INSTANTIATE_TEST_SUITE_P(Ids, Lies, testing::ValuesIn(kIdLies), name_of_lie);
INSTANTIATE_TEST_SUITE_P(Graph, Lies, testing::ValuesIn(kGraphLies), name_of_lie);
INSTANTIATE_TEST_SUITE_P(Sizes, Lies, testing::ValuesIn(kSizeLies), name_of_lie);

// Numbers that are finite, but whose products are not.
TEST_F(FaissFile, AnswersAreFiniteOrRefused) {
    for (const auto& [factory, value] :
         {std::pair("Flat", -3e38F), std::pair("HNSW8", 3e38F), std::pair("IVF4,Flat", 3e38F)}) {
        const std::unique_ptr<faiss::Index> index = made(factory);
        auto* flat = dynamic_cast<faiss::IndexFlat*>(index.get());
        if (auto* linked = dynamic_cast<faiss::IndexHNSW*>(index.get()))
            flat = &part<faiss::IndexFlat>(*linked->storage);
        for (std::size_t list = 0; list < (flat != nullptr ? 1 : 4); ++list) {
            auto& codes = flat != nullptr ? flat->codes : lists(*index).codes[list];
            std::fill_n(&number(codes), codes.size() / 4, value);
        }
        const FaissIndex back = reopened(*index);
        Vectors query{1, kColumns, std::vector<float>(kColumns, 3e38F)};
        EXPECT_THAT(data_test::error_of([&] { back.search(query, 200, 1); }),
                    AllOf(HasSubstr("x.faiss: "), HasSubstr("finite")))
            << factory;
        query.values[2] = NAN;
        EXPECT_THAT(data_test::error_of([&] { back.search(query, 3, 1); }),
                    HasSubstr("a query is not finite"));
    }
}

TEST_F(FaissFile, RowsComeBackAsVectors) {
    for (const char* factory : {"Flat", "HNSW8", "IVF4,Flat", "RR,IVF4,Flat", "IDMap2,IVF4,Flat"}) {
        const FaissIndex back = reopened(*made(factory));
        const bool mapped = std::string(factory).starts_with("IDMap");
        const auto expected = vectors().row(mapped ? kRows - 1 - 17 : 17);
        const std::vector<float> found = back.vector(17);
        for (std::size_t i = 0; i < kColumns; ++i)
            EXPECT_NEAR(found[i], expected[i], 1e-5) << factory;
    }
    EXPECT_THAT(data_test::error_of([&] { reopened(*made("IDMap,SQ8")).vector(1); }),
                HasSubstr("does not give its vectors back"));
}

// Neither functions nor lines of FAISS's sources are of use to anybody who reads the message.
TEST_F(FaissFile, MessagesDoNotShowFaissSources) {
    for (const char* factory : {"LSH", "Tree", "IVF1000,Flat", "PQ3np", "IVF99999999999999,Flat",
                                "NSG8", "IVF4,PQ4x4fs", "IVF4_NSG8,Flat", "PCA4,NSG8",
                                "HNSW8,PQ4np", "SQ8,Refine(HNSW8)", "IVF4(IVF2,Flat),Flat"})
        EXPECT_THAT(data_test::error_of([&] { FaissIndex::build(vectors(), factory); }),
                    AllOf(HasSubstr(std::string("--factory '") + factory), Not(HasSubstr("::")),
                          Not(HasSubstr("faiss/")), Not(HasSubstr("Error"))));
    FaissIndex back = reopened(*made("IVF4,Flat"));
    EXPECT_THAT(data_test::error_of([&] { back.set_parameters("speed=9"); }),
                AllOf(HasSubstr("--parameters 'speed=9'"), Not(HasSubstr("::"))));
    back.set_parameters("nprobe=0");
    EXPECT_THAT(data_test::error_of([&] { back.search(vectors(), 1, 1); }),
                AllOf(HasSubstr("x.faiss: it cannot be searched"), Not(HasSubstr("::"))));
}

}  // namespace
}  // namespace cait
