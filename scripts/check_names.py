#!/usr/bin/env python3
"""Holds names apart. The files of a folder are compiled together (CAIT_UNITY), so a name of an anonymous namespace
reaches the files behind it; and a type that two headers define differently breaks the one-definition rule.
Reports, one line each:
- a type that two headers define in the same namespace,
- a name of an anonymous namespace that another file of the folder uses for something else,
- a name of an anonymous namespace that a header of the same room declares, too: it would be taken instead.
Usage: check_names.py [ROOT]. Exits with 1 after a report. Needs universal-ctags."""
import collections
import json
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent.parent)
TYPES = {"struct", "class", "enum", "union"}
# A file of its own for every instruction set, and the macros of tests.
APART = re.compile(r"/isa/")
MACROS = re.compile(r"^(TEST(_[FP])?|TYPED_TEST.*|INSTANTIATE_\w+|BENCHMARK\w*)$")


def tags():
    files = [str(path.relative_to(ROOT)) for folder in ("include", "src", "apps", "tests")
             for path in sorted((ROOT / folder).rglob("*")) if path.suffix in (".h", ".cpp")]
    run = subprocess.run(["ctags", "--output-format=json", "--fields=+nSZ", "--kinds-C++=cdefgnpstuvx", "-o", "-", "-L", "-"],
                         cwd=ROOT, input="\n".join(files), capture_output=True, text=True, check=True)
    return [json.loads(line) for line in run.stdout.splitlines()]


def parameters(tag):
    """The types of a function's parameters, roughly: (int, const Image &)."""
    without_defaults = re.sub(r"=[^,()]*(\([^()]*\))?[^,()]*", "", tag.get("signature", ""))
    return tuple(re.sub(r"\w+$", "", part.strip()).strip() for part in without_defaults.strip("()").split(","))


def anonymous(tag):
    return tag.get("scopeKind") == "namespace" and re.search(r"__anon\w+$", tag.get("scope", ""))


def alias(tag):
    """What `using X = Y;` says: the same alias may stand in several files."""
    return re.sub(r"\s+", "", tag.get("pattern", "")) if tag["kind"] == "typedef" else None


def same_thing(tags_of_name):
    """Overloads of functions, or one alias repeated."""
    kinds = {tag["kind"] for tag in tags_of_name}
    if kinds == {"typedef"}:
        return len({alias(tag) for tag in tags_of_name}) == 1
    if kinds <= {"function", "prototype"}:
        places = collections.defaultdict(set)
        for tag in tags_of_name:
            places[parameters(tag)].add(tag["path"])
        return all(len(paths) == 1 for paths in places.values())
    return False


def room(path):
    parts = path.split("/")
    return "/".join(parts[:2]) if parts[0] == "src" else parts[0]


def check(found):
    types, hidden, declared = (collections.defaultdict(list) for _ in range(3))
    for tag in found:
        path, name, kind = tag["path"], tag["name"], tag["kind"]
        if MACROS.match(name) or tag.get("scopeKind") not in (None, "namespace"):
            continue
        if path.endswith(".h"):
            if kind in TYPES and not anonymous(tag):
                types[tag.get("scope", ""), name].append(tag)
            if kind in TYPES | {"variable", "typedef"} and not path.startswith("tests/"):
                declared[room(path), tag.get("scope", ""), name].append(tag)
        elif anonymous(tag) and not APART.search(path) and kind in TYPES | {"variable", "typedef", "function"}:
            hidden[str(Path(path).parent), name].append(tag)
    for (scope, name), defined in sorted(types.items()):
        if len({tag["path"] for tag in defined}) > 1:
            yield f"{defined[0]['path']}:{defined[0]['line']}: {scope}::{name} is also defined in {defined[1]['path']}"
    for (_, name), defined in sorted(hidden.items()):
        first = defined[0]
        other = next((tag for tag in defined if tag["path"] != first["path"]), None)
        if other and not same_thing(defined):
            yield f"{first['path']}:{first['line']}: {name} is something else in {other['path']}:{other['line']}"
        outer = re.sub(r"::__anon\w+$", "", first["scope"])
        for header in declared.get((room(first["path"]), outer, name), []):
            yield f"{first['path']}:{first['line']}: {name} would be taken instead of the one in {header['path']}"


problems = list(check(tags()))
print("\n".join(problems), end="\n" if problems else "")
sys.exit(bool(problems))
