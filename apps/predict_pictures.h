// What `cait predict` does with images of any size, whatever the model sees in them: one image at a
// time is in memory, and answers go out as they come.
#pragma once

#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "image/image.h"
#include "pictures.h"
#include "predict.h"

namespace cait {
class AtomicFile;
}

namespace cait::app {

// Files named after the images, in a folder of their own.
class NamedFiles {
public:
    explicit NamedFiles(std::string folder) : folder_(std::move(folder)) {}

    bool wanted() const { return !folder_.empty(); }
    // "photo.png", or "photo-2.png" where another image has that name.
    std::string next(const std::string& image);
    // A picture must not take the place of a photograph: throws UsageError.
    void check_apart(const std::vector<Picture>& pictures) const;

private:
    std::string folder_;
    std::set<std::string> used_;
};

// The answer of one image in the forms that it may be asked for.
struct AnswerForms {
    std::function<std::string()> line;  // for people, with its end
    std::function<std::string()> rows;  // of CSV
    std::function<nlohmann::json()> json;
};

// Lines, JSON, JSON lines or CSV, to stdout or to a file that appears whole.
class AnswerStream {
public:
    AnswerStream(const PredictArguments& arguments, const std::string& csv_header);
    ~AnswerStream();

    void add(const AnswerForms& answer);
    void finish();

private:
    void write(const std::string& text);

    AnswerFormat format_;
    std::unique_ptr<AtomicFile> file_;
    std::size_t count_ = 0;
};

// Text for a field of CSV, which programs read line by line.
std::string answer_field(const std::string& text);

// Replaces the file whole.
void write_whole(const std::string& name, std::span<const std::byte> bytes);

// Each picture in turn. Those that cannot be read are named on stderr and make the status 1.
void answer_pictures(const std::vector<Picture>& pictures, const Invocation& invocation,
                     const std::function<void(const Picture&, const Image&)>& answer);

}  // namespace cait::app
