"""Draws the block of each family for docs/models.md: python3 docs/blocks/draw.py

A block is a row of boxes read from left to right; an arc above says which boxes a residual jumps.
"""
import pathlib

COLOURS = {"norm": "#e6e6e6", "attention": "#cfe2f3", "mlp": "#d9ead3", "conv": "#fce5cd",
           "class": "#f4cccc", "scale": "#fff2cc", "plain": "#ffffff"}
HEIGHT, TOP, GAP = 44, 46, 22


class Drawing:
    def __init__(self, source):
        self.parts, self.x, self.middle = [], 64, TOP + HEIGHT / 2
        self.parts.append(f'<text x="10" y="{self.middle + 5}">{source}</text>')
        self.edges = []  # where each box begins and ends

    def box(self, label, kind):
        lines = label.split("\n")
        width = max(56, 8 * max(len(line) for line in lines) + 16)
        begin = self.x + GAP
        self.arrow(self.x, begin)
        self.parts.append(f'<rect x="{begin}" y="{TOP}" width="{width}" height="{HEIGHT}" rx="6" '
                          f'fill="{COLOURS[kind]}" stroke="#666"/>')
        for i, line in enumerate(lines):
            y = self.middle + 5 + 17 * (i - (len(lines) - 1) / 2)
            self.parts.append(f'<text x="{begin + width / 2}" y="{y}" text-anchor="middle">{line}</text>')
        self.x = begin + width
        self.edges.append((begin, self.x))

    def add(self, first):
        """The sum of what came before box `first` and what comes now."""
        begin = self.edges[first][0] - GAP / 2
        centre = self.x + GAP + 9
        self.arrow(self.x, centre - 9)
        self.parts.append(f'<path d="M{begin} {self.middle} V14 H{centre} V{self.middle - 9}" fill="none" '
                          'stroke="#444" stroke-width="1.5" marker-end="url(#a)"/>')
        self.parts.append(f'<circle cx="{centre}" cy="{self.middle}" r="9" fill="#fff" stroke="#444"/>'
                          f'<path d="M{centre - 5} {self.middle} h10 M{centre} {self.middle - 5} v10" '
                          'stroke="#444" stroke-width="1.5"/>')
        self.x = centre + 9
        self.edges.append((centre - 9, self.x))

    def arrow(self, begin, end):
        self.parts.append(f'<path d="M{begin} {self.middle} H{end}" stroke="#444" stroke-width="1.5" '
                          'marker-end="url(#a)"/>')

    def finish(self, file, caption):
        self.arrow(self.x, self.x + GAP)
        width = self.x + GAP + 14
        self.parts.append(f'<text x="64" y="{TOP + HEIGHT + 26}" fill="#555">{caption}</text>')
        width = max(width, 64 + 7.4 * len(caption))
        file.write_text(
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {TOP + HEIGHT + 40}" '
            f'width="{width:.0f}" font-family="sans-serif" font-size="14">\n'
            '<defs><marker id="a" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" '
            'markerHeight="7" orient="auto"><path d="M0 0 L10 5 L0 10 z" fill="#444"/></marker></defs>\n'
            f'<rect width="{width:.0f}" height="{TOP + HEIGHT + 40}" fill="#fff"/>\n'
            + "\n".join(self.parts) + "\n</svg>\n")


# A string is a box "kind:label"; a number adds a residual from before that box (counting sums too).
BLOCKS = {
    "vit": ("repeated; the class token is one of the tokens",
            ["norm:norm", "attention:self-\nattention", 0, "norm:norm", "mlp:MLP", 3]),
    "deit": ("as ViT, with a distillation token beside the class token",
             ["norm:norm", "attention:self-\nattention", 0, "norm:norm", "mlp:MLP", 3]),
    "deit3": ("each branch has a learned weight per channel",
              ["norm:norm", "attention:self-\nattention", "scale:Layer\nScale", 0,
               "norm:norm", "mlp:MLP", "scale:Layer\nScale", 4]),
    "dinov2": ("as DeiT III; registers are tokens beside the class token",
               ["norm:norm", "attention:self-\nattention", "scale:Layer\nScale", 0,
                "norm:norm", "mlp:MLP or\nSwiGLU", "scale:Layer\nScale", 4]),
    "cait": ("first stage: patches only; then two blocks in which the class token alone asks",
             ["norm:norm", "attention:talking-heads\nattention", "scale:Layer\nScale", 0,
              "norm:norm", "mlp:MLP", "scale:Layer\nScale", 4]),
    "deepvit": ("the maps of all heads are mixed after the softmax",
                ["norm:norm", "attention:softmax\n(q k)", "attention:mix heads,\nbatch norm",
                 "attention:times\nvalues", 0, "norm:norm", "mlp:MLP", 5]),
    "ceit": ("the feed-forward sees each patch's neighbours; the class token passes by",
             ["norm:norm", "attention:self-\nattention", 0, "norm:norm", "conv:1x1", "conv:depth-wise\n3x3",
              "conv:1x1", 3]),
    "volo": ("the early blocks; later ones are ViT's, the last two ask with the class token alone",
             ["norm:norm", "attention:outlook\nattention", 0, "norm:norm", "mlp:MLP", 3]),
    "resmlp": ("no attention: one matrix mixes the patches, the same for every image",
               ["norm:affine", "attention:linear over\npatches", "scale:Layer\nScale", 0,
                "norm:affine", "mlp:MLP", "scale:Layer\nScale", 4]),
    "patchconvnet": ("one convolutional branch; attention only once, to pool",
                     ["norm:norm", "conv:1x1\nGELU", "conv:depth-wise\n3x3 GELU", "conv:squeeze-\nexcite",
                      "conv:1x1", "scale:Layer\nScale", 0]),
    "resnet": ("bottleneck of ResNet-50 and deeper",
               ["conv:1x1", "conv:3x3", "conv:1x1", 0, "plain:ReLU"]),
    "regnet": ("as ResNet's, with groups and squeeze-excite",
               ["conv:1x1", "conv:grouped\n3x3", "conv:squeeze-\nexcite", "conv:1x1", 0, "plain:ReLU"]),
}

CONVNETS = {"resnet", "regnet"}


def main():
    folder = pathlib.Path(__file__).parent
    for name, (caption, items) in BLOCKS.items():
        drawing = Drawing("maps" if name in CONVNETS else "tokens")
        for item in items:
            if isinstance(item, int):
                drawing.add(item)
            else:
                kind, label = item.split(":", 1)
                drawing.box(label, kind)
        drawing.finish(folder / f"{name}.svg", caption)


if __name__ == "__main__":
    main()
