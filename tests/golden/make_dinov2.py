"""Writes data/dinov2.json, data/dinov2_training.safetensors, data/counts_dinov2.json and
data/dinov2_resized.json.

Needs a checkout of the official repository (facebookresearch/dinov2), given as the only argument.
timm's models must give the same answers under their own names, which this script asserts.
"""
import json
import os
import warnings

import official
import timm
import torch
from family import Family, case, layer_macs, size_of
from make_models import stored
from pattern import images
from timm.layers import set_fused_attn
from torch import nn

os.environ["XFORMERS_DISABLED"] = "1"
warnings.filterwarnings("ignore")
set_fused_attn(False)
REPOSITORY = "facebookresearch/dinov2"
SIZES = {"small": (384, 12, 6), "base": (768, 12, 12), "large": (1024, 24, 16),
         "giant": (1536, 40, 24)}
PRESETS = {
    f"vit_{size}_patch14_{reg}dinov2": dict(
        image_size="518", channels="3", classes="0", patch="14", dim=str(dim), depth=str(depth),
        heads=str(heads), mlp_ratio="4", registers="4" if reg else "0",
        feed_forward="swiglu" if size == "giant" else "mlp")
    for reg in ("", "reg4_") for size, (dim, depth, heads) in SIZES.items()}
RESIZED = (("224", (224, 224)), ("224x308", (224, 308)), ("518x224", (518, 224)),
           ("560", (560, 560)))


def build(config):
    from dinov2.layers import MemEffAttention
    from dinov2.layers import NestedTensorBlock as Block
    from dinov2.models.vision_transformer import DinoVisionTransformer

    class Attending(MemEffAttention):
        """Keeps the weights that multiply V; the same formula as the base of MemEffAttention."""

        def forward(self, x, attn_bias=None):
            rows, tokens, dim = x.shape
            qkv = self.qkv(x).reshape(rows, tokens, 3, self.num_heads, dim // self.num_heads)
            q, k, v = qkv.permute(2, 0, 3, 1, 4).unbind(0)
            self.weights = (q * self.scale @ k.transpose(-2, -1)).softmax(dim=-1)
            return self.proj((self.weights @ v).transpose(1, 2).reshape(rows, tokens, dim))

    registers = int(config["registers"])
    model = DinoVisionTransformer(
        img_size=size_of(config), patch_size=int(config["patch"]),
        in_chans=int(config["channels"]), embed_dim=int(config["dim"]),
        depth=int(config["depth"]), num_heads=int(config["heads"]),
        mlp_ratio=float(config["mlp_ratio"]), init_values=1.0, block_chunks=0,
        ffn_layer="swiglufused" if config["feed_forward"] == "swiglu" else "mlp",
        block_fn=lambda **options: Block(**options, attn_class=Attending),
        num_register_tokens=registers, interpolate_antialias=registers > 0,
        interpolate_offset=0.0 if registers else 0.1)
    del model.mask_token  # of training only
    classes = int(config["classes"])
    if classes:
        model.head = nn.Linear(model.embed_dim, classes)
    return model


def answer(model, x, resize=False):
    # The official code resizes positions whenever an image is not square, even to its own grid.
    if not resize:
        model.interpolate_pos_encoding = lambda *_: model.pos_embed
    found = model.forward_features(x)
    taps = {"features": found["x_norm_clstoken"], "tokens": found["x_norm_patchtokens"]}
    taps["logits"] = model.head(taps["features"])
    for index, block in enumerate(model.blocks):
        taps[f"self_attention.{index}"] = block.attn.weights
        taps[f"class_attention.{index}"] = block.attn.weights[:, :, :1]
    return taps


def words(_):
    return official.words(REPOSITORY)


def cases():
    plain, registers = "vit_small_patch14_dinov2", "vit_small_patch14_reg4_dinov2"
    giant, giant_registers = "vit_giant_patch14_dinov2", "vit_giant_patch14_reg4_dinov2"
    small = dict(dim=48, depth=3, heads=3)
    maps = ["features", "tokens", "self_attention.1", "class_attention.2"]
    return [
        case("small_depth2_518", plain, ["features"], batch=1, depth=2),
        case("small_reg4_depth2_518", registers, ["features"], batch=1, depth=2),
        case("small_224", plain, ["features"], batch=1, image_size="224"),
        case("small_reg4_224", registers, ["features"], batch=1, image_size="224"),
        case("giant_depth1_224", giant, ["features"], batch=1, depth=1, image_size="224"),
        case("mlp_42", plain, maps, **small, image_size="42"),
        case("mlp_28x56", plain, maps, **small, image_size="28x56"),
        case("registers_42", registers, maps, **small, image_size="42"),
        case("registers_28x56", registers, maps, **small, image_size="28x56"),
        case("swiglu_42", giant, maps, **small, image_size="42"),
        case("swiglu_registers_28x56", giant_registers, maps, **small, image_size="28x56"),
        # 2/3 of 120 is a multiple of 8, 2/3 of 100 and of 126 (by a ratio of 2.5 and 3) are not.
        case("swiglu_width_30", giant, ["features"], image_size="42", dim=30, depth=2, heads=3),
        case("swiglu_width_40", giant, ["features"], image_size="42", dim=40, depth=2, heads=4,
             mlp_ratio=2.5),
        case("swiglu_width_42", giant, ["features"], image_size="42", dim=42, depth=2, heads=3,
             mlp_ratio=3),
        case("gray_two_registers", registers, ["features"], **small, image_size="28", channels=1,
             registers=2, batch=3),
    ]


def timm_name(name, swiglu):
    if swiglu:
        name = name.replace("mlp.w12", "mlp.fc1").replace("mlp.w3", "mlp.fc2")
    return name.replace("register_tokens", "reg_token")


@torch.no_grad()
def check_timm(family):
    """timm under its names gives the same; a register model has its class position in the token."""
    for name, config in PRESETS.items():
        config = config | dict(depth="1", image_size="56")
        item = dict(model=name, set=dict(depth="1", image_size="56"), batch=1)
        model, _, x, _ = family.prepared(item, torch.float64)
        theirs = timm.create_model(name, img_size=56, depth=1, num_classes=0).double().eval()
        swiglu, state = config["feed_forward"] == "swiglu", {}
        for key, value in model.state_dict().items():
            state[timm_name(key, swiglu)] = value
        if config["registers"] != "0":
            state["cls_token"] = state["cls_token"] + state["pos_embed"][:, :1]
            state["pos_embed"] = state["pos_embed"][:, 1:]
        theirs.load_state_dict(state)
        assert torch.allclose(theirs(x), answer(model.eval(), x)["features"], atol=1e-10), name


def own_macs(module, inputs, output):
    if hasattr(module, "weights") and hasattr(module, "qkv"):
        _, tokens, dim = inputs[0].shape
        return 2 * tokens * tokens * dim
    return layer_macs(module, inputs, output)


@torch.no_grad()
def write_resized(family):
    """What the official code answers at another size than that of its 37x37 positions."""
    solved = []
    for name, swiglu in (("vit_small_patch14_dinov2", False), ("vit_small_patch14_reg4_dinov2", False),
                         ("vit_giant_patch14_reg4_dinov2", True)):
        settings = dict(dim="24", depth="1", heads="2")
        item = dict(model=name, set=settings, batch=1)
        model, _, _, _ = family.prepared(item, torch.float64)
        for text, size in RESIZED:
            x = images(1, 3, *size).double()
            taps = answer(model.eval(), x, resize=True)
            grid = model.interpolate_pos_encoding(
                torch.empty(1, 1 + size[0] // 14 * (size[1] // 14), 24).double(), *size)
            solved.append({"model": name, "set": settings, "image_size": text,
                           "position": stored(grid[:, ::31]), "features": stored(taps["features"])})
    path = official.DATA / "dinov2_resized.json"
    lines = ",\n".join(json.dumps(one, separators=(",", ":")) for one in solved)
    about = json.dumps({"reference": official.words(REPOSITORY),
                        "position": "every 31st row of the resized positions, the class's first"})
    path.write_text(f'{about[:-1]},\n "cases": [\n{lines}\n]}}\n')
    print(f"{path.name}: {len(solved)} cases, {path.stat().st_size} bytes")


def main():
    official.checkout()
    family = Family("dinov2", PRESETS, build, answer, words)
    check_timm(family)
    family.write_cases(cases())
    family.write_training(
        "dinov2_training.safetensors",
        {"model": "vit_giant_patch14_reg4_dinov2",
         "set": {"image_size": "28x42", "classes": "5", "dim": "24", "depth": "2", "heads": "3"}},
        [0, 3, 1, 4], 0.05)
    family.write_counts(REPOSITORY + " without mask_token", official.HOW.replace(
        "1000 classes", "no classes"), own_macs)
    write_resized(family)


if __name__ == "__main__":
    main()
