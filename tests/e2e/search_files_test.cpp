// Index files that lie, thousands of damaged ones, and too little memory: `cait index` and `cait
// search` answer or say what is wrong, soon and in one line.
#include <gmock/gmock.h>

#include <csignal>
#include <cstring>

#include "base/philox.h"
#include "e2e/tiny_models.h"
#include "support/source_path.h"
#include "unit/data/support.h"
#include "weights/safetensors.h"

namespace cait::e2e {
namespace {

using testing::AnyOf;
using testing::HasSubstr;
using testing::Not;

constexpr std::size_t kRows = 20, kColumns = 4;  // of every seed
constexpr std::size_t kHeader = 37;              // bytes of a kind and its sizes

template <class T>
std::string with(std::string bytes, std::size_t at, T value) {
    std::memcpy(bytes.data() + at, &value, sizeof value);
    return bytes;
}

// Behind an array at `at`: a count, and numbers of `size` bytes.
std::size_t behind(const std::string& bytes, std::size_t at, std::size_t size) {
    std::uint64_t count = 0;
    std::memcpy(&count, bytes.data() + at, sizeof count);
    return at + sizeof count + count * size;
}

// Indexes as FAISS wrote them (tests/fuzz/corpus/faiss_index), with names for their rows.
class SearchFiles : public InFolder {
protected:
    SearchFiles() {
        std::string names;
        Tensor indices = Tensor::empty(DType::i64, {std::int64_t(kRows)});
        for (std::size_t i = 0; i < kRows; ++i) {
            names += std::to_string(i) + ".png\n";
            std::memcpy(indices.mutable_bytes().data() + i * 8, &i, 8);
        }
        Tensor lines = Tensor::empty(DType::u8, {std::int64_t(names.size())});
        std::memcpy(lines.mutable_bytes().data(), names.data(), names.size());
        write_safetensors(folder_ / "i.faiss.safetensors",
                          std::vector<NamedTensor>{{"names", lines}, {"indices", indices}},
                          {{"cait.embedding",
                            R"({"model": "m", "fingerprint": "f", "tap": "features", "flip": false,
                                "data": "", "part": "", "rows": 20, "columns": 4, "levels": []})"}});
    }

    static std::map<std::string, std::string> seeds() {
        std::map<std::string, std::string> found;
        for (const auto& entry : std::filesystem::directory_iterator(
                 test::source_path(__FILE__).parent_path() / "../fuzz/corpus/faiss_index"))
            found[entry.path().filename().string()] = read(entry.path().string());
        return found;
    }

    Finished search(const std::string& bytes,
                    const Words& more = {"--row", "1", "--k", "3"}) const {
        write("i.faiss", bytes);
        return cait(Words{"search", "--index", path("i.faiss")} + more);
    }
};

TEST_F(SearchFiles, EveryKindIsSearched) {
    std::size_t searched = 0;
    for (const auto& [name, bytes] : seeds()) {
        const Finished run = search(bytes);
        if (name == "IVF2_FlatDedup") {
            expect_refused(run, 1, {path("i.faiss"), "'IwFd' is not known; known are Flat"});
            continue;
        }
        if (name == "IDMap_Flat" ||
            name == "ITQ2_Flat") {  // FAISS gives no vectors back from these
            expect_refused(run, 2, {"does not give its vectors back"});
            continue;
        }
        EXPECT_EQ(run.status, 0) << name << run.err;
        EXPECT_THAT(run.out, HasSubstr(".png")) << name;
        ++searched;
    }
    EXPECT_GE(searched, 22U);
}

TEST_F(SearchFiles, ALyingIndexIsRefusedInOneLine) {
    const auto known = seeds();
    const std::string &graph = known.at("HNSW4"), &lists = known.at("IVF2_Flat"),
                      &map = known.at("IDMap2_IVF2_Flat"), &groups = known.at("PQ2x3");
    constexpr std::int64_t kFar = (std::int64_t{1} << 40) + 3;
    std::size_t at = behind(graph, kHeader, 8);  // chances
    at = behind(graph, at, 4);                   // widths
    at = behind(graph, at, 4);                   // levels
    const std::size_t offsets = at + 8, links = behind(graph, at, 8);
    const std::size_t entry = behind(graph, links, 4);
    const std::tuple<std::string, const char*> lies[] = {
        {with(graph, links + 8, std::int32_t{1000}), "leads to 1000"},
        {with(graph, offsets + 8, std::uint64_t{1} << 33), "links of vector 1"},
        {with(graph, entry, std::int32_t{1000}), "entry point"},
        {with(graph, entry + 4, std::int32_t{7}), "highest level"},
        {with(lists, lists.size() - 8, kFar), "found 1099511627779"},
        {with(lists, lists.size() - 8, std::int64_t{20}), "found 20"},
        {with(map, map.size() - 8, kFar), "found 1099511627779"},
        {with(groups, kHeader + 16, std::uint64_t{24}), "centroids"},
        {with(groups, kHeader + 8, std::uint64_t{0}), "groups"},
        {lists.substr(0, lists.size() - 1), "bytes are left"},
        {lists + lists, "bytes after its end"},
        {"nothing at all", "'noth' is not known"},
        {"", "ends too early"},
    };
    for (const auto& [bytes, expected] : lies) {
        const Finished run = search(bytes);
        expect_refused(run, 1, {path("i.faiss") + ": expected an index", expected});
        EXPECT_THAT(run.err, Not(AnyOf(HasSubstr("::"), HasSubstr(".cpp:")))) << expected;
        if (!kSanitized) {
            EXPECT_LT(run.peak_kilobytes, 150'000) << expected;
        }
    }
}

// One to four changes: a bit, a number that likes to be forgotten, a cut, a piece somewhere else.
std::string mutated(std::string bytes, RandomStream& random) {
    constexpr std::uint64_t kNumbers[] = {0,          1,          19,         20,        21,
                                          0x7fffffff, 0x80000000, UINT64_MAX, INT64_MAX, 1ULL << 33,
                                          1ULL << 40, 0x7fc00000};  // the last: not a number
    const std::uint32_t changes = 1 + random.bits() % 4;
    for (std::uint32_t i = 0; i < changes && bytes.size() > 16; ++i) {
        const std::size_t at = random.bits() % (bytes.size() - 8);
        const std::uint64_t number = kNumbers[random.bits() % std::size(kNumbers)];
        const std::uint32_t kind = random.bits() % 10;
        if (kind < 4)
            bytes[at] = char(bytes[at] ^ (1 << random.bits() % 8));
        else if (kind < 8)
            std::memcpy(bytes.data() + at, &number, random.bits() % 2 == 0 ? 4 : 8);
        else if (kind == 8)
            std::memmove(bytes.data() + at, bytes.data() + random.bits() % (bytes.size() - 8), 8);
        else
            bytes.resize(bytes.size() - 1 - random.bits() % 8);
    }
    return bytes;
}

// CAIT_MUTATED_INDEXES=1000 makes it a longer run.
TEST_F(SearchFiles, DamagedIndexesAreAnsweredOrRefused) {
    const char* asked = std::getenv("CAIT_MUTATED_INDEXES");
    const int count = asked == nullptr ? 60 : std::atoi(asked);
    const auto known = seeds();
    RandomStream random(26, "damaged indexes");
    std::map<int, int> by_status;
    double longest = 0;
    long largest = 0;
    for (int i = 0; i < count; ++i) {
        const auto seed = std::next(known.begin(), random.bits() % known.size());
        const Finished run = search(mutated(seed->second, random));
        ASSERT_THAT(run.status, AnyOf(0, 1, 2)) << i << " from " << seed->first << ": " << run.err;
        EXPECT_THAT(run.err, Not(AnyOf(HasSubstr("crashed"), HasSubstr("::"), HasSubstr(".cpp:"))))
            << i << " from " << seed->first;
        ++by_status[run.status];
        longest = std::max(longest, run.seconds);
        largest = std::max(largest, run.peak_kilobytes);
    }
    EXPECT_LT(longest, 20);
    if (!kSanitized) {
        EXPECT_LT(largest, 150'000);
    }
    EXPECT_GT(by_status[0], 0);  // damage that only changes a number
    EXPECT_GT(by_status[1], 0);
    RecordProperty("answered", by_status[0]);
    RecordProperty("longest_ms", int(longest * 1000));
    RecordProperty("largest_kilobytes", int(largest));
}

// OpenBLAS asks for ever for memory that it does not get.
TEST_F(SearchFiles, LittleMemoryEndsACommandSoon) {
    if (kSanitized) GTEST_SKIP() << "sanitizers need terabytes of addresses";
    data_test::put_class_folders(folder_ / "set", 3, 8);
    tiny_cait("1").save(folder_ / "m.safetensors");
    const Words weights{"--weights", path("m.safetensors")};
    ASSERT_EQ(cait(Words{"embed", path("set"), "--output", path("x.safetensors")} + weights).status,
              0);
    write("i.faiss", seeds().at("PCA2_Flat"));
    const std::vector<Words> commands = {
        {"index", "--vectors", path("x.safetensors"), "--output", path("o.faiss")},
        {"index", "--vectors", path("x.safetensors"), "--factory", "PCA4,IVF2,Flat", "--output",
         path("p.faiss")},
        {"search", "--index", path("i.faiss"), "--row", "1", "--k", "3"},
        Words{"embed", path("set"), "--output", path("y.safetensors")} + weights,
        Words{"predict", path("set/class1/2.png")} + weights,
    };
    for (const Words& words : commands) {
        int done = 0;
        for (const int megabytes : {100, 200, 300, 400, 500, 700, 1000, 4000}) {
            const std::string what = words[0] + " with " + std::to_string(megabytes) + " MB";
            const Finished run = by_shell(
                "ulimit -v " + std::to_string(megabytes * 1024) + "; exec timeout 60 \"$@\"",
                words);
            EXPECT_THAT(run.status, AnyOf(0, 1)) << what << ": " << run.err;
            EXPECT_LT(run.seconds, 20) << what;
            if (run.status == 1) {
                EXPECT_THAT(run.err, AnyOf(HasSubstr("memory"), HasSubstr("Resource"))) << what;
            }
            done += int(run.status == 0);
        }
        EXPECT_GT(done, 0) << words[0];
    }
}

TEST_F(SearchFiles, ACrashOfFaissIsOneLine) {
    if (kSanitized) GTEST_SKIP() << "sanitizers report crashes themselves";
    tiny_cait("1").save(folder_ / "m.safetensors");
    Listening run({"index", "--weights", path("m.safetensors"), "-", "--output", path("o.faiss")});
    ASSERT_TRUE(eventually([&] {
        const std::string caught = status_of(run.pid(), "SigCgt");
        return !caught.empty() && (std::stoull(caught, nullptr, 16) >> (SIGSEGV - 1) & 1) == 1;
    }));
    run.signal(SIGSEGV);
    expect_refused(run.tell(""), 1, {path("o.faiss"), "FAISS crashed on it (SIGSEGV)"});
    EXPECT_FALSE(std::filesystem::exists(path("o.faiss")));
}

}  // namespace
}  // namespace cait::e2e
