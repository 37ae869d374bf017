"""Writes data/segment_images.json: label images by mmseg's test procedures, written out with PyTorch.

The network is a formula that a C++ test can repeat: the mean colour of every 4x4 pixels, and of that
one sine per class. Images are Pillow's bilinear resize of a formula, so no picture is stored. Sizes and
windows follow mmcv's and mmseg's rules; both enlargements are F.interpolate, align_corners=False.
Scores are mmseg's: areas of intersection, prediction and label over all images, without label 255.
"""
import json
import pathlib

import numpy as np
import torch
import torch.nn.functional as F
from PIL import Image

PATH = pathlib.Path(__file__).parent / "data" / "segment_images.json"
MEAN = torch.tensor([0.485, 0.456, 0.406], dtype=torch.float64).view(3, 1, 1)
STD = torch.tensor([0.229, 0.224, 0.225], dtype=torch.float64).view(3, 1, 1)
CLASSES, PATCH = 5, 8


def picture(width, height):
    y, x = np.mgrid[0:height, 0:width]
    pixels = np.stack([(5 * x + 3 * y + 40) % 256, (x * y // 2 + 11 * x) % 256, (7 * y + x * x // 5) % 256], axis=-1)
    return Image.fromarray(pixels.astype(np.uint8))


def network(images):
    """[1, 3, h, w], sides multiples of 4, to [1, K, h / 4, w / 4]."""
    cells = F.avg_pool2d(images, 4)
    r, g, b = cells[0]
    return torch.stack([2 * torch.sin(1.3 * k + r * (1 + 0.3 * k) - 0.7 * g + 0.2 * k * b) for k in range(CLASSES)])[None]


def enlarge(logits, size):
    return F.interpolate(logits, size=size, mode="bilinear", align_corners=False)


def encode_decode(images, padded):
    """Pads to whole patches inside the network; the map is brought to the size before that."""
    height, width = images.shape[2:]
    down, right = padded[0] - height, padded[1] - width
    return enlarge(network(F.pad(images, (0, right, 0, down))), (height, width))


def whole(images):
    up = lambda size: (size + PATCH - 1) // PATCH * PATCH
    return encode_decode(images, (up(images.shape[2]), up(images.shape[3])))


def slide(images, window, stride):
    height, width = images.shape[2:]
    sums = torch.zeros(1, CLASSES, height, width, dtype=torch.float64)
    counts = torch.zeros(1, 1, height, width, dtype=torch.float64)
    rows = max(height - window + stride - 1, 0) // stride + 1
    columns = max(width - window + stride - 1, 0) // stride + 1
    for i in range(rows):
        for j in range(columns):
            bottom, right = min(i * stride + window, height), min(j * stride + window, width)
            top, left = max(bottom - window, 0), max(right - window, 0)
            part = images[:, :, top:bottom, left:right]
            # A network of one size only: what the image does not fill stays zero.
            part = F.pad(part, (0, window - part.shape[3], 0, window - part.shape[2]))
            logits = enlarge(network(part), (window, window))[:, :, :bottom - top, :right - left]
            sums[:, :, top:bottom, left:right] += logits
            counts[:, :, top:bottom, left:right] += 1
    assert counts.min() > 0
    return sums / counts


def segment(image, case):
    total, looks = 0, 0
    for scale in case["scales"]:
        short_limit, long_limit = int(case["short_side"] * scale), int(case["long_side"] * scale)
        factor = min(long_limit / max(image.size), short_limit / min(image.size))
        size = [int(side * factor + 0.5) for side in image.size]
        pixels = np.asarray(image.resize(size, Image.BILINEAR))
        tensor = (torch.tensor(pixels, dtype=torch.float64).permute(2, 0, 1) / 255 - MEAN) / STD
        for mirror in (False, True) if case["flip"] else (False,):
            images = (tensor.flip(2) if mirror else tensor)[None]
            logits = whole(images) if case["mode"] == "whole" else slide(images, case["window"], case["stride"])
            logits = enlarge(logits, (image.size[1], image.size[0]))
            values = logits.softmax(1)
            total = total + (values.flip(3) if mirror else values)
            looks += 1
    return (total / looks)[0]


def images():
    base = {"mode": "whole", "short_side": 40, "long_side": 160, "window": 0, "stride": 0, "scales": [1.0], "flip": False}
    cases = [
        {"name": "whole", "width": 50, "height": 37},
        {"name": "whole_limited_by_the_long_side", "width": 90, "height": 21, "long_side": 64},
        {"name": "slide", "width": 61, "height": 47, "mode": "slide", "window": 24, "stride": 16},
        {"name": "slide_over_a_small_image", "width": 40, "height": 9, "mode": "slide", "short_side": 12, "window": 24, "stride": 16},
        {"name": "scales_and_mirror", "width": 33, "height": 45, "scales": [0.5, 1.0, 1.75], "flip": True},
        {"name": "slide_scales_and_mirror", "width": 45, "height": 30, "mode": "slide", "window": 24, "stride": 10,
         "scales": [0.75, 1.25], "flip": True}]
    for case in cases:
        case = base | case
        values = segment(picture(case["width"], case["height"]), case)
        # Some probabilities, and all classes: pixels whose two likeliest are nearly equal may go either way.
        best, second = values.topk(2, dim=0).values
        flat = values.flatten(1)
        places = list(range(0, flat.shape[1], 29))
        yield case | {"labels": "".join(str(int(v)) for v in values.argmax(0).flatten()),
                      "close": [int(i) for i in torch.nonzero((best - second).flatten() < 1e-4)],
                      "places": places,
                      "probabilities": [[float(f"{v:.8g}") for v in flat[:, i]] for i in places]}


def scores():
    random = np.random.default_rng(29)
    classes = 6
    inter, union_pred, union_label = (np.zeros(classes) for _ in range(3))
    stored = []
    for _ in range(3):
        label = random.integers(0, classes - 1, 200)  # the last class is never labelled
        predicted = np.where(random.random(200) < 0.6, label, random.integers(0, classes, 200))
        label = np.where(random.random(200) < 0.1, 255, label)
        predicted[predicted == 4] = 0  # nor is one ever predicted
        stored.append({"predicted": predicted.tolist(), "labels": label.tolist()})
        mask = label != 255
        p, l = predicted[mask], label[mask]
        inter += np.bincount(p[p == l], minlength=classes)
        union_pred += np.bincount(p, minlength=classes)
        union_label += np.bincount(l, minlength=classes)
    with np.errstate(invalid="ignore"):
        iou, acc = inter / (union_pred + union_label - inter), inter / union_label
    return {"classes": classes, "images": stored, "iou": iou.tolist(), "accuracy": [v if v == v else 0 for v in acc.tolist()],
            "miou": float(np.nanmean(iou)), "macc": float(np.nanmean(acc)), "aacc": float(inter.sum() / union_label.sum())}


def main():
    PATH.write_text(json.dumps({"cases": list(images()), "scores": scores()}) + "\n")


if __name__ == "__main__":
    main()
