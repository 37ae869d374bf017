"""Builds the public reference for one case (our preset and settings) and reads its taps."""
import timm
import torch
from cait_variants import VariantCait
from timm.layers import set_fused_attn
from timm.models.cait import Cait
from timm.models.deit import VisionTransformerDistilled
from timm.models.vision_transformer import Block, ParallelThingsBlock, VisionTransformer
from torch import nn

from pattern import fill, images

# Attention weights are read where they are multiplied with V; a fused kernel never forms them.
set_fused_attn(False)
torch.set_num_threads(1)

TIMM = f"timm {timm.__version__}"

COMMON = dict(image_size="224", channels="3", classes="1000", mlp_ratio="4")
PRESETS = {
    "vit_tiny_patch16_224": dict(family="vit", patch="16", dim="192", depth="12", heads="3"),
    "deit_tiny_patch16_224": dict(family="deit", patch="16", dim="192", depth="12", heads="3"),
    "deit_tiny_distilled_patch16_224": dict(family="deit", patch="16", dim="192", depth="12",
                                            heads="3"),
    "deit3_tiny_patch16_224": dict(family="deit3", patch="16", dim="192", depth="12", heads="3"),
    "deit3_small_patch16_224": dict(family="deit3", patch="16", dim="384", depth="12", heads="6"),
    "cait_xxs24_224": dict(family="cait", patch="16", dim="192", depth="24", heads="4",
                           class_layers="2"),
}
# The settings of CaiT that timm's own class has; any other one needs VariantCait.
PLAIN_CAIT = {"image_size", "channels", "classes", "patch", "dim", "depth", "heads",
              "mlp_ratio", "class_layers"}


def parse_size(text):
    sides = [int(side) for side in text.split("x")]
    return (sides[0], sides[-1])


def shared_arguments(config):
    return dict(img_size=parse_size(config["image_size"]), patch_size=int(config["patch"]),
                in_chans=int(config["channels"]), num_classes=int(config["classes"]),
                embed_dim=int(config["dim"]), depth=int(config["depth"]),
                num_heads=int(config["heads"]), mlp_ratio=float(config["mlp_ratio"]))


class PreLogitsHead(nn.Module):
    """The first ViT's head: Linear, tanh, then the classifier. The names are the official ones."""

    def __init__(self, body, width, classes):
        super().__init__()
        for name, module in body.named_children():
            self.add_module(name, module)
        self.cls_token, self.pos_embed = body.cls_token, body.pos_embed
        self.body = [body]  # in a list: it shares every parameter but the head's
        self.pre_logits = nn.Module()
        self.pre_logits.fc = nn.Linear(body.embed_dim, width)
        self.head = nn.Linear(width, classes)

    def forward_features(self, x):
        return self.body[0].forward_features(x)

    def forward_head(self, x):
        return self.head(self.pre_logits.fc(x[:, 0]).tanh())


def build_vit(config):
    pool, position = config.get("pool", "class"), config.get("position", "learned")
    average = pool == "average"
    model = VisionTransformer(
        **shared_arguments(config), class_token=not average,
        global_pool="avg" if average else "token", fc_norm=config.get("fc_norm") == "true",
        pos_embed={"learned": "learn", "none": "none"}[position])
    width = int(config.get("representation", "0"))
    return PreLogitsHead(model, width, int(config["classes"])) if width else model


class PostNormBlock(Block):
    """timm's parts in the order of the first transformer: the norm after the sum."""

    def forward(self, x):
        x = self.norm1(x + self.ls1(self.attn(x)))
        return self.norm2(x + self.ls2(self.mlp(x)))


class NoNormBlock(Block):
    def __init__(self, *arguments, **named):
        super().__init__(*arguments, **named)
        self.norm1 = self.norm2 = nn.Identity()


NORM_PLACES = {"pre": {}, "post": dict(block_fn=PostNormBlock), "none": dict(block_fn=NoNormBlock)}


def build_deit(config):
    distilled = "_distilled_" in config["model"]
    model = (VisionTransformerDistilled if distilled else VisionTransformer)(
        **shared_arguments(config), **NORM_PLACES[config.get("norm_place", "pre")])
    if config.get("class_tokens", "1") == "2":
        # timm puts whatever `cls_token` holds in front; the second one gets a head of its own.
        width, positions = model.embed_dim, model.pos_embed.shape[1]
        model.cls_token = nn.Parameter(torch.zeros(1, 2, width))
        model.pos_embed = nn.Parameter(torch.zeros(1, positions + 1, width))
        model.head_second = nn.Linear(width, model.num_classes)
        model.num_prefix_tokens = 2
    return model


def build_deit3(config):
    extra = NORM_PLACES[config.get("norm_place", "pre")]
    if config.get("parallel", "1") == "2":
        extra = dict(block_fn=ParallelThingsBlock)
    scale = 1e-4 if config.get("residual", "layerscale") == "layerscale" else None
    return VisionTransformer(**shared_arguments(config), no_embed_class=True, init_values=scale,
                             **extra)


def build_variant_cait(config):
    chosen = {key: config[key] for key in ("class_stage", "talking_heads", "residual",
                                             "norm_place")
              if key in config}
    chosen |= {key: config[key] == "true" for key in ("class_in_keys", "class_scale",
                                                      "distill_token") if key in config}
    return VariantCait(
        parse_size(config["image_size"]), int(config["channels"]), int(config["classes"]),
        int(config["patch"]), int(config["dim"]), int(config["depth"]), int(config["heads"]),
        float(config["mlp_ratio"]), int(config["class_layers"]),
        class_insert=int(config.get("class_insert", "0")), **chosen)


def build_plain_cait(config):
    # Our one `mlp_ratio` is for both kinds of block; timm and the official code have two.
    return Cait(**shared_arguments(config), depth_token_only=int(config["class_layers"]),
                mlp_ratio_token_only=float(config["mlp_ratio"]))


def attentions(block):
    """Of a block of a sequence: one, or one per parallel branch."""
    return [block.attn] if hasattr(block, "attn") else [branch.attn for branch in block.attns]


def observe_attention(model, taps):
    """Fills `taps` during a forward pass; the numbers count branches through the network."""
    def watch(attention, name, rows):
        attention.attn_drop.register_forward_hook(
            lambda _, inputs, __: taps.__setitem__(name, inputs[0][:, :, :rows]))

    for index, block in enumerate(getattr(model, "blocks_token_only", [])):
        watch(block.attn, f"class_attention.{index}", 1)
    stage = [attention for block in model.blocks for attention in attentions(block)]
    for index, attention in enumerate(stage):
        watch(attention, f"self_attention.{index}", None)
        if isinstance(model, VisionTransformer) and model.has_class_token:
            watch(attention, f"class_attention.{index}", 1)


def read_outputs(model, x):
    if isinstance(model, VariantCait):
        return model(x)
    tokens = model.forward_features(x)
    outputs = {"logits": model.forward_head(tokens)}
    if isinstance(model, PreLogitsHead):
        return outputs | {"features": tokens[:, 0], "tokens": tokens[:, 1:]}
    prefix = 1 if isinstance(model, Cait) else model.num_prefix_tokens
    outputs["tokens"] = tokens[:, prefix:]
    if isinstance(model, VisionTransformerDistilled):
        outputs["features"] = tokens[:, 0]
        outputs["logits_dist"] = model.head_dist(tokens[:, 1])
    elif hasattr(model, "head_second"):
        outputs["features"] = tokens[:, 0]
        outputs["logits_class"] = model.head(tokens[:, 0])
        outputs["logits_second"] = model.head_second(tokens[:, 1])
        outputs["logits"] = (outputs["logits_class"] + outputs["logits_second"]) / 2
    else:
        outputs["features"] = model.forward_head(tokens, pre_logits=True)
    return outputs


def build(case, variant=None):
    config = COMMON | PRESETS[case["model"]] | case["set"] | {"model": case["model"]}
    if config["family"] != "cait":
        reference = TIMM
        model = {"vit": build_vit, "deit": build_deit, "deit3": build_deit3}[config["family"]](
            config)
        if "norm_place" in config or "class_tokens" in config:
            reference += " VisionTransformer with own blocks and heads (reference.py)"
        if isinstance(model, PreLogitsHead):
            reference += " VisionTransformer, then Linear, tanh and Linear of torch"
    elif set(case["set"]) <= PLAIN_CAIT and not variant:
        reference, model = f"{TIMM} Cait", build_plain_cait(config)
    else:
        reference = f"own formulas on {TIMM} modules (cait_variants.py)"
        model = build_variant_cait(config)
    return model.eval(), config, f"{reference}, torch {torch.__version__.split('+')[0]}, float64"


@torch.no_grad()
def run(case, variant=None, dtype=torch.float64):
    """Every tap of a case, and the words that say what produced them."""
    model, config, reference = build(case, variant)
    model.to(dtype)
    fill(model)
    taps = {}
    observe_attention(model, taps)
    x = images(case["batch"], int(config["channels"]), *parse_size(config["image_size"])).to(dtype)
    outputs = read_outputs(model, x)
    return outputs | taps, reference
