"""What `./dev bench growth` leaves behind: a table in docs/performance.md and docs/growth.svg with
the time and the memory of one image by its size."""
from pathlib import Path
from typing import NamedTuple

from inference_report import CONTENDERS, STYLE, replace_between, round_step, table_lines

BEGIN = "<!-- ./dev bench growth writes from here -->"
LEFT, TOP, ACROSS, DOWN, GAP = 52, 64, 300, 200, 76  # pixels of the chart


class Point(NamedTuple):
    ms: float   # for an image
    mib: float  # at the peak, weights and all


Points = dict[int, dict[str, Point]]  # by size and contender


def chart_of(document: Path) -> Path:
    return document.with_name("growth.svg")


def table(points: Points) -> str:
    def cell(at: dict[str, Point], name: str) -> str:
        return f"{at[name].ms:.0f} ms, {at[name].mib:.0f} MiB" if name in at else "–"

    return table_lines([["image", *CONTENDERS],
                        *([f"{size} px", *(cell(at, name) for name in CONTENDERS)]
                          for size, at in points.items())])


def write(document: Path, points: Points, conditions: str) -> None:
    image = f"![Time and memory of one image by its size]({chart_of(document).name})"
    replace_between(document, BEGIN, lambda _: f"{table(points)}\n\n{conditions}.\n\n{image}\n")
    chart_of(document).write_text(chart(points))


# --- Chart --------------------------------------------------------------------------------------

def panel(points: Points, title: str, unit: str, field: str) -> str:
    """One line per contender over the sizes, both axes from 0."""
    widest = max(points)
    top = max(getattr(point, field) for at in points.values() for point in at.values())
    step = round_step(top)
    parts = [f'<text x="{LEFT}" y="-12"><tspan font-weight="bold">{title}</tspan>, {unit}</text>']
    for index in range(int(top / step) + 1):
        y = DOWN - index * step * DOWN / top
        parts.append(f'<path class="grid" d="M{LEFT} {y:.1f}h{ACROSS}"/><text x="{LEFT - 6}" '
                     f'y="{y + 4:.1f}" text-anchor="end">{index * step:g}</text>')
    for size in points:
        parts.append(f'<text x="{LEFT + size / widest * ACROSS:.1f}" y="{DOWN + 16}" '
                     f'text-anchor="middle">{size}</text>')
    for name in CONTENDERS:
        line = [(LEFT + size / widest * ACROSS, DOWN - getattr(at[name], field) / top * DOWN)
                for size, at in points.items() if name in at]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in line)
        style = name.replace(" ", "").lower()
        parts.append(f'<polyline class="line {style}" points="{path}"/>')
        parts += [f'<circle class="{style}" cx="{x:.1f}" cy="{y:.1f}" r="3"/>' for x, y in line]
    return "".join(parts)


def chart(points: Points) -> str:
    legend = "".join(
        f'<rect class="{name.replace(" ", "").lower()}" x="{LEFT + 120 * index}" y="8" width="12" '
        f'height="12"/><text x="{LEFT + 17 + 120 * index}" y="18">{name}</text>'
        for index, name in enumerate(CONTENDERS))
    panels = "".join(
        f'<g transform="translate({(ACROSS + GAP) * index} {TOP})">{panel(points, *about)}</g>'
        for index, about in enumerate((("time of an image", "ms by px", "ms"),
                                       ("peak memory", "MiB by px", "mib"))))
    # A line is a stroke in the colour that a bar is filled with.
    lines = "".join(f".line.{name} {{ stroke: {colour} }}" for name, colour in
                    (("cait", "#1b6ca8"), ("openvino", "#e08e1b"), ("onnxruntime", "#2a9d5c"),
                     ("pytorch", "#8e5bb5")))
    style = f"{STYLE}{lines} .line {{ fill: none; stroke-width: 2 }}"
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 '
            f'{LEFT + 2 * ACROSS + GAP + 16} {TOP + DOWN + 30}" font-family="sans-serif" '
            f'font-size="11" role="img"><title>Time and memory of one image by its size</title>'
            f"<style>{style}</style>{legend}{panels}</svg>\n")
