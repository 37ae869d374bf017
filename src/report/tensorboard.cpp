#include "report/tensorboard.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <optional>
#include <span>

#include "image/codec/encode.h"
#include "report/crc32c.h"
#include "report/protobuf_writer.h"

namespace cait {

namespace {

// Field numbers of tensorflow.Event, Summary and what they contain.
constexpr int kWallTime = 1, kStep = 2, kFileVersion = 3, kSummary = 5, kSessionLog = 7;
constexpr int kSummaryValue = 1;
constexpr int kTag = 1, kSimpleValue = 2, kImage = 4, kTensor = 8, kMetadata = 9;
constexpr int kSessionStart = 1;
constexpr int kFloatTensor = 1;            // DT_FLOAT
constexpr int kStringTensor = 7;           // DT_STRING
constexpr int kSuccess = 1, kFailure = 2;  // of a session
constexpr int kTensorClass = 2;            // DATA_CLASS_TENSOR

double now_seconds() {
    return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch())
        .count();
}

std::string host_name() {
    std::array<char, 256> name{};
    if (::gethostname(name.data(), name.size() - 1) != 0) return "host";
    return name.data();
}

std::string little_endian(std::uint64_t value, int bytes) {
    std::string text;
    for (int i = 0; i < bytes; ++i) text += char(value >> (8 * i));
    return text;
}

// A TFRecord: length, its checksum, the content, its checksum.
std::string framed(std::string_view content) {
    const std::string length = little_endian(content.size(), 8);
    const auto checksum = [](std::string_view text) {
        return little_endian(masked_crc32c(std::as_bytes(std::span(text))), 4);
    };
    return fmt::format("{}{}{}{}", length, checksum(length), content, checksum(content));
}

std::string summary(const ProtobufWriter& value) {
    return ProtobufWriter().message(kSummary, ProtobufWriter().message(kSummaryValue, value)).str();
}

// A run that is stopped and resumed within a second gets a new name all the same.
GrowingFile new_events_file(const FolderPtr& folder) {
    for (int number = 0;; ++number) {
        std::optional<GrowingFile> file = GrowingFile::create(
            {folder, fmt::format("events.out.tfevents.{:010}.{}.{}.{}", long(now_seconds()),
                                 host_name(), ::getpid(), number)});
        if (file) return std::move(*file);
    }
}

}  // namespace

TensorBoardWriter::TensorBoardWriter(const FolderPtr& folder) : file_(new_events_file(folder)) {
    write_event(0, ProtobufWriter().bytes(kFileVersion, "brain.Event:2").str());
}

void TensorBoardWriter::write_event(std::int64_t step, std::string_view content) {
    file_.write(
        framed(ProtobufWriter().number(kWallTime, now_seconds()).integer(kStep, step).str() +
               std::string(content)));
}

void TensorBoardWriter::scalar(std::string_view tag, std::int64_t step, double value) {
    write_event(step,
                summary(ProtobufWriter().bytes(kTag, tag).number(kSimpleValue, float(value))));
}

void TensorBoardWriter::text(std::string_view tag, std::int64_t step, std::string_view markdown) {
    // SummaryMetadata{plugin_data{plugin_name}, data_class}, TensorProto{dtype, shape [1], value}
    const ProtobufWriter metadata =
        ProtobufWriter().message(1, ProtobufWriter().bytes(1, "text")).integer(4, kTensorClass);
    const ProtobufWriter shape = ProtobufWriter().message(2, ProtobufWriter().integer(1, 1));
    const ProtobufWriter tensor =
        ProtobufWriter().integer(1, kStringTensor).message(2, shape).bytes(8, markdown);
    write_event(step, summary(ProtobufWriter()
                                  .bytes(kTag, tag)
                                  .message(kTensor, tensor)
                                  .message(kMetadata, metadata)));
}

void TensorBoardWriter::image(std::string_view tag, std::int64_t step, const Image& image) {
    const std::vector<std::byte> png = encode_png(image);
    const ProtobufWriter picture =
        ProtobufWriter()
            .integer(1, image.height)
            .integer(2, image.width)
            .integer(3, image.channels)
            .bytes(4, {reinterpret_cast<const char*>(png.data()), png.size()});
    write_event(step, summary(ProtobufWriter().bytes(kTag, tag).message(kImage, picture)));
}

// A summary without a value: what it says is in its metadata, of the plugin "hparams".
void TensorBoardWriter::write_session(std::string_view tag, std::string_view data) {
    const ProtobufWriter plugin = ProtobufWriter().bytes(1, "hparams").bytes(2, data);
    const ProtobufWriter shape = ProtobufWriter().message(2, ProtobufWriter());  // [0]
    const ProtobufWriter nothing = ProtobufWriter().integer(1, kFloatTensor).message(2, shape);
    write_event(0, summary(ProtobufWriter()
                               .bytes(kTag, tag)
                               .message(kTensor, nothing)
                               .message(kMetadata, ProtobufWriter().message(1, plugin))));
}

void TensorBoardWriter::hyper_parameters(std::span<const HyperParameter> values) {
    ProtobufWriter start;  // SessionStartInfo{hparams: map of google.protobuf.Value, …, start time}
    for (const HyperParameter& one : values) {
        ProtobufWriter value;
        if (const auto* number = std::get_if<double>(&one.value)) value.number(2, *number);
        if (const auto* text = std::get_if<std::string>(&one.value)) value.bytes(3, *text);
        if (const auto* flag = std::get_if<bool>(&one.value)) value.integer(4, *flag ? 1 : 0);
        start.message(1, ProtobufWriter().bytes(1, one.name).message(2, value));
    }
    start.number(5, now_seconds());
    write_session("_hparams_/session_start_info", ProtobufWriter().message(3, start).str());
}

void TensorBoardWriter::ended(bool well) {
    const ProtobufWriter end =  // SessionEndInfo{status, end time}
        ProtobufWriter().integer(1, well ? kSuccess : kFailure).number(2, now_seconds());
    write_session("_hparams_/session_end_info", ProtobufWriter().message(4, end).str());
}

void TensorBoardWriter::resumed_at(std::int64_t step) {
    // TensorBoard forgets this step and those after it.
    write_event(
        step + 1,
        ProtobufWriter().message(kSessionLog, ProtobufWriter().integer(1, kSessionStart)).str());
}

}  // namespace cait
