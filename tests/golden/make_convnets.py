"""Writes what timm's ResNet and RegNet give for pattern weights: data/{resnet,regnet}.json,
data/{resnet,regnet}_training.safetensors and data/counts_{resnet,regnet}.json.

The counts are checked against torchvision's models too, which this script needs beside timm.
"""
import json
import pathlib
from functools import partial

import timm
import torch
import torchvision
from make_counts import HOW, count
from make_models import case, deviation, stored, write
from pattern import fill, images
from reference import parse_size
from safetensors.numpy import save_file
from timm.models.cait import LayerScaleBlockClassAttn
from timm.models.regnet import RegNet, RegNetCfg
from timm.models.resnet import BasicBlock, Bottleneck, ResNet, make_blocks
from torch import nn
from torch.nn.functional import cross_entropy

DATA = pathlib.Path(__file__).parent / "data"
TIMM = f"timm {timm.__version__}"
RESNETS = {"resnet18": ("2,2,2,2", "false"), "resnet34": ("3,4,6,3", "false"),
           "resnet50": ("3,4,6,3", "true"), "resnet101": ("3,4,23,3", "true"),
           "resnet152": ("3,8,36,3", "true")}
# Groups, width of a group, and whether stem and shortcuts are those of ResNet-D.
GROUPED = {"resnet50d": ("1", "64", True), "resnext50_32x4d": ("32", "4", False),
           "resnext50d_32x4d": ("32", "4", True), "resnext50d_32x8d": ("32", "8", True)}
STEM = dict(groups="1", group_width="64", stem_kernel="7", stem_stride="2", stem_pool="true",
            deep_stem="false", average_shortcut="false")
REGNETS = {"regnety_040": ("128,192,512,1088", "2,6,12,2", "64"),
           "regnety_080": ("168,448,896,2016", "2,4,10,1", "56"),
           "regnety_080_tv": ("224,448,896,2016", "2,4,10,1", "56"),
           "regnety_120": ("224,448,896,2240", "2,5,11,1", "112"),
           "regnety_160": ("224,448,1232,3024", "2,4,11,1", "112")}
COMMON = dict(image_size="224", channels="3", classes="1000")
PRESETS = ({name: STEM | dict(width="64", blocks=blocks, bottleneck=bottleneck, pool="average")
            for name, (blocks, bottleneck) in RESNETS.items()} |
           {name: STEM | dict(width="64", blocks="3,4,6,3", bottleneck="true", pool="average",
                              groups=groups, group_width=width) |
            (dict(stem_kernel="3", deep_stem="true", average_shortcut="true") if deep else {})
            for name, (groups, width, deep) in GROUPED.items()} |
           {name: dict(stem="32", widths=widths, depths=depths, group=group, se_ratio="0.25")
            for name, (widths, depths, group) in REGNETS.items()})
# What torchvision has with the same parameters.
SAME_IN_TORCHVISION = {name: name for name in [*RESNETS, "resnext50_32x4d"]} | {
    "regnety_080_tv": "regnet_y_8gf", "regnety_160": "regnet_y_16gf"}
STEPS = 10
ROUNDING = 2e-7  # relative, a few times that of fp32


def numbers(text):
    return [int(number) for number in text.split(",")]


def build_stem(model, config):
    """timm's stem always has 64 channels and takes photographs."""
    width, channels, stride = (int(config[key]) for key in ("width", "channels", "stem_stride"))
    kernel, half = int(config["stem_kernel"]), width // 2
    if config["deep_stem"] == "true":
        model.conv1 = nn.Sequential(
            nn.Conv2d(channels, half, 3, stride=stride, padding=1, bias=False),
            nn.BatchNorm2d(half), nn.ReLU(), nn.Conv2d(half, half, 3, padding=1, bias=False),
            nn.BatchNorm2d(half), nn.ReLU(), nn.Conv2d(half, width, 3, padding=1, bias=False))
    else:
        model.conv1 = nn.Conv2d(channels, width, kernel, stride=stride, padding=kernel // 2,
                                bias=False)
    model.bn1 = nn.BatchNorm2d(width)
    if config["stem_pool"] == "false":
        model.maxpool = nn.Identity()


def build_resnet(config):
    block = Bottleneck if config["bottleneck"] == "true" else BasicBlock
    width, channels, blocks = int(config["width"]), int(config["channels"]), config["blocks"]
    widths = [width << stage for stage in range(4)]
    groups = dict(cardinality=int(config["groups"]), base_width=int(config["group_width"]))
    deep = dict(stem_width=32, stem_type="deep") if config["deep_stem"] == "true" else {}
    average = config["average_shortcut"] == "true"
    model = ResNet(block, numbers(blocks), channels=widths, in_chans=channels,
                   num_classes=int(config["classes"]), avg_down=average, **groups, **deep)
    if width != 64 or any(config[key] != STEM[key] for key in STEM if key.startswith("stem")):
        build_stem(model, config)
        stages, _ = make_blocks([block] * 4, widths, numbers(blocks), width, act_layer=nn.ReLU,
                                norm_layer=nn.BatchNorm2d, aa_layer=None, avg_down=average,
                                **groups)
        for name, stage in stages:
            setattr(model, name, stage)
    if config["pool"] == "attention":
        add_attention_pool(model)
    return model


def add_attention_pool(model):
    """No public code puts it on a ResNet: CaiT's class block with PatchConvNet's sizes."""
    norm = partial(nn.LayerNorm, eps=1e-6)
    block = LayerScaleBlockClassAttn(model.num_features, num_heads=1, mlp_ratio=3, qkv_bias=True,
                                     norm_layer=norm)
    model.cls_token = nn.Parameter(torch.zeros(1, 1, model.num_features))
    model.blocks_token_only = nn.ModuleList([block])
    model.norm = norm(model.num_features)


def attention_pool(model, tokens):
    """The pooled vectors and the weights of the positions, the class token's own first."""
    block, weights = model.blocks_token_only[0], []
    block.attn.attn_drop.register_forward_hook(lambda _, given, __: weights.append(given[0]))
    pooled = block(tokens, model.cls_token.expand(len(tokens), -1, -1))
    return model.norm(pooled)[:, 0], weights[0]


def build_regnet(config):
    widths, depths = numbers(config["widths"]), numbers(config["depths"])
    ratio = float(config["se_ratio"])

    class ListedStages(RegNet):
        """timm derives widths and depths from a rule; here they are given."""

        def _get_stage_args(self, cfg, **_):
            stages = [dict(out_chs=width, stride=2, dilation=1, depth=depth, bottle_ratio=1.0,
                           group_size=int(config["group"]), drop_path_rates=[0.0] * depth)
                      for width, depth in zip(widths, depths)]
            return stages, dict(downsample="conv1x1", se_ratio=ratio, linear_out=False,
                                act_layer=cfg.act_layer, norm_layer=cfg.norm_layer)

    return ListedStages(RegNetCfg(stem_width=int(config["stem"])),
                        in_chans=int(config["channels"]), num_classes=int(config["classes"]))


def build(model, settings):
    config = COMMON | PRESETS[model] | settings
    return (build_resnet if "blocks" in config else build_regnet)(config), config


def inputs(item, config):
    return images(item["batch"], int(config["channels"]), *parse_size(config["image_size"]))


def words(settings):
    pooled = " ResNet, then own formulas on its class block" if "pool" in settings else ""
    return f"{TIMM}{pooled}, torch {torch.__version__.split('+')[0]}, float64"


@torch.no_grad()
def run(item, dtype):
    model, config = build(item["model"], item["set"])
    model.eval().to(dtype)
    fill(model)
    maps = model.forward_features(inputs(item, config).to(dtype))
    tokens = maps.flatten(2).transpose(1, 2)
    if config.get("pool") == "attention":
        features, weights = attention_pool(model, tokens)
        return {"logits": model.fc(features), "features": features, "tokens": tokens,
                "class_attention.0": weights}
    return {"logits": model.forward_head(maps), "tokens": tokens,
            "features": model.forward_head(maps, pre_logits=True)}


def resnet_cases():
    small = dict(width=8, image_size="64")
    both = ["features", "tokens"]
    return [
        case("resnet18_224", "resnet18", ["features"]),
        case("resnet50_160", "resnet50", ["features"]),
        case("resnet50_96x128", "resnet50", ["features"], batch=1, image_size="96x128"),
        case("basic_64", "resnet18", both, **small, blocks="1,2,1,1"),
        case("basic_odd_53x71", "resnet18", both, **small | dict(image_size="53x71"),
             blocks="2,1,1,2"),
        case("bottleneck_64", "resnet50", both, **small, blocks="1,2,1,1"),
        case("bottleneck_odd_71x45", "resnet50", both, **small | dict(image_size="71x45"),
             blocks="2,1,1,1"),
        case("gray_batch_3", "resnet50", ["features"], batch=3, **small, blocks="1,1,1,1",
             channels=1),
        case("attention_pool_64x96", "resnet50", [*both, "class_attention.0"],
             **small | dict(image_size="64x96"), blocks="1,2,1,1", pool="attention"),
        case("resnext50_32x4d_96", "resnext50_32x4d", [], batch=1, image_size="96"),
        case("resnet50d_96", "resnet50d", [], batch=1, image_size="96"),
        case("resnext50d_32x8d_64", "resnext50d_32x8d", [], batch=1, image_size="64"),
        case("grouped_odd_53x71", "resnext50_32x4d", ["features"], width=16, groups=4, group_width=16,
             image_size="53x71", blocks="1,2,1,1"),
        case("d_odd_53x71", "resnext50d_32x4d", ["features"], width=16, groups=4, group_width=16,
             image_size="53x71", blocks="1,2,1,1"),
        # A published Tiny-ImageNet ResNet-18: 7x7 at stride 1, on images of 64 pixels.
        case("tiny_imagenet_64", "resnet18", ["features"], batch=1, image_size="64",
             stem_stride=1, classes=200),
        case("no_pool_64", "resnet18", ["features"], **small, blocks="1,1,1,1", stem_stride=1,
             stem_pool="false"),
        # The usual ResNet-18 for CIFAR: 3x3 at stride 1, no pool.
        case("cifar_32", "resnet18", ["features"], batch=1, image_size="32", stem_kernel=3,
             stem_stride=1, stem_pool="false"),
        case("stem_3_stride_2", "resnet50", ["features"], **small, blocks="1,1,1,1", stem_kernel=3),
        case("deep_stem_stride_1", "resnet50d", ["features"], **small | dict(image_size="32"),
             blocks="1,1,1,1", stem_stride=1, stem_pool="false"),
    ]


def regnet_cases():
    small = dict(stem=8, widths="16,24,40,64", depths="1,2,1,1", group=8, image_size="64")
    both = ["features", "tokens"]
    return [
        case("regnety_040_160", "regnety_040", ["features"], image_size="160"),
        case("regnety_040_96x128", "regnety_040", ["features"], batch=1, image_size="96x128"),
        case("regnety_160_64", "regnety_160", ["features"], batch=1, image_size="64"),
        case("small_64", "regnety_160", both, **small),
        case("small_odd_53x71", "regnety_160", both, **small | dict(image_size="53x71")),
        # The squeezed widths of 10 and 18 channels are halves: 2.5 and 4.5 both round to even.
        case("small_halves", "regnety_160", both,
             **small | dict(stem=10, widths="18,18,24,32", group=2)),
        case("small_no_squeeze", "regnety_160", both, **small, se_ratio=0),
        case("small_squeeze_half", "regnety_160", ["features"], **small, se_ratio=0.5),
        case("gray_batch_3", "regnety_160", ["features"], batch=3, **small, channels=1),
    ]


def write_cases(family, cases):
    solved = []
    for item in cases:
        outputs, single = run(item, torch.float64), run(item, torch.float32)
        error = deviation(outputs, single)
        assert error < 5e-6, f"{item['name']}: fp32 is off by {error}"
        shown = {key: value for key, value in item.items() if key != "taps"}
        solved.append(shown | {"reference": words(item["set"]),
                               "outputs": {tap: stored(outputs[tap]) for tap in item["taps"]}})
        print(f"  {family}/{item['name']}: std {outputs['logits'].std():.3f}, fp32 off by "
              f"{error:.1e}")
    write(DATA / f"{family}.json", solved)


def train(item, labels, rate, noise=None):
    """Ten losses, and what the first step leaves: gradients and running statistics."""
    model, config = build(item["model"], item["set"])
    model.double().train()
    named = {name: value for name, value in fill(model).items()
             if not name.endswith("num_batches_tracked")}
    if noise:
        for value in named.values():
            value.data *= 1 + ROUNDING * torch.randn(value.shape, generator=noise).double()
    x, losses, tensors = inputs(item, config).double(), [], {}
    for step in range(STEPS):
        model.zero_grad()
        loss = cross_entropy(model(x), torch.tensor(labels))
        loss.backward()
        losses.append(loss.item())
        for name, value in named.items():
            trained = isinstance(value, nn.Parameter)
            if step == 0:
                kept = value.grad if trained else value
                tensors[f"{'grad' if trained else 'after'}.{name}"] = kept.float().numpy().copy()
            if trained:
                value.data -= rate * value.grad
    return losses, tensors


def check_kinks(item, labels, rate, losses, tensors):
    """Rounding may not decide: no ReLU or maximum is so near its kink that fp32 flips it."""
    for seed in range(16):
        others, changed = train(item, labels, rate, torch.Generator().manual_seed(seed))
        error = max(abs(a - b) for a, b in zip(losses, others))
        assert error < 3e-5, f"{item['model']}: losses move by {error} with seed {seed}"
        for name, value in tensors.items():
            error = abs(value - changed[name]).max()
            assert error < max(1e-3 * value.std(), 1e-5), f"{name} moves by {error}"


def write_training(family, model, settings, rate):
    labels = [0, 3, 1, 4, 2, 1]
    item = {"model": model, "batch": len(labels), "set": {"classes": "5"} | settings}
    losses, tensors = train(item, labels, rate)
    assert all(later < sooner for sooner, later in zip(losses, losses[1:])), losses
    check_kinks(item, labels, rate, losses, tensors)
    tensors["losses"] = torch.tensor(losses).float().numpy()
    about = item | {"labels": labels, "learning_rate": rate, "reference": words(settings),
                    "tensors": "grad.NAME at the pattern weights; after.NAME once they have seen "
                               "the batch; losses before each of the steps"}
    path = DATA / f"{family}_training.safetensors"
    save_file(tensors, path, metadata={"case": json.dumps(about)})
    path.chmod(0o644)
    print(f"{path.name}: {len(tensors)} tensors, {path.stat().st_size} bytes")
    print("losses", " ".join(f"{loss:.6f}" for loss in losses))


def registered(name):
    """What timm has under a name; the thesis' ResNeXt-50D 32x8 is its 32x4 with wider groups."""
    wider = dict(base_width=8) if name == "resnext50d_32x8d" else {}
    return timm.create_model(name.replace("32x8d", "32x4d"), **wider)


@torch.no_grad()
def check_presets():
    """Our table of presets must describe what timm registers under the same names."""
    for name in PRESETS:
        with torch.device("meta"):
            ours, _ = build(name, {})
            theirs = registered(name)
        shapes = [{key: value.shape for key, value in model.state_dict().items()}
                  for model in (ours, theirs)]
        assert shapes[0] == shapes[1], name


def write_counts(family, names):
    rows = []
    for name in names:
        with torch.device("meta"):
            row = count(registered(name), 224)
        if name in SAME_IN_TORCHVISION:
            other = torchvision.models.get_model(SAME_IN_TORCHVISION[name]).to("meta")
            assert row == count(other, 224), name
        rows.append({"name": name, "registered_in_timm": timm.is_model(name)} | row)
        print(f"{name:16} {row['params'] / 1e6:8.2f} M {row['macs'] / 1e9:8.2f} GMAC")
    lines = ",\n".join("  " + json.dumps(row) for row in rows)
    about = json.dumps({"reference": TIMM, "counted": HOW})[1:-1]
    (DATA / f"counts_{family}.json").write_text(f'{{{about},\n "models": [\n{lines}\n]}}\n')


def main():
    check_presets()
    write_cases("resnet", resnet_cases())
    write_cases("regnet", regnet_cases())
    write_training("resnet", "resnet50",
                   {"width": "4", "blocks": "2,1,1,1", "image_size": "64x80"}, 2e-4)
    write_training("resnet_grouped", "resnext50d_32x4d",
                   {"width": "4", "groups": "2", "group_width": "32", "blocks": "1,1,1,1",
                    "image_size": "64x80"}, 1e-4)
    write_training("regnet", "regnety_160",
                   {"stem": "8", "widths": "16,24,32,48", "depths": "1,2,1,1", "group": "8",
                    "image_size": "64x80"}, 0.02)
    write_counts("resnet", [*RESNETS, *GROUPED])
    write_counts("regnet", REGNETS)


if __name__ == "__main__":
    main()
