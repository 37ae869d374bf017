"""Writes data/translate.json, data/counts_translate.json, data/fairseq_translate.pt and data/fairseq_translate_old.pt.

The ResMLP translator has no public code: it is composed of torch's own layers after the equations of
the thesis. The Transformer of the same composition must first equal fairseq's own module wherever fairseq
has the variant, to 1e-6, as fairseq rounds to float32 in softmax and GELU.

    python make_translate.py FAIRSEQ_FOLDER     # fairseq 0.12.2's sources; needs torch, omegaconf,
                                                # hydra-core, bitarray, sacrebleu, regex
"""
import argparse
import collections
import dataclasses
import json
import math
import pathlib
import sys

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.flop_counter import FlopCounterMode

from make_models import deviation, stored
from pattern import pattern, uniform

DATA = pathlib.Path(__file__).parent / "data"
PAD, END = 1, 2
TORCH = f"torch {torch.__version__.split('+')[0]}, float64"
BASE = {"mixer": "resmlp", "norm": "affine", "post_norm": "false", "activation": "gelu",
        "dim": "512", "hidden": "2048", "heads": "8", "encoder_depth": "6", "decoder_depth": "6",
        "longest": "256", "vocabulary": "32768", "positions": "none", "layer_scale": "0.2"}
VASWANI = BASE | {"mixer": "attention", "norm": "layernorm", "post_norm": "true",
                  "activation": "relu", "positions": "sinusoids", "longest": "1024",
                  "layer_scale": "0"}
SMALL = {"dim": "256", "hidden": "1024", "heads": "4", "encoder_depth": "3", "decoder_depth": "3",
         "longest": "128", "vocabulary": "8192"}
PRESETS = {"resmlp_translate_6": BASE,
           "resmlp_translate_12": BASE | {"encoder_depth": "12", "decoder_depth": "12"},
           "resmlp_translate_small": BASE | SMALL,
           "transformer_base": VASWANI,
           "transformer_big": VASWANI | {"dim": "1024", "hidden": "4096", "heads": "16"},
           "transformer_small": VASWANI | SMALL}
TINY = {"dim": "12", "hidden": "20", "heads": "2", "encoder_depth": "2", "decoder_depth": "2",
        "longest": "16", "vocabulary": "24"}
HOW = ("a source of 32 pieces and a target of 32, one multiply-add = 1: linear maps and matrices over "
       "the places by output size times fan-in, whole matrices for triangles, without biases; "
       "attention QK' and AV by queries * keys * dim each; nothing else is counted. Equal to half of "
       "torch.utils.flop_counter's figure, which the script asserts. params: every learnable number.")


class Affine(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.alpha, self.beta = nn.Parameter(torch.ones(dim)), nn.Parameter(torch.zeros(dim))

    def forward(self, x):
        return x * self.alpha + self.beta


class Mix(nn.Module):
    """One matrix over the places, lower triangular in the decoder."""

    def __init__(self, longest):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(longest, longest))
        self.bias = nn.Parameter(torch.empty(longest))

    def forward(self, x, causal):
        length = x.shape[1]
        weight = self.weight[:length, :length]
        if causal:
            weight = weight.tril()
        return weight @ x + self.bias[:length, None]


class Attention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        for name in ("k_proj", "v_proj", "q_proj", "out_proj"):
            setattr(self, name, nn.Linear(dim, dim))
        self.map = None

    def split(self, x):
        return x.unflatten(2, (self.heads, -1)).transpose(1, 2)

    def forward(self, x, source, hidden):
        """`hidden` is true where a query does not see a key, [B, 1, Q, K]."""
        q, k, v = self.split(self.q_proj(x)), self.split(self.k_proj(source)), self.split(self.v_proj(source))
        scores = q @ k.transpose(2, 3) / math.sqrt(q.shape[3])
        self.map = scores.masked_fill(hidden, -math.inf).softmax(3)
        return self.out_proj((self.map @ v).transpose(1, 2).flatten(2))


class Layer(nn.Module):
    def __init__(self, config, is_decoder):
        super().__init__()
        dim, hidden, heads = (int(config[key]) for key in ("dim", "hidden", "heads"))
        norm = Affine if config["norm"] == "affine" else nn.LayerNorm
        self.config = config
        self.norm1, self.norm2 = norm(dim), norm(dim)
        if config["mixer"] == "resmlp":
            self.mix = Mix(int(config["longest"]))
        else:
            self.self_attn = Attention(dim, heads)
        names = ["gamma_1", "gamma_2"]
        if is_decoder:
            self.norm_cross, self.encoder_attn = norm(dim), Attention(dim, heads)
            names.append("gamma_cross")
        self.fc1, self.fc2 = nn.Linear(dim, hidden), nn.Linear(hidden, dim)
        self.act = nn.GELU() if config["activation"] == "gelu" else nn.ReLU()
        for name in names:
            gamma = nn.Parameter(torch.empty(dim)) if float(config["layer_scale"]) else None
            setattr(self, name, gamma)

    def branch(self, x, norm, gamma, function):
        added = function(x if self.config["post_norm"] == "true" else norm(x))
        x = x + (added if gamma is None else gamma * added)
        return norm(x) if self.config["post_norm"] == "true" else x

    def mixed(self, x, real, causal):
        """`real` is 1 for pieces and 0 for padding, [B, T, 1]."""
        if self.config["mixer"] == "resmlp":
            return self.mix(x if causal else x * real, causal)
        hidden = real.transpose(1, 2)[:, None] == 0
        if causal:
            length = x.shape[1]
            hidden = torch.ones(length, length, dtype=torch.bool, device=x.device).triu(1)
        return self.self_attn(x, x, hidden)

    def forward(self, x, real, encoded=None):
        x = self.branch(x, self.norm1, self.gamma_1, lambda x: self.mixed(x, real, encoded is not None))
        if encoded is not None:
            hidden = real.transpose(1, 2)[:, None] == 0
            x = self.branch(x, self.norm_cross, self.gamma_cross,
                            lambda x: self.encoder_attn(x, encoded, hidden))
        return self.branch(x, self.norm2, self.gamma_2, lambda x: self.fc2(self.act(self.fc1(x))))


def sinusoids(length, dim, like):
    """fairseq's, which are float32: positions count from the number of the padding plus one."""
    step = math.log(10000) / (dim // 2 - 1)
    frequency = torch.exp(torch.arange(dim // 2, dtype=torch.float) * -step)
    angle = torch.arange(PAD + 1, PAD + 1 + length, dtype=torch.float)[:, None] * frequency
    return torch.cat([angle.sin(), angle.cos()], 1).to(like)


class Side(nn.Module):
    def __init__(self, config, depth, is_decoder):
        super().__init__()
        self.layers = nn.ModuleList(Layer(config, is_decoder) for _ in range(depth))
        if config["post_norm"] != "true":
            self.norm = (Affine if config["norm"] == "affine" else nn.LayerNorm)(int(config["dim"]))


class Translator(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config = config
        dim = int(config["dim"])
        self.encoder = Side(config, int(config["encoder_depth"]), False)
        self.encoder.embed_tokens = nn.Embedding(int(config["vocabulary"]), dim)
        self.decoder = Side(config, int(config["decoder_depth"]), True)

    def embedded(self, ids):
        x = self.encoder.embed_tokens(ids) * math.sqrt(int(self.config["dim"]))
        if self.config["positions"] == "sinusoids":
            x = x + sinusoids(x.shape[1], x.shape[2], x)
        return x

    def forward(self, source, target, real):
        x = self.embedded(source)
        for layer in self.encoder.layers:
            x = layer(x, real)
        encoded = self.encoder.norm(x) if hasattr(self.encoder, "norm") else x
        x = self.embedded(target)
        for layer in self.decoder.layers:
            x = layer(x, real, encoded)
        x = self.decoder.norm(x) if hasattr(self.decoder, "norm") else x
        taps = {"logits": F.linear(x, self.encoder.embed_tokens.weight), "encoded": encoded}
        for index, layer in enumerate(self.encoder.layers):
            if self.config["mixer"] == "attention":
                taps[f"self_attention.{index}"] = layer.self_attn.map
        for index, layer in enumerate(self.decoder.layers):
            taps[f"cross_attention.{index}"] = layer.encoder_attn.map
            if self.config["mixer"] == "attention":
                taps[f"target_self_attention.{index}"] = layer.self_attn.map
        return taps


@torch.no_grad()
def filled(config, dtype=torch.float64):
    model = Translator(config)
    for name, tensor in model.named_parameters():
        tensor.copy_(torch.from_numpy(pattern(name, tuple(tensor.shape))))
    return model.to(dtype)


def ids(name, lengths, vocabulary):
    """Rows of pieces, padded on the right: any number from 3 on."""
    rows = torch.full((len(lengths), max(lengths)), PAD)
    for row, length in enumerate(lengths):
        draws = torch.from_numpy(uniform(f"{name}.{row}", length))
        rows[row, :length] = (3 + (draws + 1) / 2 * (vocabulary - 3)).long()
    return rows


def sentences(config, source_lengths=(7, 3), target_lengths=(4, 6)):
    source = ids("source", source_lengths, int(config["vocabulary"]))
    target = ids("target", target_lengths, int(config["vocabulary"]))
    for row, length in enumerate(source_lengths):
        source[row, length - 1] = END
    target[:, 0] = END
    return source, target


def mask_of(pieces):
    return (pieces != PAD)[:, :, None]


def shown_taps(taps, source, target):
    """Padded places have no meaning: zero, as the tests make them."""
    of_source, of_target = mask_of(source), mask_of(target)
    result = {}
    for name, value in taps.items():
        real = of_source if name.startswith(("encoded", "self")) else of_target
        result[name] = value * (real if value.dim() == 3 else real[:, None])
    return result


# ---- fairseq's own

def import_fairseq(folder):
    """fairseq 0.12.2 is older than Python 3.11's rules for dataclasses and than today's hydra."""
    make, plain = dataclasses.field, dataclasses._get_field

    def unhashable(value):
        return (dataclasses.is_dataclass(value) and not isinstance(value, type)
                and type(value).__hash__ is None)

    def field(*, default=dataclasses.MISSING, **rest):
        if unhashable(default):
            return make(default_factory=lambda: default, **rest)
        return make(default=default, **rest)

    def get_field(cls, name, *rest):
        default = getattr(cls, name, dataclasses.MISSING)
        if unhashable(default):
            setattr(cls, name, make(default_factory=lambda: default))
        return plain(cls, name, *rest)

    dataclasses.field, dataclasses._get_field = field, get_field
    from hydra.core.config_store import ConfigStore
    ConfigStore.store = lambda *arguments, **named: None
    sys.path.insert(0, folder)
    import fairseq
    return fairseq


def fairseq_name(name):
    """Ours of a parameter of fairseq's, or nothing for what is the same again."""
    if name in ("decoder.embed_tokens.weight", "decoder.output_projection.weight"):
        return None
    for theirs, ours in ((".self_attn_layer_norm.", ".norm1."), (".final_layer_norm.", ".norm2."),
                         (".encoder_attn_layer_norm.", ".norm_cross."), (".layer_norm.", ".norm.")):
        name = name.replace(theirs, ours)
    return name


@torch.no_grad()
def fairseq_model(config):
    from fairseq.data import Dictionary
    from fairseq.models.transformer import TransformerModel, base_architecture
    words = Dictionary()
    for i in range(int(config["vocabulary"]) - len(words)):
        words.add_symbol(f"w{i}")
    args = argparse.Namespace(
        encoder_embed_dim=int(config["dim"]), encoder_ffn_embed_dim=int(config["hidden"]),
        encoder_layers=int(config["encoder_depth"]), decoder_layers=int(config["decoder_depth"]),
        encoder_attention_heads=int(config["heads"]), decoder_attention_heads=int(config["heads"]),
        encoder_normalize_before=config["post_norm"] != "true",
        decoder_normalize_before=config["post_norm"] != "true",
        activation_fn=config["activation"], share_all_embeddings=True, dropout=0.0)
    base_architecture(args)
    task = argparse.Namespace(source_dictionary=words, target_dictionary=words)
    model = TransformerModel.build_model(args, task)
    for name, tensor in model.named_parameters():
        ours = fairseq_name(name)
        tensor.copy_(torch.from_numpy(pattern(ours, tuple(tensor.shape))))
    return args, model


def is_fairseqs(config):
    return (config["mixer"], config["norm"], config["positions"],
            config["layer_scale"]) == ("attention", "layernorm", "sinusoids", "0")


@torch.no_grad()
def check_against_fairseq(config, source, target, taps):
    _, model = fairseq_model(config)
    model.double().eval()
    out = model.encoder(source, (source != PAD).sum(1))
    logits = model.decoder(target, encoder_out=out)[0]
    encoded = out["encoder_out"][0].transpose(0, 1)
    of_source, of_target = mask_of(source), mask_of(target)
    assert ((taps["logits"] - logits) * of_target).abs().max() < 1e-6
    assert ((taps["encoded"] - encoded) * of_source).abs().max() < 1e-6
    for index in range(len(model.decoder.layers)):
        mean = model.decoder(target, encoder_out=out, alignment_layer=index)[1]["attn"][0]
        ours = taps[f"cross_attention.{index}"].mean(1)
        assert ((ours - mean) * of_target).abs().max() < 1e-6


# ---- What is written

def cases():
    maps = ["cross_attention.0", "cross_attention.1"]
    attention = ["self_attention.1", "target_self_attention.0", *maps]
    small, transformer = "resmlp_translate_small", "transformer_small"
    return [("resmlp", small, {}, ["logits", "encoded", *maps]),
            ("resmlp_post_norm", small,
             {"norm": "layernorm", "post_norm": "true", "activation": "relu",
              "positions": "sinusoids", "layer_scale": "0"}, ["logits", "encoded"]),
            ("fairseq", transformer, {}, ["logits", "encoded", *attention]),
            ("fairseq_pre_norm", transformer, {"post_norm": "false", "activation": "gelu"},
             ["logits", "encoded"]),
            ("attention_affine", transformer,
             {"norm": "affine", "post_norm": "false", "layer_scale": "0.2", "positions": "none"},
             ["logits", "encoded"])]


def checksum(tensor):
    flat = tensor.detach().flatten()
    weights = torch.linspace(-1, 1, flat.numel(), dtype=flat.dtype)
    return [(flat * weights).sum().item(), flat.norm().item()]


def solved(name, preset, settings, taps):
    config = PRESETS[preset] | TINY | settings
    source, target = sentences(config)
    real = mask_of(source)
    model = filled(config)
    with torch.no_grad():
        single = shown_taps(filled(config, torch.float)(source, target, real.float()), source, target)
    outputs = model(source, target, real.double())
    reference = f"own composition, {TORCH}"
    if is_fairseqs(config):
        check_against_fairseq(config, source, target, outputs)
        reference = f"fairseq 0.12.2, {TORCH}"
    outputs = shown_taps(outputs, source, target)
    error = deviation(outputs, single)
    assert error < 5e-6, f"{name}: fp32 is off by {error}"
    logits = outputs["logits"]
    loss = (logits * torch.linspace(-1, 1, logits.numel(), dtype=logits.dtype).reshape(logits.shape)).sum()
    loss.backward()
    gradients = {key: checksum(value.grad) for key, value in model.named_parameters()}
    print(f"  {name}: std {logits.std().item():.3f}, fp32 off by {error:.1e}, {reference}")
    return {"name": name, "model": preset, "set": TINY | settings, "reference": reference,
            "source": source.tolist(), "target": target.tolist(),
            "outputs": {tap: stored(outputs[tap]) for tap in taps},
            "loss": loss.item(), "gradients": gradients}


def macs_of(module, inputs, output):
    """Multiply-adds of one module's call, children not counted."""
    if isinstance(module, nn.Linear):
        return output.numel() * module.in_features
    if isinstance(module, Mix):
        return output.numel() * output.shape[1]
    if isinstance(module, Attention):
        queries, keys = inputs[0], inputs[1]
        return 2 * queries.shape[1] * keys.shape[1] * keys.shape[2]
    if isinstance(module, Translator):
        return output["logits"].numel() * int(module.config["dim"])
    return 0


def count(name, config):
    macs = []
    with torch.device("meta"):
        model = Translator(config).eval().requires_grad_(False)
        pieces, real = torch.zeros(1, 32, dtype=torch.long), torch.ones(1, 32, 1)
    for module in model.modules():
        module.register_forward_hook(lambda *call: macs.append(macs_of(*call)))
    with FlopCounterMode(display=False) as flops:
        model(pieces, pieces, real)
    assert sum(macs) * 2 == flops.get_total_flops(), (name, sum(macs) * 2, flops.get_total_flops())
    return {"name": name, "params": sum(p.numel() for p in model.parameters()), "macs": sum(macs)}


def write_counts():
    rows = [count(name, config) for name, config in PRESETS.items()]
    lines = ",\n".join("  " + json.dumps(row) for row in rows)
    about = json.dumps({"reference": f"own composition, {TORCH}", "counted": HOW})[1:-1]
    (DATA / "counts_translate.json").write_text(f'{{{about},\n "models": [\n{lines}\n]}}\n')
    for row in rows:
        print(f"{row['name']:24} {row['params'] / 1e6:8.2f} M {row['macs'] / 1e9:8.3f} GMAC")


def write_checkpoints():
    """What fairseq's train.py saves, with the names of today and with those of 2018."""
    config = PRESETS["transformer_small"] | TINY | {"encoder_depth": "1", "decoder_depth": "1",
                                                    "vocabulary": "16", "hidden": "8", "dim": "8"}
    args, model = fairseq_model(config)
    state = collections.OrderedDict((name, tensor.clone()) for name, tensor in model.state_dict().items())
    for side in ("encoder", "decoder"):
        state[f"{side}.version"] = torch.tensor([3.0])
        state[f"{side}.embed_positions._float_tensor"] = torch.tensor([0.0])
    around = {"args": args, "optimizer_history": [], "extra_state": {"epoch": 1},
              "last_optimizer_state": {}}
    torch.save({**around, "model": state}, DATA / "fairseq_translate.pt")
    old = collections.OrderedDict()
    for name, tensor in state.items():
        parent, _, last = name.rpartition(".")
        if parent.endswith(".q_proj"):
            base = parent[:-len("q_proj")]
            parts = [state[f"{base}{part}.{last}"] for part in ("q_proj", "k_proj", "v_proj")]
            old[f"{base}in_proj_{last}"] = torch.cat(parts)
        elif not (parent.endswith((".k_proj", ".v_proj")) or "_" in last and ".layers." in name or
                  name == "decoder.output_projection.weight"):
            old[name] = tensor
    torch.save({**around, "model": old}, DATA / "fairseq_translate_old.pt",
               _use_new_zipfile_serialization=False)
    for name in ("fairseq_translate.pt", "fairseq_translate_old.pt"):
        (DATA / name).chmod(0o644)
        print(f"{name}: {(DATA / name).stat().st_size} bytes")


def main():
    import_fairseq(sys.argv[1])
    write_counts()
    answers = [solved(*one) for one in cases()]
    lines = ",\n".join(json.dumps(item, separators=(",", ":")) for item in answers)
    path = DATA / "translate.json"
    path.write_text(f'{{"cases": [\n{lines}\n]}}\n')
    print(f"{path.name}: {len(answers)} cases, {path.stat().st_size} bytes")
    write_checkpoints()


if __name__ == "__main__":
    main()
