#include "report/metrics_log.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "cait/error.h"
#include "core/file_bytes.h"
#include "core/open_file.h"

namespace cait {

namespace {

using Json = nlohmann::json;

[[noreturn]] void fail(const std::filesystem::path& path, const char* action) {
    throw Error(fmt::format("{}: cannot {}: {}", path.string(), action, std::strerror(errno)));
}

std::string line_of(const MetricsRecord& record) {
    nlohmann::ordered_json json{
        {"kind", record.kind}, {"step", record.step}, {"epoch", record.epoch}};
    for (const auto& [name, value] : record.values) json[name] = value;  // NaN becomes null
    return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

MetricsRecord parse_line(std::string_view line) {
    constexpr std::size_t kLongest = 1 << 16;  // brackets alone would take a hundred times as much
    if (line.size() > kLongest)
        throw Error(fmt::format("expected at most {} characters, found {}", kLongest, line.size()));
    const Json json = Json::parse(line, nullptr, false);
    if (!json.is_object()) throw Error("expected a JSON object");
    const auto field = [&](const char* name) -> const Json& {
        const auto found = json.find(name);
        if (found == json.end()) throw Error(fmt::format("'{}' is missing", name));
        return *found;
    };
    if (!field("kind").is_string()) throw Error("kind: expected a string");
    if (!field("step").is_number_integer()) throw Error("step: expected a whole number");
    MetricsRecord record;
    record.kind = field("kind").get<std::string>();
    record.step = field("step").get<std::int64_t>();
    record.epoch = json.value("epoch", Json()).is_number() ? json["epoch"].get<double>() : 0;
    for (const auto& [name, value] : json.items()) {
        if (name == "kind" || name == "step" || name == "epoch") continue;
        if (value.is_number()) record.values[name] = value.get<double>();
        if (value.is_null()) record.values[name] = std::nan("");
    }
    return record;
}

struct Damage {
    std::size_t lines = 0;
    std::size_t first = 0;  // number of a line
    std::string what;       // is wrong with it

    void add(std::size_t line, const char* problem) {
        if (lines++ > 0) return;
        first = line;
        what = problem;
    }
    std::string text(const std::filesystem::path& path) const {
        if (lines == 0) return "";
        return fmt::format(
            "{}:{}: {}: {} left out", path.string(), first, what,
            lines == 1 ? "this line is" : fmt::format("this and {} more lines are", lines - 1));
    }
};

// Calls use(record) for each complete line that can be read, as long as that returns true. Returns
// the place where it stopped.
template <class Use>
std::size_t for_each_record(const std::string& text, Damage& damage, Use use) {
    std::size_t begin = 0;
    for (std::size_t number = 1; begin < text.size(); ++number) {
        const std::size_t end = text.find('\n', begin);
        if (end == std::string::npos) break;  // cut off by a crash
        try {
            if (!use(parse_line(std::string_view(text).substr(begin, end - begin)))) break;
        } catch (const Error& error) {
            damage.add(number, error.what());
        }
        begin = end + 1;
    }
    return begin;
}

}  // namespace

MetricsLog::MetricsLog(std::filesystem::path path, int flags) : path_(std::move(path)) {
    constexpr int kMode = 0666;  // the umask takes away from it
    // O_NONBLOCK: a pipe of that name must not be waited for.
    fd_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK | flags,
                 kMode);
    const int reason = errno;
    struct stat info {};
    const bool known = (fd_ < 0 ? ::stat(path_.c_str(), &info) : ::fstat(fd_, &info)) == 0;
    if (fd_ >= 0 && known && S_ISREG(info.st_mode)) return;
    if (fd_ >= 0) ::close(std::exchange(fd_, -1));
    errno = reason;
    if (!known || S_ISREG(info.st_mode)) fail(path_, "open for writing");
    throw Error(fmt::format("{}: expected a regular file, found {}", path_.string(),
                            file_kind(info.st_mode)));
}

MetricsLog::MetricsLog(MetricsLog&& other) noexcept
    : path_(std::move(other.path_)),
      fd_(std::exchange(other.fd_, -1)),
      damage_(std::move(other.damage_)) {}

MetricsLog& MetricsLog::operator=(MetricsLog&& other) noexcept {
    std::swap(path_, other.path_);
    std::swap(fd_, other.fd_);
    std::swap(damage_, other.damage_);
    return *this;
}

MetricsLog::~MetricsLog() {
    if (fd_ >= 0) ::close(fd_);
}

MetricsLog MetricsLog::start(const std::filesystem::path& path) { return {path, O_TRUNC}; }

MetricsLog MetricsLog::resume(const std::filesystem::path& path, std::int64_t step) {
    MetricsLog log(path, 0);
    Damage damage;
    const std::size_t keep = for_each_record(
        read_text(path), damage, [&](const MetricsRecord& record) { return record.step <= step; });
    log.damage_ = damage.text(path);
    if (::ftruncate(log.fd_, off_t(keep)) != 0) fail(path, "truncate");
    return log;
}

void MetricsLog::append(const MetricsRecord& record) {
    const std::string line = line_of(record);
    std::string_view rest = line;
    while (!rest.empty()) {
        const ssize_t written = ::write(fd_, rest.data(), rest.size());
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) fail(path_, "write");
        rest.remove_prefix(std::size_t(written));
    }
}

std::vector<MetricsRecord> read_metrics(const std::filesystem::path& path) {
    std::vector<MetricsRecord> records;
    Damage ignored;
    for_each_record(read_text(path), ignored, [&](MetricsRecord record) {
        records.push_back(std::move(record));
        return true;
    });
    return records;
}

}  // namespace cait
