"""Writes data/segment_loss.json: the loss of the classes of all pixels and its gradients, by
PyTorch's functions as mmsegmentation calls them (interpolate, cross_entropy with ignore_index 255,
mean over all pixels or over those with a class), and mmcv's poly schedule at some steps.

Inputs are the pattern (pattern.py) under the names of the tensors; labels are by a formula.
"""
import json
import pathlib

import torch
from pattern import pattern
from torch.nn.functional import cross_entropy, interpolate

PATH = pathlib.Path(__file__).parent / "data" / "segment_loss.json"
BATCH, CLASSES, HEIGHT, WIDTH = 2, 4, 13, 17
WEIGHTS = [0.5, 1.0, 2.0, 0.25]


def label_images(batch, height, width, classes):
    index = torch.arange(batch * height * width)
    labels = (index * 7 // 11 + index // 23) % (classes + 1)
    labels[labels == classes] = 255
    return labels.reshape(batch, height, width)


def pixels_loss(logits, labels, mean, weights):
    large = interpolate(logits, labels.shape[1:], mode="bilinear", align_corners=False)
    weight = None if weights is None else torch.tensor(weights, dtype=large.dtype)
    if mean == "labelled":
        return cross_entropy(large, labels, weight=weight, ignore_index=255)
    return cross_entropy(large, labels, weight=weight, ignore_index=255, reduction="none").mean()


def losses():
    labels = label_images(BATCH, HEIGHT, WIDTH, CLASSES)
    for mean in ("all", "labelled"):
        for weights in (None, WEIGHTS):
            main = (4 * torch.from_numpy(pattern("segmentation", (BATCH, CLASSES, 5, 6))).double())
            second = (4 * torch.from_numpy(pattern("auxiliary", (BATCH, CLASSES, 3, 4))).double())
            main.requires_grad_(), second.requires_grad_()
            loss = (pixels_loss(main, labels, mean, weights) +
                    0.4 * pixels_loss(second, labels, mean, weights))
            loss.backward()
            yield {"pixel_mean": mean, "weights": weights or [], "loss": loss.item(),
                   "segmentation": main.grad.flatten().tolist(),
                   "segmentation_auxiliary": second.grad.flatten().tolist()}


def poly():
    """mmcv's PolyLrUpdaterHook with a linear warm-up: rates of some of 160,000 steps."""
    base, most, warmup, ratio = 6e-5, 160000, 1500, 1e-6
    for step in (0, 1, 700, 1499, 1500, 1501, 80000, 159999):
        rate = base * (1 - step / most)
        if step < warmup:
            rate *= 1 - (1 - step / warmup) * (1 - ratio)
        yield [step, rate]


if __name__ == "__main__":
    PATH.write_text(json.dumps({"batch": BATCH, "classes": CLASSES, "height": HEIGHT,
                                "width": WIDTH, "torch": torch.__version__,
                                "losses": list(losses()), "poly": list(poly())}) + "\n")
    print(PATH.name, PATH.stat().st_size)
