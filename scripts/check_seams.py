#!/usr/bin/env python3
"""Counts the files that one addition touches, by what is there: for a model, an op, a data set, an objective, a target
and a command, the files below src/, apps/ and include/ that name it. docs/architecture.md ("To add something") promises
them, so a file that is not listed there, or no longer names it, is an error.
Usage: check_seams.py [ROOT]"""
import re
import sys
from pathlib import Path

ROOT = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent.parent
# kind: (what names it, the files that may)
SEAMS = {
    "model": (r"\bceit_family\b|\bCeit\w*", {"src/models/ceit.cpp", "src/models/catalogue.cpp", "src/models/catalogue.h"}),
    # The last four only since softmax is too frequent to be taken apart.
    "op": (r"\bSoftmax\b", {"src/graph/ops.h", "src/graph/builder.h", "src/graph/ops/softmax.cpp",
                            "src/engine/steps/rows.cpp", "src/engine/steps/steps.h", "src/train/torch/evaluate.cpp"}),
    "data set": (r"\bfood101\w*", {"src/data/sources/food101.cpp"}),
    "objective": (r'\bmake_triplet\b|"triplet"', {"src/train/objectives/triplet.cpp",
                                                  "src/train/objectives/objective_table.cpp",
                                                  "src/train/recipe/objective_rows.cpp"}),
    "command": (r"\badd_preprocess\b|\"preprocess\"", {"apps/preprocess.cpp"}),
}


def named_in(pattern):
    found = set()
    for folder in ("src", "apps", "include"):
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in (".h", ".cpp"):
                code = re.sub(r"//[^\n]*", "", path.read_text(errors="replace"))
                if re.search(pattern, code):
                    found.add(path.relative_to(ROOT).as_posix())
    return found


def main():
    document = (ROOT / "docs/architecture.md").read_text()
    wrong = 0
    for kind, (pattern, allowed) in SEAMS.items():
        found = named_in(pattern)
        for file in sorted(found - allowed):
            print(f"{file}: names the {kind} of scripts/check_seams.py, which is to touch only {', '.join(sorted(allowed))}")
        for file in sorted(allowed - found):
            print(f"scripts/check_seams.py: {kind}: {file} does not name it any more")
        if f"| a {kind} |" not in document and f"| an {kind} |" not in document:
            print(f"docs/architecture.md: expected a row '| a {kind} |' under \"To add something\"")
            wrong += 1
        wrong += len(found ^ allowed)
    sys.exit(wrong > 0)


main()
