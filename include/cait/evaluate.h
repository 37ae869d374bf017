// How good a model is on a data set, as named numbers. Link cait::evaluate
// (find_package(cait COMPONENTS evaluate)); no LibTorch is needed.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "cait/model.h"
#include "cait/session.h"

namespace cait {

struct NamedNumber {
    std::string name;
    double value = 0;
};

struct EvaluationOptions {
    SessionOptions session = {.batch = 32};
    int loader_threads = 0;  // that read and prepare images; 0: one per core
    bool flip = false;       // mean of the logits of image and mirror image; not of a detector
    bool skip_bad = false;   // leave out up to 5 % of unreadable images; otherwise the first throws
    std::function<void(std::size_t done, std::size_t images)> progress = {};
};

struct ModelEvaluation {
    // top1, top5, mean_class_accuracy, loss, ece; accuracies and ece are fractions. Of a model with
    // a distillation head also top1.class and top1.distillation, what each head gets right alone.
    // Of a model for several classes per image (Model::task): map, f1, macro_f1, exact_match, loss,
    // threshold, classes_without_positives. Of a model that segments: miou, macc, aacc. Of one that
    // detects: COCO's box_ap, box_ap50, box_ap75, box_ap_small, box_ap_medium, box_ap_large,
    // box_ar1, box_ar10, box_ar100, box_ar_small, box_ar_medium, box_ar_large, and where the model
    // and the data have masks the same of mask_; -1 where the data has nothing of that kind. Of one
    // that translates, on data such as text:FOLDER?source=en&target=de: sacreBLEU's bleu and chrf
    // (0 to 100), perplexity, loss, bleu_tokenised, bleu_split, pieces.
    std::vector<NamedNumber> scores;
    std::size_t images = 0;             // or sentences, that count
    std::vector<std::string> left_out;  // unreadable images, each with the reason
    std::vector<std::string> notes;     // about labels that could have meant something else

    double operator[](std::string_view score) const;  // throws UsageError for another name
};

// `data` names a data set as `cait data --help` lists them, such as "folder:photos"; of one with
// parts the validation part. Its classes are the model's, matched by name. Throws UsageError for a
// wrong name, Error for data that does not fit the model.
ModelEvaluation evaluate(const Model& model, const std::string& data,
                         const EvaluationOptions& options = {});

}  // namespace cait
