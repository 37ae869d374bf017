#include "serve/access_log.h"

#include <fcntl.h>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <nlohmann/json.hpp>

#include "base/printable.h"

namespace cait::serve {

namespace {

std::string time_text() {
    const auto now = std::chrono::system_clock::now();
    const auto milliseconds =
        std::chrono::duration_cast<std::chrono::milliseconds>(now.time_since_epoch()).count() %
        1000;
    return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z",
                       fmt::gmtime(std::chrono::system_clock::to_time_t(now)), milliseconds);
}

AccessLog::Sink file_sink(const std::filesystem::path& file) {
    // O_NONBLOCK: a pipe is not waited for, neither here nor when it is full.
    const int fd =
        ::open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK, 0640);
    if (fd < 0)
        throw Error(
            fmt::format("{}: cannot open: {}", file.string(),
                        errno == ENXIO ? "nobody reads from this pipe" : std::strerror(errno)));
    const std::shared_ptr<const int> open(new int(fd), [](const int* descriptor) {
        ::close(*descriptor);
        delete descriptor;
    });
    return [open](const std::string& lines) {
        if (!AccessLog::takes(*open)) return AccessLog::Wrote::nothing_yet;
        for (std::size_t done = 0; done < lines.size();) {
            const ssize_t count = ::write(*open, lines.data() + done, lines.size() - done);
            if (count < 0 && errno == EINTR) continue;
            if (count < 0 && errno == EAGAIN && done == 0) return AccessLog::Wrote::nothing_yet;
            if (count < 0) return AccessLog::Wrote::lost;  // a full disk costs lines, not answers
            done += std::size_t(count);
        }
        return AccessLog::Wrote::all;
    };
}

}  // namespace

std::string log_line(const Exchange& exchange) {
    const nlohmann::ordered_json line{{"time", time_text()},
                                      {"client", exchange.peer},
                                      {"method", printable(exchange.method, 20)},
                                      {"target", printable(exchange.target, 300)},
                                      {"status", exchange.status},
                                      {"received", exchange.received},
                                      {"sent", exchange.sent},
                                      {"ms", std::round(1e6 * exchange.seconds) / 1e3}};
    return line.dump() + "\n";
}

AccessLog::AccessLog(Sink sink) : sink_(std::move(sink)), thread_([this] { work(); }) {}
AccessLog::AccessLog(const std::filesystem::path& file) : AccessLog(file_sink(file)) {}

std::size_t AccessLog::finish() {
    {
        const std::lock_guard lock(mutex_);
        end_ = std::chrono::steady_clock::now() + kLastChance;
    }
    changed_.notify_all();
    if (thread_.joinable()) thread_.join();
    return lost_;
}

void AccessLog::add(const Exchange& exchange) {
    std::string line = log_line(exchange);
    {
        const std::lock_guard lock(mutex_);
        if (lines_.size() >= kMostWaiting) {
            ++lost_;
            return;
        }
        lines_.push_back(std::move(line));
    }
    changed_.notify_all();
}

bool AccessLog::takes(int descriptor) {
    constexpr int kMoment = 100;  // milliseconds
    pollfd waiting{descriptor, POLLOUT, 0};
    return ::poll(&waiting, 1, kMoment) > 0;
}

std::string AccessLog::next_piece(std::size_t& lines) const {
    std::string piece;
    if (lost_ > told_) piece = fmt::format("{{\"lost\":{}}}\n", lost_ - told_);
    for (lines = 0; lines < lines_.size(); ++lines) {
        if (!piece.empty() && piece.size() + lines_[lines].size() > kPiece) break;
        piece += lines_[lines];
    }
    return piece;
}

void AccessLog::work() {
    std::unique_lock lock(mutex_);
    for (;;) {
        changed_.wait(lock, [&] { return end_ || !lines_.empty(); });
        if (lines_.empty() && lost_ == told_) return;
        std::size_t lines = 0;
        const std::size_t telling = lost_;
        Wrote wrote = Wrote::lost;
        bool failed = false;
        try {
            const std::string piece = next_piece(lines);
            lock.unlock();
            wrote = sink_(piece);
        } catch (...) {  // no memory, most likely: that costs a line and not the server
            failed = true;
        }
        if (!lock.owns_lock()) lock.lock();
        if (failed && lines == 0 && !lines_.empty()) lines = 1;
        if (wrote == Wrote::nothing_yet) {
            if (!end_ || std::chrono::steady_clock::now() < *end_) continue;
            lost_ += lines_.size();
            return;
        }
        // Others have only appended.
        lines_.erase(lines_.begin(), lines_.begin() + std::ptrdiff_t(lines));
        if (wrote == Wrote::all)
            told_ = telling;
        else
            lost_ += lines;
        if (wrote == Wrote::lost && lines_.empty() && end_) return;
    }
}

}  // namespace cait::serve
