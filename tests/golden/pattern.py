"""Weights and inputs of the golden tests as a pure function of name and index.

The same function as pattern.h, bit for bit; here it fills the reference models.
"""
import math
import re

import numpy as np
import torch


def spread_of(name, shape):
    """(center, radius) of the values of a tensor."""
    last = name.rsplit(".", 1)[-1]
    if name.endswith(("cls_token", "dist_token", "pos_embed")):
        return 0.0, 0.5
    if last.startswith("gamma"):
        return 0.5, 0.4
    if name.endswith("running_var"):
        return 1.0, 0.5
    if name.endswith("running_mean"):
        return 0.0, 0.3
    if name == "input":
        return 0.0, 1.7
    if len(shape) >= 2:
        return 0.0, math.sqrt(3 / math.prod(shape[1:]))
    if len(shape) == 1 and last in ("weight", "alpha"):
        return 1.0, 0.3
    return 0.0, 0.2


def hash_of(data):
    """FNV-1a, 64 bits."""
    value = 0xCBF29CE484222325
    for byte in data:
        value = (value ^ byte) * 0x100000001B3 % 2**64
    return value


def uniform(name, count):
    """The SplitMix64 step, seen as a function of its counter; doubles in [-1, 1)."""
    with np.errstate(over="ignore"):
        counter = np.arange(1, count + 1, dtype=np.uint64)
        z = np.uint64(hash_of(name.encode())) + counter * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        z ^= z >> np.uint64(31)
    return (z >> np.uint64(40)).astype(np.float64) * 2.0**-23 - 1.0


def pattern(name, shape):
    """The float32 tensor that belongs to an official parameter name (or to "input")."""
    center, radius = spread_of(name, shape)
    offset = radius * uniform(name, math.prod(shape))
    return (center + offset).astype(np.float32).reshape(shape)


def official_name(name):
    """The name in facebookresearch/deit of a parameter of timm; most are the same."""
    branch = re.fullmatch(r"(blocks\.\d+)\.(attns|ffns)\.([01])\.(norm|attn|mlp|ls)\.(.+)", name)
    if not branch:
        return re.sub(r"\.ls([12])\.gamma$", r".gamma_\1", name)
    block, stage, index, part, rest = branch.groups()
    number = "1" if stage == "attns" else "2"
    second = "1" if index == "1" else ""
    if part == "ls":
        return f"{block}.gamma_{number}" + ("_1" if second else "")
    if part == "norm":
        return f"{block}.norm{number}{second}.{rest}"
    return f"{block}.{part}{second}.{rest}"


@torch.no_grad()
def fill(model):
    """Sets every parameter and buffer of a model; returns them by official name."""
    named = {}
    for name, tensor in model.state_dict(keep_vars=True).items():
        official = official_name(name)
        assert official not in named, official
        tensor.copy_(torch.from_numpy(pattern(official, tuple(tensor.shape))))
        named[official] = tensor
    return named


def images(batch, channels, height, width):
    return torch.from_numpy(pattern("input", (batch, channels, height, width)))
