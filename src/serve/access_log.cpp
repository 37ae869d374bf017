#include "serve/access_log.h"

#include <fcntl.h>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <nlohmann/json.hpp>

#include "core/printable.h"

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
    const int fd = ::open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0640);
    if (fd < 0)
        throw Error(fmt::format("{}: cannot open: {}", file.string(), std::strerror(errno)));
    const std::shared_ptr<const int> open(new int(fd), [](const int* descriptor) {
        ::close(*descriptor);
        delete descriptor;
    });
    return [open](const std::string& lines) {
        for (std::size_t done = 0; done < lines.size();) {
            const ssize_t count = ::write(*open, lines.data() + done, lines.size() - done);
            if (count < 0 && errno != EINTR) return;  // a full disk costs lines, not answers
            if (count > 0) done += std::size_t(count);
        }
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

AccessLog::~AccessLog() {
    {
        const std::lock_guard lock(mutex_);
        stop_ = true;
    }
    changed_.notify_all();
    thread_.join();
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

void AccessLog::work() {
    std::unique_lock lock(mutex_);
    for (;;) {
        changed_.wait(lock, [&] { return stop_ || !lines_.empty(); });
        if (lines_.empty()) return;
        std::string text;
        for (const std::string& line : lines_) text += line;
        lines_.clear();
        if (lost_ > 0) text += fmt::format("{{\"lost\":{}}}\n", std::exchange(lost_, 0));
        lock.unlock();
        sink_(text);
        lock.lock();
    }
}

}  // namespace cait::serve
