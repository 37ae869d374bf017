"""Writes data/counts.json: parameters and multiply-adds of the reference models.

The models live on torch's meta device, so even the largest costs neither memory nor time.
"""
import json
import math
import pathlib

import timm
import torch
from make_models import registered as from_timm
from timm.layers import Attention, set_fused_attn
from timm.models.cait import Cait, ClassAttn, TalkingHeadAttn
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

PATH = pathlib.Path(__file__).parent / "data" / "counts.json"
HOW = ("one image, 1000 classes, one multiply-add = 1: Linear (talking-heads mixes among them) and "
       "convolution by output size times fan-in, without biases; attention QK' and AV by queries * "
       "keys * dim each; nothing else (norms, softmax, GELU, scaling, additions) is counted. "
       "Equal to half of torch.utils.flop_counter's figure, which the script asserts. "
       "params: every learnable number.")
CAIT = {"xxs24": (192, 24, 4), "xxs36": (192, 36, 4), "xs24": (288, 24, 6), "xs36": (288, 36, 6),
        "s24": (384, 24, 8), "s36": (384, 36, 8), "s48": (384, 48, 8),
        "m24": (768, 24, 16), "m36": (768, 36, 16), "m48": (768, 48, 16)}
OTHERS = ([f"vit_{size}_patch16_224" for size in ("tiny", "small", "base", "large")] +
          ["vit_huge_patch14_224"] +
          [f"deit_{size}_{kind}patch16_224" for size in ("tiny", "small", "base")
           for kind in ("", "distilled_")] +
          [f"deit3_{size}_patch16_224" for size in ("tiny", "small", "medium", "base", "large")] +
          ["deit3_huge_patch14_224"])


def own_macs(module, inputs, output):
    """Multiply-adds of one module's call, children not counted."""
    if isinstance(module, nn.Linear):
        return output.numel() * module.in_features
    if isinstance(module, nn.Conv2d):
        return output.numel() * math.prod(module.weight.shape[1:])
    if isinstance(module, (Attention, TalkingHeadAttn, ClassAttn)):
        _, tokens, dim = inputs[0].shape
        queries = 1 if isinstance(module, ClassAttn) else tokens
        return 2 * queries * tokens * dim
    return 0


def count(model, size):
    macs = []
    for module in model.modules():
        module.register_forward_hook(lambda *call: macs.append(own_macs(*call)))
    model.requires_grad_(False)
    with FlopCounterMode(display=False) as flops:
        model.eval()(torch.empty(1, 3, size, size, device="meta"))
    assert sum(macs) * 2 == flops.get_total_flops()
    return {"image_size": size, "params": sum(p.numel() for p in model.parameters()),
            "macs": sum(macs)}


def build_cait(variant, size):
    dim, depth, heads = CAIT[variant]
    return Cait(img_size=size, patch_size=16, embed_dim=dim, depth=depth, num_heads=heads)


def main():
    set_fused_attn(False)
    registered = set(timm.list_models())
    sizes = [(variant, size) for variant in CAIT for size in (224, 384)]
    rows = []
    with torch.device("meta"):
        for variant, size in [*sizes, ("m36", 448), ("m48", 448)]:
            name = f"cait_{variant}_{size}"
            row = count(build_cait(variant, size), size)
            if name in registered:
                assert row == count(timm.create_model(name, num_classes=1000), size), name
            rows.append({"name": name, "registered_in_timm": name in registered} | row)
        for name in OTHERS:
            row = count(from_timm(name, num_classes=1000), 224)
            rows.append({"name": name, "registered_in_timm": name in registered} | row)
    lines = ",\n".join("  " + json.dumps(row) for row in rows)
    about = json.dumps({"reference": f"timm {timm.__version__}", "counted": HOW})[1:-1]
    PATH.write_text(f'{{{about},\n "models": [\n{lines}\n]}}\n')
    json.loads(PATH.read_text())
    for row in rows:
        print(f"{row['name']:34} {row['params'] / 1e6:8.2f} M {row['macs'] / 1e9:8.2f} GMAC")


if __name__ == "__main__":
    main()
