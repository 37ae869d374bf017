#include "train/distributed/connection.h"

#include <fmt/format.h>
#include <pthread.h>
#include <torch/version.h>
#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include <csignal>
#include <cstdlib>
#include <future>
#include <memory>
#include <system_error>
#include <thread>
#include <utility>

#include "cait/error.h"
#include "train/distributed/network.h"
#include "train/distributed/rendezvous.h"

// LibTorch's header needs Gloo's own headers (Debian: libgloo-dev), which not every LibTorch
// brings.
#if defined(USE_C10D_GLOO) && __has_include(<gloo/context.h>)
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#endif
#ifdef USE_C10D_NCCL
#include <torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp>
#endif

namespace cait {

namespace {

// What Gloo and NCCL have in common.
#if TORCH_VERSION_MAJOR >= 2
using BackEnd = c10d::Backend;
#else
using BackEnd = c10d::ProcessGroup;
#endif

using BackEndPointer = c10::intrusive_ptr<BackEnd>;
using StorePointer = c10::intrusive_ptr<c10d::Store>;

// Long work on one rank is no failure, so time alone never ends an operation; the heartbeat does.
constexpr std::chrono::hours kNoLimit{24 * 7};
constexpr std::chrono::milliseconds kLook{500};  // between two looks at the heartbeat
constexpr std::chrono::seconds kClosing{3};      // that the store may take to end
const std::string kWorldKey = "cait/world";

// One line without "[/some/source.cc:598] " in front and a stack trace behind.
std::string plain_reason(const std::exception& error) {
    const auto* torch_error = dynamic_cast<const c10::Error*>(&error);
    std::string text =
        torch_error != nullptr ? torch_error->what_without_backtrace() : error.what();
    text = text.substr(0, text.find('\n'));
    if (text.starts_with('[')) {
        const std::size_t end = text.find("] ");
        if (end != std::string::npos) text.erase(0, end + 2);
    }
    while (text.ends_with('.') || text.ends_with(' ')) text.pop_back();
    return text;
}

#if defined(USE_C10D_GLOO) && __has_include(<gloo/context.h>)
BackEndPointer make_gloo(const StorePointer& store, const WorldInfo& world) {
    // Threads inherit the mask: a broken connection shall be an error code, never a signal.
    sigset_t broken_pipe;
    sigemptyset(&broken_pipe);
    sigaddset(&broken_pipe, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &broken_pipe, nullptr);

    auto options = c10d::ProcessGroupGloo::Options::create(kNoLimit);
    const char* interface = std::getenv("GLOO_SOCKET_IFNAME");
    options->devices.push_back(interface != nullptr && *interface != '\0'
                                   ? c10d::ProcessGroupGloo::createDeviceForInterface(interface)
                                   : c10d::ProcessGroupGloo::createDeviceForHostname(
                                         address_towards(world.address, world.port)));
    return c10::make_intrusive<c10d::ProcessGroupGloo>(store, world.rank, world.world, options);
}
#else
BackEndPointer make_gloo(const StorePointer&, const WorldInfo&) {
    throw Error(
        "expected Gloo for training in several processes, found a build without it (Debian: "
        "libgloo-dev)");
}
#endif

BackEndPointer make_back_end(const StorePointer& store, const WorldInfo& world, bool cuda) {
    if (!cuda) return make_gloo(store, world);
#ifdef USE_C10D_NCCL
    auto options = c10d::ProcessGroupNCCL::Options::create();
    options->timeout = kNoLimit;
    return c10::make_intrusive<c10d::ProcessGroupNCCL>(store, world.rank, world.world, options);
#else
    throw Error("device cuda: expected a LibTorch with NCCL for several processes, found none");
#endif
}

}  // namespace

struct ProcessGroup::Connection::Wires {
    c10::intrusive_ptr<c10d::TCPStore> store;
    std::unique_ptr<Heartbeat> heartbeat;
    BackEndPointer back_end;
    bool given_up = false;

    // A back end with unfinished work waits for it when it is destroyed, and for the dead that
    // takes for ever. It is left behind instead: the process is about to end.
    ~Wires() {
        if (given_up) (void)back_end.release();
        heartbeat.reset();
        close_store();
    }

    // The store's server reads what a stranger sends until it is whole, and closing it waits
    // for that. It gets some seconds and is then left behind. The back end holds on to the store as
    // well: the two go together.
    void close_store() {
        const auto closed = std::make_shared<std::promise<void>>();
        const std::future<void> done = closed->get_future();
        try {
            std::thread([last = std::exchange(store, {}), user = std::exchange(back_end, {}),
                         closed]() mutable {
                user.reset();
                last.reset();
                closed->set_value();
            }).detach();
        } catch (const std::system_error&) {  // no thread to be had: closed here, however long
            return;
        }
        done.wait_for(kClosing);
    }
};

struct ProcessGroup::Connection::Started {
    const char* what;
    c10::intrusive_ptr<
        std::remove_reference_t<decltype(*std::declval<BackEnd>().barrier(c10d::BarrierOptions()))>>
        work;
};

bool ProcessGroup::has_network() {
#if defined(USE_C10D_GLOO) && __has_include(<gloo/context.h>)
    return true;
#else
    return false;
#endif
}

ProcessGroup::Connection::Connection(const WorldInfo& world, const ProcessGroupOptions& options)
    : world_(world),
      options_(options),
      wires_(std::make_unique<Wires>()),
      exceptions_at_start_(std::uncaught_exceptions()) {
    open_store();
    open_back_end();
    // Behind this line nobody needs the store any more but the heartbeat.
    at::Tensor token = at::zeros({1}, at::device(device()).dtype(at::kFloat));
    finish(start_sum(token));
}

ProcessGroup::Connection::~Connection() {
    const bool went_well = failure_.empty() && unfinished_ == 0 && wires_->back_end &&
                           std::uncaught_exceptions() == exceptions_at_start_;
    if (went_well) wires_->heartbeat->leave_together();
    // A back end with unfinished work waits for it when it is destroyed, and for the dead that
    // takes for ever. It is given up instead: the process is about to end.
    if (!failure_.empty() || unfinished_ > 0) (void)wires_->back_end.release();
}

void ProcessGroup::Connection::open_store() {
    const auto limit = options_.heartbeat.join;
    if (world_.rank > 0) world_.port = find_rank_zero(world_, options_.waiting, limit);
    const std::string place = fmt::format("{}:{}", world_.address, world_.port);
    c10d::TCPStoreOptions options;
    options.port = std::uint16_t(world_.port);
    options.isServer = world_.rank == 0;
    options.waitWorkers = false;  // the heartbeat sees who is missing, and says so
    options.timeout = limit;
    try {
        const ListenLocally locally(is_loopback(world_.address));
        wires_->store = c10::make_intrusive<c10d::TCPStore>(world_.address, options);
        world_.port = wires_->store->getPort();
        wires_->heartbeat = std::make_unique<Heartbeat>(world_, options_.heartbeat);
    } catch (const std::exception& error) {
        const std::string expected = world_.rank > 0
                                         ? "MASTER_ADDR, MASTER_PORT: expected rank 0 at"
                                         : "MASTER_PORT: expected a free port, found";
        throw Error(fmt::format("rank {} of {}: {} {}: {}", world_.rank, world_.world, expected,
                                place, plain_reason(error)));
    }
    if (world_.rank == 0 && world_.agent) publish_port(world_, options_.waiting, limit);
    compare_worlds();
}

// Before the back ends meet, which do not get along with ranks that count differently.
void ProcessGroup::Connection::compare_worlds() {
    const std::string own = std::to_string(world_.world);
    std::string first = own;
    try {
        if (world_.rank == 0) {
            wires_->store->set(kWorldKey, {own.begin(), own.end()});
        } else {
            const std::vector<std::uint8_t> text = wires_->store->get(kWorldKey);
            first.assign(text.begin(), text.end());
        }
    } catch (const std::exception& error) {
        fail(wires_->heartbeat->diagnose().value_or("a rank was lost"), "start",
             plain_reason(error));
    }
    if (first == own) return;
    const std::string problem = fmt::format(
        "rank {}: WORLD_SIZE: expected {}, as rank 0 has it, found {}", world_.rank, first, own);
    wires_->heartbeat->condemn(problem);  // the others shall read it too
    throw Error(problem);
}

// In a thread of its own, because the back ends wait for each other without looking left or right.
void ProcessGroup::Connection::open_back_end() {
    std::promise<BackEndPointer> promise;
    std::future<BackEndPointer> made = promise.get_future();
    std::thread([promise = std::move(promise), store = StorePointer(wires_->store), world = world_,
                 cuda = options_.device.is_cuda()]() mutable {
        try {
            promise.set_value(make_back_end(store, world, cuda));
        } catch (...) {
            promise.set_exception(std::current_exception());
        }
    }).detach();
    Waiting waiting(options_.waiting, options_.heartbeat.join,
                    fmt::format("{} waits for the other ranks to join at {}:{}", rank_text(world_),
                                world_.address, world_.port));
    while (made.wait_for(kLook) != std::future_status::ready) {
        if (const auto who = wires_->heartbeat->verdict()) fail(*who, "start", "no connection");
        waiting.look();
    }
    try {
        wires_->back_end = made.get();
    } catch (const Error&) {
        throw;
    } catch (const std::exception& error) {
        fail(wires_->heartbeat->diagnose().value_or("a rank was lost"), "start",
             plain_reason(error));
    }
}

void ProcessGroup::Connection::check_alive() const {
    if (!failure_.empty()) throw Error(failure_);
}

template <typename Start>
ProcessGroup::Connection::Ticket ProcessGroup::Connection::start(const char* what,
                                                                 const Start& function) {
    check_alive();
    try {
        auto ticket = std::make_shared<Started>(Started{what, function(*wires_->back_end)});
        ++unfinished_;
        return ticket;
    } catch (const std::exception& error) {
        fail(wires_->heartbeat->diagnose().value_or("a rank was lost"), what, plain_reason(error));
    }
}

ProcessGroup::Connection::Ticket ProcessGroup::Connection::start_sum(at::Tensor& values) {
    return start("all_reduce", [&](BackEnd& back_end) {
        std::vector<at::Tensor> tensors{values};
        return back_end.allreduce(tensors);
    });
}

ProcessGroup::Connection::Ticket ProcessGroup::Connection::start_broadcast(at::Tensor& values,
                                                                           int root) {
    return start("broadcast", [&](BackEnd& back_end) {
        std::vector<at::Tensor> tensors{values};
        c10d::BroadcastOptions options;
        options.rootRank = root;
        return back_end.broadcast(tensors, options);
    });
}

void ProcessGroup::Connection::finish(const Ticket& ticket) {
    check_alive();
    auto& work = *ticket->work;
    while (!work.isCompleted()) {
        try {
            // NCCL gives a group up when a wait runs out, so there the work is only looked at.
            if (options_.device.is_cuda())
                std::this_thread::sleep_for(std::chrono::microseconds(100));
            else
                work.wait(kLook);
        } catch (const std::exception&) {
            // Not done yet, or done and failed: the loop's condition tells.
        }
        if (work.isCompleted()) break;
        if (const auto who = wires_->heartbeat->verdict()) fail(*who, ticket->what, "no answer");
    }
    try {
        work.wait();
    } catch (const std::exception& error) {
        fail(wires_->heartbeat->diagnose().value_or("a rank was lost"), ticket->what,
             plain_reason(error));
    }
    --unfinished_;
}

void ProcessGroup::Connection::fail(const std::string& who, const std::string& what,
                                    const std::string& reason) {
    wires_->given_up = true;
    failure_ = fmt::format("{} (rank {} was waiting in {}: {})", who, world_.rank, what, reason);
    if (!options_.resume.empty())
        failure_ += fmt::format("; the run can be resumed with {}", options_.resume);
    // The store ends with rank 0: the others shall have read in it who was lost, not lose rank 0.
    if (world_.rank == 0) std::this_thread::sleep_for(3 * options_.heartbeat.interval);
    throw Error(failure_);
}

}  // namespace cait
