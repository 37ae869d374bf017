#include "predict_pictures.h"

#include <fmt/format.h>

#include <filesystem>

#include "data/formats/csv_reader.h"
#include "output.h"
#include "progress.h"
#include "system/atomic_file.h"

namespace cait::app {

namespace fs = std::filesystem;

std::string NamedFiles::next(const std::string& image) {
    const std::string stem = fs::path(image).stem().string();
    std::string name = stem + ".png";
    for (int i = 2; !used_.insert(name).second; ++i) name = fmt::format("{}-{}.png", stem, i);
    return (fs::path(folder_) / name).string();
}

void NamedFiles::check_apart(const std::vector<Picture>& pictures) const {
    if (!wanted()) return;
    std::set<fs::path> seen;
    for (const Picture& picture : pictures) {
        if (picture.file.empty()) continue;
        const fs::path parent = picture.file.parent_path();
        std::error_code error;
        if (seen.insert(parent).second &&
            fs::equivalent(parent.empty() ? "." : parent, folder_, error))
            throw UsageError(fmt::format(
                "{}: expected another folder than that of the images, whose files it could replace",
                folder_));
    }
}

AnswerStream::AnswerStream(const PredictArguments& arguments, const std::string& csv_header)
    : format_(arguments.format()),
      file_(arguments.output.empty() ? nullptr : std::make_unique<AtomicFile>(arguments.output)) {
    if (format_ == AnswerFormat::json) write("[");
    if (format_ == AnswerFormat::csv) write(csv_header);
}

AnswerStream::~AnswerStream() = default;

void AnswerStream::write(const std::string& text) {
    if (file_)
        file_->write(std::string_view(text));
    else
        write_out(text);
}

void AnswerStream::add(const AnswerForms& answer) {
    // File names may hold anything; JSON holds UTF-8.
    const auto json = [&](int indent) {
        return answer.json().dump(indent, ' ', false, nlohmann::json::error_handler_t::replace);
    };
    switch (format_) {
        case AnswerFormat::lines: write(answer.line()); break;
        case AnswerFormat::csv: write(answer.rows()); break;
        case AnswerFormat::jsonl: write(json(-1) + "\n"); break;
        case AnswerFormat::json: write((count_ == 0 ? "\n" : ",\n") + json(2)); break;
    }
    ++count_;
}

void AnswerStream::finish() {
    if (format_ == AnswerFormat::json) write(count_ == 0 ? "]\n" : "\n]\n");
    if (file_) file_->commit();
}

std::string answer_field(const std::string& text) {
    return csv_field(printable(text, text.size()));
}

void write_whole(const std::string& name, std::span<const std::byte> bytes) {
    AtomicFile file(name);
    file.write(bytes);
    file.commit();
}

void answer_pictures(const std::vector<Picture>& pictures, const Invocation& invocation,
                     const std::function<void(const Picture&, const Image&)>& answer) {
    Progress progress("predict", "images");
    std::size_t unreadable = 0;
    for (std::size_t i = 0; i < pictures.size(); ++i) {
        Image image;
        try {
            image = pictures[i].read();
        } catch (const Error& error) {
            print_error("cait: {}\n", error.what());
            ++unreadable;
            continue;
        }
        answer(pictures[i], image);
        progress.update(i + 1, pictures.size());
        if (output_lost()) break;
    }
    if (unreadable == 0) return;
    *invocation.status = 1;
    if (pictures.size() > 1)
        print_error("cait: {} of {} images could not be read\n", unreadable, pictures.size());
}

}  // namespace cait::app
