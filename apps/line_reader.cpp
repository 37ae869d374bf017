#include "line_reader.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <span>

#include "cait/error.h"

namespace cait::app {

namespace {

constexpr std::size_t kBlock = std::size_t{1} << 16;

}  // namespace

LineReader::LineReader(const std::string& file, std::size_t longest)
    : name_(file == "-" ? "standard input" : file),
      file_(file == "-" ? nullptr : std::make_unique<OpenFile>(file)),
      longest_(longest),
      block_(kBlock) {}

std::string LineReader::place() const { return fmt::format("{}:{}", name_, lines_); }

std::size_t LineReader::size() const { return file_ ? file_->size() : 0; }

bool LineReader::fill() {
    if (over_) return false;
    begin_ = end_ = 0;
    if (file_) {
        end_ = file_->read(std::as_writable_bytes(std::span(block_)));
    } else {
        ssize_t count = 0;
        do count = ::read(STDIN_FILENO, block_.data(), block_.size());
        while (count < 0 && errno == EINTR);
        if (count < 0) throw Error(fmt::format("{}: cannot read: {}", name_, std::strerror(errno)));
        end_ = std::size_t(count);
    }
    bytes_ += end_;
    over_ = end_ == 0;
    return !over_;
}

std::string_view LineReader::rest() const {
    return std::string_view(block_.data(), end_).substr(begin_);
}

bool LineReader::next(std::string& line) {
    line.clear();
    bool any = false;
    while (begin_ < end_ || fill()) {
        any = true;
        const std::string_view part = rest().substr(0, rest().find('\n'));
        const std::size_t room = longest_ + 1 - line.size();
        line += part.substr(0, room);
        begin_ += part.size();
        if (begin_ == end_) continue;
        ++begin_;  // the end of the line
        break;
    }
    if (!any) return false;
    if (line.size() <= longest_ && line.ends_with('\r')) line.pop_back();
    ++lines_;
    return true;
}

bool LineReader::ready() {
    if (rest().find('\n') != std::string_view::npos) return true;
    if (over_) return false;
    if (file_) return true;
    pollfd input{STDIN_FILENO, POLLIN, 0};
    return ::poll(&input, 1, 0) > 0;
}

}  // namespace cait::app
