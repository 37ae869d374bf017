"""Writes data/losses.json: loss functions and their gradients at fixed inputs.

Inputs are the pattern (pattern.py) under the names of the tensors. Targets of mixed labels are
timm's, cross-entropies timm's or torch's; distillation, co-training of submodels and token labels
are written out from the papers' formulas with torch's functions, all in float64.
"""
import json
import pathlib

import timm
import torch
from pattern import pattern
from timm.data.mixup import mixup_target
from timm.loss import BinaryCrossEntropy, LabelSmoothingCrossEntropy, SoftTargetCrossEntropy
from torch.nn.functional import (binary_cross_entropy_with_logits, cross_entropy, kl_div,
                                 log_softmax, one_hot, softmax)

PATH = pathlib.Path(__file__).parent / "data" / "losses.json"
BATCH, CLASSES, TOKENS = 4, 5, 6
LABELS = [0, 3, 1, 4]
SHARE = 0.3  # of an image in its mix with the one from the other end of the batch


def tensor(name, *shape):
    return 4 * torch.from_numpy(pattern(name, shape)).double()


def inputs():
    leaves = {"logits": tensor("logits", BATCH, CLASSES),
              "twins": tensor("twins", 2 * BATCH, CLASSES),
              "logits_dist": tensor("logits_dist", BATCH, CLASSES),
              "logits_aux": tensor("logits_aux", BATCH, TOKENS, CLASSES)}
    return {name: value.requires_grad_() for name, value in leaves.items()}


labels = torch.tensor(LABELS)
teacher = tensor("teacher", BATCH, CLASSES)
token_targets = softmax(tensor("token_targets", BATCH, TOKENS, CLASSES), -1)
soft = SoftTargetCrossEntropy()
bce = binary_cross_entropy_with_logits


def mixed(smoothing):
    """timm's targets of a mixup or CutMix batch with one share for all images."""
    return mixup_target(labels, CLASSES, SHARE, smoothing).double()


def taught(student, kind, temperature=1.0):
    if kind == "hard":
        return cross_entropy(student, teacher.argmax(1))
    t = temperature
    return kl_div(log_softmax(student / t, 1), log_softmax(teacher / t, 1), reduction="sum",
                  log_target=True) * t * t / student.numel()


def cosub(twins, targets):
    one, two = twins.chunk(2)
    return (bce(one, targets) + bce(two, targets) + bce(one, two.detach().sigmoid()) +
            bce(two, one.detach().sigmoid())) / 4


def cases(x):
    logits, dist, aux, twins = x["logits"], x["logits_dist"], x["logits_aux"], x["twins"]
    plain = cross_entropy(logits, labels)
    hot = one_hot(labels, CLASSES).double()
    yield "hard_labels", {}, plain
    yield "smoothed", {"loss.smoothing": 0.1}, LabelSmoothingCrossEntropy(0.1)(logits, labels)
    yield "mixed", {"targets": 0.1}, soft(logits, mixed(0.1))
    yield "bce_labels", {"loss.name": "bce"}, bce(logits, hot)
    yield ("bce_mixed", {"loss.name": "bce", "targets": 0.0},
           bce(logits, mixed(0.0).gt(0.0).double()))
    yield ("bce_mixed_soft", {"loss.name": "bce", "loss.bce_threshold": -1.0, "targets": 0.1},
           bce(logits, mixed(0.1)))
    yield ("bce_smoothed_threshold",
           {"loss.name": "bce", "loss.smoothing": 0.1, "loss.bce_threshold": 0.2},
           BinaryCrossEntropy(0.1, 0.2)(logits, labels))
    soft_kind = {"distill.kind": "soft", "distill.alpha": 0.3, "distill.temperature": 3.0}
    hard_kind = {"distill.kind": "hard", "distill.alpha": 0.5}
    yield ("soft_distilled", soft_kind | {"head": "dist"},
           0.7 * plain + 0.3 * taught(dist, "soft", 3.0))
    yield "hard_distilled", hard_kind | {"head": "dist"}, (plain + taught(dist, "hard")) / 2
    yield "soft_distilled_one_head", soft_kind, 0.7 * plain + 0.3 * taught(logits, "soft", 3.0)
    yield ("hard_distilled_one_head", hard_kind | {"targets": 0.1},
           (soft(logits, mixed(0.1)) + taught(logits, "hard")) / 2)
    yield ("cosub_bce", {"loss.name": "bce", "loss.cosub": True, "targets": 0.0},
           cosub(twins, mixed(0.0).gt(0.0).double()))
    yield "cosub_soft", {"loss.cosub": True, "targets": 0.1}, cosub(twins, mixed(0.1))
    token = {"loss.name": "token_label", "loss.token_weight": 0.5, "head": "aux"}
    flat = aux.reshape(-1, CLASSES)
    yield ("token_labels", token | {"targets": 0.1, "token_targets": True},
           soft(logits, mixed(0.1)) + 0.5 * soft(flat, token_targets.reshape(-1, CLASSES)))
    yield ("token_labels_of_image", token | {"targets": 0.1},
           soft(logits, mixed(0.1)) + 0.5 * soft(flat, mixed(0.1).repeat_interleave(TOKENS, 0)))


def main():
    lines = []
    names = [name for name, _, _ in cases(inputs())]
    for index, name in enumerate(names):
        x = inputs()  # fresh leaves: each case has gradients of its own
        _, settings, loss = list(cases(x))[index]
        loss.backward()
        gradients = {key: value.grad.flatten().tolist() for key, value in x.items()
                     if value.grad is not None}
        lines.append(json.dumps({"name": name, "recipe": settings, "loss": loss.item(),
                                 "gradients": gradients}))
        print(f"{name:26} {loss.item():.6f} {' '.join(gradients)}")
    targets = {str(smoothing): mixed(smoothing).flatten().tolist() for smoothing in (0.0, 0.1)}
    about = f"timm {timm.__version__}, torch {torch.__version__.split('+')[0]}, float64"
    head = {"reference": about, "labels": LABELS, "share": SHARE, "classes": CLASSES,
            "tokens": TOKENS, "targets": targets}
    PATH.write_text(json.dumps(head)[:-1] + ',\n "cases": [\n' + ",\n".join(lines) + "\n]}\n")


if __name__ == "__main__":
    main()
