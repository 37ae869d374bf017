"""The peer of `./dev bench data`: torchvision and Pillow prepare the images of a class folder for
training in one thread, the way data_bench.cpp does. Prints one JSON line."""
import json
import sys
import time

import torch
from torch.utils.data import DataLoader
from torchvision import datasets, transforms
from torchvision.transforms import InterpolationMode

torch.set_num_threads(1)
torch.manual_seed(0)
folder, seconds = sys.argv[1], float(sys.argv[2])
prepare = transforms.Compose([
    transforms.RandomResizedCrop(224, interpolation=InterpolationMode.BICUBIC),
    transforms.RandomHorizontalFlip(),
    # Its usual interpolation is the nearest pixel, less work than our bicubic.
    transforms.RandAugment(num_ops=2, magnitude=9),
    transforms.ToTensor(),
    transforms.Normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225)),
    transforms.RandomErasing(0.25, value="random"),
])
loader = DataLoader(datasets.ImageFolder(folder, prepare), batch_size=32, shuffle=True,
                    num_workers=0)


def run_epoch():
    return sum(len(labels) for _, labels in loader)


run_epoch()  # warm: files in the page cache, modules imported
images, start = 0, time.perf_counter()
while time.perf_counter() - start < seconds:
    images += run_epoch()
print(json.dumps({"images_per_second": images / (time.perf_counter() - start)}))
