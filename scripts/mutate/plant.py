"""Writes the copy of the tree that the bugs are planted in. Every bug is compiled in, in one build, and waits
for its number in CAIT_MUTANT: a build takes many times as long as the tests that reach a bug."""
import os
import shutil
import subprocess
from pathlib import Path

RUNTIME = Path(__file__).with_name("mutant.h")


def tracked(root):
    """Every file of the tree that git knows or would add, as names."""
    names = subprocess.run(["git", "-C", root, "ls-files", "-co", "--exclude-standard"], check=True,
                           capture_output=True, text=True).stdout.splitlines()
    return sorted(name for name in names if (root / name).is_file())


def sources(root):
    """name → text of what may be changed."""
    return {name: (root / name).read_text() for name in tracked(root)
            if name.startswith(("src/", "apps/")) and name.endswith((".cpp", ".h"))}


def choose(sequence, count, dropped, others=()):
    """number → site: the first of the sequence that compile and do not overlap, nor do they with `others`."""
    chosen = {}
    for number, site in enumerate(sequence, 1):
        if len(chosen) == count:
            break
        apart = all(site.file != other.file or site.end <= other.start or other.end <= site.start
                    for other in [*chosen.values(), *dict(others).values()])
        if apart and number not in dropped:
            chosen[number] = site
    return chosen


def rewritten(text, clean, sites, header):
    """The text with its bugs, number → site. Lines keep their numbers."""
    for number, site in sorted(sites.items(), key=lambda item: -item[1].start):
        original = site.spelt or clean[site.start:site.end]
        switch = f"cait_mutant({number}) ? "
        kind = {"value": "", "bool": "bool"}.get(site.style, "void")
        planted = f"{switch}{kind}({site.changed}) : {kind}({original})"  # a deleted statement: void()
        if not kind:  # an operand, maybe: a || b
            planted = f"({planted})"
        text = text[:site.start] + planted + text[site.end:]
    return f'#include "{header}"\n#line 1\n{text}'


def update(path, content):
    """Writes only what differs, so that ninja compiles only that."""
    if not path.is_file() or path.read_bytes() != content:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def copy(root, target, chosen, clean):
    """Makes the target the tree at root with these bugs. clean: text → text without comments."""
    names = tracked(root)
    for path in [p for p in target.rglob("*") if p.is_file() and "build" != p.relative_to(target).parts[0]]:
        if str(path.relative_to(target)) not in {*names, RUNTIME.name}:
            path.unlink()
    by_file = {}
    for number, site in chosen.items():
        by_file.setdefault(site.file, {})[number] = site
    for name in names:
        place = target / name
        if name in by_file:
            text = (root / name).read_text()
            header = os.path.relpath(target / RUNTIME.name, place.parent)
            update(place, rewritten(text, clean(text), by_file[name], header).encode())
        else:
            update(place, (root / name).read_bytes())
        shutil.copymode(root / name, place)
    update(target / RUNTIME.name, RUNTIME.read_bytes())
