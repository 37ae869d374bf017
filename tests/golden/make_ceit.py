"""Writes data/ceit.json, data/ceit_training.safetensors and data/counts_ceit.json.

Needs a checkout of the official repository (coeusguo/ceit), given as the only argument. Its
feed-forward takes square images only and has two GELUs; the cases with others use the formula below
on its modules, which must first equal the official one.
"""
from functools import partial

import official
import torch
from make_models import case
from reference import parse_size
from torch import nn

# The committed numbers come from a copy without training helpers and with timm 1 imports.
REPOSITORY = "coeusguo/ceit b637933 (trimmed copy)"
COMMON = dict(image_size="224", channels="3", classes="1000", patch="16", depth="12", mlp_ratio="4",
              third_gelu="false")
WIDTHS = {"tiny": ("192", "3"), "small": ("384", "6"), "base": ("768", "12")}
PRESETS = {f"ceit_{size}_patch16_{pixels}": COMMON | dict(dim=dim, heads=heads,
                                                          image_size=str(pixels))
           for size, (dim, heads) in WIDTHS.items() for pixels in (224, 384)}
TRAINING = {"model": "ceit_tiny_patch16_224", "batch": 4,
            "set": {"image_size": "32x48", "classes": "5", "patch": "8", "dim": "24", "depth": "3",
                    "heads": "3", "mlp_ratio": "2"}}
LEARNING_RATE = 0.005


def feed_forward(leff, grid, third_gelu):
    """The official formula for any grid; third_gelu is the paper's, not the code's."""
    def forward(x):
        batch, _, dim = x.shape
        maps = x[:, 1:].reshape(batch, *grid, dim).permute(0, 3, 1, 2)
        maps = leff.act(leff.bn1(leff.conv1(maps)))
        maps = leff.act(leff.bn2(leff.conv2(maps)))
        maps = leff.bn3(leff.conv3(maps))
        if third_gelu:
            maps = leff.act(maps)
        return torch.cat((x[:, :1], maps.flatten(2).permute(0, 2, 1)), dim=1)
    return forward


def build(config, own=None):
    from ceit_model import CeIT, Image2Tokens
    height, width = parse_size(config["image_size"])
    channels, patch = int(config["channels"]), int(config["patch"])
    model = CeIT(
        hybrid_backbone=Image2Tokens(in_chans=channels), img_size=(height, width),
        patch_size=patch // 4, in_chans=channels, num_classes=int(config["classes"]),
        embed_dim=int(config["dim"]), depth=int(config["depth"]), num_heads=int(config["heads"]),
        mlp_ratio=float(config["mlp_ratio"]), qkv_bias=True,
        norm_layer=partial(nn.LayerNorm, eps=1e-6))
    third_gelu = config["third_gelu"] == "true"
    if own or third_gelu or height != width:
        for block in model.blocks:
            block.leff.forward = feed_forward(block.leff, (height // patch, width // patch),
                                              third_gelu)
    return model


def read(model, x):
    taps = {}

    def watch_map(index):
        def hook(_, inputs, __):
            taps[f"self_attention.{index}"] = inputs[0]
            taps[f"class_attention.{index}"] = inputs[0][:, :, :1]
        return hook

    for index, block in enumerate(model.blocks):
        block.attn.attn_drop.register_forward_hook(watch_map(index))
    model.blocks[-1].register_forward_hook(
        lambda _, __, output: taps.update(tokens=output[0][:, 1:]))
    # One version of the repository asks with all class tokens and keeps the last one's answer.
    model.lca.attn.attn_drop.register_forward_hook(
        lambda _, inputs, __: taps.update(layer_attention=inputs[0][:, :, -1:]))
    features = model.forward_features(x)
    return {"logits": model.head(features), "features": features} | taps


def cases():
    tiny = "ceit_tiny_patch16_224"
    small = dict(patch=8, dim=48, depth=3, heads=3)
    looks = ["features", "layer_attention"]
    maps = [*looks, "tokens", "self_attention.1", "class_attention.2"]
    return [
        case("tiny_224", tiny, [*looks, "class_attention.11"], batch=1),
        case("tiny_160", tiny, looks, image_size=160),
        case("small_depth4_96", "ceit_small_patch16_224", looks, depth=4, image_size=96),
        case("small_32", tiny, maps, **small, image_size=32),
        case("small_24x40", tiny, maps, **small, image_size="24x40"),
        case("small_48", tiny, looks, **small, image_size=48),
        case("third_gelu", tiny, [*looks, "tokens"], **small, image_size=32, third_gelu="true"),
        case("patch4_gray_batch_3", tiny, looks, batch=3,
             **small | dict(patch=4, image_size=16, channels=1)),
        case("depth1_mlp_ratio_3", tiny, maps[:3],
             **small | dict(depth=1, mlp_ratio=3, image_size=32)),
    ]


@torch.no_grad()
def check_formula():
    """Ours for any grid must be theirs on square ones."""
    item = next(item for item in cases() if item["name"] == "small_48")
    config = PRESETS[item["model"]] | item["set"]
    ours = official.run(item, config, partial(build, own=True), read, torch.float64)
    theirs = official.run(item, config, build, read, torch.float64)
    for tap, value in theirs.items():
        assert torch.equal(ours[tap], value), tap


def official_models():
    import ceit_model
    models = {}
    for name in PRESETS:
        size = name.split("_")[1]
        pixels = int(name.rsplit("_", 1)[1])
        create = getattr(ceit_model, f"ceit_{size}_patch16_224")
        models[name] = (partial(create, img_size=pixels), pixels)
    return models


def check_presets():
    """Our table must describe what the repository registers."""
    for name, (create, _) in official_models().items():
        with torch.device("meta"):
            ours, theirs = build(PRESETS[name]), create()
        shapes = [{key: value.shape for key, value in model.state_dict().items()}
                  for model in (ours, theirs)]
        assert shapes[0] == shapes[1], name
        assert ours.blocks[0].attn.num_heads == theirs.blocks[0].attn.num_heads, name


def main():
    official.checkout()
    check_presets()
    check_formula()
    official.make_cases("ceit", REPOSITORY, cases(), PRESETS, build, read)
    official.make_training("ceit", REPOSITORY, TRAINING, LEARNING_RATE, PRESETS, build)
    official.make_counts("ceit", REPOSITORY, official_models())


if __name__ == "__main__":
    main()
