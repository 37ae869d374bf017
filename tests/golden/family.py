"""What the makers of one family's golden numbers share: cases, a training run, counts.

A family gives `build(config) -> module`, `answer(module, x) -> taps` and `official(name)`, which
says under which name the official code has a parameter of the module.
"""
import json
import math
import pathlib

import torch
from safetensors.numpy import save_file
from torch import nn
from torch.nn.functional import cross_entropy
from torch.utils.flop_counter import FlopCounterMode

from make_models import deviation, stored, write
from pattern import images, pattern

DATA = pathlib.Path(__file__).parent / "data"
STEPS = 10
NOISE = 1e-13  # what float64 leaves of a gradient that is zero


def size_of(config):
    sides = [int(side) for side in config["image_size"].split("x")]
    return sides[0], sides[-1]


def case(name, model, taps, batch=2, **settings):
    settings = {key: str(value) for key, value in settings.items()}
    return {"name": name, "model": model, "set": {"classes": "10"} | settings, "batch": batch,
            "taps": ["logits", *taps]}


def official_shape(name, tensor):
    """Factors and offsets of channels are vectors there; some libraries add extents of 1."""
    return (tensor.numel(),) if name.endswith((".alpha", ".beta")) else tuple(tensor.shape)


@torch.no_grad()
def fill(model, official):
    """Sets every parameter and running statistic of a model; returns them by official name."""
    named = {}
    for name, tensor in model.state_dict(keep_vars=True).items():
        if name.endswith("num_batches_tracked"):
            continue
        name = official(name)
        assert name not in named, name
        values = torch.from_numpy(pattern(name, official_shape(name, tensor)))
        tensor.copy_(values.reshape(tensor.shape))
        named[name] = tensor
    return named


class Family:
    def __init__(self, name, presets, build, answer, words, official=lambda name: name):
        self.name, self.presets, self.words = name, presets, words
        self.build, self.answer, self.official = build, answer, official

    def prepared(self, item, dtype=torch.float64):
        config = self.presets[item["model"]] | item["set"]
        model = self.build(config).to(dtype)
        named = fill(model, self.official)
        x = images(item["batch"], int(config.get("channels", "3")), *size_of(config)).to(dtype)
        return model, named, x, config

    @torch.no_grad()
    def run(self, item, dtype=torch.float64):
        model, _, x, config = self.prepared(item, dtype)
        return self.answer(model.eval(), x), self.words(config)

    def write_cases(self, cases):
        solved = []
        for item in cases:
            outputs, words = self.run(item)
            single, _ = self.run(item, torch.float32)
            error = deviation(outputs, single)
            # The bound for the C++ side is 1e-5: a case where fp32 itself gets near it is useless.
            assert error < 5e-6, f"{item['name']}: fp32 is off by {error}"
            shown = {key: value for key, value in item.items() if key != "taps"}
            shown |= {"reference": words,
                      "outputs": {tap: stored(outputs[tap]) for tap in item["taps"]}}
            solved.append(shown)
            print(f"  {item['name']}: std {outputs['logits'].std().item():.3f}, fp32 off by "
                  f"{error:.1e}, {' '.join(shown['outputs'])}")
        write(DATA / f"{self.name}.json", solved)

    def write_training(self, file, item, labels, learning_rate):
        model, named, x, config = self.prepared(item | {"batch": len(labels)})
        model.train()
        losses, tensors = [], {}
        for step in range(STEPS):
            model.zero_grad()
            loss = cross_entropy(self.answer(model, x)["logits"], torch.tensor(labels))
            loss.backward()
            losses.append(loss.item())
            for name, tensor in named.items():
                if not tensor.requires_grad:
                    if step == 0:
                        tensors[f"after.{name}"] = tensor.float().numpy().copy()
                    continue
                if step == 0:
                    grad = torch.where(tensor.grad.abs() < NOISE, 0, tensor.grad)
                    grad = grad.reshape(official_shape(name, tensor))
                    tensors[f"grad.{name}"] = grad.float().numpy()
                tensor.data -= learning_rate * tensor.grad
        tensors["losses"] = torch.tensor(losses).float().numpy()
        assert all(later < sooner for sooner, later in zip(losses, losses[1:])), losses
        about = item | {"batch": len(labels), "labels": labels, "learning_rate": learning_rate,
                        "reference": self.words(config),
                        "tensors": "grad.NAME at the pattern weights; after.NAME: running "
                                   "statistics after one pass; losses before each of the steps"}
        path = DATA / file
        save_file(tensors, path, metadata={"case": json.dumps(about)})
        path.chmod(0o644)
        zero = [name for name, value in tensors.items() if not value.any()]
        print(f"{file}: {len(tensors)} tensors, {path.stat().st_size} bytes")
        print("losses", " ".join(f"{loss:.6f}" for loss in losses))
        print("gradients that are zero:", " ".join(zero))

    def count(self, name, own_macs):
        """Parameters and multiply-adds of a preset, on torch's meta device."""
        macs = []
        config = self.presets[name]
        with torch.device("meta"):
            model = self.build(config).eval().requires_grad_(False)
        for module in model.modules():
            module.register_forward_hook(lambda *call: macs.append(own_macs(*call)))
        size = size_of(config)
        with FlopCounterMode(display=False) as flops:
            self.answer(model, torch.empty(1, 3, *size, device="meta"))
        assert sum(macs) * 2 == flops.get_total_flops(), name
        return {"name": name, "image_size": size[0],
                "params": sum(p.numel() for p in model.parameters()), "macs": sum(macs)}

    def write_counts(self, reference, counted, own_macs):
        rows = [self.count(name, own_macs) for name in self.presets]
        lines = ",\n".join("  " + json.dumps(row) for row in rows)
        about = json.dumps({"reference": reference, "counted": counted})[1:-1]
        path = DATA / f"counts_{self.name}.json"
        path.write_text(f'{{{about},\n "models": [\n{lines}\n]}}\n')
        for row in rows:
            print(f"{row['name']:34} {row['params'] / 1e6:8.2f} M {row['macs'] / 1e9:8.2f} GMAC")


def layer_macs(module, _, output):
    """Multiply-adds of one call of a Linear or a convolution, biases not counted."""
    if isinstance(module, nn.Linear):
        return output.numel() * module.in_features
    if isinstance(module, nn.Conv2d):
        return output.numel() * math.prod(module.weight.shape[1:])
    return 0
