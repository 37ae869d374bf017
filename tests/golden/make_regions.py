"""Writes data/regions.json and data/roi_align.json: anchors, moved boxes, deltas and levels of
regions, and RoIAlign with its gradients, by torchvision; what mmdetection does differently is
composed here of PyTorch's functions.

Inputs are uniform() of pattern.py under the names that the tests use too.
"""
import json
import math
import pathlib

import numpy as np
import torch
from pattern import uniform
from torchvision.models.detection._utils import BoxCoder
from torchvision.models.detection.anchor_utils import AnchorGenerator
from torchvision.models.detection.image_list import ImageList
from torchvision.ops import roi_align
from torchvision.ops.poolers import LevelMapper

DATA = pathlib.Path(__file__).parent / "data"
LIMIT = math.log(1000 / 16)


def numbers(name, *shape, scale=1.0):
    return torch.tensor((uniform(name, math.prod(shape)) * scale).tolist()).reshape(shape)


def boxes(name, count, width, height, largest):
    """Centres anywhere, sides up to `largest`."""
    u = uniform(name, 4 * count).reshape(count, 4)
    x, y = (u[:, 0] + 1) / 2 * width, (u[:, 1] + 1) / 2 * height
    w, h = (u[:, 2] + 1) / 2 * largest + 1, (u[:, 3] + 1) / 2 * largest + 1
    return torch.tensor(np.stack([x - w / 2, y - h / 2, x + w / 2, y + h / 2], 1).tolist())


def digits(tensor, places=6):
    return [round(float(v), places) for v in tensor.flatten().tolist()]


def map_sizes(height, width):
    sizes = [(height // s, width // s) for s in (4, 8, 16, 32)]
    return sizes + [((sizes[-1][0] + 1) // 2, (sizes[-1][1] + 1) // 2)]


def torchvision_anchors(height, width):
    generator = AnchorGenerator(tuple((32 << i,) for i in range(5)), ((0.5, 1.0, 2.0),) * 5)
    maps = [torch.zeros(1, 1, *size) for size in map_sizes(height, width)]
    images = ImageList(torch.zeros(1, 3, height, width), [(height, width)])
    counts = [3 * m.shape[2] * m.shape[3] for m in maps]
    return list(generator(images, maps)[0].split(counts))


def mmdet_anchors(height, width):
    """AnchorGenerator with octave_base_scale 8, one scale per octave, centre offset 0."""
    ratios = torch.tensor([0.5, 1.0, 2.0])
    tall = torch.sqrt(ratios)
    levels = []
    for i, (rows, columns) in enumerate(map_sizes(height, width)):
        stride = 4 << i
        w, h = stride * (1 / tall) * 8, stride * tall * 8
        base = torch.stack([-0.5 * w, -0.5 * h, 0.5 * w, 0.5 * h], 1)
        y, x = torch.meshgrid(torch.arange(rows) * stride, torch.arange(columns) * stride, indexing="ij")
        shifts = torch.stack([x.flatten(), y.flatten()] * 2, 1)
        levels.append((shifts[:, None] + base[None]).reshape(-1, 4))
    return levels


def mmdet_decode(rois, deltas, std):
    d = deltas * torch.tensor(std)
    size = rois[:, 2:] - rois[:, :2]
    centre = (rois[:, :2] + rois[:, 2:]) * 0.5 + size * d[:, :2]
    half = size * d[:, 2:].clamp(-LIMIT, LIMIT).exp() * 0.5
    return torch.cat([centre - half, centre + half], 1)


def anchor_cases():
    for name, make in (("torchvision", torchvision_anchors), ("mmdet", mmdet_anchors)):
        for height, width in ((64, 96), (160, 224)):
            for level, anchors in enumerate(make(height, width)):
                map_size = map_sizes(height, width)[level]
                yield {"rules": name, "input": [height, width], "map": list(map_size), "level": level,
                       "count": len(anchors), "first": digits(anchors[:4], 4),
                       "last": digits(anchors[-4:], 4)}


def delta_cases():
    start = boxes("regions.from", 40, 300, 200, 120)
    end = boxes("regions.to", 40, 300, 200, 120)
    deltas = numbers("regions.deltas", 40, 4, scale=30)
    coder = BoxCoder((10.0, 10.0, 5.0, 5.0))
    std = [0.1, 0.1, 0.2, 0.2]
    yield {"torchvision": digits(coder.decode(deltas, [start])[:, 0], 3),
           "mmdet": digits(mmdet_decode(start, deltas, std), 3),
           "between": digits(coder.encode_single(end, start), 4)}


def level_cases():
    sides = [1, 20, 55.9, 56, 111.9, 111.9999, 111.99999, 112, 112.001, 223.99, 224, 300, 447.9999, 448, 449,
             800, 1333]
    regions = torch.tensor([[5, 7, 5 + s, 7 + s] for s in sides], dtype=torch.float32)
    mapper = LevelMapper(2, 5)
    side = ((regions[:, 2] - regions[:, 0]) * (regions[:, 3] - regions[:, 1])).sqrt()
    mmdet = torch.floor(torch.log2(side / 56 + 1e-6)).clamp(0, 3)
    for i, s in enumerate(sides):
        yield {"side": s, "torchvision": int(mapper([regions])[i]), "mmdet": int(mmdet[i])}


# left, top, right, bottom: inside, on edges, beyond, without area, thin, the wrong way round.
ROIS = [[0, 3, 2, 30, 25], [1, 0, 0, 52, 44], [0, -20, -15, 12, 9], [1, 40, 30, 70, 61], [0, 10, 10, 10, 10],
        [1, 10.3, 8.7, 11.1, 9.2], [0, -90, -90, -60, -60], [1, 5, 5, 6, 40], [0, -200, -300, 400, 300],
        [1, 30, 20, 12, 7], [0, 0, 0, 4, 4], [1, 51, 43, 52, 44], [0, 2, 6, 50, 7]]


def roi_cases():
    rois = torch.tensor(ROIS, dtype=torch.float32)
    shapes = [(3, aligned, sampling) for aligned in (False, True) for sampling in (0, 2)]
    for bins, aligned, sampling in shapes + [(2, True, 3), (7, True, 0)]:
        features = numbers("roi_align.map", 2, 3, 11, 13).requires_grad_()
        out = roi_align(features, rois, bins, 0.25, sampling, aligned)
        weights = numbers("roi_align.gradient", *out.shape)
        (out * weights).sum().backward()
        yield {"bins": bins, "aligned": aligned, "sampling": sampling, "result": digits(out, 6),
               "gradient": digits(features.grad, 5)}


if __name__ == "__main__":
    torch.set_num_threads(1)
    path = DATA / "regions.json"
    path.write_text(json.dumps({"anchors": list(anchor_cases()), "deltas": list(delta_cases()),
                                "levels": list(level_cases())}) + "\n")
    print(path.name, path.stat().st_size)
    path = DATA / "roi_align.json"
    path.write_text(json.dumps({"rois": ROIS, "cases": list(roi_cases())}) + "\n")
    print(path.name, path.stat().st_size)
