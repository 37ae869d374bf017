#include "train/sweep/record.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "cait/error.h"
#include "system/atomic_file.h"
#include "system/file_bytes.h"

namespace cait {

namespace {

using RecordJson = nlohmann::ordered_json;

constexpr std::array<std::string_view, 3> kStatusNames{"finished", "diverged", "failed"};

// JSON has no NaN: null stands for it.
RecordJson values_json(const std::map<std::string, double>& values) {
    RecordJson json = RecordJson::object();
    for (const auto& [name, value] : values)
        json[name] = std::isfinite(value) ? RecordJson(value) : RecordJson(nullptr);
    return json;
}

class RecordReader {
public:
    RecordReader(std::string file, const RecordJson& json) : file_(std::move(file)), json_(json) {}

    [[noreturn]] void expected(std::string_view what) const {
        throw Error(fmt::format("{}: expected {}: no record of a run", file_, what));
    }
    const RecordJson& at(const char* name) const {
        const auto found = json_.is_object() ? json_.find(name) : json_.end();
        if (found == json_.end()) expected(fmt::format("'{}'", name));
        return *found;
    }
    std::string text(const char* name) const {
        if (!at(name).is_string()) expected(fmt::format("a text '{}'", name));
        return at(name).get<std::string>();
    }
    double number(const char* name) const {
        if (!at(name).is_number()) expected(fmt::format("a number '{}'", name));
        return at(name).get<double>();
    }
    std::map<std::string, double> values(const char* name) const {
        if (!at(name).is_object()) expected(fmt::format("an object '{}'", name));
        std::map<std::string, double> result;
        for (const auto& [key, value] : at(name).items()) {
            if (!value.is_number() && !value.is_null())
                expected(fmt::format("numbers in '{}'", name));
            result[key] =
                value.is_null() ? std::numeric_limits<double>::quiet_NaN() : value.get<double>();
        }
        return result;
    }

private:
    std::string file_;
    const RecordJson& json_;
};

}  // namespace

std::string_view status_name(RunStatus status) { return kStatusNames[std::size_t(status)]; }

RunRecord read_record(const FilePlace& place) {
    const RecordJson json = RecordJson::parse(read_text(place), nullptr, false);
    const RecordReader reader(place.string(), json);
    RunRecord record;
    record.study = reader.text("study");
    record.arm = reader.text("arm");
    record.seed = std::int64_t(reader.number("seed"));
    record.identity = reader.text("identity");
    const auto status = std::ranges::find(kStatusNames, reader.text("status"));
    if (status == kStatusNames.end()) reader.expected("a status");
    record.status = RunStatus(status - kStatusNames.begin());
    record.reason = reader.text("reason");
    record.scores = reader.values("scores");
    for (const auto& [key, value] : reader.at("settings").items())
        record.settings[key] = value.is_string() ? value.get<std::string>() : value.dump();
    for (const RecordJson& point : reader.at("curve")) {
        const RecordReader inner(place.string(), point);
        record.curve.push_back({inner.number("epoch"), inner.values("values")});
    }
    const RecordReader machine(place.string(), reader.at("machine"));
    record.machine = {machine.text("processor"),      machine.text("isa"),
                      machine.text("precision"),      machine.text("version"),
                      int(machine.number("threads")), int(machine.number("jobs"))};
    record.started = reader.text("started");
    record.seconds = reader.number("seconds");
    if (json.contains("processor_seconds"))
        record.processor_seconds = reader.number("processor_seconds");
    return record;
}

void write_record(const FilePlace& place, const RunRecord& record) {
    RecordJson curve = RecordJson::array();
    for (const CurvePoint& point : record.curve)
        curve.push_back({{"epoch", point.epoch}, {"values", values_json(point.values)}});
    const RecordJson json{{"study", record.study},
                          {"arm", record.arm},
                          {"seed", record.seed},
                          {"status", status_name(record.status)},
                          {"reason", record.reason},
                          {"scores", values_json(record.scores)},
                          {"settings", record.settings},
                          {"identity", record.identity},
                          {"machine",
                           {{"processor", record.machine.processor},
                            {"isa", record.machine.isa},
                            {"precision", record.machine.precision},
                            {"threads", record.machine.threads},
                            {"jobs", record.machine.jobs},
                            {"version", record.machine.version}}},
                          {"started", record.started},
                          {"seconds", record.seconds},
                          {"processor_seconds", record.processor_seconds},
                          {"curve", curve}};
    AtomicFile file(place);
    file.write(json.dump(1) + "\n");
    file.commit();
}

std::vector<CurvePoint> curve_of(const std::vector<MetricsRecord>& records) {
    std::map<double, CurvePoint> points;
    for (const MetricsRecord& record : records) {
        const auto copy = [&](const char* name, const char* as) {
            if (const auto found = record.values.find(name); found != record.values.end())
                points[record.epoch].values[as] = found->second;
        };
        if (record.kind == "train") {
            copy(metric::kEpochLoss, "train_loss");
            copy(metric::kEpochTop1, "train_top1");
        } else if (record.kind == "val") {
            for (const auto& [name, value] : record.values)
                points[record.epoch].values[name] = value;
        }
    }
    std::vector<CurvePoint> curve;
    for (auto& [epoch, point] : points) {
        point.epoch = epoch;
        curve.push_back(std::move(point));
    }
    return curve;
}

double training_seconds(const std::vector<MetricsRecord>& records) {
    double seconds = 0;
    for (const MetricsRecord& record : records)
        for (const auto& [name, value] : record.values)
            if (name.starts_with("seconds_") && std::isfinite(value)) seconds += value;
    return seconds;
}

bool is_stable(const std::vector<CurvePoint>& curve) {
    if (curve.empty()) return false;
    const auto loss = [](const CurvePoint& point) {
        const auto found = point.values.find("train_loss");
        return found == point.values.end() ? std::nan("") : found->second;
    };
    const std::size_t quarter = std::max<std::size_t>(1, curve.size() / 4) - 1;
    const double last = loss(curve.back());
    return std::isfinite(last) && last <= loss(curve[quarter]);
}

}  // namespace cait
