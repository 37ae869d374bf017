// Mask R-CNN's loss, and Faster R-CNN's where the head has no masks: the first stage is the network
// that the step runs, the second one is run here, on what is pooled from the regions of that step.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "cait/error.h"
#include "evaluate/proposals.h"
#include "models/catalogue.h"
#include "models/detection_head.h"
#include "models/finite_logits.h"
#include "models/settings.h"
#include "train/objectives/detection_truth.h"
#include "train/objectives/objective.h"
#include "train/objectives/region_loss.h"
#include "train/objectives/region_sampling.h"

namespace cait {

namespace {

// That suppression sees: twice as many as at evaluation.
constexpr std::size_t kProposalsOfLevel = 2000;

std::int64_t rounded_up(std::int64_t pixels) {
    return (pixels + kPadding - 1) / kPadding * kPadding;
}

class MaskRcnnObjective : public Objective {
public:
    explicit MaskRcnnObjective(const ObjectiveSetup& setup)
        : part_(setup.recipe.detect),
          synced_(setup.recipe.train.sync_batch_norms),
          group_(setup.group),
          head_(setup.model.spec().head.detection),
          rules_(region_rules(head_)),
          canvas_(setup.model.spec().architecture->common().image_size),
          pool_(std::make_shared<kernels::ThreadPool>(at::get_num_threads())) {
        if (!setup.device.is_cpu())
            throw UsageError(
                fmt::format("train.device: expected cpu with loss.name mask_rcnn, found {}",
                            setup.recipe.train.device));
        boxes_.emplace(second_stage(setup, box_taps()));
        if (head_.masks) masks_.emplace(second_stage(setup, mask_taps(head_)));
    }

    std::vector<std::string> taps() const override { return proposal_taps(); }

    std::vector<std::string> own_taps() const override {
        std::vector<std::string> taps = box_taps();
        if (head_.masks) std::ranges::copy(mask_taps(head_), std::back_inserter(taps));
        return taps;
    }

    Needs needs() const override { return {.shared_batch_norms = synced_, .logs_parts = true}; }

    void start(const Graph& /*network*/, std::span<const TrainParam> params) override {
        params_ = tensors_of(params);
    }

    // All processes cut their images alike, so that together they compute what one would.
    void before_batch(const ObjectiveBatch& whole) override {
        shown_ = largest_shown(whole, canvas_);
        if (group_.world() == 1) return;
        for (const std::string& text :
             group_.all_gather(fmt::format("{}x{}", shown_.height, shown_.width))) {
            const ImageSize other = parse_image_size(text);
            shown_.height = std::max(shown_.height, other.height);
            shown_.width = std::max(shown_.width, other.width);
        }
    }

    ImageSize shown() const override {
        return {std::min(rounded_up(shown_.height), canvas_.height),
                std::min(rounded_up(shown_.width), canvas_.width)};
    }

    void put_fullest_targets(std::int64_t images, TorchTensors& targets) const override {
        const auto objects = std::int64_t(double(part_.regions) * part_.region_positives);
        put_made_objects(images, std::max<std::int64_t>(1, objects), canvas_, targets);
    }

    LossResult loss(std::span<const TorchTensors> outputs, const ObjectiveBatch& batch,
                    const EvaluateContext& context) override {
        std::vector<DetectionTruth> truths;
        for (std::int64_t i = 0; i < batch.size(); ++i)
            truths.push_back(truth_of(batch, i, canvas_, head_.classes, head_.masks));
        const FirstStage stage = first_stage(outputs[0], input_of(outputs[0]), rules_);
        LossResult result;
        add_first_stage(stage, truths, context, result);
        bool finite = true;
        const SampledRegions regions = regions_of(outputs[0], stage.maps, truths, context, finite);
        add_second_stage(outputs[0], regions, truths, context, result);
        if (!finite) result.total = result.total * std::nan("");  // the step is not taken
        return result;
    }

private:
    TorchExecutor second_stage(const ObjectiveSetup& setup, std::vector<std::string> taps) const {
        return TorchExecutor(
            record(setup.model.spec(),
                   {.mode = setup.mode, .image_size = canvas_, .taps = std::move(taps)}));
    }

    static void add(const char* name, const at::Tensor& term, double weight, LossResult& result) {
        result.parts[name] = term.detach();
        const at::Tensor weighted = weight == 1 ? term : weight * term;
        result.total = result.total.defined() ? result.total + weighted : weighted;
    }

    void add_first_stage(const FirstStage& stage, std::span<const DetectionTruth> truths,
                         const EvaluateContext& context, LossResult& result) const {
        at::Tensor objectness = at::zeros({}), boxes = at::zeros({});
        for (std::size_t i = 0; i < truths.size(); ++i) {
            const FirstStageLoss one = first_stage_loss(
                stage, std::int64_t(i), truths[i], {part_.anchors, part_.anchor_positives},
                sampling_stream("anchors", context.seed, context.step, context.place_of(i)));
            objectness = objectness + one.objectness / double(truths.size());
            boxes = boxes + one.boxes / double(truths.size());
        }
        add("rpn_class", objectness, part_.rpn_weight, result);
        add("rpn_box", boxes, part_.rpn_weight, result);
    }

    void add_second_stage(const TorchTensors& network, const SampledRegions& regions,
                          std::span<const DetectionTruth> truths, const EvaluateContext& context,
                          LossResult& result) const {
        const auto images = double(truths.size());
        at::Tensor classes = at::zeros({}), boxes = at::zeros({}), masks = at::zeros({});
        if (!regions.regions.empty()) {
            const TorchTensors answers =
                run(*boxes_, kBoxRegions, network, regions.regions, kBoxBins, context);
            const BoxLoss loss =
                box_loss(answers.at(kBoxLogits), answers.at(kBoxDeltas), regions, rules_);
            classes = loss.classes / images;
            boxes = loss.boxes / images;
        }
        add("box_class", classes, part_.box_weight, result);
        add("box", boxes, part_.box_weight, result);
        if (!head_.masks) return;
        const MaskTargets targets = mask_targets(regions, truths, kMaskSide, pool_);
        if (!targets.regions.empty()) {
            const TorchTensors answers =
                run(*masks_, kMaskRegions, network, targets.regions, kMaskBins, context);
            masks = mask_loss(answers.at(kMaskLogits), targets, rules_) / images;
        }
        add("mask", masks, part_.mask_weight, result);
    }

    // The rows are regions, of which each is one of its own.
    TorchTensors run(const TorchExecutor& stage, const char* input, const TorchTensors& network,
                     std::span<const PooledRegion> regions, std::int64_t bins,
                     EvaluateContext context) const {
        std::vector<at::Tensor> maps;
        for (std::size_t level = 0; level < kPooledLevels; ++level)
            maps.push_back(network.at(fmt::format("pyramid.{}", level)));
        context.pass_rows = 0;
        return stage.run({{input, roi_align(maps, regions, bins, rules_, pool_)}}, params_,
                         context);
    }

    // An image whose outputs are not finite proposes nothing.
    SampledRegions regions_of(const TorchTensors& network, std::span<const ImageSize> maps,
                              std::span<const DetectionTruth> truths,
                              const EvaluateContext& context, bool& finite) const {
        std::vector<at::Tensor> scores, deltas;
        for (std::size_t level = 0; level < kPyramidLevels; ++level) {
            scores.push_back(plain(network.at(fmt::format("objectness.{}", level))));
            deltas.push_back(plain(network.at(fmt::format("anchor_deltas.{}", level))));
        }
        SampledRegions regions;
        for (std::size_t i = 0; i < truths.size(); ++i) {
            std::vector<ProposalLevel> levels;
            for (std::size_t level = 0; level < kPyramidLevels; ++level)
                levels.push_back({maps[level], row_of(scores[level], i), row_of(deltas[level], i)});
            std::vector<Region> proposals;
            try {
                for (const Proposal& one : propose(
                         levels, truths[i].shown, rules_,
                         {.per_level = kProposalsOfLevel, .most = std::size_t(part_.proposals)}))
                    proposals.push_back(one.region);
            } catch (const NonFiniteLogits&) {
                finite = false;
            }
            add_regions(std::int64_t(i), truths[i], proposals, rules_,
                        head_.masks ? kMaskRegionRule : kBoxRegionRule,
                        {part_.regions, part_.region_positives},
                        sampling_stream("regions", context.seed, context.step, context.place_of(i)),
                        regions);
        }
        return regions;
    }

    // Without a gradient, as the rest of the program reads numbers.
    static at::Tensor plain(const at::Tensor& tensor) {
        return tensor.detach().to(at::kFloat).contiguous();
    }
    static std::span<const float> row_of(const at::Tensor& rows, std::size_t row) {
        const std::int64_t size = rows.numel() / rows.size(0);
        return {rows.data_ptr<float>() + std::int64_t(row) * size, std::size_t(size)};
    }

    // The size of the padded images.
    ImageSize input_of(const TorchTensors& network) const {
        const at::Tensor& map = network.at("objectness.0");
        return {std::min(map.size(2) * level_stride(0), canvas_.height),
                std::min(map.size(3) * level_stride(0), canvas_.width)};
    }

    DetectPart part_;
    bool synced_;
    ProcessGroup& group_;
    DetectionConfig head_;
    RegionRules rules_;
    ImageSize canvas_;  // of images as the loader makes them
    ImageSize shown_;   // the largest part of the batch's images that is no padding
    std::shared_ptr<kernels::ThreadPool> pool_;
    std::optional<TorchExecutor> boxes_, masks_;
    TorchTensors params_;
};

}  // namespace

std::unique_ptr<Objective> make_mask_rcnn(const ObjectiveSetup& setup) {
    return std::make_unique<MaskRcnnObjective>(setup);
}

}  // namespace cait
