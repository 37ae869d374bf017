#!/usr/bin/env python3
"""Finds range-for loops over a part of a temporary that is gone when the loop begins:

    for (const auto& one : read_json(file)["cases"])

C++20 keeps only the outermost temporary of such a loop alive, so this one runs over a destroyed object, and
often not even once. Members of a temporary (`record(spec).params`) are safe, and so is what a function returns
by value. g++ 12 and clang 16 and 19 do not warn where the function is not annotated.

Usage: check_loops.py [root]. Prints "file:line: why" for each such loop and then exits with 1.
A heuristic that reads declarations, not a compiler: where it is wrong, give the temporary a name.
"""
import collections
import pathlib
import re
import sys

FOLDERS = ("include", "src", "apps", "tests", "bench", "examples")
LOOP = re.compile(r"\bfor\s*\(")
# A function that begins on its line: its type and its name.
DECLARATION = re.compile(r"\s*(?:(?:inline|static|constexpr|virtual|friend|\[\[\w+\]\])\s+)*"
                         r"((?:const\s+)?[A-Za-z_][\w:]*(?:<[^()]*>)?(?:\s*[&*]+|\s))\s*(?:\w+::)*(\w+)\(")
WORDS = {"return", "else", "throw", "new", "case", "delete", "co_return", "goto", "using"}
NAME = re.compile(r"\s*((?:::)?[A-Za-z_]\w*(?:\s*::\s*[A-Za-z_~]\w*)*)")
# Of the standard library, which declares nothing here: what gives a reference into its object, and what is a
# view of something else.
REFERENCES = {"at", "front", "back", "data", "c_str", "get_ref", "items", "value"}
VIEWS = {"span", "string_view", "subspan", "first", "last", "iota"}
VALUES = {"vector", "string", "set", "map", "get", "substr", "dump", "str", "to_string", "array"}


def kind_of(type_name):
    if type_name.rstrip().endswith(("&", "*")):
        return "reference"
    return "view" if re.search(r"\b(span|string_view)\b", type_name) else "value"


def without_comments(text):
    """The same lines, with comments and the insides of literals blanked."""
    def blank(match):
        found = match.group(0)
        if found.startswith(("//", "/*")):
            return re.sub(r"[^\n]", " ", found)
        return found[0] + re.sub(r"[^\n]", "_", found[1:-1]) + found[-1]
    literals = r'R"\((?:.|\n)*?\)"|"(?:\\.|[^"\\\n])*"|(?<![0-9a-fA-F])\'(?:\\.|[^\'\\\n])\''
    return re.sub(r"//[^\n]*|/\*(?:.|\n)*?\*/|" + literals, blank, text)


def closing(text, start):
    """The place of the bracket that closes the one at `start`."""
    depth = 0
    for place in range(start, len(text)):
        if text[place] in "([{":
            depth += 1
        elif text[place] in ")]}":
            depth -= 1
            if depth == 0:
                return place
    return len(text)


def range_of(head):
    """What stands behind the colon of `declaration : range`; nothing in other loops."""
    depth = 0
    for place, letter in enumerate(head):
        if letter in "([{":
            depth += 1
        elif letter in ")]}":
            depth -= 1
        elif letter == ";" and depth == 0:
            # An init-statement may stand before: for (const auto all = f(); one : all)
            return range_of(head[place + 1:])
        elif letter == ":" and depth == 0 and head[place - 1] != ":" and head[place + 1] != ":":
            question = head.rfind("?", 0, place)
            return None if question >= 0 else head[place + 1:].strip()
    return None


class Tree:
    def __init__(self, root):
        self.files = {path: without_comments(path.read_text()) for folder in FOLDERS
                      for ending in ("*.h", "*.cpp") for path in sorted((root / folder).rglob(ending))}
        self.declared = collections.defaultdict(lambda: collections.defaultdict(set))  # name, file
        for path, text in self.files.items():
            for line in text.splitlines():
                match = DECLARATION.match(line) if "(" in line else None
                if match and match.group(1).strip() not in WORDS:
                    self.declared[match.group(2)][path].add(kind_of(match.group(1)))

    def returned(self, name, path):
        """What the functions of that name return. Those of the same file come first; among several kinds,
        what is not a value: a name is shared more often than a loop is wrong."""
        files = self.declared.get(name, {})
        own = files.get(path, set())
        for kind, names in (("reference", REFERENCES), ("view", VIEWS), ("value", VALUES)):
            if name in names and not own:
                return kind
        found = own or (set().union(*files.values()) if files else set())
        for kind in ("reference", "view", "value"):
            if kind in found:
                return kind
        return "unknown"


def template_arguments(text, place):
    """Behind `<…>` when a call follows it; else where it was."""
    if text[place:place + 1] != "<":
        return place
    depth = 0
    for end in range(place, len(text)):
        depth += {"<": 1, ">": -1}.get(text[end], 0)
        if depth == 0:
            return end + 1 if text[end + 1:end + 2] in ("(", "{") else place
    return place


def why_dangling(tree, path, text):
    """Why a loop over this expression reads what is gone; nothing when it does not."""
    place, owner = 0, None  # owner: the call whose temporary holds what we have so far
    while place < len(text) and text[place] in "*(& ":  # (*x).y is as x
        place += 1
    first, direct = True, False  # direct: the owner itself, not a member of it
    while place < len(text):
        arrow = text.startswith("->", place)
        if not first and not arrow and text[place] not in ".[":
            return None  # an operator: nobody loops over that but by value
        if text[place] == "[":
            if owner:
                return f"[] of what {owner}() returns"
            place = closing(text, place) + 1
            continue
        place += 0 if first else 2 if arrow else 1
        name = NAME.match(text, place)
        if not name:
            return None  # a braced list, a literal, a lambda
        short = name.group(1).split("::")[-1].strip()
        place = template_arguments(text, name.end())
        called = text[place:place + 1] in ("(", "{")
        if not called:
            if arrow and direct:
                return f"-> of what {owner}() returns"
            if arrow:
                owner = None  # a member that points: to what somebody else keeps
            first = direct = False
            continue
        end = closing(text, place) + 1
        kind = tree.returned(short, path)
        if owner and (arrow or kind in ("view", "reference", "unknown")):
            return f"{short}() of what {owner}() returns"
        owner = short if kind in ("value", "unknown") else None
        place, first, direct = end, False, owner is not None
    return None


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent)
    tree = Tree(root)
    if not tree.files:
        sys.exit(f"check_loops: no sources under {root}")
    wrong = 0
    for path, text in tree.files.items():
        for loop in LOOP.finditer(text):
            end = closing(text, loop.end() - 1)
            expression = range_of(text[loop.end():end])
            why = expression and why_dangling(tree, path, re.sub(r"\s+", " ", expression))
            if why:
                wrong += 1
                line = text.count("\n", 0, loop.start()) + 1
                print(f"{path.relative_to(root)}:{line}: the loop goes over {why}, a temporary that is gone; "
                      "give it a name first")
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main()
