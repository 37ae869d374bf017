"""Writes data/steps.json: twenty optimiser steps of small models, as the public code takes them.

usage: make_steps.py FOLDER, which holds the official patchconvnet_models.py (make_patchconvnet.py).
Optimisers are torch's AdamW and SGD and timm's Lamb, the learning rate is timm's
CosineLRScheduler, clipping torch's. Everything is float64 on the float32 pattern, without
augmentation; the same batch comes at every step.
"""
import json
import pathlib
import sys
from functools import partial

import make_patchconvnet
import make_resmlp
import reference
import timm
import torch
from family import fill as fill_family
from family import official_shape, size_of
from pattern import fill, images, pattern, uniform
from timm.loss import LabelSmoothingCrossEntropy
from timm.optim import Lamb
from timm.scheduler import CosineLRScheduler
from torch.nn.functional import binary_cross_entropy_with_logits, cross_entropy, kl_div, log_softmax

PATH = pathlib.Path(__file__).parent / "data" / "steps.json"
STEPS, STEPS_PER_EPOCH = 20, 5
LABELS = [0, 3, 1, 4]
CLASSES = 5
# Below this a gradient is what float64 leaves of zero, which Adam would blow up to a step.
NOISE = 1e-11

CAIT = {"model": "cait_xxs24_224",
        "set": {"image_size": "32", "classes": "5", "patch": "8", "dim": "32", "depth": "2",
                "heads": "4", "class_layers": "2"}}
DEIT = {"model": "deit_tiny_distilled_patch16_224",
        "set": {"image_size": "32", "classes": "5", "patch": "8", "dim": "32", "depth": "3",
                "heads": "4"}}
RESMLP = {"model": "resmlp_12_224",
          "set": {"image_size": "16x24", "classes": "5", "patch": "8", "dim": "16", "depth": "2"}}
PATCHCONVNET = {"model": "patchconvnet_s60",
                "set": {"image_size": "48x64", "classes": "5", "dim": "16", "depth": "2",
                        "norm": "batchnorm"}}

ADAMW = {"optim.name": "adamw", "optim.lr": 2e-3, "optim.weight_decay": 0.05}
LAMB = {"optim.name": "lamb", "optim.lr": 5e-3, "optim.weight_decay": 0.05}
SGD = {"optim.name": "sgd", "optim.lr": 0.02, "optim.weight_decay": 0.01}
# Keys of our recipes. Nothing is left to their defaults here.
COMMON = {"optim.beta1": 0.9, "optim.beta2": 0.999, "optim.epsilon": 1e-8, "optim.momentum": 0.9,
          "optim.clip_at": 1.0, "optim.layer_decay": 1.0, "optim.decay_rule": "facebook",
          "schedule.epochs": 4.0, "schedule.warmup": 1.0, "schedule.warmup_lr": 1e-6,
          "schedule.min_lr": 1e-5, "train.ema": 0.9, "loss.name": "cross_entropy",
          "loss.smoothing": 0.0, "distill.kind": "none", "distill.alpha": 0.5,
          "distill.temperature": 1.0}
CASES = [
    ("cait_adamw", CAIT, ADAMW | {"loss.smoothing": 0.1}),
    ("cait_lamb", CAIT, LAMB | {"distill.kind": "hard"}),
    ("deit_distilled_adamw", DEIT, ADAMW | {"distill.kind": "hard"}),
    ("deit_distilled_lamb", DEIT, LAMB | {"distill.kind": "soft", "distill.temperature": 3.0,
                                          "distill.alpha": 0.3, "optim.decay_rule": "timm",
                                          "optim.layer_decay": 0.75}),
    ("resmlp_adamw", RESMLP, ADAMW | {"loss.name": "bce"}),
    ("resmlp_lamb", RESMLP, LAMB),
    ("resmlp_sgd", RESMLP, SGD),
    ("patchconvnet_adamw", PATCHCONVNET, ADAMW),
    ("patchconvnet_lamb", PATCHCONVNET, LAMB | {"loss.name": "bce"}),
]


def build(item, code):
    """A model in float64 with its named tensors (official names) and the image size."""
    name = item["model"]
    if name.startswith(("cait", "deit")):
        model, config, _ = reference.build(item)
        named = fill(model.double())
        return model, named, reference.parse_size(config["image_size"])
    module, make, official = (
        (make_resmlp, make_resmlp.build, make_resmlp.official) if name.startswith("resmlp") else
        (make_patchconvnet, partial(make_patchconvnet.build, code), lambda key: key))
    config = module.PRESETS[name] | item["set"]
    model = make(config).double()
    return model, fill_family(model, official), size_of(config)


def layer_of(name, depth):
    """Of a DeiT: embeddings, blocks, last norm and heads."""
    if name.startswith("blocks."):
        return int(name.split(".")[1]) + 1
    embeddings = ("patch_embed.", "pos_embed", "cls_token", "dist_token")
    return 0 if name.startswith(embeddings) else depth + 1


def decays(name, tensor, rule):
    if len(official_shape(name, tensor)) <= 1:
        return False
    spared = {"pos_embed", "cls_token"} | ({"dist_token"} if rule == "timm" else set())
    return not name.endswith(".bias") and name not in spared


def groups(named, recipe, depth):
    result = []
    for name, tensor in named.items():
        if not tensor.requires_grad:
            continue
        decay = decays(name, tensor, recipe["optim.decay_rule"])
        scale = 1.0
        if recipe["optim.layer_decay"] != 1:
            scale = recipe["optim.layer_decay"] ** (depth + 1 - layer_of(name, depth))
        result.append({"params": [tensor], "lr_scale": scale,
                       "weight_decay": recipe["optim.weight_decay"] if decay else 0.0})
    return result


def make_optimizer(parameters, recipe):
    lr, betas = recipe["optim.lr"], (recipe["optim.beta1"], recipe["optim.beta2"])
    if recipe["optim.name"] == "adamw":
        return torch.optim.AdamW(parameters, lr, betas, recipe["optim.epsilon"])
    if recipe["optim.name"] == "lamb":
        return Lamb(parameters, lr, betas=betas, eps=recipe["optim.epsilon"], max_grad_norm=None)
    return torch.optim.SGD(parameters, lr, recipe["optim.momentum"], nesterov=True)


def label_loss(logits, labels, recipe):
    if recipe["loss.name"] == "bce":
        targets = torch.nn.functional.one_hot(labels, CLASSES).to(logits.dtype)
        return binary_cross_entropy_with_logits(logits, targets)
    if recipe["loss.smoothing"] > 0:
        return LabelSmoothingCrossEntropy(recipe["loss.smoothing"])(logits, labels)
    return cross_entropy(logits, labels)


def loss_of(outputs, labels, teacher, recipe):
    logits, dist = outputs if isinstance(outputs, tuple) else (outputs, outputs)
    base = label_loss(logits, labels, recipe)
    if recipe["distill.kind"] == "none":
        return base
    if recipe["distill.kind"] == "hard":
        taught = cross_entropy(dist, teacher.argmax(1))
    else:
        t = recipe["distill.temperature"]
        taught = kl_div(log_softmax(dist / t, 1), log_softmax(teacher / t, 1), reduction="sum",
                        log_target=True) * t * t / dist.numel()
    return base * (1 - recipe["distill.alpha"]) + taught * recipe["distill.alpha"]


def checksum(name, tensor):
    """A weighted sum that notices any change of values or of their order, and the norm."""
    values = tensor.detach().double().flatten()
    return [float((values * torch.from_numpy(uniform(f"probe.{name}", values.numel()))).sum()),
            float(values.norm())]


def run(item, recipe, code):
    model, named, size = build(item, code)
    model.train()
    if hasattr(model, "set_distilled_training"):
        model.set_distilled_training(True)
    x, labels = images(len(LABELS), 3, *size).double(), torch.tensor(LABELS)
    teacher = 3 * torch.from_numpy(pattern("teacher", (len(LABELS), CLASSES))).double()
    return follow(named, int(item["set"]["depth"]), recipe,
                  lambda step: loss_of(model(x), labels, teacher, recipe))


def follow(named, depth, recipe, loss_at):
    """Twenty steps on what loss_at(step) gives."""
    optimizer = make_optimizer(groups(named, recipe, depth), recipe)
    schedule = CosineLRScheduler(
        optimizer, int(recipe["schedule.epochs"] * STEPS_PER_EPOCH), recipe["schedule.min_lr"],
        warmup_t=int(recipe["schedule.warmup"] * STEPS_PER_EPOCH),
        warmup_lr_init=recipe["schedule.warmup_lr"], t_in_epochs=False)
    learned = {name: tensor for name, tensor in named.items() if tensor.requires_grad}
    average = {name: tensor.detach().clone() for name, tensor in named.items()}
    losses, norms, rates, unseen = [], [], [], []
    for step in range(STEPS):
        schedule.step_update(step)
        optimizer.zero_grad()
        loss = loss_at(step)
        loss.backward()
        losses.append(loss.item())
        norms.append(torch.nn.utils.clip_grad_norm_(learned.values(),
                                                    recipe["optim.clip_at"]).item())
        rates.append(max(group["lr"] for group in optimizer.param_groups))
        if step == 0:
            unseen = [name for name, tensor in learned.items()
                      if ((tensor.grad != 0) & (tensor.grad.abs() < NOISE)).any()]
        optimizer.step()
        for name, tensor in named.items():
            average[name] = (recipe["train.ema"] * average[name] +
                             (1 - recipe["train.ema"]) * tensor.detach())
    assert losses[-1] < losses[0], losses
    assert max(norms) > recipe["optim.clip_at"], "nothing was clipped"
    return {"losses": losses, "norms": norms, "rates": rates, "unseen": unseen,
            "weights": {name: checksum(name, tensor) for name, tensor in named.items()},
            "average": {name: checksum(name, tensor) for name, tensor in average.items()}}


def main():
    if len(sys.argv) != 2:
        sys.exit(f"usage: {sys.argv[0]} FOLDER-OF-patchconvnet_models.py")
    code = make_patchconvnet.official_code(sys.argv[1])
    cases = []
    for name, item, changes in CASES:
        recipe = COMMON | changes
        found = run(item, recipe, code)
        cases.append({"name": name} | item | {"labels": LABELS, "recipe": recipe} | found)
        print(f"{name:22} losses {found['losses'][0]:.6f} .. {found['losses'][-1]:.6f}, norms "
              f"{min(found['norms']):.3f} to {max(found['norms']):.3f}, not compared: "
              f"{len(found['unseen'])}")
    about = (f"timm {timm.__version__}, torch {torch.__version__.split('+')[0]}, float64; "
             "facebookresearch/deit 2f5a6d3 patchconvnet_models.py")
    lines = ",\n".join(json.dumps(case) for case in cases)
    PATH.write_text(f'{{"reference": {json.dumps(about)},\n "steps_per_epoch": {STEPS_PER_EPOCH},\n'
                    f' "cases": [\n{lines}\n]}}\n')


if __name__ == "__main__":
    main()
