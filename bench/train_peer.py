"""The peer of `./dev bench train`: the same CaiT, written plainly in PyTorch, one training step at
a time (forward, backward, AdamW). Prints one JSON line per round."""
import argparse
import json
import os
import resource
import time

import torch
from torch import nn
from torch.nn import functional as F


class TalkingHeads(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads, self.scale = heads, (dim // heads) ** -0.5
        self.qkv, self.proj = nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)
        self.proj_l, self.proj_w = nn.Linear(heads, heads), nn.Linear(heads, heads)

    def forward(self, x):
        batch, tokens, dim = x.shape
        qkv = self.qkv(x).reshape(batch, tokens, 3, self.heads, dim // self.heads)
        q, k, v = qkv.permute(2, 0, 3, 1, 4)
        scores = (q * self.scale) @ k.transpose(-2, -1)
        scores = self.proj_l(scores.permute(0, 2, 3, 1)).permute(0, 3, 1, 2).softmax(-1)
        scores = self.proj_w(scores.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)
        return self.proj((scores @ v).transpose(1, 2).reshape(batch, tokens, dim))


class ClassAttention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads, self.scale = heads, (dim // heads) ** -0.5
        self.q, self.k, self.v, self.proj = (nn.Linear(dim, dim) for _ in range(4))

    def split(self, x):
        return x.reshape(x.shape[0], x.shape[1], self.heads, -1).transpose(1, 2)

    def forward(self, x):
        q, k, v = self.split(self.q(x[:, :1])) * self.scale, self.split(self.k(x)), self.split(self.v(x))
        out = (q @ k.transpose(-2, -1)).softmax(-1) @ v
        return self.proj(out.transpose(1, 2).reshape(x.shape[0], 1, -1))


class Block(nn.Module):
    def __init__(self, dim, heads, attention):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(dim, 1e-6), nn.LayerNorm(dim, 1e-6)
        self.attn = attention(dim, heads)
        self.mlp = nn.Sequential(nn.Linear(dim, 4 * dim), nn.GELU(), nn.Linear(4 * dim, dim))
        self.gamma_1 = nn.Parameter(torch.full((dim,), 1e-5))
        self.gamma_2 = nn.Parameter(torch.full((dim,), 1e-5))

    def forward(self, x, patches=None):
        seen = x if patches is None else torch.cat([x, patches], 1)
        x = x + self.gamma_1 * self.attn(self.norm1(seen))
        return x + self.gamma_2 * self.mlp(self.norm2(x))


class CaiT(nn.Module):
    def __init__(self, size=32, patch=4, dim=192, depth=12, class_depth=2, heads=4, classes=100):
        super().__init__()
        self.patch_embed = nn.Conv2d(3, dim, patch, patch)
        self.pos_embed = nn.Parameter(torch.randn(1, (size // patch) ** 2, dim) * 0.02)
        self.cls_token = nn.Parameter(torch.randn(1, 1, dim) * 0.02)
        self.blocks = nn.ModuleList(Block(dim, heads, TalkingHeads) for _ in range(depth))
        self.class_blocks = nn.ModuleList(Block(dim, heads, ClassAttention) for _ in range(class_depth))
        self.norm, self.head = nn.LayerNorm(dim, 1e-6), nn.Linear(dim, classes)

    def forward(self, images):
        x = self.patch_embed(images).flatten(2).transpose(1, 2) + self.pos_embed
        for block in self.blocks:
            x = block(x)
        token = self.cls_token.expand(x.shape[0], -1, -1)
        for block in self.class_blocks:
            token = block(token, x)
        return self.head(self.norm(torch.cat([token, x], 1))[:, 0])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--precision", choices=["fp32", "bf16"], default="fp32")
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    torch.manual_seed(0)
    model = CaiT()
    optimiser = torch.optim.AdamW(model.parameters(), 1e-3, weight_decay=0.05)
    images, labels = torch.randn(options.batch, 3, 32, 32), torch.randint(0, 100, (options.batch,))
    for step in range(options.rounds + 1):  # the first warms up
        start = time.perf_counter()
        optimiser.zero_grad(set_to_none=True)
        with torch.autocast("cpu", torch.bfloat16, enabled=options.precision == "bf16"):
            logits = model(images)
        loss = F.cross_entropy(logits.float(), labels)
        loss.backward()
        optimiser.step()
        seconds = time.perf_counter() - start
        if step:
            print(json.dumps({
                "images_per_second": options.batch / seconds,
                "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
                "torch": torch.__version__, "threads": torch.get_num_threads(),
            }), flush=True)


if __name__ == "__main__":
    main()
