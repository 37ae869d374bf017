"""Draws docs/research/results.svg from the runs of scripts/experiments.sh: validation accuracy by epoch.
Usage: plot_results.py RUNS OUTPUT.svg"""
import json
import sys
from pathlib import Path

PANELS = [
    ("CIFAR-100, half of it", "cifar", [
        ("cait", "CaiT:"), ("deit", "DeiT:"), ("cait-hard", "CaiT, taught:")]),
    ("Fashion-MNIST", "fashion", [
        ("cait", "CaiT:"), ("deit", "DeiT:"), ("cait-hard", "CaiT, taught:")]),
    ("CIFAR-100: depth", "cifar", [
        (f"depth{n}-{kind}", f"{n}{', plain' if kind == 'none' else ' blocks'}:")
        for n in (12, 24, 36) for kind in ("layerscale", "none")]),
    ("Fashion-MNIST: depth", "fashion", [
        (f"depth{n}-{kind}", f"{n}{', plain' if kind == 'none' else ' blocks'}:")
        for n in (12, 24, 36) for kind in ("layerscale", "none")]),
]
COLOURS = {"cait": "#1b6ca8", "deit": "#d1495b", "cait-hard": "#2a9d5c",
           "depth12": "#1b6ca8", "depth24": "#e08e1b", "depth36": "#7b3fa0"}
WIDTH, HEIGHT, LEFT, TOP, ACROSS, DOWN = 380, 260, 46, 34, 300, 190


def curve(run):
    """(epoch, top-1 in percent) for each validation, of the plain weights."""
    points = []
    for line in (run / "metrics.jsonl").read_text().splitlines():
        record = json.loads(line)
        if record["kind"] == "val":
            points.append((record["epoch"], 100 * record["top1"]))
    return points


def axis(low, high):
    """Ends and step of an axis that shows all values, with 3 to 6 round steps."""
    step = next(s for s in (1, 2, 5, 10, 20, 50) if (high - low) / s <= 5)
    return low // step * step, -(-high // step) * step, step


def panel(title, data_set, lines, runs):
    curves = [(name, label, curve(runs / f"{data_set}-{name}")) for name, label in lines]
    values = [y for _, _, points in curves for _, y in points]
    low, high, step = axis(min(values), max(values))
    epochs = max(x for _, _, points in curves for x, _ in points)

    def place(x, y):
        return LEFT + ACROSS * x / epochs, TOP + DOWN * (high - y) / (high - low)

    parts = [f'<text x="{LEFT}" y="20"><tspan font-weight="bold">{title}</tspan>'
             f' (top-1 in %, by epoch)</text>']
    y = low
    while y <= high:
        at = place(0, y)[1]
        parts.append(f'<path d="M{LEFT} {at:.1f}h{ACROSS}" stroke="#ddd"/>'
                     f'<text x="{LEFT - 6}" y="{at + 4:.1f}" text-anchor="end">{y:g}</text>')
        y += step
    for x in range(1, int(epochs) + 1):
        if epochs <= 6 or x % 5 == 0:
            parts.append(f'<text x="{place(x, low)[0]:.1f}" y="{TOP + DOWN + 16}" '
                         f'text-anchor="middle">{x}</text>')
    legend = 15 * len(curves) + 4
    parts.append(f'<rect x="{LEFT + ACROSS - 118}" y="{TOP + DOWN - legend - 8}" width="124" '
                 f'height="{legend}" fill="#fff"/>')
    for i, (name, label, points) in enumerate(curves):
        colour = COLOURS[name.split("-")[0] if name.startswith("depth") else name]
        dashes = ' stroke-dasharray="5 3"' if name.endswith("none") else ""
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in (place(*p) for p in points))
        at = TOP + DOWN - 12 - 15 * (len(curves) - 1 - i)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" '
                     f'stroke-width="2"{dashes}/>')
        parts.append(f'<path d="M{LEFT + ACROSS - 112} {at - 4}h22" stroke="{colour}" '
                     f'stroke-width="2"{dashes}/><text x="{LEFT + ACROSS - 84}" y="{at}">'
                     f'{label} {points[-1][1]:.1f}</text>')
    return "".join(parts)


def main():
    runs, output = Path(sys.argv[1]), Path(sys.argv[2])
    body = "".join(
        f'<g transform="translate({i % 2 * WIDTH} {i // 2 * HEIGHT})">{panel(*p, runs)}</g>'
        for i, p in enumerate(PANELS))
    output.write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {2 * WIDTH} {2 * HEIGHT}" '
        f'font-family="sans-serif" font-size="11"><rect width="100%" height="100%" fill="#fff"/>'
        f"{body}</svg>\n")


if __name__ == "__main__":
    main()
