"""Writes data/found_objects.json: what torchvision's Mask R-CNN finds in one prepared image.

The model is torchvision's own, on a small ResNet of torchvision's blocks, with the weights of
pattern.py under this project's names; the layers that answer are scaled, so that answers differ.
Preparation is left out: the network gets the pattern "input" where the image is and zeros where it is
padded. Boxes and masks are those of an image of another size, as postprocess() gives them. Only cases
in which float32 and float64 decide alike, with room, are stored. Needs torch and torchvision.
"""
import json
import pathlib
import re

import numpy as np
import torch
import torchvision
from pattern import pattern
from torch import nn
from torchvision.models.detection import MaskRCNN
from torchvision.models.detection.image_list import ImageList
from torchvision.models.detection.backbone_utils import BackboneWithFPN
from torchvision.models.resnet import Bottleneck, conv1x1

PATH = pathlib.Path(__file__).parent / "data" / "found_objects.json"
WIDTH, PYRAMID, HIDDEN, CLASSES = 8, 16, 32, 3
SETTINGS = {"width": str(WIDTH), "blocks": "1,1,1,1", "head.kind": "mask_rcnn",
            "head.width": str(PYRAMID), "head.hidden": str(HIDDEN), "head.classes": str(CLASSES),
            "head.convention": "torchvision", "classes": "0"}
# The standard deviations of what these layers give, whose means the stored biases take away: raw, all
# regions would be of one class.
SPREAD = {"rpn_head.rpn_cls": 4.0, "rpn_head.rpn_reg": 0.3, "roi_head.bbox_head.fc_cls": 3.0,
          "roi_head.bbox_head.fc_reg": 1.0, "roi_head.mask_head.conv_logits": 4.0}
MASKS = 5  # whose pixels are stored; of the others the areas
BACKGROUND = 13.0  # added to its logit, so that an image has some objects and not a hundred
NAMES = [(r"backbone\.body\.(.*)", r"\1"),
         (r"backbone\.fpn\.inner_blocks\.(\d)\.0\.(.*)", r"neck.lateral_convs.\1.conv.\2"),
         (r"backbone\.fpn\.layer_blocks\.(\d)\.0\.(.*)", r"neck.fpn_convs.\1.conv.\2"),
         (r"rpn\.head\.conv\.0\.0\.(.*)", r"rpn_head.rpn_conv.\1"),
         (r"rpn\.head\.cls_logits\.(.*)", r"rpn_head.rpn_cls.\1"),
         (r"rpn\.head\.bbox_pred\.(.*)", r"rpn_head.rpn_reg.\1"),
         (r"roi_heads\.box_head\.fc6\.(.*)", r"roi_head.bbox_head.shared_fcs.0.\1"),
         (r"roi_heads\.box_head\.fc7\.(.*)", r"roi_head.bbox_head.shared_fcs.1.\1"),
         (r"roi_heads\.box_predictor\.cls_score\.(.*)", r"roi_head.bbox_head.fc_cls.\1"),
         (r"roi_heads\.box_predictor\.bbox_pred\.(.*)", r"roi_head.bbox_head.fc_reg.\1"),
         (r"roi_heads\.mask_head\.(\d)\.0\.(.*)", r"roi_head.mask_head.convs.\1.conv.\2"),
         (r"roi_heads\.mask_predictor\.conv5_mask\.(.*)", r"roi_head.mask_head.upsample.\1"),
         (r"roi_heads\.mask_predictor\.mask_fcn_logits\.(.*)", r"roi_head.mask_head.conv_logits.\1")]


def our_name(name):
    for theirs, ours in NAMES:
        if re.fullmatch(theirs, name):
            return re.sub(theirs, ours, name)
    raise KeyError(name)


class Trunk(nn.Module):
    """A ResNet of one bottleneck in each stage, narrow."""

    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(3, WIDTH, 7, 2, 3, bias=False)
        self.bn1, self.relu = nn.BatchNorm2d(WIDTH), nn.ReLU()
        self.maxpool = nn.MaxPool2d(3, 2, 1)
        inputs = WIDTH
        for stage in range(4):
            planes, stride = WIDTH << stage, 2 if stage else 1
            short = nn.Sequential(conv1x1(inputs, 4 * planes, stride), nn.BatchNorm2d(4 * planes))
            setattr(self, f"layer{stage + 1}",
                    nn.Sequential(Bottleneck(inputs, planes, stride, short)))
            inputs = 4 * planes


def mask_rcnn(dtype, settled):
    layers = {f"layer{i + 1}": str(i) for i in range(4)}
    backbone = BackboneWithFPN(Trunk(), layers, [4 * WIDTH << i for i in range(4)], PYRAMID)
    head = torchvision.models.detection.faster_rcnn.TwoMLPHead(PYRAMID * 49, HIDDEN)
    predictor = torchvision.models.detection.faster_rcnn.FastRCNNPredictor(HIDDEN, CLASSES + 1)
    masks = torchvision.models.detection.mask_rcnn.MaskRCNNHeads(PYRAMID, [PYRAMID] * 4, 1)
    last = torchvision.models.detection.mask_rcnn.MaskRCNNPredictor(PYRAMID, PYRAMID, CLASSES + 1)
    anchors = torchvision.models.detection.anchor_utils.AnchorGenerator(
        tuple((side,) for side in (32, 64, 128, 256, 512)), ((0.5, 1.0, 2.0),) * 5)
    pool = torchvision.ops.MultiScaleRoIAlign(["0", "1", "2", "3"], 7, 2)
    mask_pool = torchvision.ops.MultiScaleRoIAlign(["0", "1", "2", "3"], 14, 2)
    model = MaskRCNN(backbone, rpn_anchor_generator=anchors, box_roi_pool=pool, box_head=head,
                     box_predictor=predictor, mask_roi_pool=mask_pool, mask_head=masks,
                     mask_predictor=last).to(dtype).eval()
    with torch.no_grad():
        for name, tensor in model.state_dict(keep_vars=True).items():
            if not name.endswith("num_batches_tracked"):
                tensor.copy_(torch.from_numpy(pattern(our_name(name), tuple(tensor.shape))))
                for layer, (factor, biases) in settled.items():
                    if our_name(name) == layer + ".weight":
                        tensor.mul_(factor)
                    if our_name(name) == layer + ".bias":
                        tensor.copy_(torch.tensor(biases))
    return model


def settle(item):
    """Layer by layer, since each decides what the next ones see: {name: (factor, biases)}."""
    settled = {}
    for layer, spread in SPREAD.items():
        model = mask_rcnn(torch.float64, settled)
        module = next(part for name, part in model.named_modules()
                      if hasattr(part, "weight") and our_name(name + ".weight") == layer + ".weight")
        seen = []
        with torch.no_grad():
            module.bias.zero_()
        module.register_forward_hook(lambda _, x, y: seen.append(
            y.transpose(0, 1).flatten(1) if y.dim() == 4 else y.T))
        found(model, item, torch.float64)
        values = torch.cat(seen, 1)
        factor = float(f"{spread / values.std(1).mean().item():.3g}")
        biases = [float(f"{-factor * mean:.3g}") for mean in values.mean(1).tolist()]
        if layer.endswith("fc_cls"):
            biases[0] += BACKGROUND
        settled[layer] = (factor, biases)
    return settled


@torch.no_grad()
def found(model, item, dtype):
    height, width = item["padded"]
    shown = tuple(item["shown"])
    images = torch.zeros(1, 3, height, width, dtype=dtype)
    values = torch.from_numpy(pattern("input", (1, 3, height, width)))
    images[:, :, :shown[0], :shown[1]] = values[:, :, :shown[0], :shown[1]]
    features = model.backbone(images)
    proposals, _ = model.rpn(ImageList(images, [shown]), features)
    answers, _ = model.roi_heads(features, proposals, [shown])
    boxes = answers[0]["boxes"].clone()
    result = model.transform.postprocess(answers, [shown], [tuple(item["original"])])[0]
    return len(proposals[0]), boxes, result


def runs(mask):
    """Lengths of runs down the columns, beginning with pixels outside."""
    flat = mask.numpy().T.flatten()
    ends = np.flatnonzero(flat[1:] != flat[:-1]) + 1
    lengths = np.diff([0, *ends, len(flat)]).tolist()
    return lengths if not flat[0] else [0, *lengths]


def main():
    cases = [{"name": "padded", "padded": [128, 160], "shown": [118, 150], "original": [236, 301]},
             {"name": "exact", "padded": [160, 128], "shown": [160, 128], "original": [80, 63]},
             {"name": "wide", "padded": [96, 320], "shown": [90, 320], "original": [90, 320]}]
    settled = settle(cases[0])
    stored = []
    for item in cases:
        exact_count, _, exact = found(mask_rcnn(torch.float64, settled), item, torch.float64)
        count, _, single = found(mask_rcnn(torch.float32, settled), item, torch.float32)
        scores = exact["scores"]
        print(item["name"], "proposals", count, exact_count, "found", len(scores),
              "scores", [round(s, 3) for s in scores[:5].tolist()], round(scores[-1].item(), 3),
              "labels", torch.bincount(exact["labels"]).tolist())
        same = exact_count == count and len(single["labels"]) == len(scores) and torch.equal(single["labels"], exact["labels"])
        worst = (single["boxes"] - exact["boxes"]).abs().max().item() if same else None
        gaps = (scores[:-1] - scores[1:]).min().item() if len(scores) > 1 else 1
        print("  same", same, "boxes off by", worst, "least gap of scores", gaps)
        assert same and worst < 1e-3 and gaps > 5e-5, item["name"]
        stored.append(item | {
            "proposals": exact_count,
            "labels": (exact["labels"] - 1).tolist(),
            "scores": [float(f"{s:.7g}") for s in scores.tolist()],
            "boxes": [[float(f"{v:.7g}") for v in box] for box in exact["boxes"].tolist()],
            "areas": [int((mask > 0.5).sum()) for mask in exact["masks"]],
            "masks": [runs(mask[0] > 0.5) for mask in exact["masks"][:MASKS]]})
    about = {"reference": f"torch {torch.__version__.split('+')[0]}, torchvision "
                          f"{torchvision.__version__.split('+')[0]}, float64",
             "model": "resnet50", "set": SETTINGS, "settled": {layer: {"factor": factor, "biases": biases}
                                                          for layer, (factor, biases) in settled.items()}, "cases": stored}
    PATH.write_text(json.dumps(about, indent=0).replace("\n", " ") + "\n")
    print(PATH.name, PATH.stat().st_size, "bytes")


if __name__ == "__main__":
    main()
