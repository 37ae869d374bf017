"""CaiT with the choices its paper compares and timm does not offer, in plain PyTorch.

Written from the formulas of "Going deeper with Image Transformers" (arXiv 2103.17239), with timm's
patch embedding and MLP inside. With the default choices it must equal timm's Cait exactly;
make_models.py checks that before it uses this file.
"""
import torch
from timm.layers import Mlp, PatchEmbed
from torch import nn


def layer_norm(dim):
    return nn.LayerNorm(dim, eps=1e-6)


def split_heads(x, heads):
    batch, tokens, dim = x.shape
    # [B, heads, tokens, dim / heads]
    return x.reshape(batch, tokens, heads, dim // heads).transpose(1, 2)


def merge_heads(x):
    return x.transpose(1, 2).flatten(2)


class SelfAttention(nn.Module):
    """Attention whose heads may be mixed before the softmax, after it, both or not at all."""

    def __init__(self, dim, heads, talking_heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(dim, 3 * dim)
        if talking_heads in ("both", "before"):
            self.proj_l = nn.Linear(heads, heads)
        if talking_heads in ("both", "after"):
            self.proj_w = nn.Linear(heads, heads)
        self.attn_drop = nn.Identity()  # only there to be observed
        self.proj = nn.Linear(dim, dim)

    def forward(self, x):
        q, k, v = (split_heads(part, self.heads) for part in self.qkv(x).chunk(3, dim=-1))
        scores = (q * q.shape[-1] ** -0.5) @ k.mT
        if hasattr(self, "proj_l"):
            scores = self.proj_l(scores.movedim(1, -1)).movedim(-1, 1)
        weights = scores.softmax(-1)
        if hasattr(self, "proj_w"):
            weights = self.proj_w(weights.movedim(1, -1)).movedim(-1, 1)
        return self.proj(merge_heads(self.attn_drop(weights) @ v))


class ClassAttention(nn.Module):
    """Only the class tokens ask; `source` is what they may look at."""

    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.q = nn.Linear(dim, dim)
        self.k = nn.Linear(dim, dim)
        self.v = nn.Linear(dim, dim)
        self.attn_drop = nn.Identity()
        self.proj = nn.Linear(dim, dim)

    def forward(self, queries, source):
        q = split_heads(self.q(queries), self.heads)
        k = split_heads(self.k(source), self.heads)
        v = split_heads(self.v(source), self.heads)
        weights = ((q * q.shape[-1] ** -0.5) @ k.mT).softmax(-1)
        return self.proj(merge_heads(self.attn_drop(weights) @ v))


class Block(nn.Module):
    """The parts that both kinds of block share; `gamma` is the size of the residual factors."""

    def __init__(self, dim, mlp_ratio, attention, gamma, norm_place):
        super().__init__()
        self.norm_place = norm_place
        if norm_place != "none":
            self.norm1 = layer_norm(dim)
        self.attn = attention
        if norm_place != "none":
            self.norm2 = layer_norm(dim)
        self.mlp = Mlp(dim, int(dim * mlp_ratio))
        if gamma:
            self.gamma_1 = nn.Parameter(torch.empty(gamma))
            self.gamma_2 = nn.Parameter(torch.empty(gamma))

    def norm(self, number, here, x):
        return getattr(self, f"norm{number}")(x) if self.norm_place == here else x

    def add(self, x, attended):
        first, second = getattr(self, "gamma_1", 1), getattr(self, "gamma_2", 1)
        x = self.norm(1, "post", x + first * attended)
        return self.norm(2, "post", x + second * self.mlp(self.norm(2, "pre", x)))


class SelfBlock(Block):
    def forward(self, x):
        return self.add(x, self.attn(self.norm(1, "pre", x)))


class ClassBlock(Block):
    def __init__(self, *args, in_keys, **kwargs):
        super().__init__(*args, **kwargs)
        self.in_keys = in_keys

    def forward(self, patches, tokens):
        queries, source = self.norm(1, "pre", tokens), self.norm(1, "pre", patches)
        if self.in_keys:
            source = torch.cat((queries, source), dim=1)
        return self.add(tokens, self.attn(queries, source))


class VariantCait(nn.Module):
    def __init__(self, image_size, channels, classes, patch, dim, depth, heads, mlp_ratio,
                 class_layers, class_stage="attention", class_insert=0, class_in_keys=True,
                 class_scale=True, talking_heads="both", residual="layerscale",
                 distill_token=False, norm_place="pre"):
        super().__init__()
        gamma = {"layerscale": dim, "scalar": 1, "none": 0}[residual]
        self.class_stage, self.class_insert = class_stage, class_insert
        self.patch_embed = PatchEmbed(image_size, patch, channels, dim)
        self.pos_embed = nn.Parameter(torch.empty(1, self.patch_embed.num_patches, dim))
        if class_stage != "average":
            self.cls_token = nn.Parameter(torch.empty(1, 1, dim))
        if distill_token:
            self.dist_token = nn.Parameter(torch.empty(1, 1, dim))
            self.head_dist = nn.Linear(dim, classes)
        self.blocks = nn.ModuleList(
            SelfBlock(dim, mlp_ratio, SelfAttention(dim, heads, talking_heads), gamma, norm_place)
            for _ in range(depth))
        if class_stage == "attention":
            self.blocks_token_only = nn.ModuleList(
                ClassBlock(dim, mlp_ratio, ClassAttention(dim, heads),
                           gamma if class_scale else 0, norm_place, in_keys=class_in_keys)
                for _ in range(class_layers))
        self.norm = layer_norm(dim)
        self.head = nn.Linear(dim, classes)

    def class_tokens(self, batch):
        tokens = [self.cls_token] + ([self.dist_token] if hasattr(self, "dist_token") else [])
        return torch.cat(tokens, dim=1).expand(batch, -1, -1)

    def encode(self, x):
        """Normalised class tokens (none of them with average pooling) and patch tokens."""
        x = self.patch_embed(x) + self.pos_embed
        own = 0  # class tokens that already travel with the patches
        for index, block in enumerate(self.blocks):
            if self.class_stage == "token" and index == self.class_insert:
                tokens = self.class_tokens(len(x))
                own = tokens.shape[1]
                x = torch.cat((tokens, x), dim=1)
            x = block(x)
        if self.class_stage == "attention":
            tokens = self.class_tokens(len(x))
            for block in self.blocks_token_only:
                tokens = block(x, tokens)
            own = tokens.shape[1]
            x = torch.cat((tokens, x), dim=1)
        x = self.norm(x)
        return x[:, :own], x[:, own:]

    def forward(self, x):
        tokens, patches = self.encode(x)
        features = patches.mean(1) if self.class_stage == "average" else tokens[:, 0]
        outputs = {"logits": self.head(features), "features": features, "tokens": patches}
        if hasattr(self, "head_dist"):
            outputs["logits_dist"] = self.head_dist(tokens[:, 1])
            outputs["logits"] = (outputs["logits"] + outputs["logits_dist"]) / 2
        return outputs
