"""Writes data/resmlp.json, data/resmlp*_training.safetensors and data/counts_resmlp.json.

The model is timm's ResMLP. Where the thesis compares another patch communication, that module
takes the place of timm's `linear_tokens`; the class-MLP pooling follows timm's last block.
"""
import re
from functools import partial

import timm
import torch
from timm.layers import Mlp
from timm.models.mlp_mixer import Affine, MlpMixer, ResBlock
from torch import nn

from family import Family, case, layer_macs, size_of

TIMM = f"timm {timm.__version__} MlpMixer"
TORCH = f"torch {torch.__version__.split('+')[0]}, float64"
BASE = {"image_size": "224", "channels": "3", "classes": "1000", "patch": "16", "dim": "384",
        "depth": "12", "mlp_ratio": "4", "norm": "affine", "pool": "average", "class_layers": "2",
        "communication": "linear"}
DEPTHS = (12, 24, 36)
PRESETS = ({f"resmlp_{depth}_224": BASE | {"depth": str(depth)} for depth in DEPTHS} |
           {"resmlp_big_24_224": BASE | {"depth": "24", "dim": "768", "patch": "8"},
            "resmlp_big_24_patch16_224": BASE | {"depth": "24", "dim": "768"}} |
           {f"resmlp_{depth}_patch{patch}_224": BASE | {"depth": str(depth), "patch": str(patch)}
            for depth in DEPTHS for patch in (14, 8)})
HOW = ("one image, 1000 classes, one multiply-add = 1: Linear and convolution by output size times "
       "fan-in, without biases; nothing else is counted. Equal to half of torch.utils.flop_counter's "
       "figure, which the script asserts. params: every learnable number.")


class GridConv(nn.Conv2d):
    """A convolution over the grid of [B, D, N]."""

    def __init__(self, grid, *arguments, **named):
        super().__init__(*arguments, **named)
        self.grid = grid

    def forward(self, x):
        return super().forward(x.unflatten(2, self.grid)).flatten(2)


def communication(kind, dim, grid, ratio):
    if kind == "mlp":
        patches = grid[0] * grid[1]
        return Mlp(patches, int(patches * ratio))
    wide = partial(GridConv, grid, dim, dim, 3, padding=1)
    if kind == "conv":
        return wide()
    if kind == "depthwise":
        return wide(groups=dim)
    return nn.Sequential(wide(groups=dim), GridConv(grid, dim, dim, 1))


class ChannelBlock(nn.Module):
    """timm's ResBlock without its first half."""

    def __init__(self, block):
        super().__init__()
        self.norm2, self.mlp_channels, self.ls2 = block.norm2, block.mlp_channels, block.ls2

    def forward(self, x):
        return x + self.ls2 * self.mlp_channels(self.norm2(x))


class ClassLayer(nn.Module):
    """CaiT's class layer, with one linear map over the patches in place of attention."""

    def __init__(self, dim, patches, ratio, norm):
        super().__init__()
        self.norm1, self.norm2 = norm(dim), norm(dim)
        self.attn = nn.Linear(patches, 1)
        self.mlp = Mlp(dim, int(dim * ratio))
        self.gamma_1 = nn.Parameter(torch.ones(dim))
        self.gamma_2 = nn.Parameter(torch.ones(dim))

    def forward(self, cls, patches):
        gathered = self.attn(self.norm1(patches).transpose(1, 2)).transpose(1, 2)
        cls = cls + self.gamma_1 * gathered
        return cls + self.gamma_2 * self.mlp(self.norm2(cls))


def build(config):
    dim, ratio = int(config["dim"]), float(config["mlp_ratio"])
    norm = Affine if config["norm"] == "affine" else partial(nn.LayerNorm, eps=1e-6)
    model = MlpMixer(num_classes=int(config["classes"]), img_size=size_of(config),
                     in_chans=int(config["channels"]), patch_size=int(config["patch"]),
                     num_blocks=int(config["depth"]), embed_dim=dim, mlp_ratio=ratio,
                     block_layer=ResBlock, norm_layer=norm)
    grid = model.stem.grid_size
    if config["communication"] == "none":
        model.blocks = nn.Sequential(*[ChannelBlock(block) for block in model.blocks])
    elif config["communication"] != "linear":
        for block in model.blocks:
            block.linear_tokens = communication(config["communication"], dim, grid, ratio)
    if config["pool"] == "class_mlp":
        model.cls_token = nn.Parameter(torch.zeros(1, 1, dim))
        model.blocks_token_only = nn.ModuleList(
            [ClassLayer(dim, grid[0] * grid[1], ratio, norm)
             for _ in range(int(config["class_layers"]))])
    return model


def official(name):
    """The name in facebookresearch/deit."""
    name = re.sub(r"^stem\.", "patch_embed.", name)
    name = re.sub(r"\.linear_tokens\.", ".attn.", name)
    name = re.sub(r"\.mlp_channels\.", ".mlp.", name)
    return re.sub(r"\.ls([12])$", r".gamma_\1", name)


def answer(model, x):
    if not hasattr(model, "cls_token"):
        tokens = model.forward_features(x)
        return {"tokens": tokens, "features": model.forward_head(tokens, pre_logits=True),
                "logits": model.forward_head(tokens)}
    patches = model.blocks(model.stem(x))
    cls = model.cls_token.expand(x.shape[0], -1, -1)
    for layer in model.blocks_token_only:
        cls = layer(cls, patches)
    features = model.norm(cls)[:, 0]
    return {"features": features, "logits": model.head(features), "tokens": model.norm(patches)}


def words(config):
    plain = config["communication"] == "linear" and config["pool"] == "average"
    return f"{TIMM}, {TORCH}" if plain else f"own modules in {TIMM} (make_resmlp.py), {TORCH}"


def cases():
    name = "resmlp_12_224"
    small = dict(patch=8, dim=32, depth=3)
    every = ["features", "tokens"]
    few = dict(small, image_size="16x24")
    result = [case("12_224", name, ["features"]),
              case("12_160", name, ["features"], image_size=160),
              case("small_32", name, every, **small, image_size=32),
              case("small_24x40", name, every, **small, image_size="24x40"),
              case("patch14", "resmlp_12_patch14_224", ["features"], dim=32, depth=2,
                   image_size="28x42"),
              case("gray_mlp_ratio_3", name, every, **few, channels=1, mlp_ratio=3),
              case("layernorm", name, every, **few, norm="layernorm")]
    for kind in ("none", "mlp", "conv", "depthwise", "separable"):
        result.append(case(f"communication_{kind}", name, every, **few, communication=kind))
    return result + [
        case("class_mlp", name, every, **few, pool="class_mlp"),
        case("class_mlp_1_layernorm", name, every, **few, pool="class_mlp", class_layers=1,
             norm="layernorm"),
    ]


@torch.no_grad()
def check_presets():
    """Our table must describe what timm registers under the same names."""
    for name in ("resmlp_12_224", "resmlp_24_224", "resmlp_36_224", "resmlp_big_24_224"):
        with torch.device("meta"):
            theirs, ours = timm.create_model(name), build(PRESETS[name])
        shapes = [{key: tuple(value.shape) for key, value in model.state_dict().items()}
                  for model in (ours, theirs)]
        assert shapes[0] == shapes[1], name


def main():
    check_presets()
    family = Family("resmlp", PRESETS, build, answer, words, official)
    family.write_cases(cases())
    tiny = {"image_size": "16x24", "classes": "5", "patch": "8", "dim": "16", "depth": "2"}
    family.write_training("resmlp_training.safetensors", {"model": "resmlp_12_224", "set": tiny},
                          [0, 3, 1, 4], 0.02)
    variant = tiny | {"norm": "layernorm", "pool": "class_mlp", "communication": "separable"}
    family.write_training("resmlp_class_mlp_training.safetensors",
                          {"model": "resmlp_12_224", "set": variant}, [0, 3, 1, 4], 0.02)
    family.write_counts(f"timm {timm.__version__}", HOW, layer_macs)


if __name__ == "__main__":
    main()
