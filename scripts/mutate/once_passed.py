"""Bugs that the whole suite once let pass (mutate_once_passed.txt), as sites like those that a seed draws."""
import sys

import sites


def blocks(text):
    for block in text.split("\n\n"):
        lines = [line for line in block.splitlines() if line and not line.startswith("#")]
        if lines:
            yield lines


def parse(text, sources):
    """The sites, in the order of the file. sources: name → text."""
    found = []
    for lines in blocks(text):
        complaint = f"dev mutate: mutate_once_passed.txt: {' / '.join(lines[:2])}: expected "
        if len(lines) < 5 or not (lines[2].startswith("- ") and lines[3].startswith("+ ")):
            sys.exit(complaint + "file, line, '- expression', '+ expression' and what a user saw")
        name, line, original, changed = lines[0], lines[1], lines[2][2:], lines[3][2:]
        part, _, spelt = original.partition(" => ")
        source = sources.get(name, "")
        numbers = [number for number, row in enumerate(source.splitlines(), 1) if row.strip() == line]
        if len(numbers) != 1 or line.count(part) != 1:
            sys.exit(complaint + f"one such line with '{part}' once, found {len(numbers)} lines")
        rows = source.splitlines(keepends=True)
        start = sum(map(len, rows[:numbers[0] - 1])) + rows[numbers[0] - 1].index(part)
        found.append(sites.Site(name, numbers[0], start, start + len(part), "value", changed, line,
                                line.replace(part, changed), spelt or part))
    return found
