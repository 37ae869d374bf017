// Every launcher that docs/distributed.md names starts a run that equals that of --nproc, bit by
// bit. What a rank does while the others are missing is here as well.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>

#include "e2e/train_run.h"

namespace cait::e2e {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class TrainWorld : public TrainRun {
protected:
    Words words(const std::string& run, const Words& more = {}) const {
        Words all = recipe(run, {"--epochs", "2"});
        all.insert(all.end(), more.begin(), more.end());
        return all;
    }

    void train_by_nproc() const {
        const Finished run = cait(words("nproc", {"--nproc", "2"}));
        ASSERT_EQ(run.status, 0) << run.err;
    }

    void expect_equal_to_nproc(const std::string& run) const {
        EXPECT_THAT(state(run), testing::Not(testing::IsEmpty()));
        EXPECT_EQ(state(run), state("nproc")) << run;
    }

    // `script` starts "$@" twice.
    void expect_equal_run(const std::string& run, const std::string& script) const {
        const Finished finished = by_shell(script, words(run));
        ASSERT_EQ(finished.status, 0) << script << "\n" << finished.out << finished.err;
        EXPECT_THAT(finished.out, HasSubstr("in each of 2 processes"));
        expect_equal_to_nproc(run);
    }

    Variable threads_{"OMP_NUM_THREADS", "1"};
    std::string port_ = std::to_string(20000 + ::getpid() % 10000);
};

bool is_installed(const std::string& tool) {
    return by_shell("command -v " + tool, {}).status == 0;
}

// ---- Slurm: its variables, as `srun -n 2` sets them in a job of four tasks

class TrainSlurm : public TrainWorld {
protected:
    std::unique_ptr<Running> task(int number, const Words& words) const {
        const std::string text = std::to_string(number);
        const Variable rank("SLURM_PROCID", text.c_str()), local("SLURM_LOCALID", text.c_str());
        const Variable step("SLURM_STEP_NUM_TASKS", "2"), job("SLURM_NTASKS", "4");
        const Variable nodes("SLURM_STEP_NUM_NODES", nodes_), id("SLURM_JOB_ID", port_.c_str());
        return std::make_unique<Running>(words);
    }

    const char* nodes_ = "1";
};

TEST_F(TrainSlurm, TasksTrainTogether) {
    train_by_nproc();
    const auto first = task(0, words("slurm")), second = task(1, words("slurm"));
    for (const Finished& run : {first->wait(), second->wait()}) EXPECT_EQ(run.status, 0) << run.err;
    expect_equal_to_nproc("slurm");
}

TEST_F(TrainSlurm, SeveralMachinesNeedAnAddress) {
    nodes_ = "2";
    expect_refused(task(1, words("slurm"))->wait(), 2,
                   {"MASTER_ADDR", "SLURM_STEP_NUM_NODES is 2"});
}

// ---- A rank alone

TEST_F(TrainWorld, ARankThatWaitsSaysSoAndObeysTheFirstSignal) {
    const Variable world("WORLD_SIZE", "2");
    std::vector<std::unique_ptr<Running>> runs;
    const std::string waits[] = {
        "note: rank 0 of 2 (WORLD_SIZE) waits for the other ranks to join at 127.0.0.1:",
        "note: rank 1 of 2 (WORLD_SIZE) waits for rank 0 at 127.0.0.1:"};
    for (const std::string rank : {"0", "1"}) {
        const std::string port = std::to_string(std::stoi(port_) + std::stoi(rank));  // never meet
        const Variable number("RANK", rank.c_str()), place("MASTER_PORT", port.c_str());
        runs.push_back(
            std::make_unique<Running>("exec \"$@\" 2>'" + path("err" + rank) + "'", words("run")));
    }
    for (std::size_t rank = 0; rank < 2; ++rank) {
        const std::string file = path("err" + std::to_string(rank));
        ASSERT_TRUE(eventually([&] { return read(file).find(waits[rank]) != std::string::npos; }))
            << read(file);
        runs[rank]->signal(SIGTERM);
        const auto start = std::chrono::steady_clock::now();
        const Finished run = runs[rank]->wait();
        EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10));
        EXPECT_EQ(run.status, 128 + SIGTERM);
        EXPECT_THAT(read(file), HasSubstr("nothing was trained\n"));
    }
    EXPECT_FALSE(std::filesystem::exists(folder_ / "run"));
}

// ---- Launchers that have to be installed: `./dev test --all`

class TrainLaunchers : public TrainWorld {};

TEST_F(TrainLaunchers, OpenMpi) {
    if (!is_installed("mpirun.openmpi")) GTEST_SKIP() << "needs Open MPI (Debian: openmpi-bin)";
    const Variable root("OMPI_ALLOW_RUN_AS_ROOT", "1"), sure("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
    const Variable port("MASTER_PORT", port_.c_str());
    train_by_nproc();
    expect_equal_run("mpi", "mpirun.openmpi -n 2 --oversubscribe --bind-to none \"$@\"");
}

TEST_F(TrainLaunchers, Mpich) {
    if (!is_installed("mpirun.mpich")) GTEST_SKIP() << "needs MPICH (Debian: mpich)";
    const Variable port("MASTER_PORT", port_.c_str());
    train_by_nproc();
    expect_equal_run("mpi", "mpirun.mpich -n 2 \"$@\"");
}

// torchrun of the newest PyTorch, which `./dev` installs beside the program.
class TrainTorchrun : public TrainWorld {
protected:
    void SetUp() override {
        if (!std::filesystem::exists(torchrun()))
            GTEST_SKIP()
                << "needs the newest PyTorch in build/newest-torch (`./dev test --all` and "
                   "`./dev bench train` install it)";
    }

    static std::filesystem::path torchrun() {
        return std::filesystem::path(program()).parent_path() / "newest-torch/bin/torchrun";
    }
    std::string by(const std::string& options) const {
        return fmt::format("'{}' {} --no-python \"$@\"", torchrun().string(), options);
    }
};

// The agent's store has MASTER_PORT in all of them but the third.
TEST_F(TrainTorchrun, StartsARunInEachOfItsWays) {
    train_by_nproc();
    expect_equal_run("standalone", by("--standalone --nproc-per-node 2"));
    expect_equal_run("static", by("--nproc-per-node 2 --master-port " + port_));
    expect_equal_run(
        "own", "TORCH_DISABLE_SHARE_RDZV_TCP_STORE=1 " + by("--standalone --nproc-per-node 2"));
    // Two agents, as on two machines.
    const std::string node =
        by("--nnodes 2 --nproc-per-node 1 --rdzv-backend c10d --rdzv-id run --local-addr 127.0.0.1 "
           "--rdzv-endpoint 127.0.0.1:" +
           port_);
    expect_equal_run("nodes", node + " & " + node + " && wait $!");
}

TEST_F(TrainTorchrun, RestartsARunThatLostARank) {
    const auto long_run = [&](const std::string& name) {
        return words(name, {"--nproc", "2", "--epochs", "60", "--set", "save.steps=1"});
    };
    ASSERT_EQ(cait(long_run("nproc")).status, 0);
    Running begun(long_run("run"));
    ASSERT_TRUE(eventually([&] { return std::filesystem::exists(path("run/state.safetensors")); }));
    begun.signal(SIGTERM);
    ASSERT_EQ(begun.wait().status, 128 + SIGTERM);
    const auto saved = saved_at("run");
    Running run("exec " + by("--standalone --nproc-per-node 2 --max-restarts 1"),
                {"train", "--resume", path("run")});
    ASSERT_TRUE(eventually([&] { return saved_at("run") != saved; }));
    const std::vector<pid_t> ranks = children(run.pid());
    ASSERT_EQ(ranks.size(), 2U);
    ::kill(ranks[1], SIGKILL);
    const Finished finished = run.wait();
    EXPECT_EQ(finished.status, 0) << finished.out << finished.err;
    EXPECT_THAT(finished.err, HasSubstr("going on at epoch"));
    expect_equal_to_nproc("run");
}

}  // namespace
}  // namespace cait::e2e
