"""Writes data/beyond_labels.json: losses of Grafit, SNCA, triplets and DINO with their gradients at
fixed inputs, DINO's head, and twenty steps of Grafit and of DINO with a small DeiT.

usage: make_beyond_labels.py FOLDER of the official DINO repository (facebookresearch/dino), whose
head, loss and clipping are run. The other losses are written out from the formulas, everything in
float64. Inputs are uniform() of pattern.py under the names given here.
"""
import copy
import importlib.util
import json
import math
import pathlib
import sys
import types

import torch
import torch.distributed as dist
from pattern import fill, uniform
from reference import build
from torch import nn
from torch.nn.functional import cosine_similarity, interpolate, normalize

PATH = pathlib.Path(__file__).parent / "data" / "beyond_labels.json"
IMAGES, WIDTH, VIEWS = 6, 8, 3
LABELS = [0, 1, 0, 2, 1, 0]
MEMORY = 20  # images that are remembered; number 7 is alone in its class
STEPS, STEPS_PER_EPOCH = 20, 5


def numbers(name, *shape, scale=1.0):
    values = torch.from_numpy(uniform(name, math.prod(shape))).float() * scale
    return values.double().reshape(shape)


def load(folder, name):
    spec = importlib.util.spec_from_file_location(name, f"{folder}/{name}.py")
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def flat(tensor):
    return [float(f"{value:.12g}") for value in tensor.detach().flatten().tolist()]


# ---- losses

def instance(predictions, targets, views):
    p, z = predictions.chunk(views), targets.detach().chunk(views)
    total = 0
    for i in range(views):
        for j in range(views):
            if i != j:
                total = total - cosine_similarity(p[i], z[j]).mean()
    return total / (views * (views - 1))


def knn(vectors, memory, images, labels, memory_labels, sigma):
    total = 0
    for i in range(len(vectors)):
        weights = torch.exp(memory @ normalize(vectors[i], dim=0) / sigma)
        others = torch.arange(len(memory)) != images[i]
        mine = others & (memory_labels == labels[i])
        if mine.any():
            total = total - torch.log(weights[mine].sum() / weights[others].sum())
    return total / len(vectors)


def updated(memory, vectors, images, momentum):
    memory = memory.clone()
    for i, image in enumerate(images):
        mixed = momentum * memory[image] + (1 - momentum) * normalize(vectors[i].detach(), dim=0)
        memory[image] = normalize(mixed, dim=0)
    return memory


def triplet(vectors, views, margin):
    unit = normalize(vectors, dim=1)
    images = len(vectors) // views
    terms = []
    for a in range(len(unit)):
        for p in range(len(unit)):
            if p == a or p % images != a % images:
                continue
            for n in range(len(unit)):
                if n % images == a % images:
                    continue
                term = (margin + (unit[a] - unit[p]).square().sum() -
                        (unit[a] - unit[n]).square().sum())
                if term > 0:
                    terms.append(term)
    return torch.stack(terms).sum() / len(terms)


def memory_labels(count):
    labels = [i % 3 for i in range(count)]
    labels[7] = 3
    return labels


def loss_cases(dino):
    rows = VIEWS * IMAGES
    vectors = numbers("vectors", rows, WIDTH).requires_grad_()
    targets = numbers("targets", rows, WIDTH)
    yield {"name": "instance"}, instance(vectors, targets, VIEWS), vectors
    yield {"name": "triplet", "margin": 0.2}, triplet(vectors, VIEWS, 0.2), vectors

    memory = numbers("memory", MEMORY, WIDTH)
    places = [3, 7, 0, 11, 4, 9]
    known = torch.tensor(memory_labels(MEMORY))
    queries = numbers("queries", IMAGES, WIDTH).requires_grad_()
    own = known[places]
    case = {"name": "knn", "sigma": 0.05, "places": places, "momentum": 0.5}
    yield case, knn(queries, memory, places, own, known, 0.05), queries
    later = updated(memory, queries, places, 0.5)
    yield (case | {"name": "knn_updated", "memory": flat(later)},
           knn(queries, later, places, own, known, 0.05), queries)
    # The public code of SNCA: its temperature, and the momentum of its memory.
    yield (case | {"name": "snca", "sigma": 0.1}, knn(queries, memory, places, own, known, 0.1),
           queries)

    loss = dino.DINOLoss(WIDTH, 5, 0.04, 0.07, 4, 10).double()
    student = numbers("student", 5 * IMAGES, WIDTH).requires_grad_()
    for epoch, name in [(0, "dino"), (2, "dino_centred"), (7, "dino_warm")]:
        teacher = numbers(f"teacher.{epoch}", 2 * IMAGES, WIDTH)
        value = loss(student, teacher, epoch)
        yield {"name": name, "epoch": epoch, "centre": flat(loss.center)}, value, student


def losses(dino):
    found = []
    for case, value, leaf in loss_cases(dino):
        leaf.grad = None
        value.backward()
        found.append(case | {"loss": value.item(), "gradient": flat(leaf.grad)})
    return found


# ---- DINO's head

def head_case(vit, norm_last_layer, batch_norm=False):
    head = vit.DINOHead(10, 12, use_bn=batch_norm, norm_last_layer=norm_last_layer, hidden_dim=16,
                        bottleneck_dim=6)
    head = head.double()
    for name, parameter in head.named_parameters():
        if name != "last_layer.weight_g":
            parameter.data.copy_(numbers(f"projector.{name}", *parameter.shape, scale=0.5))
    if not norm_last_layer:
        head.last_layer.weight_g.data.copy_(1 + numbers("gains", 12, 1, scale=0.3))
    x = numbers("features", 4, 10).requires_grad_()
    y = head(x)
    (y * numbers("weights", 4, 12)).sum().backward()
    gradients = {name: flat(p.grad) for name, p in head.named_parameters() if p.grad is not None}
    return {"norm_last_layer": norm_last_layer, "batch_norm": batch_norm, "outputs": flat(y),
            "input_gradient": flat(x.grad), "gradients": gradients}


# ---- twenty steps

DEIT = {"model": "deit_tiny_patch16_224",
        "set": {"image_size": "32", "classes": "4", "patch": "8", "dim": "16", "depth": "2",
                "heads": "2", "drop_path": "0"}}


def class_features(model, x):
    """The class token; positions are interpolated for other sizes, as DINO's code does it."""
    grid = model.patch_embed.proj(x)
    tokens = grid.flatten(2).transpose(1, 2)
    position = model.pos_embed
    side = math.isqrt(position.shape[1] - 1)
    if grid.shape[-1] != side:
        patches = position[:, 1:].reshape(1, side, side, -1).permute(0, 3, 1, 2)
        scale = tuple((extent + 0.1) / side for extent in grid.shape[-2:])
        patches = interpolate(patches, scale_factor=scale, mode="bicubic")
        position = torch.cat([position[:, :1], patches.flatten(2).transpose(1, 2)], 1)
    x = torch.cat([model.cls_token.expand(len(x), -1, -1), tokens], 1) + position
    for block in model.blocks:
        x = block(x)
    return model.norm(x)[:, 0]


def norm_mlp(inputs, hidden, outputs):
    return nn.Sequential(nn.Linear(inputs, hidden), nn.BatchNorm1d(hidden), nn.ReLU(),
                         nn.Linear(hidden, outputs)).double()


def fill_head(head, prefix):
    for name, tensor in head.named_parameters():
        if tensor.dim() == 1:
            center = 1 if name == "1.weight" else 0
            tensor.data.copy_(center + numbers(f"{prefix}.{name}", *tensor.shape, scale=0.2))
        elif name != "last_layer.weight_g":
            bound = math.sqrt(3 / tensor.shape[1])
            tensor.data.copy_(numbers(f"{prefix}.{name}", *tensor.shape, scale=bound))
    return head


def groups(named, decay):
    """Vectors, positions and class tokens do not decay."""
    return [{"params": [tensor], "weight_decay":
             decay if tensor.dim() > 1 and name not in ("pos_embed", "cls_token") else 0.0}
            for name, tensor in named.items() if tensor.requires_grad]


def momentum_at(step, start, end):
    return end + 0.5 * (start - end) * (1 + math.cos(math.pi * step / STEPS))


def checksum(name, tensor):
    values = tensor.detach().double().flatten()
    return [float((values * torch.from_numpy(uniform(f"probe.{name}", values.numel()))).sum()),
            float(values.norm())]


def checksums(named):
    return {name: checksum(name, tensor) for name, tensor in named.items()}


def trunk_of():
    model, _, _ = build(DEIT)
    fill(model.double())
    return model.train()


def named_of(trunk, **heads):
    named = {name: tensor for name, tensor in trunk.named_parameters()
             if not name.startswith("head.")}
    for prefix, head in heads.items():
        named |= {f"{prefix}.{name}": tensor for name, tensor in head.named_parameters()}
    return named


def move(target, source, momentum):
    with torch.no_grad():
        for own, value in zip(target, source):
            own.mul_(momentum).add_((1 - momentum) * value.detach())


def grafit_steps():
    settings = {"lr": 1e-3, "decay": 1e-3, "momentum": 0.9, "outputs": 8, "hidden": 12,
                "predictor": 10, "sigma": 0.2, "view_weight": 0.7, "target": [0.9, 1.0],
                "places": [3, 7, 0, 11, 4, 9]}
    trunk = trunk_of()
    projector = fill_head(norm_mlp(16, 12, 8), "projector")
    predictor = fill_head(norm_mlp(8, 10, 8), "predictor")
    target = copy.deepcopy((trunk, projector))
    named = named_of(trunk, projector=projector, predictor=predictor)
    optimizer = torch.optim.SGD(groups(named, settings["decay"]), settings["lr"], 0.9, nesterov=True)
    memory = numbers("memory", MEMORY, 8)
    known = torch.tensor(memory_labels(MEMORY))
    places = settings["places"]
    values = []
    for step in range(STEPS):
        views = numbers(f"views.{step}", VIEWS * IMAGES, 3, 32, 32, scale=1.7)
        optimizer.zero_grad()
        projected = projector(class_features(trunk, views))
        with torch.no_grad():
            goal = target[1](class_features(target[0], views))
        first = projected[:IMAGES]
        loss = (knn(first, memory, places, known[places], known, settings["sigma"]) +
                settings["view_weight"] * instance(predictor(projected), goal, VIEWS))
        loss.backward()
        values.append(loss.item())
        optimizer.step()
        memory = updated(memory, first, places, 0.5)
        momentum = momentum_at(step, *settings["target"])
        for own, source in zip(target, (trunk, projector)):
            move(own.parameters(), source.parameters(), momentum)
    state = {"projector.1.running_mean": projector[1].running_mean,
             "projector.1.running_var": projector[1].running_var}
    return DEIT | {"name": "grafit", "settings": settings, "losses": values,
                   "weights": checksums(named | state),
                   "target": checksums(named_of(target[0], projector=target[1]) |
                                       {"projector.1.running_var": target[1][1].running_var}),
                   "memory": checksum("memory", memory)}


def dino_steps(dino, utils, vit):
    settings = {"lr": 2e-3, "decay": 0.04, "clip_at": 0.3, "outputs": 24, "hidden": 20,
                "bottleneck": 8, "target": [0.9, 1.0], "temperatures": [0.04, 0.07, 3],
                "local_views": 3, "local_size": 16}
    trunk = trunk_of()
    head = fill_head(vit.DINOHead(16, 24, hidden_dim=20, bottleneck_dim=8, norm_last_layer=False)
                     .double(), "projector")
    target = copy.deepcopy(trunk), vit.DINOHead(16, 24, hidden_dim=20, bottleneck_dim=8).double()
    target[1].load_state_dict(head.state_dict())
    named = named_of(trunk, projector=head)
    optimizer = torch.optim.AdamW(groups(named, settings["decay"]), settings["lr"])
    warm, hot, epochs = settings["temperatures"]
    criterion = dino.DINOLoss(24, 2 + settings["local_views"], warm, hot, epochs,
                              STEPS // STEPS_PER_EPOCH).double()
    values, clipped = [], 0
    for step in range(STEPS):
        epoch = step // STEPS_PER_EPOCH
        wide = numbers(f"global.{step}", 2 * IMAGES, 3, 32, 32, scale=1.7)
        narrow = numbers(f"local.{step}", settings["local_views"] * IMAGES, 3, 16, 16, scale=1.7)
        optimizer.zero_grad()
        with torch.no_grad():
            answers = target[1](class_features(target[0], wide))
        features = torch.cat([class_features(trunk, wide), class_features(trunk, narrow)])
        loss = criterion(head(features), answers, epoch)
        loss.backward()
        values.append(loss.item())
        student = nn.ModuleDict({"trunk": trunk, "head": head})
        norms = utils.clip_gradients(student, settings["clip_at"])
        clipped += sum(norm > settings["clip_at"] for norm in norms)
        utils.cancel_gradients_last_layer(epoch, student, 1)
        optimizer.step()
        momentum = momentum_at(step, *settings["target"])
        for own, source in zip(target, (trunk, head)):
            move(own.parameters(), source.parameters(), momentum)
    assert clipped > 0, "nothing was clipped"
    return DEIT | {"name": "dino", "settings": settings, "losses": values,
                   "weights": checksums(named),
                   "target": checksums(named_of(target[0], projector=target[1])),
                   "centre": flat(criterion.center)}


def main():
    if len(sys.argv) != 2:
        sys.exit(f"usage: {sys.argv[0]} FOLDER-OF-facebookresearch/dino")
    folder = sys.argv[1]
    sys.path.insert(0, folder)
    # The parts that run here need neither torchvision nor a second process.
    for name in ("torchvision", "torchvision.datasets", "torchvision.transforms",
                 "torchvision.models"):
        sys.modules.setdefault(name, types.ModuleType(name))
    for name in ("datasets", "transforms", "models"):
        setattr(sys.modules["torchvision"], name, sys.modules[f"torchvision.{name}"])
    dist.all_reduce = lambda tensor: None
    dist.get_world_size = lambda: 1
    utils, vit = load(folder, "utils"), load(folder, "vision_transformer")
    dino = load(folder, "main_dino")
    found = {"reference": f"facebookresearch/dino 7c446df, torch {torch.__version__.split('+')[0]}, "
                          "float64",
             "images": IMAGES, "width": WIDTH, "views": VIEWS, "labels": LABELS, "memory": MEMORY,
             "memory_labels": memory_labels(MEMORY), "steps_per_epoch": STEPS_PER_EPOCH,
             "losses": losses(dino),
             "heads": [head_case(vit, True), head_case(vit, False), head_case(vit, True, True)],
             "steps": [grafit_steps(), dino_steps(dino, utils, vit)]}
    for case in found["steps"]:
        print(case["name"], case["losses"][0], "..", case["losses"][-1])
    lines = ",\n".join(f" {json.dumps(key)}: {json.dumps(value)}" for key, value in found.items())
    PATH.write_text(f"{{\n{lines}\n}}\n")


if __name__ == "__main__":
    main()
