"""A tiny CaiT as the files that people have, and the logits that timm gives for it.

Written to ../e2e/data: the wrapping of the official CaiT checkpoints ({"model": {"module.…"}} beside
an args Namespace) in both of PyTorch's containers, a tiny DeiT III, one with parallel blocks, a tiny
ResMLP and a tiny DINOv2 with registers under timm's own names, and a tiny ViT as DINO's training saves it.
"""
import argparse
import collections
import json
import pathlib

import numpy as np
import torch
from safetensors.torch import save_file
from timm.layers import SwiGLUPacked
from timm.models.cait import Cait
from timm.models.mlp_mixer import Affine, MlpMixer, ResBlock
from timm.models.vision_transformer import ParallelThingsBlock, VisionTransformer

from pattern import fill, pattern

FOLDER = pathlib.Path(__file__).parent.parent / "e2e" / "data"
SIZES = dict(img_size=16, patch_size=8, num_classes=3, embed_dim=16, depth=2, num_heads=2)


def logits_of(model, x):
    with torch.no_grad():
        return model.double().eval()(torch.from_numpy(x).double()).float().numpy()


def main():
    FOLDER.mkdir(exist_ok=True)
    x = pattern("input", (2, 3, 16, 16))
    np.save(FOLDER / "images.npy", x)

    cait = Cait(**SIZES, depth_token_only=1)
    fill(cait)
    weights = collections.OrderedDict(("module." + k, v.clone()) for k, v in cait.state_dict().items())
    checkpoint = {"model": weights, "epoch": 399, "args": argparse.Namespace(lr=1e-3, model="cait"),
                  "optimizer": {"state": {}, "param_groups": [{"lr": 1e-3}]}}
    torch.save(checkpoint, FOLDER / "tiny_cait_zip.pth")
    torch.save(checkpoint, FOLDER / "tiny_cait_legacy.pth", _use_new_zipfile_serialization=False)
    np.save(FOLDER / "tiny_cait_logits.npy", logits_of(cait, x))

    deit3 = VisionTransformer(**SIZES, init_values=1e-4, no_embed_class=True)
    fill(deit3)
    save_file({k: v.contiguous() for k, v in deit3.state_dict().items()},
              FOLDER / "tiny_deit3_timm.safetensors")
    np.save(FOLDER / "tiny_deit3_logits.npy", logits_of(deit3, x))

    parallel = VisionTransformer(**SIZES, init_values=1e-4, no_embed_class=True,
                                 block_fn=ParallelThingsBlock)
    resmlp = MlpMixer(img_size=16, patch_size=8, num_classes=3, embed_dim=16, num_blocks=2,
                      mlp_ratio=4, block_layer=ResBlock, norm_layer=Affine)
    for name, model in {"deit3_parallel": parallel, "resmlp": resmlp}.items():
        fill(model)
        save_file({k: v.contiguous() for k, v in model.state_dict().items()},
                  FOLDER / f"tiny_{name}_timm.safetensors")
        np.save(FOLDER / f"tiny_{name}_logits.npy", logits_of(model, x))

    backbone = SIZES | dict(num_classes=0)
    # SwiGLU's width by DINOv2's rule: two thirds of 4 * 16, up to a multiple of 8, and both halves.
    dinov2 = VisionTransformer(**backbone, init_values=1e-5, reg_tokens=4, no_embed_class=True,
                               mlp_layer=SwiGLUPacked, act_layer=torch.nn.SiLU,
                               mlp_ratio=2 * 48 / 16)
    fill(dinov2)
    save_file({k: v.contiguous() for k, v in dinov2.state_dict().items()},
              FOLDER / "tiny_dinov2_timm.safetensors")
    np.save(FOLDER / "tiny_dinov2_features.npy", logits_of(dinov2, x))

    vit = VisionTransformer(**backbone)
    fill(vit)
    head = {"head.mlp.0.weight": torch.ones(8, 16), "head.mlp.0.bias": torch.ones(8),
            "head.last_layer.weight_g": torch.ones(4, 1),
            "head.last_layer.weight_v": torch.ones(4, 8)}
    teacher = {"backbone." + k: v.clone() for k, v in vit.state_dict().items()} | head
    student = {"module." + k: torch.zeros_like(v) for k, v in teacher.items()}
    torch.save({"student": student, "teacher": teacher, "epoch": 100,
                "optimizer": {"state": {}, "param_groups": [{"lr": 1e-3}]},
                "args": argparse.Namespace(arch="vit_small")}, FOLDER / "tiny_dino.pth")
    np.save(FOLDER / "tiny_dino_features.npy", logits_of(vit, x))


if __name__ == "__main__":
    main()
