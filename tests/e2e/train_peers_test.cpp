// Processes that do not belong together, and folders with results that a run would replace.
#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <regex>
#include <set>

#include "e2e/train_run.h"

namespace cait::e2e {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class TrainPeers : public TrainRun {
protected:
    // One process of two, as a launcher on several machines would start it.
    std::unique_ptr<Running> rank(int number, const Words& words, int world = 2) const {
        const std::map<std::string, std::string> environment = {
            {"RANK", std::to_string(number)},
            {"WORLD_SIZE", std::to_string(world)},
            {"MASTER_ADDR", "127.0.0.1"},
            {"MASTER_PORT", port_},
            {"OMP_NUM_THREADS", "1"}};
        for (const auto& [name, value] : environment) ::setenv(name.c_str(), value.c_str(), 1);
        auto started = std::make_unique<Running>(words);
        for (const auto& [name, value] : environment) ::unsetenv(name.c_str());
        return started;
    }

    void expect_difference(const Words& of_the_second, const std::string& said) const {
        const auto first = rank(0, recipe("run"));
        const auto second = rank(1, recipe("run", of_the_second));
        for (const Finished& run : {first->wait(), second->wait()}) {
            EXPECT_EQ(run.status, 1);
            EXPECT_THAT(run.err, AllOf(HasSubstr("rank 1 of 2"), HasSubstr(said)));
        }
        EXPECT_FALSE(std::filesystem::exists(folder_ / "run"));
    }

    std::string port_ = std::to_string(20000 + ::getpid() % 20000);
};

TEST_F(TrainPeers, AnotherSeedIsNamed) { expect_difference({"--seed", "5"}, "train.seed 0 -> 5"); }

TEST_F(TrainPeers, AnotherRateIsNamed) {
    expect_difference({"--lr", "0.01"}, "optim.lr 0.003 -> 0.01");
}

TEST_F(TrainPeers, AnotherNumberOfProcessesIsNamed) {
    const auto first = rank(0, recipe("run"));
    const auto second = rank(1, recipe("run"), 3);
    for (const Finished& run : {first->wait(), second->wait()}) {
        EXPECT_EQ(run.status, 1);
        EXPECT_THAT(run.err,
                    HasSubstr("rank 1: WORLD_SIZE: expected 2, as rank 0 has it, found 3"));
        EXPECT_THAT(run.err, testing::Not(HasSubstr("impl_")));
        EXPECT_LT(run.seconds, 60);
    }
}

// Two bytes that begin a request, and two that do not; the connection stays open.
TEST_F(TrainPeers, AStrangerKeepsNobodyFromEnding) {
    for (const std::string& bytes : {std::string("ab"), std::string(2, '\0')}) {
        const std::string name = bytes == "ab" ? "run" : "other";
        const auto first = rank(0, recipe(name)), second = rank(1, recipe(name));
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_port = htons(std::uint16_t(std::stoi(port_)));
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        const int stranger = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        // When both have found each other.
        ASSERT_TRUE(eventually([&] { return std::filesystem::exists(folder_ / name); }));
        ASSERT_EQ(::connect(stranger, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
        ASSERT_EQ(::send(stranger, bytes.data(), bytes.size(), 0), ssize_t(bytes.size()));
        for (const auto& run : {first.get(), second.get()}) {
            EXPECT_TRUE(eventually([&] { return run->over(); }, 90)) << name;
            if (!run->over()) run->signal(SIGKILL);
            const Finished finished = run->wait();
            EXPECT_EQ(finished.status, 0) << finished.err;
        }
        ::close(stranger);
    }
}

TEST_F(TrainPeers, AnotherWidthIsNamedAndAbortsNobody) {
    expect_difference({"--set", "model.dim=32"}, "model.dim 16 -> 32");
}

TEST_F(TrainPeers, OtherImagesOfTheSameNumberAreNamed) {
    colours("other", 16);
    std::filesystem::rename(folder_ / "other/red/0.png", folder_ / "other/red/zero.png");
    expect_difference({"--data", "folder:" + path("other")}, "names and labels of the images");
}

TEST_F(TrainPeers, OtherDataIsNamed) {
    std::filesystem::remove(folder_ / "val" / "red" / "0.png");
    colours("other", 12);
    expect_difference({"--data", "folder:" + path("other")}, "training images 48 -> 36");
}

// Local addresses of the sockets that a process listens on.
std::set<std::string> listening(pid_t pid) {
    std::set<std::string> inodes, addresses;
    std::error_code gone;  // descriptors come and go while we look
    for (std::filesystem::directory_iterator entry(fmt::format("/proc/{}/fd", pid), gone), end;
         !gone && entry != end; entry.increment(gone)) {
        std::error_code closed;
        const std::string target = std::filesystem::read_symlink(entry->path(), closed).string();
        if (target.starts_with("socket:[")) inodes.insert(target.substr(8, target.size() - 9));
    }
    for (const char* table : {"tcp", "tcp6"}) {
        std::ifstream file(fmt::format("/proc/{}/net/{}", pid, table));
        std::string line;
        while (std::getline(file, line)) {
            std::istringstream words(line);
            std::vector<std::string> fields{std::istream_iterator<std::string>(words), {}};
            if (fields.size() > 9 && fields[3] == "0A" && inodes.contains(fields[9]))
                addresses.insert(fields[1].substr(0, fields[1].find(':')));
        }
    }
    return addresses;
}

TEST_F(TrainPeers, NobodyElseCanReachProcessesOfOneMachine) {
    Words words = recipe("run", {"--nproc", "2", "--set", "save.steps=1"});
    words.insert(words.end(), {"--epochs", "200"});
    Running run(words);
    ASSERT_TRUE(
        eventually([&] { return std::filesystem::exists(folder_ / "run" / "state.safetensors"); }));
    std::ifstream file(fmt::format("/proc/{0}/task/{0}/children", run.pid()));
    std::set<std::string> addresses;
    for (pid_t child = 0; file >> child;) addresses.merge(listening(child));
    EXPECT_FALSE(addresses.empty());
    // 127.0.0.1, plain or within IPv6, as /proc writes it.
    for (const std::string& address : addresses)
        EXPECT_THAT(address, testing::EndsWith("0100007F")) << address;
    run.signal(SIGTERM);  // so that nobody writes any more when the folder goes
    run.wait();
}

class TrainResults : public TrainRun {};

TEST_F(TrainResults, AreNotReplacedWhenTheStateIsGone) {
    ASSERT_EQ(cait(recipe("run", {"--epochs", "1"})).status, 0);
    std::filesystem::remove(folder_ / "run" / "state.safetensors");
    const std::string best = read(path("run/best.safetensors"));
    const std::string metrics = read(path("run/metrics.jsonl"));
    expect_refused(cait({"train", "--resume", path("run")}), 1,
                   {"state.safetensors", ".safetensors: starting over would replace it"});
    expect_refused(cait(recipe("run")), 2, {"already holds a run"});
    EXPECT_EQ(read(path("run/best.safetensors")), best);
    EXPECT_EQ(read(path("run/metrics.jsonl")), metrics);
}

TEST_F(TrainResults, SayWhenBatchOrImagesAreOthers) {
    ASSERT_EQ(cait(recipe("run", {"--epochs", "1"})).status, 0);
    const Finished same = cait({"train", "--resume", path("run"), "--set", "data.threads=1"});
    EXPECT_THAT(same.err, testing::Not(HasSubstr("changed since")));
    std::filesystem::rename(folder_ / "train/red/0.png", folder_ / "train/red/zero.png");
    const Finished run = cait({"train", "--resume", path("run"), "--epochs", "2", "--batch", "4"});
    ASSERT_EQ(run.status, 0) << run.err;
    EXPECT_THAT(run.err,
                AllOf(HasSubstr("changed since the run was saved"), HasSubstr("data.batch 8 -> 4"),
                      HasSubstr("names and labels of the images")));
}

TEST_F(TrainResults, SayWhatChangedWhenTheyAreGoneOnWith) {
    ASSERT_EQ(cait(recipe("run", {"--epochs", "1"})).status, 0);
    const Finished run = cait({"train", "--resume", path("run"), "--epochs", "2", "--seed", "7"});
    ASSERT_EQ(run.status, 0) << run.err;
    EXPECT_THAT(run.out + run.err,
                AllOf(HasSubstr("changed since the run was saved"),
                      HasSubstr("schedule.epochs 1 -> 2"), HasSubstr("train.seed 0 -> 7")));
}

}  // namespace
}  // namespace cait::e2e
