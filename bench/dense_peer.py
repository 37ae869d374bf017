"""The peers of `./dev bench dense`, as inference_peer.py has them for classifiers: the same UperNet
in OpenVINO, ONNX Runtime and PyTorch, torchvision's Mask R-CNN, and torchvision's transforms (v2)
of images with their label images or boxes.
Usage: dense_peer.py prepare|serve … as inference_peer.py
       dense_peer.py detector FOLDER: writes weights, photographs and what torchvision finds
       dense_peer.py data FOLDER: writes images, label images and boxes"""
import argparse
import json
import sys
from pathlib import Path

import inference_peer as base
import numpy as np

PHOTO = (800, 1088)  # height and width: nobody has to resize or to pad
PHOTOS = 4
IMAGES, BOXES = 64, 7  # of the data that is augmented; boxes of each


# --- UperNet ------------------------------------------------------------------------------------

def segmenter(options: argparse.Namespace):
    from dense_models import Segmenter
    return Segmenter(options.size).eval()


def write_weights(options: argparse.Namespace) -> None:
    """As inference_peer's, for one image, whose map is the reference."""
    import torch
    from safetensors.torch import save_file
    torch.manual_seed(0)
    model = segmenter(options)
    base.give_every_branch_weight(model)
    image = base.different_images((3, options.size, options.size))[:1]
    options.folder.mkdir(parents=True, exist_ok=True)
    with torch.inference_mode():
        np.save(options.folder / "logits.npy", model(torch.from_numpy(image)).numpy())
    np.save(options.folder / "images.npy", image)
    save_file({name: value.contiguous() for name, value in model.state_dict().items()
               if not name.endswith("num_batches_tracked")}, options.folder / "weights.safetensors")


# --- Mask R-CNN ---------------------------------------------------------------------------------

def photograph(number: int) -> np.ndarray:
    """Squares of several sizes under noise, RGB."""
    random, (height, width) = np.random.default_rng(number), PHOTO
    image = np.zeros((height, width, 3))
    for side in (200, 80, 16):
        squares = random.standard_normal((-(-height // side), -(-width // side), 3))
        image += np.kron(squares, np.ones((side, side, 1)))[:height, :width]
    image += 0.3 * random.standard_normal(image.shape)
    return np.clip(128 + 45 * image, 0, 255).astype(np.uint8)


def write_detector(folder: Path) -> None:
    import torch
    from dense_models import detector, old_name
    from PIL import Image
    from torchvision.transforms.functional import to_tensor
    photos = folder / "photos"
    photos.mkdir(parents=True, exist_ok=True)
    for number in range(PHOTOS):
        Image.fromarray(photograph(number)).save(photos / f"{number}.png")
    model, count = detector(to_tensor(photograph(0)))
    weights = model.state_dict()
    torch.save(weights, folder / "detector.pth")
    torch.save({old_name(name): value for name, value in weights.items()
                if not name.endswith("num_batches_tracked")}, folder / "detector-old-names.pth")
    with torch.no_grad():
        found = [model([to_tensor(photograph(number))])[0] for number in range(PHOTOS)]
    answers = [[{"label": int(label) - 1, "score": float(score), "box": box.tolist(),
                 "area": int((mask > 0.5).sum())}
                for label, score, box, mask in zip(one["labels"], one["scores"], one["boxes"],
                                                   one["masks"])] for one in found]
    (folder / "found.json").write_text(json.dumps(answers))
    print(json.dumps({"objects": [len(one) for one in answers], "wanted": count}))


def torchvision_peer(options: argparse.Namespace) -> tuple[base.Step, base.Measure, str]:
    import torch
    import torchvision
    from PIL import Image
    from torchvision.models.detection import maskrcnn_resnet50_fpn
    from torchvision.transforms.functional import to_tensor
    torch.set_num_threads(options.threads)
    model = maskrcnn_resnet50_fpn(weights=None, weights_backbone=None).eval()
    model.load_state_dict(torch.load(options.folder / "detector.pth", weights_only=True))
    files = sorted((options.folder / "photos").glob("*.png"))
    turn = iter(range(sys.maxsize))

    def step() -> np.ndarray:
        with torch.inference_mode():
            image = to_tensor(Image.open(files[next(turn) % len(files)]).convert("RGB"))
            return model([image])[0]["scores"].numpy()

    return step, base.one_after_another(step), \
        f"{torchvision.__version__} (PyTorch {torch.__version__})"


# --- Joint augmentation -------------------------------------------------------------------------

def write_data(folder: Path) -> None:
    """JPEG files of 640x480 with label images of 20 classes and seven boxes each."""
    from data_images import QUALITY, made
    from PIL import Image
    entries: dict[str, list] = {"images": [], "annotations": [],
                                "categories": [{"id": 1, "name": "thing"}]}
    for name in ("images", "labels"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    for number in range(IMAGES):
        random = np.random.default_rng(number)
        made(number).resize((640, 480), Image.BICUBIC).save(folder / f"images/{number:03}.jpg",
                                                            quality=QUALITY)
        regions = random.integers(0, 20, (12, 16), dtype=np.uint8)
        Image.fromarray(np.kron(regions, np.ones((40, 40), np.uint8))).save(
            folder / f"labels/{number:03}.png")
        entries["images"].append({"id": number, "file_name": f"{number:03}.jpg", "width": 640,
                                  "height": 480})
        for box in range(BOXES):
            left, top = random.integers(0, 480), random.integers(0, 360)
            width, height = random.integers(20, 160), random.integers(20, 120)
            entries["annotations"].append(
                {"id": number * BOXES + box, "image_id": number, "category_id": 1, "iscrowd": 0,
                 "area": int(width * height),
                 "bbox": [int(left), int(top), int(width), int(height)]})
    (folder / "boxes.json").write_text(json.dumps(entries))


def joint_peer(options: argparse.Namespace) -> tuple[base.Step, base.Measure, str]:
    """One image per step, from its file to normalised numbers; in one thread, as a worker does."""
    import torch
    import torchvision
    from torchvision import tv_tensors
    from torchvision.io import ImageReadMode, decode_image, read_file
    from torchvision.transforms import v2
    torch.set_num_threads(1)
    torch.manual_seed(0)
    last = [v2.RandomHorizontalFlip(),
            v2.ToDtype({tv_tensors.Image: torch.float32, "others": None}, scale=True),
            v2.Normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))]
    boxes = json.loads((options.folder / "boxes.json").read_text())["annotations"]
    if options.setting == "segments":
        prepare = v2.Compose([
            v2.RandomShortestSize(list(range(256, 1025)), max_size=4096, antialias=False),
            v2.RandomCrop(512, pad_if_needed=True,
                          fill={tv_tensors.Image: 0, tv_tensors.Mask: 255}),
            v2.RandomPhotometricDistort(), *last])
    else:
        prepare = v2.Compose([
            v2.RandomShortestSize(list(range(480, 801, 32)), max_size=1333, antialias=False),
            *last])
    turn = iter(range(sys.maxsize))

    def step() -> np.ndarray:
        number = next(turn) % IMAGES
        image = tv_tensors.Image(decode_image(
            read_file(str(options.folder / f"images/{number:03}.jpg")), ImageReadMode.RGB))
        if options.setting == "segments":
            target = tv_tensors.Mask(decode_image(
                read_file(str(options.folder / f"labels/{number:03}.png"))))
        else:
            target = tv_tensors.BoundingBoxes(
                [one["bbox"] for one in boxes[number * BOXES:(number + 1) * BOXES]],
                format="XYWH", canvas_size=image.shape[-2:])
        pixels, _ = prepare(image, target)
        return pixels[0, 0, :1].numpy()

    return step, base.one_after_another(step), torchvision.__version__


def load_libraries(peer: str, of_classifiers=base.load_libraries) -> None:
    if peer in ("torchvision", "transforms"):
        import torchvision  # noqa: F401
    else:
        of_classifiers(peer)


base.fresh_model, base.write_weights = segmenter, write_weights
base.load_libraries = load_libraries
base.PEERS["torchvision"] = torchvision_peer
base.PEERS["transforms"] = joint_peer


def main() -> None:
    if sys.argv[1] == "detector":
        write_detector(Path(sys.argv[2]))
    elif sys.argv[1] == "data":
        write_data(Path(sys.argv[2]))
    else:
        base.main()


if __name__ == "__main__":
    main()
