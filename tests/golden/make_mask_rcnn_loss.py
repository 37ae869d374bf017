"""Writes data/mask_rcnn_loss.json: twenty SGD steps of a tiny Mask R-CNN (ResNet with bottlenecks of
width 4, pyramid of width 16) as a plain PyTorch loop with torchvision's RoIAlign and suppression,
and the gradients of the first step. Rules and constants are mmdetection's; every anchor and every
proposal is sampled, so that nothing is drawn.

Weights are the pattern (pattern.py) under the names of the parameters; images, boxes and masks are by
a formula. One image shows less than the others, and one shows no object.
"""
import json
import math
import pathlib

import torch
from torch.nn import functional as F
from torchvision.ops import box_iou, nms, roi_align

from pattern import pattern

PATH = pathlib.Path(__file__).parent / "data" / "mask_rcnn_loss.json"
STEPS, RATE, CLASSES, WIDTH, HIDDEN, SIDE = 20, 0.02, 3, 16, 32, 64
STRIDES = [4, 8, 16, 32, 64]
STDS = torch.tensor([0.1, 0.1, 0.2, 0.2])
# Boxes with their classes by image, and how much of each image is shown: height and width.
OBJECTS = [[[4, 6, 40, 50, 0], [30, 20, 60, 62, 2]], [[2, 3, 30, 28, 1]], []]
SHOWN = [(64, 64), (30, 40), (64, 50)]


def filled(name, shape):
    return torch.tensor(pattern(name, shape).tolist())


class Parameters(dict):
    """Fills what is asked for with the pattern."""

    def __call__(self, name, *shape):
        if name not in self:
            tensor = filled(name, shape)
            learns = not name.startswith(("running", "bn")) and ".bn" not in name
            learns = learns and ".downsample.1." not in name
            self[name] = tensor.requires_grad_(learns)
        return self[name]


def convolution(p, name, x, out, kernel, stride=1, bias=True):
    weight = p(f"{name}.weight", out, x.shape[1], kernel, kernel)
    return F.conv2d(x, weight, p(f"{name}.bias", out) if bias else None, stride, kernel // 2)


def unit(p, convolution_name, norm, x, out, kernel, stride=1):
    x = convolution(p, convolution_name, x, out, kernel, stride, bias=False)
    return F.batch_norm(x, p(f"{norm}.running_mean", out), p(f"{norm}.running_var", out),
                        p(f"{norm}.weight", out), p(f"{norm}.bias", out), training=False)


def bottleneck(p, name, x, planes, stride):
    y = F.relu(unit(p, f"{name}.conv1", f"{name}.bn1", x, planes, 1))
    y = F.relu(unit(p, f"{name}.conv2", f"{name}.bn2", y, planes, 3, stride))
    y = unit(p, f"{name}.conv3", f"{name}.bn3", y, 4 * planes, 1)
    return F.relu(y + unit(p, f"{name}.downsample.0", f"{name}.downsample.1", x, 4 * planes, 1,
                           stride))


def first_stage(p, images):
    x = F.relu(unit(p, "conv1", "bn1", images, 4, 7, 2))
    x = F.max_pool2d(x, 3, 2, 1)
    stages = []
    for i in range(4):
        x = bottleneck(p, f"layer{i + 1}.0", x, 4 * 2 ** i, 1 if i == 0 else 2)
        stages.append(x)
    maps = [convolution(p, f"neck.lateral_convs.{i}.conv", s, WIDTH, 1)
            for i, s in enumerate(stages)]
    for i in (2, 1, 0):
        maps[i] = maps[i] + F.interpolate(maps[i + 1], maps[i].shape[2:], mode="nearest")
    maps = [convolution(p, f"neck.fpn_convs.{i}.conv", m, WIDTH, 3) for i, m in enumerate(maps)]
    maps.append(F.max_pool2d(maps[3], 1, 2))
    scores, deltas = [], []
    for m in maps:
        hidden = F.relu(convolution(p, "rpn_head.rpn_conv", m, WIDTH, 3))
        scores.append(convolution(p, "rpn_head.rpn_cls", hidden, 3, 1))
        deltas.append(convolution(p, "rpn_head.rpn_reg", hidden, 12, 1))
    return maps, scores, deltas


def anchors_of(stride, height, width):
    ratios = torch.tensor([0.5, 1.0, 2.0]).sqrt()
    w, h = 8 * stride / ratios, 8 * stride * ratios
    base = torch.stack([-w / 2, -h / 2, w / 2, h / 2], 1)
    y, x = torch.meshgrid(torch.arange(height), torch.arange(width), indexing="ij")
    shifts = stride * torch.stack([x, y, x, y], 2).reshape(-1, 1, 4)
    return (shifts + base).reshape(-1, 4)


def moved(boxes, deltas):
    most = math.log(1000 / 16)
    centre = (boxes[:, :2] + boxes[:, 2:]) / 2
    size = boxes[:, 2:] - boxes[:, :2]
    centre = centre + deltas[:, :2] * size
    size = size * deltas[:, 2:].clamp(-most, most).exp()
    return torch.cat([centre - size / 2, centre + size / 2], 1)


def deltas_of(boxes, targets):
    size, wanted = boxes[:, 2:] - boxes[:, :2], targets[:, 2:] - targets[:, :2]
    centre = (boxes[:, :2] + boxes[:, 2:]) / 2
    return torch.cat([((targets[:, :2] + targets[:, 2:]) / 2 - centre) / size,
                      (wanted / size).log()], 1)


def assign(regions, boxes, positive, background, best):
    """Number of the box, -1 for background, -2 for neither."""
    shown = torch.full((len(regions),), -1)
    if len(boxes) == 0 or len(regions) == 0:
        return shown
    overlaps = box_iou(boxes, regions)
    most, nearest = overlaps.max(0)
    shown[most >= background] = -2
    shown[most >= positive] = nearest[most >= positive]
    for i, row in enumerate(overlaps):
        if row.max() >= best:
            shown[row == row.max()] = i
    return shown


def proposals(scores, deltas, anchors, image, shown):
    found, values = [], []
    for score, delta, anchor in zip(scores, deltas, anchors):
        value = score[image].permute(1, 2, 0).reshape(-1).sigmoid()
        box = moved(anchor, delta[image].permute(1, 2, 0).reshape(-1, 4))
        box[:, 0::2].clamp_(0, shown[1]), box[:, 1::2].clamp_(0, shown[0])
        some = (box[:, 2:] > box[:, :2]).all(1)  # what clipping leaves nothing of is no proposal
        box, value = box[some], value[some]
        kept = nms(box, value, 0.7)
        found.append(box[kept]), values.append(value[kept])
    found, values = torch.cat(found), torch.cat(values)
    return found[values.argsort(descending=True)[:1000]]


def pooled(maps, regions, images, bins):
    rois = torch.cat([images[:, None].float(), regions], 1)
    size = regions[:, 2:] - regions[:, :2]
    level = ((size[:, 0] * size[:, 1]).sqrt() / 56 + 1e-6).log2().floor().clamp(0, 3)
    result = torch.zeros(len(regions), WIDTH, bins, bins)
    for i in range(4):
        of_level = (level == i).nonzero()[:, 0]
        result = result.index_copy(0, of_level, roi_align(maps[i], rois[of_level], bins,
                                                          1 / STRIDES[i], -1, True))
    return result


def boxes_of(image):
    rows = torch.tensor(OBJECTS[image], dtype=torch.float32).reshape(-1, 5)
    return rows[:, :4], rows[:, 4].long()


def mask_of(image, number):
    """An ellipse in the box, without its left quarter."""
    left, top, right, bottom, _ = OBJECTS[image][number]
    y, x = torch.meshgrid(torch.arange(96), torch.arange(SIDE), indexing="ij")
    inside = (((2 * x + 1 - left - right) / (right - left)) ** 2 +
              ((2 * y + 1 - top - bottom) / (bottom - top)) ** 2) <= 1
    return (inside & (4 * x >= 3 * left + right)).float()


def loss_of(p, images):
    maps, scores, deltas = first_stage(p, images)
    anchors = [anchors_of(stride, *score.shape[2:]) for stride, score in zip(STRIDES, scores)]
    count = len(images)
    terms = dict.fromkeys(["rpn_class", "rpn_box", "box_class", "box", "mask"], torch.zeros(()))
    regions, of_image, labels, weights, wanted, masks = [], [], [], [], [], []
    for i in range(count):
        boxes, classes = boxes_of(i)
        logits = torch.cat([s[i].permute(1, 2, 0).reshape(-1) for s in scores])
        moves = torch.cat([d[i].permute(1, 2, 0).reshape(-1, 4) for d in deltas])
        padded = [math.ceil(side / 32) * 32 for side in SHOWN[i]]
        valid = torch.cat([
            ((torch.arange(s.shape[2])[:, None, None] < math.ceil(padded[0] / stride)) &
             (torch.arange(s.shape[3])[None, :, None] < math.ceil(padded[1] / stride)))
            .expand(-1, -1, 3).reshape(-1) for s, stride in zip(scores, STRIDES)])
        shown = torch.full((len(logits),), -2)
        shown[valid] = assign(torch.cat(anchors)[valid], boxes, 0.7, 0.3, 0.3)
        sampled, positive = shown != -2, shown >= 0
        terms["rpn_class"] = terms["rpn_class"] + F.binary_cross_entropy_with_logits(
            logits[sampled], positive[sampled].float()) / count
        target = deltas_of(torch.cat(anchors)[positive], boxes[shown[positive]])
        terms["rpn_box"] = terms["rpn_box"] + (
            (moves[positive] - target).abs().sum() / sampled.sum() / count)

        with torch.no_grad():
            found = proposals(scores, deltas, anchors, i, SHOWN[i])
            shown = torch.cat([torch.arange(len(boxes)), assign(found, boxes, 0.5, 0.5, 0.5)])
            found = torch.cat([boxes, found])
        positive = (shown >= 0).nonzero()[:, 0]
        negative = (shown == -1).nonzero()[:, 0]
        chosen = torch.cat([positive, negative])
        regions.append(found[chosen])
        of_image.append(torch.full((len(chosen),), i))
        labels.append(torch.cat([classes[shown[positive]],
                                 torch.full((len(negative),), CLASSES)]))
        weights.append(torch.full((len(chosen),), 1 / len(chosen) / count))
        wanted.append(deltas_of(found[positive], boxes[shown[positive]]) / STDS)
        for place in positive:
            whole = mask_of(i, int(shown[place]))[None, None]
            roi = torch.cat([torch.zeros(1), found[place]])[None]
            masks.append((roi_align(whole, roi, 28, 1.0, -1, True)[0, 0] >= 0.5).float())
    regions, of_image = torch.cat(regions), torch.cat(of_image)
    labels, weights, wanted = torch.cat(labels), torch.cat(weights), torch.cat(wanted)

    x = pooled(maps, regions, of_image, 7).flatten(1)
    for i in range(2):
        name = f"roi_head.bbox_head.shared_fcs.{i}"
        x = F.relu(F.linear(x, p(f"{name}.weight", HIDDEN, x.shape[1]), p(f"{name}.bias", HIDDEN)))
    name = "roi_head.bbox_head.fc_cls"
    logits = F.linear(x, p(f"{name}.weight", CLASSES + 1, HIDDEN), p(f"{name}.bias", CLASSES + 1))
    name = "roi_head.bbox_head.fc_reg"
    moves = F.linear(x, p(f"{name}.weight", 4 * CLASSES, HIDDEN), p(f"{name}.bias", 4 * CLASSES))
    positive = (labels < CLASSES).nonzero()[:, 0]
    own = labels[positive]
    terms["box_class"] = (F.cross_entropy(logits, labels, reduction="none") * weights).sum()
    moves = moves.reshape(-1, CLASSES, 4)[positive, own]
    terms["box"] = ((moves - wanted).abs().sum(1) * weights[positive]).sum()

    x = pooled(maps, regions[positive], of_image[positive], 14)
    for i in range(4):
        x = F.relu(convolution(p, f"roi_head.mask_head.convs.{i}.conv", x, WIDTH, 3))
    name = "roi_head.mask_head.upsample"
    x = F.relu(F.conv_transpose2d(x, p(f"{name}.weight", WIDTH, WIDTH, 2, 2),
                                  p(f"{name}.bias", WIDTH), 2))
    x = convolution(p, "roi_head.mask_head.conv_logits", x, CLASSES, 1)
    each = F.binary_cross_entropy_with_logits(x[torch.arange(len(x)), own], torch.stack(masks),
                                              reduction="none").mean((1, 2))
    for i in range(count):
        if (of_image[positive] == i).any():
            terms["mask"] = terms["mask"] + each[of_image[positive] == i].mean() / count
    return terms, {"regions": len(regions), "positives": len(positive)}


def images_of():
    """What is not shown is 0, as the loader pads."""
    images = filled("input", (len(SHOWN), 3, SIDE, SIDE))
    for image, (height, width) in zip(images, SHOWN):
        image[:, height:] = 0
        image[:, :, width:] = 0
    return images


def main():
    torch.set_num_threads(1)
    p, images = Parameters(), images_of()
    trace, gradients = [], {}
    for step in range(STEPS):
        terms, counts = loss_of(p, images)
        for tensor in p.values():
            tensor.grad = None
        total = sum(terms.values())
        total.backward()
        trace.append({name: round(term.item(), 7) for name, term in terms.items()} | counts)
        print(step, round(total.item(), 5), trace[-1])
        with torch.no_grad():
            for name, tensor in p.items():
                if not tensor.requires_grad:
                    continue
                if step == 0:
                    probe = filled("probe." + name, tuple(tensor.shape))
                    gradients[name] = [tensor.grad.norm().item(),
                                       (tensor.grad * probe).sum().item(), probe.norm().item()]
                tensor -= RATE * tensor.grad
    PATH.write_text(json.dumps({"torch": torch.__version__, "rate": RATE, "objects": OBJECTS,
                                "shown": SHOWN, "steps": trace, "gradients": gradients}) + "\n")
    print(PATH.name, PATH.stat().st_size, len(p), "parameters")


if __name__ == "__main__":
    main()
