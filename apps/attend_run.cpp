// Carries out `cait attend`: a batch of photographs at a time, of which only what is shown stays.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "analysis/attention_numbers.h"
#include "attend.h"
#include "image/codec/encode.h"
#include "image/draw/draw.h"
#include "input_files.h"
#include "model_arguments.h"
#include "output.h"
#include "progress.h"
#include "system/file_guard.h"

namespace cait::app {

namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kLeastSide = 224, kMostSide = 4096, kMostSideOfSeveral = 640;

std::vector<Looker> lookers_of(const AttendArguments& arguments,
                               const std::vector<FoundModel>& found, std::size_t capacity) {
    std::vector<Looker> lookers;
    for (OpenedModel& one : open_with_notes(found)) {
        auto executor = make_executor(one.model, arguments.executor, arguments.model.kept());
        lookers.emplace_back(std::move(one.label), one.source.words.weights, std::move(one.model),
                             std::move(executor), arguments, capacity);
    }
    return lookers;
}

// The longest side of the photographs, within what a person can look at.
std::int64_t side_for(const std::vector<Picture>& pictures) {
    std::int64_t longest = kLeastSide;
    for (const Picture& picture : pictures) {
        if (longest >= kMostSideOfSeveral && pictures.size() > 1) break;
        try {
            longest = std::max(longest, picture.longest_side());
        } catch (const Error&) {  // will be named when it is its turn
        }
    }
    return std::min(longest, pictures.size() > 1 ? kMostSideOfSeveral : kMostSide);
}

// Where what was seen goes: drawings, numbers, or both.
class Results {
public:
    Results(const AttendArguments& arguments, const std::vector<Looker>& models)
        : arguments_(arguments), models_(models), raw_(models.size()) {}

    void add(const Seen& seen) {
        ++photographs_;
        if (!arguments_.raw.empty()) raw_.add(seen);
        if (arguments_.json) json_.push_back(to_json(seen, models_));
        if (arguments_.output.empty()) return;
        std::vector<SheetTile> tiles = tiles_of(seen, models_, arguments_);
        columns_ = columns_of(seen, arguments_);
        if (arguments_.into_folder()) return write_one(seen, tiles);
        for (SheetTile& tile : tiles) {
            memory_.push_back(MemoryBudget::of_process().keep(tile.image.pixels.size(),
                                                              "attend: pictures to be shown"));
            tiles_.push_back(std::move(tile));
        }
    }

    void write() const {
        if (photographs_ == 0) return;
        if (!tiles_.empty()) {
            write_image(arguments_.output,
                        contact_sheet(tiles_, sheet_style(arguments_, models_, arguments_.side,
                                                          photographs_, columns_)));
            print_error("wrote {}\n", arguments_.output);
        } else if (!arguments_.output.empty()) {
            print_error("wrote {} pictures into {}\n", photographs_, arguments_.output);
        }
        if (!arguments_.raw.empty()) {
            raw_.write(arguments_.raw, models_);
            print_error("wrote {}\n", arguments_.raw);
        }
        if (arguments_.json) print_json(json_);
    }

private:
    // FOLDER/rose.png, and FOLDER/rose-2.png for another photograph of that name.
    void write_one(const Seen& seen, const std::vector<SheetTile>& tiles) {
        const std::string stem = fs::path(seen.name).stem().string();
        const int number = ++names_[stem];
        const fs::path file =
            fs::path(arguments_.output) /
            (number == 1 ? stem + ".png" : fmt::format("{}-{}.png", stem, number));
        OutputFile(file.string()).not_in(seen.name);
        const std::int64_t side = std::max(seen.photo.width, seen.photo.height);
        write_image(file,
                    contact_sheet(tiles, sheet_style(arguments_, models_, side, 1, columns_)));
    }

    const AttendArguments& arguments_;
    const std::vector<Looker>& models_;
    std::int64_t photographs_ = 0, columns_ = 0;
    std::map<std::string, int> names_;
    std::vector<SheetTile> tiles_;
    std::vector<MemoryShare> memory_;  // of the tiles
    RawMaps raw_;
    nlohmann::json json_ = nlohmann::json::array();
};

// Photographs go through all models as groups: one is decoded at a time.
class Attend {
public:
    Attend(const AttendArguments& arguments, const std::vector<FoundModel>& found,
           std::size_t capacity)
        : arguments_(arguments),
          capacity_(capacity),
          models_(lookers_of(arguments, found, capacity)),
          results_(arguments, models_) {}

    // False, and a line on stderr, for one that cannot be read.
    bool add(const Picture& picture) {
        Seen seen{.name = picture.name, .label = {}, .photo = {}, .looks = {}};
        try {
            const Image photo = picture.read();
            for (Looker& model : models_) model.prepare(photo, group_.size());
            if (!arguments_.output.empty()) show(photo, seen);
        } catch (const Error& error) {
            check_mapped_files();
            print_error("cait: {}\n", error.what());
            return false;
        }
        if (picture.label) seen.label = label_for(models_[0].model(), *picture.label);
        group_.push_back(std::move(seen));
        if (group_.size() == capacity_) flush();
        return true;
    }

    void finish() {
        flush();
        results_.write();
    }

private:
    void show(const Image& photo, Seen& seen) const {
        const std::int64_t own =
            std::clamp(std::max(photo.width, photo.height), kLeastSide, kMostSide);
        seen.photo = fitted(photo, arguments_.side > 0 ? arguments_.side : own);
        seen.scale_x = double(seen.photo.width) / double(photo.width);
        seen.scale_y = double(seen.photo.height) / double(photo.height);
    }

    void flush() {
        if (group_.empty()) return;
        std::vector<std::string> names;
        for (const Seen& seen : group_) names.push_back(seen.name);
        for (const Looker& model : models_) {
            std::vector<Look> looks = model.look(names);
            for (std::size_t i = 0; i < group_.size(); ++i)
                group_[i].looks.push_back(std::move(looks[i]));
        }
        for (const Seen& seen : group_) results_.add(seen);
        group_.clear();
    }

    const AttendArguments& arguments_;
    std::size_t capacity_;
    std::vector<Looker> models_;
    Results results_;
    std::vector<Seen> group_;
};

}  // namespace

void run(const AttendArguments& given, const Invocation& invocation) {
    AttendArguments arguments = given;
    ModelWords words = arguments.model.words("", arguments.classes);
    words.imagenet_names = true;
    words.load.allow_fresh_head = true;  // Looker shows none of its answers
    const std::vector<FoundModel> found = find_models(arguments.weights, words);
    if (arguments.into_folder()) make_folder(arguments.output);
    enter_sandbox_for({arguments.output, arguments.raw, arguments.executor.cache});
    const std::vector<Picture> pictures = arguments.pictures.list();
    for (const Picture& picture : pictures)
        for (const std::string& output : {arguments.output, arguments.raw})
            OutputFile(output).not_in(picture.name);
    // A picture of each photograph has its own size.
    if (arguments.side == 0 && !arguments.output.empty() && !arguments.into_folder())
        arguments.side = side_for(pictures);
    Attend attend(arguments, found, std::min(arguments.executor.batch, pictures.size()));
    std::size_t seen = 0;
    {
        Progress progress("attend", "images");
        for (std::size_t i = 0; i < pictures.size(); ++i) {
            seen += attend.add(pictures[i]) ? 1 : 0;
            progress.update(i + 1, pictures.size());
        }
        attend.finish();
    }
    if (seen < pictures.size()) *invocation.status = 1;
}

}  // namespace cait::app
