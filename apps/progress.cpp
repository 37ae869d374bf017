#include "progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "output.h"

namespace cait::app {

namespace {

constexpr std::chrono::seconds kPatience{2};
constexpr std::chrono::milliseconds kRedraw{100};
constexpr std::chrono::seconds kPlainLine{10};

}  // namespace

std::string duration_text(double seconds) {
    const long whole = std::lround(seconds);
    if (whole < 3600) return fmt::format("{}:{:02}", whole / 60, whole % 60);
    return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
}

Progress::Progress(std::string what, std::string unit)
    : what_(std::move(what)),
      unit_(std::move(unit)),
      next_(start_ + kPatience),
      terminal_(::isatty(STDERR_FILENO) == 1) {}

Progress::~Progress() {
    if (shown_ && terminal_) draw("\n");
}

// Says so at most once per redraw, and always for the last one.
bool Progress::due(std::size_t done, std::size_t total) {
    const Clock::time_point now = Clock::now();
    const bool last = done >= total && shown_;
    if ((now < next_ && !last) || total == 0 || done == 0) return false;
    next_ = now + (terminal_ ? Clock::duration(kRedraw) : Clock::duration(kPlainLine));
    return shown_ = true;
}

void Progress::show(std::size_t done, std::size_t total, const std::string& text) {
    if (!terminal_) {
        print_error("{}: {}\n", what_, text);
        return;
    }
    constexpr std::size_t kWidth = 30;
    const std::size_t filled = kWidth * std::min(done, total) / total;
    draw(fmt::format("\r{} [{:=<{}}{: <{}}] {}  ", printable(what_), "", filled, "",
                     kWidth - filled, printable(text)));
}

void Progress::update(std::size_t done, std::size_t total) {
    if (!due(done, total)) return;
    const double seconds = std::chrono::duration<double>(Clock::now() - start_).count();
    const double rate = double(done) / seconds;
    const double left = double(total - std::min(done, total)) / rate;
    show(done, total,
         fmt::format("{}/{} {}  {:.1f}/s  ETA {}", done, total, unit_, rate, duration_text(left)));
}

void Progress::update(std::size_t done, std::size_t total, const std::string& text) {
    if (due(done, total)) show(done, total, fmt::format("{}/{}  {}", done, total, text));
}

WorkObserver terminal_observer() {
    return {.note = [](const std::string& text) { print_error("note: {}\n", text); },
            .begin =
                [](const std::string& what, const std::string& unit) {
                    auto bar = std::make_shared<Progress>(what, unit);
                    return [bar](std::size_t done, std::size_t total) { bar->update(done, total); };
                }};
}

std::function<void(std::uint64_t, std::uint64_t)> byte_progress(const std::string& file) {
    constexpr std::uint64_t kKilo = 1000;
    auto bar = std::make_shared<Progress>(file, "kB");
    return [bar](std::uint64_t done, std::uint64_t total) {
        bar->update(done / kKilo, std::max(done, total) / kKilo);
    };
}

}  // namespace cait::app
