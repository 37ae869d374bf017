"""Writes data/deepvit.json, data/deepvit_training.safetensors and data/counts_deepvit.json.

Needs a checkout of the official repository (zhoudaquan/dvit_repo), given as the only argument.
"""
from functools import partial

import official
import torch
from make_models import case
from reference import parse_size
from torch import nn

# The committed numbers come from a copy without training helpers and with timm 1 imports.
REPOSITORY = "zhoudaquan/dvit_repo (trimmed copy)"
COMMON = dict(image_size="224", channels="3", classes="1000", patch="16", heads="12", mlp_ratio="3")
PLAIN = COMMON | dict(dim="384", stem="patch", plain_blocks="0", map_scale="false",
                      residual_scale="1")
CONV = COMMON | dict(stem="conv", residual_scale="0.5")
PRESETS = {
    "deepvit_16b": PLAIN | dict(depth="16"),
    "deepvit_24b": PLAIN | dict(depth="24"),
    "deepvit_32b": PLAIN | dict(depth="32"),
    "deepvit_s": CONV | dict(dim="396", depth="16", plain_blocks="11", map_scale="true"),
    "deepvit_l": CONV | dict(dim="420", depth="32", plain_blocks="20", map_scale="false"),
    "deepvit_l_384": CONV | dict(image_size="384", dim="420", depth="32", plain_blocks="20",
                                 map_scale="false"),
}
# The bias before a batch norm has no gradient, yet in fp32 the norm of these maps, whose values are
# close together, leaves 1e-6 to 1e-5 of it. Weak branches keep that below the tests' bound.
TRAINING = {"model": "deepvit_s", "batch": 4,
            "set": {"image_size": "8x16", "classes": "5", "patch": "4", "dim": "24", "depth": "3",
                    "heads": "4", "mlp_ratio": "2", "plain_blocks": "1", "residual_scale": "8"}}
LEARNING_RATE = 0.002


def build(config):
    from models.deep_vision_transformer import DeepVisionTransformer
    depth, plain = int(config["depth"]), int(config["plain_blocks"])
    return DeepVisionTransformer(
        img_size=parse_size(config["image_size"]), patch_size=int(config["patch"]),
        in_chans=int(config["channels"]), num_classes=int(config["classes"]),
        embed_dim=int(config["dim"]), depth=[False] * depth,
        apply_transform=[False] * plain + [True] * (depth - plain),
        num_heads=int(config["heads"]), mlp_ratio=float(config["mlp_ratio"]), qkv_bias=True,
        norm_layer=partial(nn.LayerNorm, eps=1e-6), use_cnn_embed=config["stem"] == "conv",
        transform_scale=config["map_scale"] == "true",
        scale_adjustment=float(config["residual_scale"]))


def read(model, x):
    taps = {}

    def watch_map(index):
        def hook(_, __, output):
            taps[f"self_attention.{index}"] = output[1]
            taps[f"class_attention.{index}"] = output[1][:, :, :1]
        return hook

    for index, block in enumerate(model.blocks):
        block.attn.register_forward_hook(watch_map(index))
    model.norm.register_forward_hook(lambda _, __, normed: taps.update(
        features=normed[:, 0], tokens=normed[:, 1:]))
    return {"logits": model(x)} | taps


def cases():
    plain, conv = "deepvit_16b", "deepvit_s"
    small = dict(patch=8, dim=48, depth=3, heads=4)
    late = dict(small, plain_blocks=1)
    rows = ["features", "class_attention.1", "class_attention.2"]
    maps = ["features", "tokens", "self_attention.1", "class_attention.2"]
    return [
        case("16b_depth6_224", plain, ["features"], depth=6, batch=1),
        case("16b_96", plain, ["features", "class_attention.15"], image_size=96),
        case("s_96", conv, ["features", "class_attention.10", "class_attention.15"],
             image_size=96),
        case("l_depth8_64", "deepvit_l", ["features", "class_attention.7"], image_size=64, depth=8,
             plain_blocks=5),
        case("small_32", plain, maps, **small, image_size=32),
        case("small_24x40", plain, maps, **small, image_size="24x40"),
        case("small_conv_32", conv, ["class_attention.0", *rows], **late, image_size=32),
        case("small_conv_24x40", conv, rows, **late, image_size="24x40", map_scale="false"),
        case("small_conv_16x24", conv, ["self_attention.0", *maps], **late, image_size="16x24"),
        case("small_conv_patch4_gray", conv, ["features"], batch=3,
             **late | dict(patch=4, image_size=16, channels=1)),
        case("residual_scale_4", plain, ["features"], **small, image_size="16x24",
             residual_scale=4),
        case("no_reattention", plain, maps, **small | dict(plain_blocks=3, image_size="16x24")),
        case("map_scale", plain, maps, **small, image_size="16x24", map_scale="true"),
        case("l_384_depth3", "deepvit_l_384", ["features"], depth=3, plain_blocks=2, batch=1),
    ]


def official_models():
    import models.deep_vision_transformer as theirs
    return {"deepvit_16b": theirs.deepvit_patch16_224_re_attn_16b,
            "deepvit_24b": theirs.deepvit_patch16_224_re_attn_24b,
            "deepvit_32b": theirs.deepvit_patch16_224_re_attn_32b,
            "deepvit_s": theirs.deepvit_S, "deepvit_l": theirs.deepvit_L,
            "deepvit_l_384": theirs.deepvit_L_384}


def check_presets():
    """Our table must describe what the repository registers."""
    for name, create in official_models().items():
        with torch.device("meta"):
            ours, theirs = build(PRESETS[name]), create()
        for model in (ours, theirs):
            model.described = (
                {key: value.shape for key, value in model.state_dict().items()},
                [(block.attn.num_heads, block.adjust_ratio,
                  getattr(block.attn, "reatten_scale", None)) for block in model.blocks])
        assert ours.described == theirs.described, name


def main():
    official.checkout()
    check_presets()
    official.make_cases("deepvit", REPOSITORY, cases(), PRESETS, build, read)
    official.make_training("deepvit", REPOSITORY, TRAINING, LEARNING_RATE, PRESETS, build)
    official.make_counts("deepvit", REPOSITORY,
                         {name: (create, int(PRESETS[name]["image_size"]))
                          for name, create in official_models().items()})


if __name__ == "__main__":
    main()
