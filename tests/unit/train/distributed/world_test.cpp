// Who we are, from the environment: each launcher's variables, and what is wrong with them.
#include "train/distributed/world.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "cait/error.h"

namespace cait {
namespace {

WorldInfo world(const std::map<std::string, std::string>& variables) {
    return world_from_environment([&](const char* name) -> std::optional<std::string> {
        const auto found = variables.find(name);
        if (found == variables.end()) return std::nullopt;
        return found->second;
    });
}

std::string complaint(const std::map<std::string, std::string>& variables) {
    try {
        world(variables);
    } catch (const UsageError& error) {
        return error.what();
    }
    return "none";
}

TEST(World, IsOneProcessWhenNobodySaysOtherwise) {
    const WorldInfo info = world({});
    EXPECT_EQ(info.rank, 0);
    EXPECT_EQ(info.world, 1);
    EXPECT_EQ(info.local_rank, 0);
    EXPECT_EQ(info.address, "127.0.0.1");
    EXPECT_EQ(info.port, 29500);
}

TEST(World, ReadsWhatTorchrunWrites) {
    const WorldInfo info = world({{"RANK", "5"},
                                  {"WORLD_SIZE", "8"},
                                  {"LOCAL_RANK", "1"},
                                  {"MASTER_ADDR", "node-a"},
                                  {"MASTER_PORT", "4711"}});
    EXPECT_EQ(info.rank, 5);
    EXPECT_EQ(info.world, 8);
    EXPECT_EQ(info.local_rank, 1);
    EXPECT_EQ(info.address, "node-a");
    EXPECT_EQ(info.port, 4711);
}

TEST(World, ReadsWhatOpenMpiWrites) {
    const WorldInfo info = world({{"OMPI_COMM_WORLD_RANK", "3"},
                                  {"OMPI_COMM_WORLD_SIZE", "4"},
                                  {"OMPI_COMM_WORLD_LOCAL_RANK", "2"},
                                  {"MASTER_PORT", "4711"}});
    EXPECT_EQ(info.rank, 3);
    EXPECT_EQ(info.world, 4);
    EXPECT_EQ(info.local_rank, 2);
    EXPECT_EQ(info.port, 4711);
}

TEST(World, ReadsWhatMpichWrites) {
    const WorldInfo info = world({{"PMI_RANK", "1"}, {"PMI_SIZE", "2"}, {"MPI_LOCALRANKID", "1"}});
    EXPECT_EQ(info.rank, 1);
    EXPECT_EQ(info.world, 2);
    EXPECT_EQ(info.local_rank, 1);
}

TEST(World, PrefersTheVariablesOfTorchrun) {
    const WorldInfo info = world({{"RANK", "0"},
                                  {"WORLD_SIZE", "2"},
                                  {"OMPI_COMM_WORLD_RANK", "3"},
                                  {"OMPI_COMM_WORLD_SIZE", "4"}});
    EXPECT_EQ(info.rank, 0);
    EXPECT_EQ(info.world, 2);
}

TEST(World, ReadsWhatSlurmWrites) {
    // The step's tasks, not the job's.
    const WorldInfo info = world({{"SLURM_PROCID", "1"},
                                  {"SLURM_LOCALID", "1"},
                                  {"SLURM_STEP_NUM_TASKS", "2"},
                                  {"SLURM_NTASKS", "4"},
                                  {"SLURM_STEP_NUM_NODES", "1"},
                                  {"SLURM_NNODES", "2"},
                                  {"SLURM_JOB_ID", "2004"},
                                  {"SLURM_STEP_ID", "3"}});
    EXPECT_EQ(info.rank, 1);
    EXPECT_EQ(info.world, 2);
    EXPECT_EQ(info.local_rank, 1);
    EXPECT_EQ(info.counted_by, "SLURM_STEP_NUM_TASKS");
    EXPECT_EQ(info.port, 10043);
    const std::map<std::string, std::string> job = {
        {"SLURM_PROCID", "3"}, {"SLURM_NTASKS", "4"}, {"SLURM_NNODES", "1"}};
    EXPECT_EQ(world(job).world, 4);
    EXPECT_EQ(world(job).port, 29500);
    // In a batch script and behind salloc there are no tasks.
    EXPECT_EQ(world({{"SLURM_NTASKS", "4"}}).world, 1);
    EXPECT_EQ(world({{"SLURM_PROCID", "0"}}).world, 1);
}

TEST(World, AsksForAnAddressWhereSlurmHasSeveralMachines) {
    std::map<std::string, std::string> variables = {
        {"SLURM_PROCID", "3"}, {"SLURM_NTASKS", "4"}, {"SLURM_NNODES", "2"}};
    EXPECT_EQ(complaint(variables),
              "environment variable MASTER_ADDR: expected the name or address of rank 0's machine "
              "because SLURM_NNODES is 2, found nothing");
    variables["MASTER_ADDR"] = "node-a";
    variables["MASTER_PORT"] = "4711";
    variables["SLURM_JOB_ID"] = "7";
    EXPECT_EQ(world(variables).address, "node-a");
    EXPECT_EQ(world(variables).port, 4711);
}

TEST(World, PrefersTheVariablesOfTorchrunToThoseOfSlurm) {
    const WorldInfo info = world({{"RANK", "0"},
                                  {"WORLD_SIZE", "2"},
                                  {"SLURM_PROCID", "3"},
                                  {"SLURM_NTASKS", "4"},
                                  {"SLURM_NNODES", "2"}});
    EXPECT_EQ(info.rank, 0);
    EXPECT_EQ(info.world, 2);
}

TEST(World, LeavesThePortToAnAgentThatHasIt) {
    std::map<std::string, std::string> variables = {{"RANK", "1"},
                                                    {"WORLD_SIZE", "2"},
                                                    {"LOCAL_WORLD_SIZE", "1"},
                                                    {"MASTER_ADDR", "node-a"},
                                                    {"MASTER_PORT", "4711"},
                                                    {"TORCHELASTIC_USE_AGENT_STORE", "True"},
                                                    {"TORCHELASTIC_RUN_ID", "run"},
                                                    {"TORCHELASTIC_RESTART_COUNT", "3"}};
    const WorldInfo info = world(variables);
    ASSERT_TRUE(info.agent);
    EXPECT_EQ(info.agent->address, "node-a");
    EXPECT_EQ(info.agent->port, 4711);
    EXPECT_EQ(info.agent->key, "cait/run/3/port");
    EXPECT_EQ(info.address, "node-a");
    EXPECT_EQ(info.port, 0);
    variables["LOCAL_WORLD_SIZE"] = "2";  // all on this machine, whatever its name resolves to
    EXPECT_EQ(world(variables).address, "127.0.0.1");
    variables["TORCHELASTIC_USE_AGENT_STORE"] = "False";
    EXPECT_FALSE(world(variables).agent);
    EXPECT_EQ(world(variables).port, 4711);
}

TEST(World, NamesTheVariableThatIsWrong) {
    using testing::HasSubstr;
    EXPECT_EQ(complaint({{"RANK", "2"}, {"WORLD_SIZE", "2"}}),
              "environment variable RANK: expected a whole number from 0 to 1, found '2'");
    EXPECT_EQ(complaint({{"RANK", "0"}, {"WORLD_SIZE", "0"}}),
              "environment variable WORLD_SIZE: expected a whole number from 1 to 65536, found "
              "'0'");
    EXPECT_EQ(complaint({{"RANK", "0"}}),
              "environment variable WORLD_SIZE: expected a number because RANK is set, found "
              "nothing");
    EXPECT_EQ(complaint({{"WORLD_SIZE", "2"}}),
              "environment variable RANK: expected a number because WORLD_SIZE is set, found "
              "nothing");
    for (const char* bad : {"", "-1", "1x", " 1", "1.0", "99999999999999999999", "one"})
        EXPECT_THAT(complaint({{"RANK", bad}, {"WORLD_SIZE", "2"}}), HasSubstr("RANK: expected"))
            << bad;
    EXPECT_THAT(complaint({{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"LOCAL_RANK", "2"}}),
                HasSubstr("LOCAL_RANK: expected a whole number from 0 to 1, found '2'"));
    EXPECT_THAT(complaint({{"OMPI_COMM_WORLD_RANK", "x"}, {"OMPI_COMM_WORLD_SIZE", "2"}}),
                HasSubstr("OMPI_COMM_WORLD_RANK"));
    EXPECT_THAT(complaint({{"PMI_RANK", "0"}, {"PMI_SIZE", "x"}}), HasSubstr("PMI_SIZE"));
    EXPECT_THAT(complaint({{"MASTER_PORT", "65536"}}),
                HasSubstr("MASTER_PORT: expected a whole number from 1 to 65535, found '65536'"));
    EXPECT_THAT(complaint({{"MASTER_ADDR", ""}}), HasSubstr("MASTER_ADDR"));
}

}  // namespace
}  // namespace cait
