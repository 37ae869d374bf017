"""Writes data/translate_steps.json: gradients and twenty steps of two small translators by plain PyTorch.

The thesis' ResMLP translator (section 4.3.5) learns with torch's Adagrad, the Transformer that it is
compared with (fairseq's: post-norm, ReLU, sinusoids) with torch's AdamW. Everything is float64 on the
float32 pattern, without dropout; the same padded batch comes at every step. The loss is fairseq's
label-smoothed cross-entropy divided by the target pieces.
"""
import json
import math
import pathlib

import torch
from pattern import pattern, uniform
from torch.nn import functional as F

PATH = pathlib.Path(__file__).parent / "data" / "translate_steps.json"
STEPS, SMOOTHING = 20, 0.1
PAD, END = 1, 2
SIZES = {"dim": 16, "hidden": 24, "heads": 2, "encoder_depth": 2, "decoder_depth": 2, "longest": 16,
         "vocabulary": 23}
SOURCES = [[4, 5, 6], [7], [8, 9, 10, 11, 12], [13, 4]]
TARGETS = [[14, 15], [16, 17, 18, 19], [5], [6, 7, 8, 9, 20, 21]]
CASES = [("resmlp_adagrad", "resmlp_translate_small", True,
          {"optim.name": "adagrad", "optim.lr": 0.02, "optim.epsilon": 1e-10}),
         ("attention_adamw", "transformer_small", False,
          {"optim.name": "adamw", "optim.lr": 2e-3, "optim.epsilon": 1e-8, "optim.beta1": 0.9,
           "optim.beta2": 0.98})]


class Translator:
    def __init__(self, resmlp):
        self.resmlp, self.params = resmlp, {}

    def param(self, name, *shape):
        if name not in self.params:
            value = torch.from_numpy(pattern(name, shape)).double()
            self.params[name] = value.requires_grad_()
        return self.params[name]

    def linear(self, x, name, width):
        return F.linear(x, self.param(name + ".weight", width, x.shape[-1]), self.param(name + ".bias", width))

    def norm(self, x, name):
        d = x.shape[-1]
        if self.resmlp:
            return x * self.param(name + ".alpha", d) + self.param(name + ".beta", d)
        return F.layer_norm(x, (d,), self.param(name + ".weight", d), self.param(name + ".bias", d), 1e-5)

    def attention(self, x, memory, name, hidden):
        """hidden [B, 1, Q or 1, K]: true where nothing is seen."""
        d, heads = x.shape[-1], SIZES["heads"]
        split = lambda y: y.unflatten(-1, (heads, d // heads)).transpose(1, 2)
        q = split(self.linear(x, name + ".q_proj", d))
        k = split(self.linear(memory, name + ".k_proj", d))
        v = split(self.linear(memory, name + ".v_proj", d))
        scores = q @ k.transpose(2, 3) / math.sqrt(d // heads)
        mixed = scores.masked_fill(hidden, -math.inf).softmax(-1) @ v
        return self.linear(mixed.transpose(1, 2).flatten(2), name + ".out_proj", d)

    def branch(self, x, norm, gamma, f):
        if not self.resmlp:
            return self.norm(x + f(x), norm)
        return x + self.param(gamma, x.shape[-1]) * f(self.norm(x, norm))

    def mlp(self, x, name):
        act = F.gelu if self.resmlp else F.relu
        return self.linear(act(self.linear(x, name + ".fc1", SIZES["hidden"])), name + ".fc2", x.shape[-1])

    def mix(self, x, name, causal):
        most, length = SIZES["longest"], x.shape[1]
        weight = self.param(name + ".mix.weight", most, most)[:length, :length]
        if causal:
            weight = weight.tril()
        bias = self.param(name + ".mix.bias", most)[:length]
        return torch.einsum("ts,bsd->btd", weight, x) + bias[:, None]

    def embed(self, ids):
        d = SIZES["dim"]
        table = self.param("encoder.embed_tokens.weight", SIZES["vocabulary"], d)
        x = table[ids] * math.sqrt(d)
        if self.resmlp:
            return x
        half = d // 2
        rates = torch.exp(torch.arange(half, dtype=torch.float64) * -(math.log(10000) / (half - 1)))
        angles = (torch.arange(ids.shape[1], dtype=torch.float64) + 2)[:, None] * rates
        return x + torch.cat([angles.sin(), angles.cos()], 1)

    def logits(self, source, mask, target):
        hidden = (mask == 0)[:, None, None, :]
        x = self.embed(source)
        for i in range(SIZES["encoder_depth"]):
            name = f"encoder.layers.{i}"
            if self.resmlp:
                exchange = lambda y, n=name: self.mix(y * mask[:, :, None], n, False)
            else:
                exchange = lambda y, n=name: self.attention(y, y, n + ".self_attn", hidden)
            x = self.branch(x, name + ".norm1", name + ".gamma_1", exchange)
            x = self.branch(x, name + ".norm2", name + ".gamma_2", lambda y, n=name: self.mlp(y, n))
        memory = self.norm(x, "encoder.norm") if self.resmlp else x
        x = self.embed(target)
        later = torch.ones(target.shape[1], target.shape[1], dtype=torch.bool).triu(1)[None, None]
        for i in range(SIZES["decoder_depth"]):
            name = f"decoder.layers.{i}"
            if self.resmlp:
                exchange = lambda y, n=name: self.mix(y, n, True)
            else:
                exchange = lambda y, n=name: self.attention(y, y, n + ".self_attn", later)
            x = self.branch(x, name + ".norm1", name + ".gamma_1", exchange)
            x = self.branch(x, name + ".norm_cross", name + ".gamma_cross",
                            lambda y, n=name: self.attention(y, memory, n + ".encoder_attn", hidden))
            x = self.branch(x, name + ".norm2", name + ".gamma_2", lambda y, n=name: self.mlp(y, n))
        x = self.norm(x, "decoder.norm") if self.resmlp else x
        return F.linear(x, self.params["encoder.embed_tokens.weight"])


def padded(rows, length):
    return torch.tensor([row + [PAD] * (length - len(row)) for row in rows])


def smoothed_loss(logits, expected):
    log_p = logits.log_softmax(-1)
    rest = SMOOTHING / (logits.shape[-1] - 1)
    right = -log_p.gather(-1, expected[:, :, None])[:, :, 0]
    counts = expected != PAD
    each = (1 - SMOOTHING - rest) * right - rest * log_p.sum(-1)
    return (each * counts).sum() / counts.sum()


def checksum(name, value):
    probe = torch.from_numpy(uniform("probe." + name, value.numel()))
    return [float((value.detach().flatten() * probe).sum()), float(value.detach().norm())]


def case(name, model, resmlp, recipe):
    net = Translator(resmlp)
    source = padded([row + [END] for row in SOURCES], 8)
    target = padded([[END] + row for row in TARGETS], 8)
    expected = padded([row + [END] for row in TARGETS], 8)
    mask = (source != PAD).double()
    run = lambda: smoothed_loss(net.logits(source, mask, target), expected)
    run()  # makes the parameters
    params = list(net.params.values())
    if resmlp:
        optimizer = torch.optim.Adagrad(params, lr=recipe["optim.lr"], eps=recipe["optim.epsilon"])
    else:
        optimizer = torch.optim.AdamW(params, lr=recipe["optim.lr"], betas=(0.9, 0.98),
                                      eps=recipe["optim.epsilon"], weight_decay=0)
    losses, gradients = [], {}
    for step in range(STEPS):
        optimizer.zero_grad()
        loss = run()
        loss.backward()
        losses.append(float(loss.detach()))
        if step == 0:
            gradients = {n: checksum(n, p.grad) for n, p in net.params.items()}
        optimizer.step()
    print(name, "loss", losses[0], "to", losses[-1])
    return {"name": name, "model": model, "set": {k: str(v) for k, v in SIZES.items()}, "recipe": recipe,
            "smoothing": SMOOTHING, "losses": losses, "gradients": gradients,
            "weights": {n: checksum(n, p) for n, p in net.params.items()}}


if __name__ == "__main__":
    torch.set_num_threads(1)
    data = {"sources": SOURCES, "targets": TARGETS, "length": 8, "cases": [case(*one) for one in CASES]}
    PATH.write_text(json.dumps(data, indent=1) + "\n")
