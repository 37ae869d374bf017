"""Runs `./dev mutate`: plants one-line bugs in a copy of the tree, runs the tests that come by each, and lists
the bugs that no test notices. CONTRIBUTING.md says how to read the list.
Usage: mutate [N] [--seed S] [--jobs J] [--list]"""
import argparse
import hashlib
import json
import os
import sys
import time
from pathlib import Path

import build
import once_passed
import plant
import scan
import sites
import stages
import suite
from stages import say

ROOT = Path(__file__).resolve().parent.parent.parent
EQUIVALENT = ROOT / "scripts/mutate_equivalent.txt"
ONCE_PASSED = ROOT / "scripts/mutate_once_passed.txt"


class State:
    """What is done, so that a run that was interrupted goes on. Starts anew when the tree or the question has changed."""
    def __init__(self, path, key):
        self.path, self.saved = path, 0.0
        self.data = {"key": key, "dropped": [], "built": False, "entries": {}, "results": {}, "seconds": {}}
        self.sites = {}
        if path.is_file():
            old = json.loads(path.read_text())
            if old["key"] == key:
                self.data = old

    @property
    def numbers(self):
        return list(self.sites)

    def save(self, at_most_every=0):
        if time.monotonic() - self.saved < at_most_every:
            return
        temporary = self.path.with_suffix(".part")
        temporary.write_text(json.dumps(self.data))
        os.replace(temporary, self.path)
        self.saved = time.monotonic()


def digest(root):
    """Of every file that could change a result."""
    total = hashlib.sha256()
    for name in plant.tracked(root):
        if not name.endswith(".md") and root / name != EQUIVALENT:
            total.update(name.encode() + b"\0" + hashlib.sha256((root / name).read_bytes()).digest())
    return total.hexdigest()


def equivalents():
    """(file, line before, line after) → why it cannot be noticed. Blocks: the file, '- before', '+ after', the reason."""
    known = {}
    text = EQUIVALENT.read_text() if EQUIVALENT.is_file() else ""
    for block in text.split("\n\n"):
        lines = [line for line in block.splitlines() if line and not line.startswith("#")]
        if not lines:
            continue
        if len(lines) < 4 or not (lines[1].startswith("- ") and lines[2].startswith("+ ")):
            sys.exit(f"dev mutate: {EQUIVALENT.name}: expected file, '- before', '+ after' and a reason, found:\n{block}")
        known[lines[0], lines[1][2:], lines[2][2:]] = " ".join(line.strip() for line in lines[3:])
    return known


def make(state, sequence, always, count, folder, jobs):
    """Plants and builds; what does not compile gives way to the next of the sequence. always: number → site, planted
    whatever the sequence draws."""
    target = folder / "source"
    builder = build.Build(target, jobs)
    began = time.monotonic()
    for stage in ("changed files", "everything"):
        while True:
            state.sites = {**plant.choose(sequence, count, set(state.data["dropped"]), always), **always}
            if state.data["built"]:
                return builder.folder
            plant.copy(ROOT, target, state.sites, lambda text: scan.mask(text)[0])
            if not (builder.folder / "build.ninja").exists():
                builder.configure()
            say(f"building {stage} with {len(state.sites)} bugs")
            bad = builder.ninja(builder.objects(state.sites) if stage == "changed files" else [], state.sites)
            if not bad:
                break
            if bad & set(always):
                sys.exit(f"dev mutate: {ONCE_PASSED.name}: does not compile: {always[min(bad & set(always))].text()}")
            for number in sorted(bad):
                say(f"does not compile, replaced: {state.sites[number].file}:{state.sites[number].line} "
                    f"{state.sites[number].text()}")
            state.data["dropped"] += sorted(bad)
            state.save()
    state.data["built"] = True
    state.data["seconds"]["build"] = round(time.monotonic() - began)
    state.save()
    return builder.folder


def report(state, known, always, folder):
    """Prints the table, writes result.json; the summary comes last. `always` counts by itself: it is no sample."""
    rows = []
    for number, site in state.sites.items():
        result = state.data["results"].get(str(number), {"status": "equivalent"})
        reason = known.get((site.file, site.before, site.after))
        reaching = [name for name, entry in state.data["entries"].items() if number in entry["reached"]]
        rows.append({"number": number, "file": site.file, "line": site.line, "before": site.before,
                     "after": site.after, **result, "reached_by": reaching, "once_passed": number in always})
        if reason:
            rows[-1].update(status="equivalent", reason=reason)
    for status in ("caught", "equivalent", "survived", "not reached"):
        group = [row for row in rows if row["status"] == status]
        if group:
            print(f"\n{status}: {len(group)}")
        for row in group:
            print(f"  {row['file']}:{row['line']}\n    {row['before']}\n    {row['after']}")
            if status == "caught":
                print(f"      {row['by']}")
            elif status == "equivalent":
                print(f"      {row['reason']}")
            elif row["reached_by"]:
                names = row["reached_by"]
                more = f" and {len(names) - 4} more" if len(names) > 4 else ""
                print(f"      reached by {', '.join(names[:4])}{more}")
    drawn = [row for row in rows if not row["once_passed"]]
    caught = sum(row["status"] == "caught" for row in drawn)
    equivalent = sum(row["status"] == "equivalent" for row in drawn)
    counted = len(drawn) - equivalent
    again = sum(row["status"] == "caught" for row in rows if row["once_passed"])
    key = state.data["key"]
    (folder / "result.json").write_text(json.dumps(
        {"seed": key["seed"], "planted": len(drawn), "caught": caught, "equivalent": equivalent,
         "seconds": state.data["seconds"], "bugs": rows}, indent=1, ensure_ascii=False) + "\n")
    say(f"{again} of {len(rows) - len(drawn)} caught that the suite once let pass")
    struck = f"; {equivalent} equivalent not counted" if equivalent else ""
    print()
    say(f"{caught} of {counted} caught ({100 * caught / max(1, counted):.0f} %){struck}; seed {key['seed']}, "
        f"details in {os.path.relpath(folder / 'result.json', ROOT)}")


def timed(state, name, work):
    began = time.monotonic()
    work()
    state.data["seconds"][name] = round(state.data["seconds"].get(name, 0) + time.monotonic() - began)
    state.save()


def main():
    parser = argparse.ArgumentParser(prog="./dev mutate", description="Plants bugs and lists those that no test notices.")
    parser.add_argument("count", nargs="?", type=int, default=60, help="how many bugs (60)")
    parser.add_argument("--seed", type=int, default=1, help="which ones (1)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="compilers and tests at a time")
    parser.add_argument("--list", action="store_true", help="only print the bugs that this seed draws")
    arguments = parser.parse_args()
    if arguments.count < 1 or arguments.jobs < 1:
        parser.error("expected numbers from 1")
    sources = plant.sources(ROOT)
    sequence = sites.sequence(sources, arguments.seed)
    always = dict(enumerate(once_passed.parse(ONCE_PASSED.read_text(), sources), len(sequence) + 1))
    if arguments.list:
        for number, site in plant.choose(sequence, arguments.count, set(), always).items():
            print(f"{number} {site.file}:{site.line}\n    {site.before}\n    {site.after}")
        return
    folder = ROOT / "build-mutate"
    folder.mkdir(exist_ok=True)
    state = State(folder / "state.json",
                  {"seed": arguments.seed, "count": arguments.count, "tree": digest(ROOT)})
    built = make(state, sequence, always, arguments.count, folder, arguments.jobs)
    suite.limit_resources()
    suite.adopt_orphans()
    entries = suite.entries(built)
    timed(state, "recording", lambda: stages.record(entries, state, arguments.jobs, folder / "scratch"))
    known = equivalents()
    skipped = {number for number, site in state.sites.items() if (site.file, site.before, site.after) in known}
    timed(state, "bugs", lambda: stages.Hunt(entries, state, skipped).run(arguments.jobs))
    report(state, known, always, folder)


if __name__ == "__main__":
    main()
