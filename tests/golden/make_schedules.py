"""Writes data/schedules.json: what DINO's own code makes of learning rate, weight decay, momentum
and teacher temperature, at some steps of runs of several lengths. The argument is the folder of
facebookresearch/dino at 7c446df."""
import json
import pathlib
import sys

import torch

sys.path.insert(0, sys.argv[1])
import main_dino  # noqa: E402
import utils  # noqa: E402

# start, end, epochs, steps per epoch, warm-up epochs, start of the warm-up
COSINES = [(5e-4, 1e-6, 100, 7, 10, 0), (0.04, 0.4, 100, 7, 0, 0), (0.996, 1, 100, 7, 0, 0),
           (0.9995, 1, 3, 5, 0, 0), (2e-3, 1e-5, 12, 3, 1, 1e-6), (1e-3, 0, 4, 1, 1, 0)]
# start, end, warm-up epochs, epochs
TEMPERATURES = [(0.04, 0.07, 30, 40), (0.04, 0.04, 0, 5), (0.02, 0.06, 5, 8), (0.04, 0.07, 1, 3)]


def cosines():
    for start, end, epochs, per_epoch, warmup, warmup_start in COSINES:
        values = utils.cosine_scheduler(start, end, epochs, per_epoch, warmup, warmup_start)
        steps = sorted({*range(0, len(values), max(1, len(values) // 40)), 0, warmup * per_epoch,
                        max(0, warmup * per_epoch - 1), len(values) - 1})
        yield {"start": start, "end": end, "epochs": epochs, "steps_per_epoch": per_epoch,
               "warmup": warmup, "warmup_start": warmup_start,
               "values": [[step, float(values[step])] for step in steps]}


def temperatures():
    for start, end, warmup, epochs in TEMPERATURES:
        loss = main_dino.DINOLoss(8, 4, start, end, warmup, epochs)
        yield {"start": start, "end": end, "warmup": warmup,
               "values": [float(value) for value in loss.teacher_temp_schedule]}


if __name__ == "__main__":
    path = pathlib.Path(__file__).parent / "data/schedules.json"
    found = {"reference": "facebookresearch/dino 7c446df", "cosine": [*cosines()],
             "teacher_temperature": [*temperatures()]}
    path.write_text(json.dumps(found, indent=1) + "\n")
    print(path.name, path.stat().st_size, "bytes, torch", torch.__version__)
