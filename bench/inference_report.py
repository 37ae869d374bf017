"""What `./dev bench compare` leaves behind: the table in docs/performance.md, which is also where
the rows of models that did not run this time are taken from, and the chart docs/inference.svg."""
import math
import re
from collections.abc import Callable
from pathlib import Path

PEERS = ["OpenVINO", "ONNX Runtime", "PyTorch"]
CONTENDERS = ["cait", *PEERS]
BEGIN = "<!-- ./dev bench compare writes from here -->"
END = "<!-- to here -->"
HEADER = ["model", "batch", *CONTENDERS, *(f"cait to {peer}" for peer in PEERS), "cait of peak"]
PANELS = ("8", "1", "8, int8", "1, int8")  # of the chart, by the second column

# x, y and sizes in pixels of the chart
LEFT, TOP, ACROSS, DOWN, PANEL = 44, 58, 700, 170, 240
STYLE = """
text { fill: #1f2328 } .grid { stroke: #d1d9e0 } .value { font-size: 9px }
.cait { fill: #1b6ca8 } .openvino { fill: #e08e1b } .onnxruntime { fill: #2a9d5c }
.pytorch { fill: #8e5bb5 }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3 } .grid { stroke: #3d444d } .cait { fill: #58a6e8 }
}
"""


# --- Table --------------------------------------------------------------------------------------

def row(model: str, batch: int, precision: str, cells: dict[str, str],
        ratios: dict[str, float], of_peak: float | None) -> list[str]:
    """The cells of a line, all text."""
    name = str(batch) if precision == "fp32" else f"{batch}, {precision}"
    texts = [cells.get(one, "–").replace("|", "/").replace("`", "'") for one in CONTENDERS]
    return [f"`{model}`", name, *texts,
            *(f"{ratios[peer]:.2f}" if peer in ratios else "–" for peer in PEERS),
            f"{100 * of_peak:.0f} %" if of_peak else "–"]


def table_lines(lines: list[list[str]]) -> str:
    """The first one is the header."""
    ruled = [lines[0], ["---"] * len(lines[0]), *lines[1:]]
    return "\n".join("| " + " | ".join(line) + " |" for line in ruled)


def table(rows: list[list[str]]) -> str:
    return table_lines([HEADER, *rows])


def model_of(cells: list[str]) -> str:
    return cells[0].strip("`")


def rate(cell: str) -> float | None:
    """Of "38.1 (latency)"; none for a reason why there is none."""
    number = re.match(r"\d+(\.\d+)?(?= |$)", cell)
    return float(number.group()) if number else None


def read_rows(text: str) -> list[list[str]]:
    """Rows of a document that has fewer columns yet get them."""
    lines = [line for line in text.splitlines() if line.startswith("| `")]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return [[*cells, *["–"] * (len(HEADER) - len(cells))] for cells in rows]


def read_conditions(text: str) -> dict[str, str]:
    """By model, from lines like "- `a`, `b`: an AMD EPYC…"."""
    found = {}
    for names, conditions in re.findall(r"^- (`[^:]*`): (.*)$", text, re.MULTILINE):
        found.update({name: conditions for name in re.findall(r"`([^`]+)`", names)})
    return found


def condition_lines(conditions: dict[str, str]) -> str:
    by_text: dict[str, list[str]] = {}
    for model, text in conditions.items():
        by_text.setdefault(text, []).append(f"`{model}`")
    return "\n".join(f"- {', '.join(models)}: {text}" for text, models in by_text.items())


def merge(text: str, rows: list[list[str]], conditions: str,
          order: list[str]) -> tuple[list[list[str]], dict[str, str]]:
    """The document's rows with those of this run in place of the same models' old ones."""
    models = {model_of(cells) for cells in rows}
    merged = [cells for cells in read_rows(text) if model_of(cells) not in models] + rows
    said = {**read_conditions(text), **{model: conditions for model in models}}

    def place(model: str) -> int:
        return order.index(model) if model in order else len(order)

    merged.sort(key=lambda cells: place(model_of(cells)))  # stable: batches stay as they are
    return merged, dict(sorted(said.items(), key=lambda item: place(item[0])))


def replace_between(document: Path, begin: str, renewed: Callable[[str], str]) -> None:
    """What stands between the line `begin` and the next END becomes renewed(what stood there)."""
    text = document.read_text()
    before, found, rest = text.partition(begin)
    old, ended, after = rest.partition(END)
    if not found or not ended:
        raise SystemExit(f"{document}: expected the lines {begin} and {END}")
    document.write_text(f"{before}{begin}\n{renewed(old)}{END}{after}")


def chart_of(document: Path) -> Path:
    return document.with_name("inference.svg")


def write(document: Path, rows: list[list[str]], conditions: str, order: list[str]) -> None:
    image = f"![Images per second by model and program]({chart_of(document).name})"

    def renewed(old: str) -> str:
        merged, said = merge(old, rows, conditions, order)
        chart_of(document).write_text(chart(merged))
        return f"{table(merged)}\n\n{condition_lines(said)}\n\n{image}\n"

    replace_between(document, BEGIN, renewed)


# --- Chart --------------------------------------------------------------------------------------

def round_step(top: float) -> float:
    """Between gridlines, so that there are three to six of them: 1, 2 or 5 times a power of ten."""
    power = 10 ** math.floor(math.log10(top / 5))
    return next(step for step in (power, 2 * power, 5 * power, 10 * power) if top / step <= 5)


def bars(at: float, width: float, cells: list[str], scale: float) -> str:
    """One model's bars from x = `at`, `scale` pixels for an image/s."""
    parts = []
    for index, name in enumerate(CONTENDERS):
        value = rate(cells[2 + index])
        if value is None:
            continue
        x, height = at + index * width, value * scale
        label = f"{value:.0f}" if value >= 10 else f"{value:.1f}"
        parts.append(f'<rect class="{name.replace(" ", "").lower()}" x="{x:.1f}" '
                     f'y="{DOWN - height:.1f}" width="{width - 1:.1f}" height="{height:.1f}"/>'
                     f'<text class="value" x="{x + width / 2:.1f}" y="{DOWN - height - 3:.1f}" '
                     f'text-anchor="middle">{label}</text>')
    return "".join(parts)


def panel(rows: list[list[str]], chosen_by: str) -> str:
    """One group of bars per model, all with this batch and precision."""
    chosen = [cells for cells in rows if cells[1] == chosen_by]
    batch, _, precision = chosen_by.partition(", ")
    values = [rate(cell) or 0 for cells in chosen for cell in cells[2:2 + len(CONTENDERS)]]
    top = max(values, default=0) or 1
    step = round_step(top)
    scale = DOWN / (1.08 * top)
    parts = [f'<text x="{LEFT}" y="-10"><tspan font-weight="bold">batch {batch}</tspan>, '
             f'images/s in {precision or "fp32"}</text>']
    for index in range(int(top / step) + 1):
        y = DOWN - index * step * scale
        parts.append(f'<path class="grid" d="M{LEFT} {y:.1f}h{ACROSS}"/><text x="{LEFT - 6}" '
                     f'y="{y + 4:.1f}" text-anchor="end">{index * step:g}</text>')
    group = ACROSS / max(len(chosen), 1)
    for index, cells in enumerate(chosen):
        at, width = LEFT + index * group, min(0.84 * group / len(CONTENDERS), 24)
        parts.append(bars(at + (group - width * len(CONTENDERS)) / 2, width, cells, scale))
        parts.append(f'<text x="{at + group / 2:.1f}" y="{DOWN + 15}" text-anchor="middle" '
                     f'font-size="10">{short(model_of(cells))}</text>')
    return "".join(parts)


def short(model: str) -> str:
    return re.sub(r"(_patch16)?_224$", "", model)


def chart(rows: list[list[str]]) -> str:
    legend = "".join(
        f'<rect class="{name.replace(" ", "").lower()}" x="{LEFT + 120 * index}" y="8" width="12" '
        f'height="12"/><text x="{LEFT + 17 + 120 * index}" y="18">{name}</text>'
        for index, name in enumerate(CONTENDERS))
    shown = [name for name in PANELS if any(cells[1] == name for cells in rows)]
    panels = "".join(f'<g transform="translate(0 {TOP + PANEL * index})">{panel(rows, name)}</g>'
                     for index, name in enumerate(shown))
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {LEFT + ACROSS + 16} '
            f'{TOP + len(shown) * PANEL - 40}" font-family="sans-serif" font-size="11" role="img">'
            f"<title>Images per second by model and program</title><style>{STYLE}</style>"
            f"{legend}{panels}</svg>\n")
