#include "report/metrics_log.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "cait/error.h"
#include "system/atomic_file.h"
#include "system/file_bytes.h"

namespace cait {

namespace {

using Json = nlohmann::json;

std::string line_of(const MetricsRecord& record) {
    nlohmann::ordered_json json{
        {"kind", record.kind}, {"step", record.step}, {"epoch", record.epoch}};
    if (!record.text.empty()) json["text"] = record.text;
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
        if (name == "text" && value.is_string()) record.text = value.get<std::string>();
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

// Replaced, not shortened: the file may have other names, whose owners keep what they have.
GrowingFile replaced(const FilePlace& place, std::string_view content) {
    AtomicFile file(place);
    file.write(content);
    file.commit();
    return GrowingFile(place);
}

}  // namespace

MetricsLog::MetricsLog(const FilePlace& place, std::string_view kept)
    : file_(replaced(place, kept)) {}

MetricsLog MetricsLog::start(const FilePlace& place) { return {place, ""}; }

MetricsLog MetricsLog::resume(const FilePlace& place, std::int64_t step) {
    Damage damage;
    const std::string text = place.exists() ? read_text(place) : "";
    const std::size_t keep = for_each_record(
        text, damage, [&](const MetricsRecord& record) { return record.step <= step; });
    MetricsLog log(place, std::string_view(text).substr(0, keep));
    log.damage_ = damage.text(place.path());
    return log;
}

void MetricsLog::append(const MetricsRecord& record) { file_.write(line_of(record)); }

std::vector<MetricsRecord> read_metrics(const FilePlace& place) {
    std::vector<MetricsRecord> records;
    Damage ignored;
    for_each_record(read_text(place), ignored, [&](MetricsRecord record) {
        records.push_back(std::move(record));
        return true;
    });
    return records;
}

}  // namespace cait
