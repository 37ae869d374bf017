"""Writes data/{vit,deit,deit3,cait,cait_heads}.json: what the reference models give for pattern weights."""
import json
import pathlib

import timm
import torch

import reference
from pattern import fill, images

DATA = pathlib.Path(__file__).parent / "data"
LIMIT = 300_000  # bytes per file; the numbers are committed


def case(name, model, taps, batch=2, **settings):
    settings = {key: str(value) for key, value in settings.items()}
    return {"name": name, "model": model, "set": {"classes": "10"} | settings, "batch": batch,
            "taps": ["logits", *taps]}


SMALL = dict(patch=8, dim=48, depth=3, heads=3)
MAPS = ["features", "tokens", "self_attention.1", "class_attention.2"]


def vit_cases():
    tiny = "vit_tiny_patch16_224"
    small = dict(SMALL, image_size="32")
    return [
        case("tiny_224", tiny, ["features"]),
        case("tiny_160", tiny, ["features", "class_attention.11"], image_size=160),
        case("small_32", tiny, MAPS, **small),
        case("small_24x40", tiny, MAPS, **dict(SMALL, image_size="24x40")),
        case("small_average", tiny, ["features", "tokens"], **small, pool="average",
             fc_norm="false"),
        case("small_average_fc_norm", tiny, ["features", "tokens"], **small, pool="average",
             fc_norm="true"),
        case("small_position_none", tiny, ["features"], **small, position="none"),
        case("small_representation", tiny, ["features"], **small, representation=40),
        case("small_patch14", tiny, ["features"], **dict(SMALL, patch=14, image_size="28x42")),
        case("small_patch32", tiny, ["features"], **dict(SMALL, patch=32, image_size="64x96")),
        case("small_gray", tiny, ["features"], **small, channels=1),
        case("small_mlp_ratio_3", tiny, ["features"], **small, mlp_ratio=3),
    ]


def deit_cases():
    tiny, distilled = "deit_tiny_patch16_224", "deit_tiny_distilled_patch16_224"
    both = ["logits_dist", "features"]
    return [
        case("tiny_224", tiny, ["features"]),
        case("tiny_distilled_224", distilled, both),
        case("tiny_distilled_160", distilled, [*both, "class_attention.11"], image_size=160),
        case("small_distilled_24x40", distilled, ["logits_dist", *MAPS],
             **dict(SMALL, image_size="24x40")),
        case("small_distilled_32", distilled, both, **dict(SMALL, image_size="32")),
        case("small_24x40", tiny, ["features", "tokens"], **dict(SMALL, image_size="24x40")),
        case("norm_post_24x40", tiny, MAPS, **dict(SMALL, image_size="24x40"), norm_place="post"),
        case("norm_none_24x40", tiny, ["features", "tokens"], **dict(SMALL, image_size="24x40"),
             norm_place="none"),
        case("two_class_tokens_24x40", tiny, ["logits_class", "logits_second", *MAPS],
             **dict(SMALL, image_size="24x40"), class_tokens=2),
    ]


def deit3_cases():
    preset = "deit3_small_patch16_224"
    pair = ["features", "tokens"]
    cases = [case("small_depth4_224", preset, ["features", "class_attention.3"], depth=4),
             case("small_depth4_160", preset, ["features"], depth=4, image_size=160)]
    for size in ("32", "24x40"):
        shape = dict(SMALL, image_size=size)
        cases += [case(f"small_{size}", preset, MAPS, **shape),
                  case(f"small_parallel_{size}", preset, pair, **shape, parallel=2)]
    shape = dict(SMALL, image_size="24x40")
    # Maps are numbered through the branches: 3 is the second one of block 1.
    cases[-1]["taps"] += ["self_attention.3", "class_attention.4"]
    return cases + [
        case("small_no_scale", preset, pair, **shape, residual="none"),
        case("tiny_160", "deit3_tiny_patch16_224", ["features"], image_size=160),
        case("norm_post", preset, pair, **shape, norm_place="post"),
        case("norm_none", preset, pair, **shape, norm_place="none", residual="none"),
        case("small_parallel_no_scale", preset, pair, **shape, parallel=2, residual="none"),
    ]


def cait_cases():
    preset = "cait_xxs24_224"
    small = dict(patch=8, dim=48, depth=3, heads=4, class_layers=2)
    looks = ["class_attention.0", "class_attention.1"]
    cases = [
        case("xxs24_224", preset, ["features", *looks]),
        case("xxs24_160", preset, ["features", *looks], image_size=160),
        case("small_32", preset,
             ["features", "tokens", *looks, "self_attention.0", "self_attention.2"], **small,
             image_size="32"),
        case("small_24x40", preset, ["features", "tokens", *looks, "self_attention.1"], batch=1,
             **small, image_size="24x40"),
    ]
    # The choices are compared on few patches, where attention maps cost little.
    few = dict(small, image_size="16x24")
    every = ["features", *looks, "self_attention.1"]
    for where in ("before", "after", "none"):
        cases.append(case(f"talking_heads_{where}", preset, every, **few, talking_heads=where))
    return cases + [
        case("class_not_in_keys", preset, every, **few, class_in_keys="false"),
        case("class_scale_off", preset, every, **few, class_scale="false"),
        case("class_token_from_0", preset, ["features", "self_attention.0"], **few,
             class_stage="token", class_insert=0),
        case("class_token_from_1", preset,
             ["features", "tokens", "self_attention.0", "self_attention.1"], **few,
             class_stage="token", class_insert=1),
        case("average", preset, ["features", "tokens"], **few, class_stage="average"),
        case("residual_none", preset, every, **few, residual="none"),
        case("residual_scalar", preset, every, **few, residual="scalar"),
        case("distill_token", preset, ["logits_dist", "features", "tokens"], **few,
             distill_token="true"),
        case("mlp_ratio_3", preset, ["features"], **few, mlp_ratio=3),
        case("class_layers_1", preset, ["features", "class_attention.0"],
             **few | dict(class_layers=1)),
        case("class_layers_3", preset, ["features", *looks, "class_attention.2"],
             **few | dict(class_layers=3)),
        case("gray_batch_3", preset, ["features"], batch=3, **few, channels=1),
        case("norm_post", preset, every, **few, norm_place="post"),
        case("norm_none", preset, every, **few, norm_place="none", residual="scalar"),
    ]


def cait_heads_cases():
    """As many talking heads as XS, S and M have: our kernels have a loop for some numbers."""
    shape = dict(patch=8, dim=48, depth=2, class_layers=1, image_size="16x24")
    maps = ["features", "self_attention.0", "self_attention.1", "class_attention.0"]
    return [case(str(heads), "cait_xxs24_224", maps, batch=1, **shape, heads=heads)
            for heads in (6, 8, 16)]


def stored(tensor):
    return {"shape": list(tensor.shape),
            "values": [float(f"{value:.9g}") for value in tensor.flatten().tolist()]}


def deviation(outputs, others):
    spread = outputs["logits"].std().item()
    return (outputs["logits"] - others["logits"]).abs().max().item() / spread


def solve(item):
    """The case with its outputs; also how far plain fp32 arithmetic is from them."""
    outputs, words = reference.run(item)
    single, _ = reference.run(item, dtype=torch.float32)
    shown = {key: value for key, value in item.items() if key != "taps"}
    shown |= {"reference": words, "outputs": {tap: stored(outputs[tap]) for tap in item["taps"]}}
    return shown, deviation(outputs, single)


def check_variants(cases):
    """Our own formulas must be timm's wherever timm has the model."""
    for item in cases:
        if item["name"] in ("small_32", "small_24x40", "class_layers_3", "mlp_ratio_3"):
            ours, _ = reference.run(item, variant=True)
            theirs, words = reference.run(item)
            assert "Cait" in words
            for tap, value in theirs.items():
                assert torch.allclose(ours[tap], value, rtol=1e-12, atol=1e-12), tap


def registered(name, **arguments):
    """What timm has under a name; it leaves DeiT III's tiny one out."""
    if name == "deit3_tiny_patch16_224":
        return timm.create_model("deit3_small_patch16_224", embed_dim=192, num_heads=3, **arguments)
    return timm.create_model(name, **arguments)


@torch.no_grad()
def check_presets():
    """Our table of presets must describe what timm registers under the same names."""
    for name in reference.PRESETS:
        ours, _, _ = reference.build({"model": name, "set": {"classes": "10"}})
        theirs = registered(name, num_classes=10).eval()
        fill(ours)
        theirs.load_state_dict(ours.state_dict())
        x = images(1, 3, 224, 224)
        assert torch.equal(ours(x), theirs(x)), name


def write(path, solved):
    lines = ",\n".join(json.dumps(item, separators=(",", ":")) for item in solved)
    path.write_text(f"[\n{lines}\n]\n")
    size = path.stat().st_size
    assert size < LIMIT, f"{path.name}: {size} bytes"
    print(f"{path.name}: {len(solved)} cases, {size} bytes")


def main():
    DATA.mkdir(exist_ok=True)
    check_presets()
    check_variants(cait_cases())
    for family, cases in {"vit": vit_cases(), "deit": deit_cases(), "deit3": deit3_cases(),
                          "cait": cait_cases(), "cait_heads": cait_heads_cases()}.items():
        solved = []
        for item in cases:
            result, error = solve(item)
            # The bound for the C++ side is 1e-4: a case where fp32 itself gets near it is useless.
            assert error < 2e-5, f"{item['name']}: fp32 is off by {error}"
            solved.append(result)
            spread = torch.tensor(result["outputs"]["logits"]["values"]).std().item()
            print(f"  {family}/{item['name']}: std {spread:.3f}, fp32 off by {error:.1e}, "
                  f"{' '.join(result['outputs'])}")
        write(DATA / f"{family}.json", solved)


if __name__ == "__main__":
    main()
