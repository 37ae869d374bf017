#include "train/distributed/process_group.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <exception>

#include "cait/error.h"
#include "train/distributed/connection.h"

namespace cait {

namespace {

// What Gloo and NCCL both add up; the rest goes through float32, which loses nothing of the
// shorter types.
bool is_direct(const at::Tensor& tensor) {
    if (!tensor.is_contiguous()) return false;
    switch (tensor.scalar_type()) {
        case at::kFloat:
        case at::kDouble:
        case at::kInt:
        case at::kLong:
        case at::kByte: return true;
        default: return false;
    }
}

at::Tensor staged(const at::Tensor& tensor) {
    if (is_direct(tensor)) return tensor.detach();
    const bool keep = tensor.scalar_type() == at::kDouble || tensor.scalar_type() == at::kLong ||
                      tensor.scalar_type() == at::kInt;
    return tensor.detach().to(keep ? tensor.scalar_type() : at::kFloat).contiguous();
}

}  // namespace

struct ProcessGroup::Pending::Operation {
    Connection& connection;
    Connection::Ticket ticket;
    at::Tensor values;  // what travels
    at::Tensor target;  // where it belongs
    bool done = false;
};

void ProcessGroup::Pending::wait() {
    if (!operation_ || operation_->done) return;
    operation_->connection.finish(operation_->ticket);
    operation_->done = true;
    const at::NoGradGuard no_gradients;
    if (!operation_->values.is_same(operation_->target) &&
        operation_->values.data_ptr() != operation_->target.data_ptr())
        operation_->target.copy_(operation_->values);
}

ProcessGroup::ProcessGroup(const WorldInfo& world, const ProcessGroupOptions& options)
    : world_(world) {
    if (world.world < 1 || world.rank < 0 || world.rank >= world.world)
        throw UsageError(
            fmt::format("expected a rank from 0 to {}, found {}", world.world - 1, world.rank));
    if (world.world > 1) connection_ = std::make_unique<Connection>(world, options);
}

ProcessGroup::~ProcessGroup() = default;

ProcessGroup::Pending ProcessGroup::start_sum(const at::Tensor& tensor) {
    Pending pending;
    if (!connection_) return pending;
    const at::NoGradGuard no_gradients;
    at::Tensor values = staged(tensor);
    auto ticket = connection_->start_sum(values);
    pending.operation_ = std::make_shared<Pending::Operation>(
        Pending::Operation{*connection_, std::move(ticket), values, tensor.detach()});
    return pending;
}

void ProcessGroup::all_reduce_sum(at::Tensor& tensor) { start_sum(tensor).wait(); }

void ProcessGroup::all_reduce_mean(at::Tensor& tensor) {
    if (!tensor.is_floating_point())
        throw Error(fmt::format("[all_reduce_mean] expected floating point values, found {}",
                                at::toString(tensor.scalar_type())));
    all_reduce_sum(tensor);
    const at::NoGradGuard no_gradients;
    if (connection_) tensor.div_(world());
}

void ProcessGroup::broadcast(at::Tensor& tensor, int root) {
    if (root < 0 || root >= world())
        throw Error(
            fmt::format("[broadcast] expected a root from 0 to {}, found {}", world() - 1, root));
    if (!connection_) return;
    const at::NoGradGuard no_gradients;
    at::Tensor values = staged(tensor);
    connection_->finish(connection_->start_broadcast(values, root));
    if (values.data_ptr() != tensor.data_ptr()) tensor.detach().copy_(values);
}

// As sums over a table in which everybody fills a row of its own: no further kind of operation.
std::vector<std::string> ProcessGroup::all_gather(const std::string& bytes) {
    if (!connection_) return {bytes};
    const at::Device device = connection_->device();
    at::Tensor sizes = at::zeros({world()}, at::kLong);
    sizes[rank()] = std::int64_t(bytes.size());
    sizes = sizes.to(device);
    all_reduce_sum(sizes);
    sizes = sizes.cpu();
    const std::int64_t widest = std::max<std::int64_t>(sizes.max().item<std::int64_t>(), 1);
    at::Tensor table = at::zeros({world(), widest}, at::kByte);
    if (!bytes.empty()) std::memcpy(table[rank()].data_ptr(), bytes.data(), bytes.size());
    table = table.to(device);
    all_reduce_sum(table);
    table = table.cpu();
    std::vector<std::string> texts;
    for (int other = 0; other < world(); ++other)
        texts.emplace_back(static_cast<const char*>(table[other].data_ptr()),
                           std::size_t(sizes[other].item<std::int64_t>()));
    return texts;
}

void ProcessGroup::barrier() {
    if (!connection_) return;
    at::Tensor token = at::zeros({1}, at::device(connection_->device()).dtype(at::kFloat));
    all_reduce_sum(token);
}

}  // namespace cait
