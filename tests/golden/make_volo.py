"""Writes data/volo.json, data/volo_training.safetensors and data/counts_volo.json: timm's VOLO."""
import json
import pathlib

import timm
import torch
from safetensors.numpy import save_file
from timm.layers import set_fused_attn
from timm.models.volo import VOLO, Attention, ClassAttention, OutlookAttention
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from make_models import stored, write
from pattern import fill, images
from training import train

DATA = pathlib.Path(__file__).parent / "data"
WORDS = f"timm {timm.__version__} VOLO, torch {torch.__version__.split('+')[0]}, float64"
D1 = {"image_size": "224", "channels": "3", "classes": "1000", "layers": "4,4,8,2",
      "dims": "192,384,384,384", "heads": "6,12,12,12", "mlp_ratio": "3", "stem": "64",
      "class_layers": "2", "aux_head": "true"}
D5 = D1 | {"layers": "12,12,20,4", "dims": "384,768,768,768", "heads": "12,16,16,16",
           "mlp_ratio": "4", "stem": "128"}
PRESETS = {"volo_d1_224": D1, "volo_d5_224": D5}
NAMES = ([f"volo_d{i}_224" for i in range(1, 6)] +
         ["volo_d1_384", "volo_d2_384", "volo_d3_448", "volo_d4_448", "volo_d5_448", "volo_d5_512"])
HOW = ("one image, 1000 classes, one multiply-add = 1: Linear and convolution by output size times "
       "fan-in, without biases; attention QK' and AV by queries * keys * dim each; outlook "
       "attention by windows * 9 * 9 * dim; nothing else is counted. Equal to half of "
       "torch.utils.flop_counter's figure, which the script asserts. params: every learnable "
       "number.")
TRAINING = {"model": "volo_d1_224", "batch": 4,
            "set": {"image_size": "32x48", "classes": "5", "layers": "1,1,1,1",
                    "dims": "8,16,16,16", "heads": "2,4,2,4", "stem": "6", "class_layers": "2",
                    "aux_head": "false"}}
LABELS = [0, 3, 1, 4]
LEARNING_RATE = 0.003


def numbers(text):
    return [int(number) for number in text.split(",")]


def size_of(config):
    sides = [int(side) for side in config["image_size"].split("x")]
    return sides[0], sides[-1]


def build(config):
    return VOLO(layers=numbers(config["layers"]), img_size=size_of(config),
                in_chans=int(config["channels"]), num_classes=int(config["classes"]),
                stem_hidden_dim=int(config["stem"]), embed_dims=numbers(config["dims"]),
                num_heads=numbers(config["heads"]), mlp_ratio=float(config["mlp_ratio"]),
                post_layers=("ca",) * int(config["class_layers"]),
                use_aux_head=config["aux_head"] == "true")


def case(name, taps, model="volo_d1_224", batch=2, **settings):
    settings = {key: str(value) for key, value in settings.items()}
    return {"name": name, "model": model, "set": {"classes": "10"} | settings, "batch": batch,
            "taps": ["logits", *taps]}


def cases():
    small = dict(layers="1,1,2,1", dims="24,48,48,48", heads="2,4,4,4", stem=16)
    looks = ["class_attention.0", "class_attention.1"]
    heads = ["logits_class", "logits_aux", "features"]
    tiny = dict(small, layers="1,1,1,1", image_size="32x48")
    return [
        case("d1_224_shallow", ["features", looks[1]], batch=1, layers="1,1,1,1"),
        case("d1_96", ["features", looks[0]], image_size=96),
        case("d5_64_shallow", ["features"], "volo_d5_224", layers="2,1,1,1", image_size=64),
        case("small_64", [*heads, "tokens", *looks, "self_attention.3"],
             **small, image_size=64),
        case("small_48x80", [*heads, "tokens", *looks, "self_attention.2"], **small,
             image_size="48x80"),
        case("small_16", heads, **small, image_size=16),  # one token, 2x2 for the outlooker
        case("heads_by_stage", [*heads, *looks, "self_attention.1"],
             **tiny | dict(heads="3,2,4,6")),
        case("no_outlookers", heads, **tiny | dict(layers="0,2,0,1")),
        case("outlookers_only", heads, **tiny | dict(layers="3,0,0,0")),
        case("class_layers_1", ["features", looks[0]], **tiny, class_layers=1),
        case("class_layers_3", ["features", *looks, "class_attention.2"], **tiny, class_layers=3),
        case("no_aux_head", ["features", "tokens"], **tiny, aux_head="false"),
        case("mlp_ratio_4_gray_batch_3", heads, batch=3, **tiny, mlp_ratio=4, channels=1),
    ]


def observe_attention(model, taps):
    """Maps are read where they multiply V; the class token's has one row."""
    def watch(attention, name):
        attention.attn_drop.register_forward_hook(
            lambda _, inputs, __: taps.__setitem__(name, inputs[0]))

    for kind, tap in {Attention: "self_attention", ClassAttention: "class_attention"}.items():
        found = [module for module in model.modules() if isinstance(module, kind)]
        for index, attention in enumerate(found):
            watch(attention, f"{tap}.{index}")


@torch.no_grad()
def run(item, dtype):
    config = PRESETS[item["model"]] | item["set"]
    model = build(config).to(dtype).eval()
    fill(model)
    taps = {}
    observe_attention(model, taps)
    x = images(item["batch"], int(config["channels"]), *size_of(config)).to(dtype)
    normed = model.forward_features(x)
    outputs = {"logits": model.forward_head(normed), "features": normed[:, 0],
               "tokens": normed[:, 1:], "logits_class": model.head(normed[:, 0])}
    if model.aux_head is not None:
        outputs["logits_aux"] = model.aux_head(normed[:, 1:])
    assert torch.equal(outputs["logits"], model(x))
    return outputs | taps


def make_cases():
    solved = []
    for item in cases():
        outputs, single = run(item, torch.float64), run(item, torch.float32)
        spread = outputs["logits"].std().item()
        error = (outputs["logits"] - single["logits"]).abs().max().item() / spread
        assert error < 5e-6, f"{item['name']}: fp32 is off by {error}"
        print(f"  volo/{item['name']}: std {spread:.3f}, fp32 off by {error:.1e}")
        shown = {key: value for key, value in item.items() if key != "taps"}
        solved.append(shown | {"reference": WORDS, "outputs": {
            tap: stored(outputs[tap]) for tap in item["taps"]}})
    write(DATA / "volo.json", solved)


def make_training():
    config = D1 | TRAINING["set"]
    model = build(config).double().train()
    named = {name: tensor for name, tensor in fill(model).items()
             if not name.endswith("num_batches_tracked")}
    x, labels = images(TRAINING["batch"], 3, *size_of(config)).double(), torch.tensor(LABELS)
    tensors, losses = train(model, named, x, labels, LEARNING_RATE)
    assert all(later < sooner for sooner, later in zip(losses, losses[1:])), losses
    about = TRAINING | {"labels": LABELS, "learning_rate": LEARNING_RATE, "reference": WORDS,
                        "tensors": "grad.NAME at the pattern weights; after.NAME of running "
                                   "statistics after one pass; losses before each of the steps"}
    path = DATA / "volo_training.safetensors"
    save_file(tensors, path, metadata={"case": json.dumps(about)})
    path.chmod(0o644)  # it is written through a private temporary file
    print(f"{path.name}: {len(tensors)} tensors, {path.stat().st_size} bytes")
    print("losses", " ".join(f"{loss:.6f}" for loss in losses))
    print("gradients that are zero:", [name for name, value in tensors.items() if not value.any()])


def own_macs(module, inputs, output):
    """Multiply-adds of one module's call, children not counted."""
    if isinstance(module, nn.Linear):
        return output.numel() * module.in_features
    if isinstance(module, nn.Conv2d):
        return output.numel() * module.weight[0].numel()
    if isinstance(module, (Attention, ClassAttention)):
        keys = inputs[0][0, ..., 0].numel()
        queries = 1 if isinstance(module, ClassAttention) else keys
        return 2 * queries * keys * inputs[0].shape[-1]
    if isinstance(module, OutlookAttention):
        _, height, width, dim = inputs[0].shape
        return (height // 2) * (width // 2) * 9 * 9 * dim
    return 0


def make_counts():
    rows = []
    for name in NAMES:
        with torch.device("meta"):
            size = int(name.rsplit("_", 1)[1])
            model = timm.create_model(name, img_size=size).eval().requires_grad_(False)
            macs = []
            for module in model.modules():
                module.register_forward_hook(lambda *call: macs.append(own_macs(*call)))
            with FlopCounterMode(display=False) as flops:
                model(torch.empty(1, 3, size, size))
        assert sum(macs) * 2 == flops.get_total_flops(), name
        rows.append({"name": name, "registered_in_timm": True, "image_size": size,
                     "params": sum(p.numel() for p in model.parameters()), "macs": sum(macs)})
        print(f"{name:14} {rows[-1]['params'] / 1e6:8.2f} M {sum(macs) / 1e9:8.2f} GMAC")
    lines = ",\n".join("  " + json.dumps(row) for row in rows)
    about = json.dumps({"reference": f"timm {timm.__version__}", "counted": HOW})[1:-1]
    (DATA / "counts_volo.json").write_text(f'{{{about},\n "models": [\n{lines}\n]}}\n')


@torch.no_grad()
def check_presets():
    """Our table must describe what timm registers under the same names."""
    for name, config in PRESETS.items():
        with torch.device("meta"):
            ours, theirs = build(config), timm.create_model(name)
        shapes = [{key: value.shape for key, value in model.state_dict().items()}
                  for model in (ours, theirs)]
        assert shapes[0] == shapes[1], name
        heads = [[module.num_heads for module in model.modules() if hasattr(module, "num_heads")]
                 for model in (ours, theirs)]
        assert heads[0] == heads[1], name


def main():
    set_fused_attn(False)  # a fused kernel never forms the map
    torch.set_num_threads(1)
    check_presets()
    make_cases()
    make_training()
    make_counts()


if __name__ == "__main__":
    main()
