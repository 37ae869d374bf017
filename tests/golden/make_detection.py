"""Writes data/detection.json: every stage of Mask R-CNN, its gradients, and torchvision's names.

Cases of the convention mmdet are composed of torch's own layers under mmdetection's parameter
names; those of torchvision consist of torchvision's own detection modules, made narrow. Below them
stand the small DeiT and ResNet of make_upernet.py. Of large tensors every n-th number is stored,
with a weighted sum and the norm of all. torch, torchvision and numpy are needed.
"""
import json
import pathlib

import torch
import torchvision
from make_upernet import Deit, Resnet, checksum
from pattern import pattern
from torch import nn
from torch.nn import functional as F
from torchvision.models.detection import maskrcnn_resnet50_fpn
from torchvision.models.detection.faster_rcnn import FastRCNNPredictor, TwoMLPHead
from torchvision.models.detection.mask_rcnn import MaskRCNNHeads, MaskRCNNPredictor
from torchvision.models.detection.rpn import RPNHead
from torchvision.ops import FeaturePyramidNetwork
from torchvision.ops.feature_pyramid_network import LastLevelMaxPool
from torchvision.ops.misc import FrozenBatchNorm2d

DATA = pathlib.Path(__file__).parent / "data"
LEVELS = [4, 8, 16, 32]  # strides
MOST_STORED = 60
REGIONS = 3


class Levels(nn.Module):
    """Trunk and neck up to four maps at strides of 4 to 32; names as in XCiT's code."""

    def __init__(self, config):
        super().__init__()
        self.config = config
        self.staged = "blocks" in config
        trunk = (Resnet if self.staged else Deit)(config)
        if config.get("head.convention") == "torchvision":
            freeze(trunk)
        for name, part in [*trunk.named_children(), *trunk.named_parameters(recurse=False)]:
            setattr(self, name, part)
        object.__setattr__(self, "trunk", trunk)
        if self.staged:
            self.channels = [4 * (int(config["width"]) << stage) for stage in range(4)]
            return
        dim = int(config["dim"])
        self.channels = [dim] * 4
        double = [nn.ConvTranspose2d(dim, dim, 2, 2) for _ in range(3)]
        self.fpn1 = nn.Sequential(double[0], nn.BatchNorm2d(dim), nn.GELU(), double[1])
        self.fpn2 = nn.Sequential(double[2])

    def forward(self, images):
        maps = self.trunk(images)
        if self.staged:
            return maps
        depth = len(maps)
        x = [maps[i] for i in [depth // 3 - 1, depth // 2 - 1, 2 * depth // 3 - 1, depth - 1]]
        x = [self.fpn1(x[0]), self.fpn2(x[1]), x[2], F.max_pool2d(x[3], 2)]
        sizes = [[side // stride for side in images.shape[2:]] for stride in LEVELS]
        return [y if list(y.shape[2:]) == size else
                F.interpolate(y, size=size, mode="bilinear", align_corners=False)
                for y, size in zip(x, sizes)]


def conv(inputs, outputs, kernel):
    return nn.ModuleDict({"conv": nn.Conv2d(inputs, outputs, kernel, padding=kernel // 2)})


class Mmdet(nn.Module):
    def __init__(self, config):
        super().__init__()
        levels = Levels(config)
        for name, part in [*levels.named_children(), *levels.named_parameters(recurse=False)]:
            setattr(self, name, part)
        object.__setattr__(self, "levels", levels)
        width, hidden = int(config["head.width"]), int(config["head.hidden"])
        classes = int(config["head.classes"])
        self.neck = nn.ModuleDict({
            "lateral_convs": nn.ModuleList(conv(count, width, 1) for count in levels.channels),
            "fpn_convs": nn.ModuleList(conv(width, width, 3) for _ in levels.channels)})
        self.rpn_head = nn.ModuleDict({"rpn_conv": nn.Conv2d(width, width, 3, padding=1),
                                       "rpn_cls": nn.Conv2d(width, 3, 1),
                                       "rpn_reg": nn.Conv2d(width, 12, 1)})
        box = nn.ModuleDict({
            "shared_fcs": nn.ModuleList([nn.Linear(width * 49, hidden), nn.Linear(hidden, hidden)]),
            "fc_cls": nn.Linear(hidden, classes + 1), "fc_reg": nn.Linear(hidden, 4 * classes)})
        self.roi_head = nn.ModuleDict({"bbox_head": box})
        if config.get("head.masks") != "false":
            self.roi_head["mask_head"] = nn.ModuleDict({
                "convs": nn.ModuleList(conv(width, width, 3) for _ in range(4)),
                "upsample": nn.ConvTranspose2d(width, width, 2, 2),
                "conv_logits": nn.Conv2d(width, classes, 1)})

    def first(self, images):
        maps = [part["conv"](x) for part, x in zip(self.neck["lateral_convs"], self.levels(images))]
        for i in range(3, 0, -1):
            maps[i - 1] = maps[i - 1] + F.interpolate(maps[i], size=maps[i - 1].shape[2:])
        maps = [part["conv"](x) for part, x in zip(self.neck["fpn_convs"], maps)]
        maps.append(F.max_pool2d(maps[-1], 1, stride=2))
        outputs = {}
        for i, x in enumerate(maps):
            hidden = F.relu(self.rpn_head["rpn_conv"](x))
            outputs[f"objectness.{i}"] = self.rpn_head["rpn_cls"](hidden)
            outputs[f"anchor_deltas.{i}"] = self.rpn_head["rpn_reg"](hidden)
        return outputs | {f"pyramid.{i}": x for i, x in enumerate(maps[:4])}

    def boxes(self, regions):
        head = self.roi_head["bbox_head"]
        x = regions.flatten(1)
        for layer in head["shared_fcs"]:
            x = F.relu(layer(x))
        return {"box_logits": head["fc_cls"](x), "box_deltas": head["fc_reg"](x)}

    def masks(self, regions):
        head = self.roi_head["mask_head"]
        for part in head["convs"]:
            regions = F.relu(part["conv"](regions))
        return {"mask_logits": head["conv_logits"](F.relu(head["upsample"](regions)))}

    def official(self, name):
        return name


class Torchvision(nn.Module):
    """Names as in torchvision's files; official() gives ours."""

    def __init__(self, config):
        super().__init__()
        width, hidden = int(config["head.width"]), int(config["head.hidden"])
        classes = int(config["head.classes"]) + 1
        trunk = Levels(config)
        self.backbone = nn.ModuleDict({
            "body": trunk,
            "fpn": FeaturePyramidNetwork(trunk.channels, width, LastLevelMaxPool())})
        self.rpn = nn.ModuleDict({"head": RPNHead(width, 3)})
        self.roi_heads = nn.ModuleDict({"box_head": TwoMLPHead(width * 49, hidden),
                                        "box_predictor": FastRCNNPredictor(hidden, classes),
                                        "mask_head": MaskRCNNHeads(width, (width,) * 4, 1),
                                        "mask_predictor": MaskRCNNPredictor(width, width, classes)})

    def first(self, images):
        levels = self.backbone["body"](images)
        maps = self.backbone["fpn"]({str(i): x for i, x in enumerate(levels)})
        maps = list(maps.values())
        logits, deltas = self.rpn["head"](maps)
        return ({f"pyramid.{i}": x for i, x in enumerate(maps[:4])} |
                {f"objectness.{i}": x for i, x in enumerate(logits)} |
                {f"anchor_deltas.{i}": x for i, x in enumerate(deltas)})

    def boxes(self, regions):
        logits, deltas = self.roi_heads["box_predictor"](self.roi_heads["box_head"](regions))
        return {"box_logits": logits, "box_deltas": deltas}

    def masks(self, regions):
        return {"mask_logits": self.roi_heads["mask_predictor"](
            self.roi_heads["mask_head"](regions))}

    def official(self, name):
        return official(name)


def freeze(module):
    """The batch norms of torchvision's published detector, whose epsilon is 0."""
    for name, child in module.named_children():
        if isinstance(child, nn.BatchNorm2d):
            setattr(module, name, FrozenBatchNorm2d(child.num_features, eps=0.0))
        else:
            freeze(child)


def official(name):
    """Ours for a name of torchvision."""
    parts = name.split(".")
    last = parts[-1]
    if name.startswith("backbone.body."):
        return name[len("backbone.body."):]
    if name.startswith("backbone.fpn."):
        kind = {"inner_blocks": "lateral_convs", "layer_blocks": "fpn_convs"}[parts[2]]
        return f"neck.{kind}.{parts[3]}.conv.{last}"
    if name.startswith("rpn.head."):
        kind = {"conv": "rpn_conv", "cls_logits": "rpn_cls", "bbox_pred": "rpn_reg"}[parts[2]]
        return f"rpn_head.{kind}.{last}"
    kind = ".".join(parts[1:3])
    if parts[1] == "mask_head":
        return f"roi_head.mask_head.convs.{parts[2]}.conv.{last}"
    ours = {"box_head.fc6": "bbox_head.shared_fcs.0", "box_head.fc7": "bbox_head.shared_fcs.1",
            "box_predictor.cls_score": "bbox_head.fc_cls",
            "box_predictor.bbox_pred": "bbox_head.fc_reg",
            "mask_predictor.conv5_mask": "mask_head.upsample",
            "mask_predictor.mask_fcn_logits": "mask_head.conv_logits"}[kind]
    return f"roi_head.{ours}.{last}"


def old_name(name):
    """As the published file has it, which is of an older torchvision: what the package itself maps
    when it loads one."""
    parts = name.split(".")
    if name.startswith("backbone.fpn."):
        del parts[4]
    if name.startswith("rpn.head.conv."):
        del parts[3:5]
    if name.startswith("roi_heads.mask_head."):
        parts[2:4] = [f"mask_fcn{int(parts[2]) + 1}"]
    return ".".join(parts)


@torch.no_grad()
def filled(config, dtype):
    model = (Torchvision if config.get("head.convention") == "torchvision" else Mmdet)(config)
    model = model.to(dtype)
    for name, tensor in model.state_dict(keep_vars=True).items():
        if not name.endswith("num_batches_tracked"):
            ours = model.official(name)
            tensor.copy_(torch.from_numpy(pattern(ours, tuple(tensor.shape))))
    return model


def cases():
    deit = dict(image_size="64x96", patch="16", dim="16", depth="6", heads="2")
    resnet = dict(image_size="64x96", width="4", blocks="1,2,1,1")
    head = {"head.kind": "mask_rcnn", "head.width": "8", "head.hidden": "12", "head.classes": "3"}
    vit, convnet = "deit_tiny_patch16_224", "resnet50"
    return [
        ("scales", vit, deit | head),
        ("patches_of_14", vit, deit | dict(patch="14", image_size="224x224", depth="3") | head |
         {"head.masks": "false"}),
        ("stages", convnet, resnet | head),
        ("torchvision", convnet, resnet | dict(norm_epsilon="0") | head |
         {"head.convention": "torchvision"}),
    ]


def stages(model, config):
    """Name, input shape and function of each part."""
    sides = [int(side) for side in config["image_size"].split("x")]
    width = int(config["head.width"])
    parts = [("images", (2, 3, sides[0], sides[-1]), model.first),
             ("box_regions", (REGIONS, width, 7, 7), model.boxes)]
    if config.get("head.masks") != "false":
        parts.append(("mask_regions", (REGIONS, width, 14, 14), model.masks))
    return parts


def stored(tensor):
    flat = tensor.flatten()
    every = max(1, -(-flat.numel() // MOST_STORED))
    if every > 1 and every % 2 == 0:
        every += 1  # not always the same column
    return {"shape": list(tensor.shape), "every": every, "sums": checksum(tensor),
            "values": [float(f"{value:.9g}") for value in flat[::every].tolist()]}


def loss_of(outputs):
    return sum((out * torch.linspace(-1, 1, out.numel(), dtype=out.dtype).reshape(out.shape)).sum()
               for out in outputs.values())


def main():
    items = []
    for name, preset, config in cases():
        item = {"name": name, "model": preset, "set": config, "stages": {}}
        exact = filled(config, torch.float64).eval()
        single = filled(config, torch.float32).eval()
        for (stage, shape, run), (_, _, rough) in zip(stages(exact, config),
                                                      stages(single, config)):
            x = torch.from_numpy(pattern("input", shape))
            with torch.no_grad():
                outputs, near = run(x.double()), rough(x)
            for tap, y in outputs.items():
                error = ((near[tap] - y).abs().max() / y.std()).item()
                assert error < 3e-5, f"{name} {tap}: fp32 is off by {error}"
            entry = {"input": list(shape),
                     "outputs": {tap: stored(y) for tap, y in sorted(outputs.items())}}
            # Training: the batch's statistics. torchvision's are frozen, and ours are not.
            if stage != "images" or config.get("head.convention") != "torchvision":
                network = filled(config, torch.float64).train()
                run = {part[0]: part[2] for part in stages(network, config)}[stage]
                x = x.double().requires_grad_()
                loss = loss_of(run(x))
                loss.backward()
                entry |= {"loss": loss.item(), "input_gradient": checksum(x.grad),
                          "gradients": {network.official(key): checksum(value.grad)
                                        for key, value in network.named_parameters()
                                        if value.grad is not None}}
            item["stages"][stage] = entry
        items.append(item)
        print(" ", name, {stage: len(part["outputs"]) for stage, part in item["stages"].items()})
    full = maskrcnn_resnet50_fpn(weights=None, weights_backbone=None)
    # With gains and shifts of batch norms, which are buffers once they are frozen: the 44,401,393
    # that torchvision prints do not count them.
    count = sum(value.numel() for value in full.parameters())
    names = [[name, old_name(name), list(value.shape)] for name, value in full.state_dict().items()
             if not name.endswith("num_batches_tracked")]
    words = (f"torch {torch.__version__.split('+')[0]}, "
             f"torchvision {torchvision.__version__.split('+')[0]}, float64")
    (DATA / "detection.json").write_text(
        json.dumps({"reference": words, "cases": items, "parameters": count, "names": names},
                   separators=(",", ":")).replace('"stages":', '\n"stages":')
        .replace('"names":', '\n"names":') + "\n")
    print("detection.json", (DATA / "detection.json").stat().st_size, "bytes;", count, "parameters")


if __name__ == "__main__":
    main()
