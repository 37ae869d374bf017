"""Builds the copy, and says which bugs the compiler refuses."""
import json
import os
import re
import subprocess
import sys
from pathlib import Path

PLACE = re.compile(r"^([^\s:]+\.(?:cpp|h)):(\d+):\d+:\s+(?:error|required|in 'constexpr')", re.MULTILINE)


class Build:
    def __init__(self, target, jobs):
        self.target, self.jobs = target, jobs
        self.folder = target / "build"

    def configure(self):
        subprocess.run(["cmake", "--preset", "release", "--log-level=WARNING", "-DCAIT_TESTS=ON"], cwd=self.target,
                       check=True, stdout=sys.stderr)

    def objects(self, chosen):
        """The outputs that compile the changed files: of a header, one file that includes it."""
        commands = json.loads((self.folder / "compile_commands.json").read_text())
        outputs = {}
        for command in commands:
            name = os.path.relpath(command["file"], self.target)
            outputs.setdefault(name, []).append(re.search(r" -o (\S+)", command["command"])[1])
        wanted = set()
        for name in {site.file for site in chosen.values()}:
            wanted.update(outputs.get(name, []) or outputs.get(self.includer(name, outputs), [])[:1])
        return sorted(wanted)

    def includer(self, header, outputs):
        """The smallest source file that includes the header itself."""
        line = f'#include "{Path(header).relative_to(Path(header).parts[0])}"'
        found = [name for name in outputs if name.startswith(("src/", "apps/")) and name.endswith(".cpp")
                 and line in (self.target / name).read_text()]
        return min(found, key=lambda name: (self.target / name).stat().st_size, default=None)

    def ninja(self, targets, chosen):
        """Builds the targets (all, if none is named); the numbers of bugs that do not compile."""
        command = ["ninja", "-C", str(self.folder), "-k", "0", "-j", str(self.jobs), *targets]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        output = []
        for line in process.stdout:
            output.append(line)
            if sys.stderr.isatty() and line.startswith("["):
                print(f"\r{line.strip()[:100]:100}", end="", file=sys.stderr, flush=True)
        if process.wait() == 0:
            return set()
        (self.folder / "mutate-build.log").write_text("".join(output))
        return self.refused("".join(output), chosen) or sys.exit(
            "dev mutate: the build failed, and no planted bug is to blame: " + "".join(output)[-4000:])

    def refused(self, output, chosen):
        bad = set()
        for block in re.split(r"^FAILED: ", output, flags=re.MULTILINE)[1:]:
            places = {(os.path.relpath((self.folder / file).resolve(), self.target.resolve()), int(line))
                      for file, line in PLACE.findall(block)}
            # An expression may go on over some lines.
            hit = {number for number, site in chosen.items()
                   if any(site.file == file and abs(site.line - line) <= 8 for file, line in places)}
            exact = {number for number in hit if (chosen[number].file, chosen[number].line) in places}
            files = {file for file, _ in places} | {os.path.relpath((self.folder / file).resolve(), self.target.resolve())
                                                    for file in re.findall(r"-c (\S+)", block)}
            bad |= exact or hit or {number for number, site in chosen.items() if site.file in files}
        return bad
