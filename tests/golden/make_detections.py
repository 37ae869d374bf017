"""Writes data/detections.json: suppression, proposals, detections and pasted masks of made network
outputs, by torchvision (nms, batched_nms, RegionProposalNetwork.filter_proposals,
RoIHeads.postprocess_detections, paste_masks_in_image) and by mmdetection's rules, composed here of
PyTorch's functions.
"""
import json
import pathlib

import torch
from make_regions import LIMIT, boxes, digits, map_sizes, mmdet_anchors, mmdet_decode, numbers
from torch.nn.functional import grid_sample, softmax
from torchvision.models.detection.anchor_utils import AnchorGenerator
from torchvision.models.detection.image_list import ImageList
from torchvision.models.detection.roi_heads import RoIHeads, paste_masks_in_image
from torchvision.models.detection.rpn import RegionProposalNetwork, concat_box_prediction_layers
from torchvision.ops import batched_nms, nms

PATH = pathlib.Path(__file__).parent / "data" / "detections.json"
INPUT, SHOWN = (128, 160), (120, 150)


def by_group(regions, scores, groups, overlap):
    """batched_nms without its shift of coordinates, which rounds; ties to the first."""
    keep = torch.zeros(len(regions), dtype=torch.bool)
    for group in groups.unique():
        index = torch.where(groups == group)[0]
        keep[index[nms(regions[index], scores[index], overlap)]] = True
    index = torch.where(keep)[0]
    return index[scores[index].sort(descending=True, stable=True)[1]]


def suppress_cases():
    for count, groups, overlap, step in ((60, 1, 0.5, 0), (300, 1, 0.3, 0), (300, 4, 0.7, 0), (200, 3, 0.5, 8)):
        name = f"suppress.{count}.{groups}"
        regions = boxes(name, count, 100, 80, 40)
        scores = (numbers(name + ".scores", count) + 1) / 2
        if step:  # many ties
            scores = torch.floor(scores * step) / step
        group = torch.arange(count) * 7 // 3 % groups
        kept = by_group(regions, scores, group, overlap)
        if groups == 1:
            assert kept.tolist() == nms(regions, scores, overlap).tolist()
        else:
            assert sorted(kept.tolist()) == sorted(batched_nms(regions, scores, group, overlap).tolist())
        yield {"count": count, "groups": groups, "overlap": overlap, "step": step, "kept": kept.tolist()}


def first_stage(name):
    objectness, deltas = [], []
    for level, (rows, columns) in enumerate(map_sizes(*INPUT)):
        objectness.append(numbers(f"{name}.objectness.{level}", 1, 3, rows, columns, scale=3))
        deltas.append(numbers(f"{name}.deltas.{level}", 1, 12, rows, columns, scale=0.7))
        assert len(objectness[-1].unique()) == objectness[-1].numel()
    return objectness, deltas


def torchvision_proposals(name, per_level, most):
    generator = AnchorGenerator(tuple((32 << i,) for i in range(5)), ((0.5, 1.0, 2.0),) * 5)
    counts = {"training": per_level, "testing": per_level}
    rpn = RegionProposalNetwork(generator, None, 0.7, 0.3, 256, 0.5, counts,
                                {"training": most, "testing": most}, 0.7, 0.0).eval()
    objectness, deltas = first_stage(name)
    anchors = generator(ImageList(torch.zeros(1, 3, *INPUT), [SHOWN]), objectness)
    each = [level[0].numel() for level in objectness]
    logits, moves = concat_box_prediction_layers(objectness, deltas)
    proposals = rpn.box_coder.decode(moves, anchors).view(1, -1, 4)
    found, scores = rpn.filter_proposals(proposals, logits, [SHOWN], each)
    return found[0], scores[0]


def mmdet_proposals(name, per_level, most):
    objectness, deltas = first_stage(name)
    regions, scores, levels = [], [], []
    for level, anchors in enumerate(mmdet_anchors(*INPUT)):
        logits = objectness[level][0].permute(1, 2, 0).reshape(-1)
        moves = deltas[level][0].permute(1, 2, 0).reshape(-1, 4)
        probability, order = logits.sigmoid().sort(descending=True, stable=True)
        order = order[:per_level]
        moved = mmdet_decode(anchors[order], moves[order], [1.0] * 4)
        moved[:, 0::2] = moved[:, 0::2].clamp(0, SHOWN[1])
        moved[:, 1::2] = moved[:, 1::2].clamp(0, SHOWN[0])
        regions.append(moved)
        scores.append(probability[:per_level])
        levels.append(torch.full((len(order),), level))
    regions, scores, levels = torch.cat(regions), torch.cat(scores), torch.cat(levels)
    valid = (regions[:, 2] > regions[:, 0]) & (regions[:, 3] > regions[:, 1])
    regions, scores, levels = regions[valid], scores[valid], levels[valid]
    kept = by_group(regions, scores, levels, 0.7)[:most]
    return regions[kept], scores[kept]


def proposal_cases():
    for rules, find in (("torchvision", torchvision_proposals), ("mmdet", mmdet_proposals)):
        for name, per_level, most in (("stage0", 100, 60), ("stage1", 30, 500)):
            regions, scores = find(name, per_level, most)
            assert len(regions) == min(most, len(regions))
            yield {"rules": rules, "name": name, "per_level": per_level, "most": most,
                   "regions": digits(regions, 4), "scores": digits(scores, 6)}


def torchvision_detections(regions, logits, deltas, most):
    heads = RoIHeads(None, None, None, 0.5, 0.5, 512, 0.25, None, 0.05, 0.5, most)
    found, scores, labels = heads.postprocess_detections(logits, deltas, [regions], [SHOWN])
    return found[0], scores[0], labels[0] - 1


def mmdet_detections(regions, logits, deltas, most):
    count, classes = len(regions), logits.shape[1] - 1
    scores = softmax(logits, 1)[:, :-1].reshape(-1)
    std = [0.1, 0.1, 0.2, 0.2]
    moved = mmdet_decode(regions.repeat_interleave(classes, 0), deltas.reshape(-1, 4), std)
    moved[:, 0::2] = moved[:, 0::2].clamp(0, SHOWN[1])
    moved[:, 1::2] = moved[:, 1::2].clamp(0, SHOWN[0])
    labels = torch.arange(classes).repeat(count)
    index = torch.where(scores > 0.05)[0]
    index = index[by_group(moved[index], scores[index], labels[index], 0.5)][:most]
    return moved[index], scores[index], labels[index]


def detection_cases():
    count, classes = 50, 4
    for rules, find, boxes_each in (("torchvision", torchvision_detections, classes + 1),
                                    ("mmdet", mmdet_detections, classes)):
        for most in (20, 500):
            regions = boxes("answers.regions", count, SHOWN[1], SHOWN[0], 60)
            logits = numbers("answers.logits", count, classes + 1, scale=3)
            deltas = numbers("answers.deltas", count, 4 * boxes_each, scale=4)
            found, scores, labels = find(regions, logits, deltas, most)
            yield {"rules": rules, "most": most, "boxes": boxes_each, "regions": digits(found, 4),
                   "scores": digits(scores, 6), "labels": labels.tolist()}


def probabilities(side):
    """A hill with stripes."""
    y, x = torch.meshgrid(torch.arange(side).double(), torch.arange(side).double(), indexing="ij")
    hill = 1 / (1 + ((x - 13.5) ** 2 / 60 + (y - 11) ** 2 / 90))
    return torch.where((x + y) % 9 == 0, hill * 0.4, hill).float()


MASK_BOXES = [[5, 6, 45, 36], [-10.5, -7.25, 22.5, 30.75], [30.2, 20.7, 80, 70], [12.4, 9.9, 13.1, 31],
              [0, 0, 60, 44], [10, 10, 24, 24], [20.5, 11.5, 26.25, 15.75], [-300, -200, 400, 300],
              [7.3, 40.1, 52.9, 43.8]]
MASK_IMAGE = (44, 60)


def mmdet_mask(mask, box):
    height, width = MASK_IMAGE
    x0, y0, x1, y1 = box
    first_x, first_y = (int(torch.clamp(v.floor() - 1, min=0)) for v in (x0, y0))
    end_x = int(torch.clamp(x1.ceil() + 1, max=width))
    end_y = int(torch.clamp(y1.ceil() + 1, max=height))
    y = (torch.arange(first_y, end_y).float() + 0.5 - y0) / (y1 - y0) * 2 - 1
    x = (torch.arange(first_x, end_x).float() + 0.5 - x0) / (x1 - x0) * 2 - 1
    grid = torch.stack([x[None, :].expand(len(y), len(x)), y[:, None].expand(len(y), len(x))], 2)
    pasted = torch.zeros(height, width)
    pasted[first_y:end_y, first_x:end_x] = grid_sample(mask[None, None], grid[None], align_corners=False)[0, 0]
    return pasted >= 0.5


def runs_of(mask):
    flat = mask.t().flatten().int()
    ends = torch.where(flat[1:] != flat[:-1])[0] + 1
    edges = [0] + ends.tolist() + [len(flat)]
    runs = [b - a for a, b in zip(edges, edges[1:])]
    return ([0] if flat[0] else []) + runs


def mask_cases():
    mask = probabilities(28)
    for box in MASK_BOXES:
        each = torch.tensor(box, dtype=torch.float32)
        torchvision = paste_masks_in_image(mask[None, None], each[None], MASK_IMAGE)[0, 0] > 0.5
        yield {"box": box, "torchvision": runs_of(torchvision), "mmdet": runs_of(mmdet_mask(mask, each))}


if __name__ == "__main__":
    torch.set_num_threads(1)
    PATH.write_text(json.dumps({"suppress": list(suppress_cases()), "proposals": list(proposal_cases()),
                                "detections": list(detection_cases()), "masks": list(mask_cases())}) + "\n")
    print(PATH.name, PATH.stat().st_size)
