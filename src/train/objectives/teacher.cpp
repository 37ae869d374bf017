#include "train/objectives/teacher.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>

#include "cait/error.h"
#include "engine/engine_executor.h"
#include "train/torch/convert.h"
#include "train/torch/torch_session.h"

namespace cait {

namespace {

constexpr const char* kTokenLogits = "token_logits";

// Of its own size, or another that the architecture allows.
Model load_teacher(const DistillPart& distill, std::int64_t classes,
                   const std::optional<ImageSize>& size = {}) {
    SettingList settings;
    if (size) settings.emplace_back("image_size", image_size_text(*size));
    if (distill.teacher.empty())
        throw UsageError("distill.teacher: expected a model file or a name of the catalogue");
    if (distill.weights.empty()) {
        if (!std::filesystem::is_regular_file(distill.teacher))
            throw UsageError(
                fmt::format("distill.teacher '{}': expected a model file, or a name of the "
                            "catalogue together with distill.weights",
                            distill.teacher));
        return Model::load(distill.teacher, {}, settings);
    }
    // A file of ours says which classes it has; any other one must have as many as the student.
    const Model::LoadOptions options{.allow_fresh_head = true};  // refused below
    Model named = Model::load(distill.weights, distill.teacher, settings, options);
    if (!named.classes().empty()) return named;
    settings.emplace_back("classes", std::to_string(classes));
    Model model = Model::load(distill.weights, distill.teacher, settings, options);
    if (model.has_fresh_head())
        throw Error(fmt::format("distill.weights {}: expected a head for {} classes, found {}",
                                distill.weights, classes, fmt::join(model.notes(), "; ")));
    return model;
}

void check_same(const char* what, std::int64_t teacher, const std::string& teacher_name,
                std::int64_t student, const std::string& student_name) {
    if (teacher != student)
        throw Error(fmt::format("distill.teacher {}: expected {} {} as in the student {}, found {}",
                                teacher_name, student, what, student_name, teacher));
}

// Rows by image; the ratio of downsizing decides whether it takes a filter against aliasing.
at::Tensor resized(const at::Tensor& images, ImageSize size) {
    const bool shrinks = size.height < images.size(2) || size.width < images.size(3);
    const std::vector<std::int64_t> extents{size.height, size.width};
    return shrinks ? at::_upsample_bicubic2d_aa(images, extents, false)
                   : at::upsample_bicubic2d(images, extents, false);
}

// Red, green and blue, or the first alone for grey: [C, 1, 1]
at::Tensor column(const std::array<float, 3>& values, std::int64_t channels) {
    return at::tensor(at::ArrayRef<float>(values))
        .slice(0, 0, std::min<std::int64_t>(channels, 3))
        .reshape({-1, 1, 1});
}

// "mean 0.485 0.456 0.406, std 0.229 0.224 0.225"
std::string normalisation_text(const Preprocessing& by, std::int64_t channels) {
    const auto count = std::ptrdiff_t(std::clamp<std::int64_t>(channels, 1, 3));
    return fmt::format("mean {:.3g}, std {:.3g}",
                       fmt::join(by.mean.begin(), by.mean.begin() + count, " "),
                       fmt::join(by.std.begin(), by.std.begin() + count, " "));
}

// What labels images or, for Distillation::tokens, every place of them.
Graph teacher_graph(const ModelSpec& spec, Distillation kind) {
    if (kind != Distillation::tokens) return record(spec);
    try {
        return record(spec, {.taps = {kTokenLogits}});
    } catch (const UsageError& error) {
        throw Error(fmt::format("distill.teacher {}: expected a model that labels every token: {}",
                                spec.name, error.what()));
    }
}

// Why the teacher keeps its own image size; empty: it is run at the student's, so that images which
// were enlarged for the student are not shrunk for the teacher ("a teacher with the same target
// resolution", Touvron et al. 2021).
std::string reason_for_own_size(const DistillPart& distill, const ModelSpec& teacher,
                                ImageSize size) {
    const ImageSize own = teacher.architecture->common().image_size;
    if (distill.size == "teacher") return "distill.size teacher";
    if (distill.size == "larger" && own.height * own.width > size.height * size.width)
        return "distill.size larger";
    const std::unique_ptr<Architecture> other = teacher.architecture->clone();
    other->common().image_size = size;
    try {
        other->check();
    } catch (const UsageError& error) {
        return error.what();
    }
    return {};
}

}  // namespace

Teacher::Teacher(const DistillPart& distill, const ModelSpec& student, Precision precision,
                 at::Device device, const std::optional<Preprocessing>& given,
                 const std::vector<std::string>& classes)
    : temperature_(distill.temperature), caches_(distill.cache) {
    const CommonConfig& pupil = student.architecture->common();
    const Model model = load_for(distill, pupil);
    const CommonConfig& common = model.spec().architecture->common();
    name_ = model.spec().name;
    size_ = common.image_size;
    match_classes(model, student, classes, device);
    check_same("channels", common.channels, name_, pupil.channels, student.name);
    grid_ = teacher_graph(model.spec(), distill.kind).patch_grid;
    if (device.is_cpu())
        executor_ = std::make_unique<EngineExecutor>(
            model, SessionOptions{.precision = precision, .threads = at::get_num_threads()});
    else
        executor_ = make_torch_session(model, precision, device.str());

    const Preprocessing& wanted = model.preprocessing();
    const bool alike = !given || (given->mean == wanted.mean && given->std == wanted.std);
    description_ = fmt::format("{}, {}, {} pixels, normalised by {}{}", name_,
                               distill.weights.empty() ? distill.teacher : distill.weights,
                               image_size_text(size_), normalisation_text(wanted, common.channels),
                               alike ? ", as the student"
                                     : fmt::format(", its own (the student: {})",
                                                   normalisation_text(*given, common.channels)));
    if (alike) return;
    const auto by_channel = [&](const auto& values) { return column(values, common.channels); };
    const at::Tensor divisor = by_channel(wanted.std);
    gain_ = (by_channel(given->std) / divisor).to(device);
    offset_ = ((by_channel(given->mean) - by_channel(wanted.mean)) / divisor).to(device);
}

Model Teacher::load_for(const DistillPart& distill, const CommonConfig& pupil) {
    Model model = load_teacher(distill, pupil.classes);
    const std::string& name = model.spec().name;
    const ImageSize own = model.spec().architecture->common().image_size;
    if (own == pupil.image_size) return model;
    const std::string theirs = image_size_text(pupil.image_size);
    if (const std::string why = reason_for_own_size(distill, model.spec(), pupil.image_size);
        !why.empty()) {
        notes_.push_back(fmt::format("the teacher {} sees images of {} pixels, resized from {}: {}",
                                     name, image_size_text(own), theirs, why));
        return model;
    }
    Model resized = load_teacher(distill, pupil.classes, pupil.image_size);
    std::string note = fmt::format("the teacher {} is run at the student's {} pixels, not at {}",
                                   name, theirs, image_size_text(own));
    for (const std::string& adapted : resized.notes()) note += "; " + adapted;
    notes_.push_back(std::move(note));
    return resized;
}

void Teacher::match_classes(const Model& model, const ModelSpec& student,
                            const std::vector<std::string>& classes, at::Device device) {
    const std::vector<std::string>& own = model.classes();
    if (own == classes && !own.empty()) return;
    const std::int64_t count = model.spec().architecture->common().classes;
    if (own.empty() || classes.empty()) {
        check_same("classes", count, name_, student.architecture->common().classes, student.name);
        if (!classes.empty())
            notes_.push_back(fmt::format(
                "the teacher {} does not name its {} classes: they are taken in the data's order",
                name_, count));
        return;
    }
    std::vector<std::int64_t> order;
    std::vector<std::string> missing;
    for (const std::string& name : classes) {
        const auto found = std::ranges::find(own, name);
        if (found == own.end()) missing.push_back(name);
        order.push_back(found - own.begin());
    }
    if (!missing.empty()) {
        constexpr std::size_t kShown = 5;
        const auto end = missing.begin() + std::ptrdiff_t(std::min(missing.size(), kShown));
        throw Error(fmt::format(
            "distill.teacher {}: expected every class of the student {}, but {} of {} are not "
            "among the teacher's {}: {}{}",
            name_, student.name, missing.size(), classes.size(), own.size(),
            fmt::join(missing.begin(), end, ", "), missing.size() > kShown ? " …" : ""));
    }
    order_ = at::tensor(order, at::kLong).to(device);
    notes_.push_back(fmt::format(
        "the teacher {} knows the {} classes in another order{}: matched by name", name_,
        classes.size(),
        own.size() > classes.size() ? fmt::format(", among {}", own.size()) : std::string()));
}

at::Tensor Teacher::as_student(const at::Tensor& values) const {
    return order_.defined() ? values.index_select(-1, order_) : values;
}

at::Tensor Teacher::prepared(const at::Tensor& images) const {
    at::Tensor result = images;
    if (images.dim() == 4 && (images.size(2) != size_.height || images.size(3) != size_.width))
        result = resized(images, size_);
    return gain_.defined() ? result * gain_ + offset_ : result;
}

at::Tensor Teacher::run(const at::Tensor& images, const std::string& tap) const {
    const at::NoGradGuard no_gradients;
    const Tensor shown = share_torch(prepared(images).to(at::kCPU, at::kFloat).contiguous());
    return as_student(to_torch(executor_->run(shown, {tap}).at(tap)).to(images.device()));
}

at::Tensor Teacher::logits(const at::Tensor& images) { return run(images, "logits"); }

Teacher::TokenLabels Teacher::token_labels(const at::Tensor& images, Grid grid) {
    const at::NoGradGuard no_gradients;
    const at::Tensor logits = run(images, kTokenLogits) / temperature_;  // [B, N, K]
    const at::Tensor found = at::softmax(logits, -1);
    const Grid own = grid_;
    const at::Tensor map =
        found.transpose(1, 2).reshape({found.size(0), found.size(2), own.height, own.width});
    const at::Tensor tokens = at::upsample_bilinear2d(map, {grid.height, grid.width}, false);
    return {tokens.flatten(2).transpose(1, 2), at::softmax(logits.mean(1), -1)};
}

at::Tensor Teacher::logits(const at::Tensor& images, std::span<const SampleKey> samples) {
    if (!caches_) return logits(images);
    if (images.dim() != 4 || images.size(0) != std::int64_t(samples.size()))
        throw Error(fmt::format("[teacher] expected a sample for each of {} images, found {}",
                                images.dim() > 0 ? images.size(0) : 0, samples.size()));
    std::vector<std::int64_t> missing;
    for (std::size_t i = 0; i < samples.size(); ++i)
        if (!cache_.contains(samples[i].sample)) missing.push_back(std::int64_t(i));
    if (!missing.empty()) {
        const at::Tensor rows = at::tensor(missing, at::kLong).to(images.device());
        const at::Tensor fresh = logits(images.index_select(0, rows)).cpu();
        for (std::size_t i = 0; i < missing.size(); ++i)
            cache_[samples[std::size_t(missing[i])].sample] = fresh[std::int64_t(i)].clone();
    }
    std::vector<at::Tensor> rows;
    for (const SampleKey& key : samples) rows.push_back(cache_.at(key.sample));
    return at::stack(rows).to(images.device());
}

}  // namespace cait
