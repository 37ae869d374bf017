"""Writes data/patchconvnet.json, data/patchconvnet*_training.safetensors and the counts.

usage: make_patchconvnet.py FOLDER, which holds the official patchconvnet_models.py of
https://github.com/facebookresearch/deit (commit 2f5a6d3). It was written for an older timm, whose
module names are given to it here. What the file has no switch for, but the thesis compares (batch
norm, linear stem, average pooling, other patches), is put into its modules by `build`.
"""
import pathlib
import sys
import types
from functools import partial

import timm
import timm.layers
import timm.models._efficientnet_blocks as blocks
import torch
from torch import nn

from family import Family, case, layer_macs, size_of

TORCH = f"timm {timm.__version__}, torch {torch.__version__.split('+')[0]}, float64"
BASE = {"image_size": "224", "channels": "3", "classes": "1000", "patch": "16", "dim": "384",
        "depth": "60", "heads": "1", "mlp_ratio": "3", "stem": "conv", "norm": "layernorm",
        "pool": "attention", "multi": "false", "class_layers": "1"}
SIZES = {"s20": (384, 20), "s36": (384, 36), "s60": (384, 60), "s120": (384, 120),
         "b36": (768, 36), "b60": (768, 60), "b120": (768, 120), "l60": (1024, 60),
         "l120": (1024, 120)}
PRESETS = ({f"patchconvnet_{name}": BASE | {"dim": str(dim), "depth": str(depth)}
            for name, (dim, depth) in SIZES.items()} |
           {"patchconvnet_s60_multi": BASE | {"multi": "true"}})
HOW = ("one image, 1000 classes, one multiply-add = 1: Linear and convolution by output size times "
       "fan-in, without biases; attention QK' and AV by queries * keys * dim each; nothing else is "
       "counted. Equal to half of torch.utils.flop_counter's figure, which the script asserts; the "
       "heads of the multi-class model, one weighted sum per class token (0.01 %), are then left "
       "out. params: every learnable number.")


def official_code(folder):
    """The official module, with the names of timm that it asks for."""
    registry = types.ModuleType("timm.models.registry")
    registry.register_model = lambda function: function
    sys.modules |= {"timm.models.registry": registry, "timm.models.layers": timm.layers,
                    "timm.models.efficientnet_blocks": blocks}
    sys.path.insert(0, str(pathlib.Path(folder).resolve()))
    import patchconvnet_models
    return patchconvnet_models


class TokenBatchNorm(nn.BatchNorm1d):
    """Batch norm of the channels of [B, N, D]."""

    def forward(self, x):
        return super().forward(x.transpose(1, 2)).transpose(1, 2)


def on_grid(block, height, width):
    """The official forward pass takes the grid as square; this one is told."""
    def forward(x):
        maps = x.transpose(1, 2).unflatten(2, (height, width))
        return block.qkv_pos(maps).flatten(2).transpose(1, 2)
    return forward


def stem_of(code, channels, dim, halvings):
    """The official stem's scheme for other patches than 16: halve the image, double the width."""
    layers = []
    for step in reversed(range(halvings)):
        layers += [code.conv3x3(channels, dim >> step, 2), nn.GELU()]
        channels = dim >> step
    return nn.Sequential(*layers[:-1])


def build(code, config):
    (height, width), patch, dim = size_of(config), int(config["patch"]), int(config["dim"])
    classes, multi = int(config["classes"]), config["multi"] == "true"
    attention = (partial(code.Learned_Aggregation_Layer_multi, num_classes=classes) if multi
                 else code.Learned_Aggregation_Layer)
    linear = config["stem"] == "linear"
    model = code.PatchConvnet(
        img_size=(height, width), patch_size=patch, in_chans=int(config["channels"]),
        num_classes=classes, embed_dim=dim, depth=int(config["depth"]),
        num_heads=int(config["heads"]), qkv_bias=True,
        norm_layer=partial(nn.LayerNorm, eps=1e-6),
        Patch_layer=timm.layers.PatchEmbed if linear else code.ConvStem,
        Attention_block_token_only=attention, depth_token_only=int(config["class_layers"]),
        mlp_ratio_clstk=float(config["mlp_ratio"]), multiclass=multi)
    if not linear and patch != 16:
        model.patch_embed.proj = stem_of(code, int(config["channels"]), dim,
                                         patch.bit_length() - 1)
    for block in model.blocks:
        if height != width:
            block.attn.forward = on_grid(block.attn, height // patch, width // patch)
        if config["norm"] == "batchnorm":
            block.norm1 = TokenBatchNorm(dim)
    if config["pool"] == "average":
        del model.cls_token, model.blocks_token_only
    return model


def trunk(model, x):
    patches = model.patch_embed(x)
    for block in model.blocks:
        patches = block(patches)
    return patches


def answer(model, x):
    if model.training:  # one pass: a second one would move running statistics again
        return {"logits": model(x)}
    tokens = model.norm(trunk(model, x))
    if not hasattr(model, "cls_token"):
        features = tokens.mean(1)
        return {"tokens": tokens, "features": features, "logits": model.head(features)}
    taps = {"tokens": tokens}
    hooks = [block.attn.attn_drop.register_forward_hook(
                 lambda _, inputs, __, tap=f"class_attention.{index}": taps.update({tap: inputs[0]}))
             for index, block in enumerate(model.blocks_token_only)]
    taps |= {"logits": model(x), "features": model.forward_features(x)}
    for hook in hooks:
        hook.remove()
    if model.multiclass:
        taps |= {"class_tokens": taps["features"], "features": taps["features"].mean(1)}
    return taps


def words(config):
    changed = (config["norm"] != "layernorm" or config["pool"] != "attention" or
               config["stem"] != "conv" or config["patch"] != "16" or "x" in config["image_size"])
    source = "facebookresearch/deit 2f5a6d3 patchconvnet_models.py"
    return f"own modules in {source} (make_patchconvnet.py), {TORCH}" if changed else (
        f"{source}, {TORCH}")


def cases():
    name = "patchconvnet_s60"
    small = dict(dim=32, depth=3)
    every = ["features", "tokens", "class_attention.0"]
    few = dict(small, image_size=64)
    multi = [*every, "class_tokens"]
    return [
        case("s20_224", "patchconvnet_s20", ["features", "class_attention.0"]),
        case("s20_160", "patchconvnet_s20", ["features", "class_attention.0"], image_size=160),
        case("s60_multi_64", "patchconvnet_s60_multi", ["features", "class_attention.0"],
             image_size=64),
        case("small_64", name, every, **few),
        case("small_48x80", name, every, **small, image_size="48x80"),
        case("small_multi", "patchconvnet_s60_multi", multi, **few),
        case("small_multi_48x80", name, multi, **small, image_size="48x80", multi="true",
             classes=3),
        case("batchnorm", name, every, **few, norm="batchnorm"),
        case("linear_stem", name, every, **few, stem="linear"),
        case("average", name, every[:2], **few, pool="average"),
        case("average_batchnorm", name, every[:2], **few, pool="average", norm="batchnorm"),
        case("heads_4_layers_2", name, [*every, "class_attention.1"], **few, heads=4,
             class_layers=2),
        case("patch4_gray", name, every, **small, image_size="16x24", patch=4, channels=1),
        case("linear_patch14", name, every, **small, image_size="28x42", patch=14, stem="linear"),
        case("dim_30_mlp_ratio_4", name, every, dim=30, depth=2, image_size=64, mlp_ratio=4),
    ]


def own_macs(module, inputs, output):
    if "Learned_Aggregation" in type(module).__name__:
        _, tokens, dim = inputs[0].shape
        queries = getattr(module, "num_classes", 1)
        keys = tokens - queries if hasattr(module, "num_classes") else tokens
        return 2 * queries * keys * dim
    return layer_macs(module, inputs, output)


class Counter(Family):
    def count(self, name, macs):
        row = super().count(name, macs)
        if self.presets[name]["multi"] == "true":
            row["macs"] -= int(BASE["classes"]) * int(BASE["dim"])
        return row


def forward_only(model, x):
    return {"logits": model(x)}


def main():
    code = official_code(sys.argv[1])
    arguments = ("patchconvnet", PRESETS, partial(build, code))
    family = Family(*arguments, answer, words)
    family.write_cases(cases())
    tiny = {"image_size": "48x64", "classes": "5", "dim": "16", "depth": "2"}
    labels = [0, 3, 1, 4]
    family.write_training("patchconvnet_training.safetensors",
                          {"model": "patchconvnet_s60", "set": tiny | {"norm": "batchnorm"}},
                          labels, 0.02)
    family.write_training("patchconvnet_multi_training.safetensors",
                          {"model": "patchconvnet_s60_multi", "set": tiny}, labels, 0.02)
    Counter(*arguments, forward_only, words).write_counts(
        "facebookresearch/deit 2f5a6d3 patchconvnet_models.py", HOW, own_macs)


if __name__ == "__main__":
    main()
