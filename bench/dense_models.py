"""The networks of `./dev bench dense` in PyTorch: UperNet on timm's DeiT-S, composed of torch's own
layers under the names of our files, and torchvision's own Mask R-CNN. Both with seeded weights."""
import torch
import torchvision
from torch import nn
from torch.nn import functional as F
from torchvision.models.detection import maskrcnn_resnet50_fpn

CLASSES = 150  # of ADE20k
WIDTH, SECOND_WIDTH = 512, 256
TAPS = (3, 5, 7, 11)  # blocks, from 0, whose tokens become the levels
PARTS = (1, 2, 3, 6)


class Unit(nn.Module):
    """A convolution without bias, batch norm and ReLU."""

    def __init__(self, inputs: int, outputs: int, kernel: int) -> None:
        super().__init__()
        self.conv = nn.Conv2d(inputs, outputs, kernel, padding=kernel // 2, bias=False)
        self.bn = nn.BatchNorm2d(outputs)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.relu(self.bn(self.conv(x)))


def resized(x: torch.Tensor, size: tuple[int, int]) -> torch.Tensor:
    return F.interpolate(x, size=size, mode="bilinear", align_corners=False)


class MeanOfParts(nn.Module):
    """Adaptive pooling of a square map of one size, as two products: what ONNX has no operator for
    when the parts overlap, and as fast."""

    def __init__(self, side: int, parts: int) -> None:
        super().__init__()
        rows = torch.zeros(parts, side)
        for i in range(parts):
            first, last = i * side // parts, -(-(i + 1) * side // parts)
            rows[i, first:last] = 1 / (last - first)
        self.register_buffer("rows", rows, persistent=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.rows @ x @ self.rows.T


class UperHead(nn.Module):
    def __init__(self, channels: int, top_side: int) -> None:
        super().__init__()
        self.psp_modules = nn.ModuleList(
            nn.Sequential(MeanOfParts(top_side, parts), Unit(channels, WIDTH, 1))
            for parts in PARTS)
        self.bottleneck = Unit(channels + len(PARTS) * WIDTH, WIDTH, 3)
        self.lateral_convs = nn.ModuleList(Unit(channels, WIDTH, 1) for _ in range(3))
        self.fpn_convs = nn.ModuleList(Unit(WIDTH, WIDTH, 3) for _ in range(3))
        self.fpn_bottleneck = Unit(4 * WIDTH, WIDTH, 3)
        self.conv_seg = nn.Conv2d(WIDTH, CLASSES, 1)

    def forward(self, levels: list[torch.Tensor]) -> torch.Tensor:
        last = levels[-1]
        views = [resized(module(last), last.shape[2:]) for module in self.psp_modules]
        tops = [conv(level) for conv, level in zip(self.lateral_convs, levels)]
        tops.append(self.bottleneck(torch.cat([last, *views], 1)))
        for i in range(len(tops) - 1, 0, -1):
            tops[i - 1] = tops[i - 1] + resized(tops[i], tops[i - 1].shape[2:])
        outs = [conv(top) for conv, top in zip(self.fpn_convs, tops)] + [tops[-1]]
        outs = outs[:1] + [resized(out, outs[0].shape[2:]) for out in outs[1:]]
        return self.conv_seg(self.fpn_bottleneck(torch.cat(outs, 1)))


class Segmenter(nn.Module):
    """The trunk's parameters stand beside those of neck and heads, as in our files."""

    def __init__(self, size: int) -> None:
        super().__init__()
        import timm
        trunk = timm.create_model("deit_small_patch16_224", img_size=size, num_classes=0,
                                  global_pool="")
        dim, self.side = trunk.embed_dim, size // 16
        self.patch_embed, self.blocks = trunk.patch_embed, trunk.blocks
        self.cls_token, self.pos_embed = trunk.cls_token, trunk.pos_embed
        self.fpn1 = nn.Sequential(nn.ConvTranspose2d(dim, dim, 2, 2), nn.BatchNorm2d(dim),
                                  nn.GELU(), nn.ConvTranspose2d(dim, dim, 2, 2))
        self.fpn2 = nn.Sequential(nn.ConvTranspose2d(dim, dim, 2, 2))
        self.decode_head = UperHead(dim, self.side // 2)
        # For training alone; files have it.
        self.auxiliary_head = nn.ModuleDict({
            "convs": nn.ModuleList([Unit(dim, SECOND_WIDTH, 3)]),
            "conv_seg": nn.Conv2d(SECOND_WIDTH, CLASSES, 1)})

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        x = self.patch_embed(images)
        x = torch.cat([self.cls_token.expand(len(x), -1, -1), x], 1) + self.pos_embed
        maps = []
        for i, block in enumerate(self.blocks):
            x = block(x)
            if i in TAPS:
                maps.append(x[:, 1:].transpose(1, 2).unflatten(2, (self.side, self.side)))
        return self.decode_head([self.fpn1(maps[0]), self.fpn2(maps[1]), maps[2],
                                 F.max_pool2d(maps[3], 2)])


# --- Mask R-CNN ---------------------------------------------------------------------------------

# The standard deviations of what these layers give, whose means their biases take away: fresh, all
# regions would be of one class.
SPREAD = {"rpn.head.cls_logits": 4.0, "rpn.head.bbox_pred": 0.3,
          "roi_heads.box_predictor.cls_score": 3.0, "roi_heads.box_predictor.bbox_pred": 1.0,
          "roi_heads.mask_predictor.mask_fcn_logits": 4.0}
OBJECTS = 40  # that the image is to have, about


def settle(model: nn.Module, image: torch.Tensor, layer: str, spread: float) -> None:
    module = model.get_submodule(layer)
    seen: list[torch.Tensor] = []
    module.bias.zero_()
    hook = module.register_forward_hook(lambda _, x, y: seen.append(
        y.transpose(0, 1).flatten(1) if y.dim() == 4 else y.T))
    model([image])
    hook.remove()
    values = torch.cat(seen, 1)
    factor = spread / values.std(1).mean()
    module.weight.mul_(factor)
    module.bias.copy_(-factor * values.mean(1))


def raise_background(model: nn.Module, image: torch.Tensor) -> int:
    """Until the image has no more than OBJECTS; how many they are."""
    bias = model.roi_heads.box_predictor.cls_score.bias
    low, high, plain = 0.0, 40.0, bias[0].item()
    count = 0
    for _ in range(12):
        middle = (low + high) / 2
        bias[0] = plain + middle
        count = len(model([image])[0]["labels"])
        low, high = (middle, high) if count > OBJECTS else (low, middle)
    bias[0] = plain + high
    return len(model([image])[0]["labels"])


@torch.no_grad()
def detector(image: torch.Tensor) -> tuple[nn.Module, int]:
    """torchvision's Mask R-CNN with weights that find some objects in this image, and how many."""
    torch.manual_seed(0)
    model = maskrcnn_resnet50_fpn(weights=None, weights_backbone=None)
    norms = [one for one in model.backbone.body.modules() if isinstance(one, nn.BatchNorm2d)]
    for norm in norms:  # the image's own statistics, so that depth neither fades nor explodes
        norm.momentum = 1.0
    model.backbone.train()
    model.backbone(model.transform([image])[0].tensors)
    model.eval()
    for layer, spread in SPREAD.items():
        settle(model, image, layer, spread)
        if layer.endswith("cls_score"):
            raise_background(model, image)
    return model, raise_background(model, image)


def old_name(name: str) -> str:
    """As the published file has it, which is of an older torchvision."""
    parts = name.split(".")
    if name.startswith("backbone.fpn."):
        del parts[4]
    if name.startswith("rpn.head.conv."):
        del parts[3:5]
    if name.startswith("roi_heads.mask_head."):
        parts[2:4] = [f"mask_fcn{int(parts[2]) + 1}"]
    return ".".join(parts)


VERSION = torchvision.__version__
