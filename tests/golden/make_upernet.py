"""Writes data/upernet.json and data/upernet_gradients.json: what heads for every pixel give.

Heads and necks are composed of torch's own layers after the papers' figures and the parameter names
of mmseg; so are a small DeiT and a small ResNet below them, which models of their own hold to the
public code (data/deit.json, data/resnet.json). Only torch and numpy are needed.
"""
import json
import math
import pathlib

import torch
from pattern import pattern
from torch import nn
from torch.nn import functional as F

DATA = pathlib.Path(__file__).parent / "data"
WORDS = f"torch {torch.__version__.split('+')[0]}, own composition, float64"
BLOCKS = {"scales": lambda d: [d // 3 - 1, d // 2 - 1, 2 * d // 3 - 1, d - 1],
          "other": lambda d: [d // 4 - 1, d // 2 - 1, 3 * d // 4 - 1, d - 1]}


def numbers(text):
    return [int(number) for number in text.split(",")]


class Block(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(dim, eps=1e-6), nn.LayerNorm(dim, eps=1e-6)
        self.attn = nn.ModuleDict({"qkv": nn.Linear(dim, 3 * dim), "proj": nn.Linear(dim, dim)})
        self.mlp = nn.ModuleDict({"fc1": nn.Linear(dim, 4 * dim), "fc2": nn.Linear(4 * dim, dim)})

    def forward(self, x):
        batch, count, dim = x.shape
        split = self.attn["qkv"](self.norm1(x)).reshape(batch, count, 3, self.heads, -1)
        q, k, v = split.permute(2, 0, 3, 1, 4)
        weights = (q @ k.transpose(-2, -1) / math.sqrt(dim // self.heads)).softmax(-1)
        x = x + self.attn["proj"]((weights @ v).transpose(1, 2).reshape(batch, count, dim))
        return x + self.mlp["fc2"](F.gelu(self.mlp["fc1"](self.norm2(x))))


class Deit(nn.Module):
    def __init__(self, config):
        super().__init__()
        dim, patch = int(config["dim"]), int(config["patch"])
        self.grid = [int(side) // patch for side in config["image_size"].split("x")]
        self.patch_embed = nn.ModuleDict({"proj": nn.Conv2d(3, dim, patch, patch)})
        self.cls_token = nn.Parameter(torch.zeros(1, 1, dim))
        self.pos_embed = nn.Parameter(torch.zeros(1, 1 + math.prod(self.grid), dim))
        self.blocks = nn.ModuleList(Block(dim, int(config["heads"]))
                                    for _ in range(int(config["depth"])))

    def forward(self, images):
        x = self.patch_embed["proj"](images).flatten(2).transpose(1, 2)
        x = torch.cat([self.cls_token.expand(len(x), -1, -1), x], 1) + self.pos_embed
        maps = []
        for block in self.blocks:
            x = block(x)
            maps.append(x[:, 1:].transpose(1, 2).reshape(len(x), -1, *self.grid))
        return maps


class Bottleneck(nn.Module):
    def __init__(self, inputs, width, stride):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(inputs, width, 1, bias=False), nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, stride, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(width)
        self.conv3, self.bn3 = nn.Conv2d(width, 4 * width, 1, bias=False), nn.BatchNorm2d(4 * width)
        if stride != 1 or inputs != 4 * width:
            self.downsample = nn.Sequential(nn.Conv2d(inputs, 4 * width, 1, stride, bias=False),
                                            nn.BatchNorm2d(4 * width))

    def forward(self, x):
        y = F.relu(self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x))))))
        short = self.downsample(x) if hasattr(self, "downsample") else x
        return F.relu(short + self.bn3(self.conv3(y)))


class Resnet(nn.Module):
    def __init__(self, config):
        super().__init__()
        width, channels = int(config["width"]), int(config["width"])
        half = width // 2
        if config.get("deep_stem") == "true":
            self.conv1 = nn.Sequential(
                nn.Conv2d(3, half, 3, 2, 1, bias=False), nn.BatchNorm2d(half), nn.ReLU(),
                nn.Conv2d(half, half, 3, 1, 1, bias=False), nn.BatchNorm2d(half), nn.ReLU(),
                nn.Conv2d(half, width, 3, 1, 1, bias=False))
        else:
            self.conv1 = nn.Conv2d(3, width, 7, 2, 3, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        for stage, count in enumerate(numbers(config["blocks"])):
            blocks = []
            for i in range(count):
                blocks.append(Bottleneck(channels, width << stage, 2 if stage and not i else 1))
                channels = 4 * (width << stage)
            setattr(self, f"layer{stage + 1}", nn.Sequential(*blocks))

    def forward(self, images):
        x = F.max_pool2d(F.relu(self.bn1(self.conv1(images))), 3, 2, 1)
        maps = []
        for stage in range(4):
            x = getattr(self, f"layer{stage + 1}")(x)
            maps.append(x)
        return maps


class Unit(nn.Module):
    """A convolution without bias, batch norm and ReLU."""

    def __init__(self, inputs, outputs, kernel):
        super().__init__()
        self.conv = nn.Conv2d(inputs, outputs, kernel, padding=kernel // 2, bias=False)
        self.bn = nn.BatchNorm2d(outputs)

    def forward(self, x):
        return F.relu(self.bn(self.conv(x)))


def bilinear(x, size):
    return F.interpolate(x, size=size, mode="bilinear", align_corners=False)


class UPerHead(nn.Module):
    PARTS = [1, 2, 3, 6]

    def __init__(self, channels, width, classes):
        super().__init__()
        self.psp_modules = nn.ModuleList(
            nn.Sequential(nn.AdaptiveAvgPool2d(parts), Unit(channels[-1], width, 1))
            for parts in self.PARTS)
        self.bottleneck = Unit(channels[-1] + len(self.PARTS) * width, width, 3)
        self.lateral_convs = nn.ModuleList(Unit(count, width, 1) for count in channels[:-1])
        self.fpn_convs = nn.ModuleList(Unit(width, width, 3) for _ in channels[:-1])
        self.fpn_bottleneck = Unit(len(channels) * width, width, 3)
        self.conv_seg = nn.Conv2d(width, classes, 1)

    def forward(self, levels):
        last = levels[-1]
        views = [bilinear(module(last), last.shape[2:]) for module in self.psp_modules]
        tops = [conv(level) for conv, level in zip(self.lateral_convs, levels)]
        tops.append(self.bottleneck(torch.cat([last, *views], 1)))
        for i in range(len(tops) - 1, 0, -1):
            tops[i - 1] = tops[i - 1] + bilinear(tops[i], tops[i - 1].shape[2:])
        outs = [conv(top) for conv, top in zip(self.fpn_convs, tops)] + [tops[-1]]
        outs = [outs[0]] + [bilinear(out, outs[0].shape[2:]) for out in outs[1:]]
        return self.conv_seg(self.fpn_bottleneck(torch.cat(outs, 1)))


class Segmenter(nn.Module):
    """The trunk's parameters stand beside those of neck and heads, as in the official files."""

    def __init__(self, config):
        super().__init__()
        self.config = config
        trunk = (Resnet if "blocks" in config else Deit)(config)
        for name, part in [*trunk.named_children(), *trunk.named_parameters(recurse=False)]:
            setattr(self, name, part)
        object.__setattr__(self, "trunk", trunk)
        classes = int(config["head.classes"])
        if config["head.kind"] == "linear_map":
            channels = 4 * (int(config["width"]) << 3) if "blocks" in config else int(config["dim"])
            self.decode_head = nn.ModuleDict({"bn": nn.BatchNorm2d(channels),
                                              "conv_seg": nn.Conv2d(channels, classes, 1)})
            return
        self.build_neck()
        width = int(config["head.width"])
        self.decode_head = UPerHead(self.channels, width, classes)
        level = int(config["head.auxiliary"])
        second = int(config["head.auxiliary_width"])
        self.auxiliary_head = nn.ModuleDict({
            "convs": nn.ModuleList([Unit(self.channels[level], second, 3)]),
            "conv_seg": nn.Conv2d(second, classes, 1)})

    def build_neck(self):
        config = self.config
        if config["head.pyramid"] == "stages":
            self.channels = [4 * (int(config["width"]) << stage) for stage in range(4)]
            return
        dim = int(config["dim"])
        self.channels = [dim] * 4
        double = [nn.ConvTranspose2d(dim, dim, 2, 2) for _ in range(3)]
        if config["head.pyramid"] == "scales" and int(config["patch"]) == 8:
            self.fpn1 = nn.Sequential(double[0])
        elif config["head.pyramid"] == "scales":
            self.fpn1 = nn.Sequential(double[0], nn.BatchNorm2d(dim), nn.GELU(), double[1])
            self.fpn2 = nn.Sequential(double[2])
        elif config["head.pyramid"] == "mln":
            single = lambda kernel: nn.ModuleDict(
                {"conv": nn.Conv2d(dim, dim, kernel, padding=kernel // 2)})
            self.neck = nn.ModuleDict({
                "lateral_convs": nn.ModuleList(single(1) for _ in range(4)),
                "convs": nn.ModuleList(single(3) for _ in range(4))})

    def levels(self, maps):
        config = self.config
        pyramid = config["head.pyramid"]
        if pyramid == "stages":
            return maps
        rule = BLOCKS["scales" if pyramid == "scales" else "other"]
        blocks = config.get("head.taps")
        x = [maps[i] for i in (numbers(blocks) if blocks else rule(len(maps)))]
        if pyramid == "taps":
            return x
        if pyramid == "scales" and int(config["patch"]) == 8:
            return [self.fpn1(x[0]), x[1], F.max_pool2d(x[2], 2), F.max_pool2d(x[3], 4)]
        if pyramid == "scales":
            return [self.fpn1(x[0]), self.fpn2(x[1]), x[2], F.max_pool2d(x[3], 2)]
        outs = []
        for i, scale in enumerate([4, 2, 1, 0.5]):
            y = self.neck["lateral_convs"][i]["conv"](x[i])
            y = F.interpolate(y, scale_factor=scale, mode="bilinear", align_corners=False)
            outs.append(self.neck["convs"][i]["conv"](y))
        return outs

    def forward(self, images):
        maps = self.trunk(images)
        if self.config["head.kind"] == "linear_map":
            head = self.decode_head
            return {"segmentation": head["conv_seg"](head["bn"](maps[-1]))}
        levels = self.levels(maps)
        second = self.auxiliary_head
        level = levels[int(self.config["head.auxiliary"])]
        return {"segmentation": self.decode_head(levels),
                "segmentation_auxiliary": second["conv_seg"](second["convs"][0](level))}


@torch.no_grad()
def filled(config, dtype):
    model = Segmenter(config).to(dtype)
    for name, tensor in model.state_dict(keep_vars=True).items():
        if not name.endswith("num_batches_tracked"):
            tensor.copy_(torch.from_numpy(pattern(name, tuple(tensor.shape))))
    return model


def images(config, batch):
    sides = [int(side) for side in config["image_size"].split("x")]
    return torch.from_numpy(pattern("input", (batch, 3, sides[0], sides[-1])))


def cases():
    deit = dict(image_size="64x48", patch="16", dim="16", depth="6", heads="2")
    resnet = dict(image_size="64", width="4", blocks="1,2,1,1")
    upernet = {"head.kind": "upernet", "head.width": "8", "head.classes": "3",
               "head.auxiliary": "2", "head.auxiliary_width": "4"}
    probe = {"head.kind": "linear_map", "head.classes": "3"}
    name, convnet = "deit_tiny_patch16_224", "resnet50"
    return [
        ("scales", name, deit | upernet | {"head.pyramid": "scales"}),
        ("scales_patch8", name, deit | dict(patch="8", image_size="32x48") | upernet |
         {"head.pyramid": "scales"}),
        ("scales_own_taps", name, deit | upernet | {"head.pyramid": "scales",
                                                    "head.taps": "0,5,5,2"}),
        ("taps", name, deit | upernet | {"head.pyramid": "taps", "head.auxiliary": "3"}),
        ("mln", name, deit | dict(image_size="64x64") | upernet | {"head.pyramid": "mln",
                                                                   "head.auxiliary": "3"}),
        ("stages", convnet, resnet | upernet | {"head.pyramid": "stages"}),
        ("stages_deep_stem", convnet, resnet | dict(deep_stem="true", stem_kernel="3") | upernet |
         {"head.pyramid": "stages"}),
        ("linear_map", name, deit | probe),
        ("linear_map_stages", convnet, resnet | probe),
    ]


def stored(tensor):
    return {"shape": list(tensor.shape),
            "values": [float(f"{value:.9g}") for value in tensor.flatten().tolist()]}


def write(path, items):
    path.write_text("[\n" + ",\n".join(json.dumps(item) for item in items) + "\n]\n")
    print(path.name, path.stat().st_size, "bytes")


def checksum(tensor):
    """A weighted sum, in which every element counts differently, and the norm."""
    flat = tensor.flatten()
    weights = torch.linspace(-1, 1, flat.numel(), dtype=flat.dtype)
    return [(flat * weights).sum().item(), flat.norm().item()]


def main():
    answers, gradients = [], []
    for name, model, config in cases():
        batch = 2
        item = {"name": name, "model": model, "set": config, "batch": batch, "reference": WORDS}
        with torch.no_grad():
            exact = filled(config, torch.float64).eval()(images(config, batch).double())
            single = filled(config, torch.float32).eval()(images(config, batch))
        y = exact["segmentation"]
        error = ((single["segmentation"] - y).abs().max() / y.std()).item()
        assert error < 5e-6, f"{name}: fp32 is off by {error}"
        answers.append(item | {"outputs": {"segmentation": stored(y)}})
        # Training: the batch's statistics, both heads, no dropout.
        network = filled(config, torch.float64).train()
        x = images(config, batch).double().requires_grad_()
        outputs = network(x)
        loss = sum((out * torch.linspace(-1, 1, out.numel(), dtype=out.dtype).reshape(out.shape))
                   .sum() for out in outputs.values())
        loss.backward()
        named = {key: checksum(value.grad) for key, value in network.named_parameters()}
        gradients.append(item | {"loss": loss.item(), "input": checksum(x.grad),
                                 "gradients": named})
        print(f"  {name}: std {y.std().item():.3f}, fp32 off by {error:.1e}, {tuple(y.shape)}, "
              f"{len(named)} gradients")
    write(DATA / "upernet.json", answers)
    (DATA / "upernet_gradients.json").write_text(
        json.dumps({"cases": gradients}, indent=0).replace("\n", " ") + "\n")


if __name__ == "__main__":
    main()
