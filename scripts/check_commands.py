#!/usr/bin/env python3
"""Holds the commands in documents to the program: each `cait COMMAND`, its subcommand where it has some, and every
--option has to be one that `cait COMMAND --help` shows. Looks at code blocks, at words between backticks, and at the
examples that the help itself ends with.
Usage: check_commands.py CAIT DOCUMENT... Prints "file: no such command: cait fly" or "... option: cait predict --fly"
for each and then exits with 1."""
import functools
import re
import shlex
import subprocess
import sys

# Where a shell would run it: at the start, after what ends another command, or behind words that start programs.
STARTERS = r"(?:[A-Z_]+=\S*|do|docker|env|exec|mpiexec|mpirun|nice|nohup|podman|srun|sudo|systemd-run|then|time|torchrun)"
CALL = re.compile(rf"(?:^|[(|;&])\s*(?:\$ )?(?:{STARTERS}\s(?:.*\s)?)?(?:\S*/)?cait\s+([a-z].*)")
PLACEHOLDER = re.compile(r"^[A-Z]")  # `cait COMMAND --help` means any of them


@functools.cache
def help_of(program, *words):
    done = subprocess.run([program, *words, "--help"], capture_output=True, text=True, check=False)
    return done.stdout if done.returncode == 0 else None


def subcommands(text):
    """Empty unless the usage asks for one."""
    if not re.search(r"^Usage: .* SUBCOMMAND$", text, re.MULTILINE):
        return set()
    return set(re.findall(r"^  ([a-z][a-z-]*)  ", text, re.MULTILINE))


def options(text):
    names = set()
    for line in text.splitlines():
        if re.match(r"  -", line):
            names.update(line.split()[0].split(","))
    return names


def words_of(call):
    """Up to what ends the command."""
    call = re.sub(r"[\[\]…]|\.\.\.", " ", call)
    lexer = shlex.shlex(call, posix=True, punctuation_chars="|;&()<>")
    lexer.whitespace_split = True
    lexer.commenters = "#"
    words = []
    try:
        for word in lexer:
            if re.fullmatch(r"[|;&()<>]+", word):
                break
            words.append(word)
    except ValueError:  # a quotation mark that stands alone
        return call.split()
    return words


def calls_in(text):
    """The rest of the line behind every `cait `."""
    code = False
    pending = ""
    for line in text.splitlines():
        if line.lstrip().startswith("```"):
            code, pending = not code, ""
        elif code:
            line = pending + line
            if line.endswith("\\"):
                pending = line[:-1]
                continue
            pending = ""
            if match := CALL.search(line.split(" # ")[0]):
                yield match.group(1)
        else:
            for quoted in re.findall(r"`([^`]*)`", line):
                if match := re.match(r"cait ([a-z].*)", quoted):
                    yield match.group(1)


def faults(program, call):
    words = words_of(call)
    path = [words[0]]
    text = help_of(program, words[0])
    if text is None:
        return [f"command: cait {words[0]}"]
    rest = words[1:]
    known = subcommands(text)
    if known and rest and not rest[0].startswith("-"):
        if PLACEHOLDER.match(rest[0]) and rest[0] == "SUBCOMMAND":
            return []
        if rest[0] not in known:
            return [f"command: cait {words[0]} {rest[0]}"]
        path.append(rest.pop(0))
        text = help_of(program, *path) or ""
    have = options(text)
    found = []
    for word in rest:
        if word == "--":
            break
        name = re.match(r"--[a-z][a-z0-9-]*", word)
        if name and name.group() not in have:
            found.append(f"option: cait {' '.join(path)} {name.group()}")
    return found


def examples(program):
    """The help of every command, subcommands too."""
    overview = help_of(program)
    if overview is None:
        return
    for command in sorted(re.findall(r"^  ([a-z][a-z-]*)  ", overview, re.MULTILINE)):
        text = help_of(program, command)
        if text is None:
            continue
        for path in [[command], *([command, sub] for sub in sorted(subcommands(text)))]:
            text = help_of(program, *path) or ""
            _, _, example = text.partition("\nExample")
            for line in example.splitlines():
                if match := CALL.search(line.split(" # ")[0]):
                    yield f"cait {' '.join(path)} --help", match.group(1)


def main():
    program, documents = sys.argv[1], sys.argv[2:]
    reported = set()
    calls = list(examples(program))
    for document in documents:
        with open(document, encoding="utf-8") as file:
            calls += [(document, call) for call in calls_in(file.read())]
    for where, call in calls:
        for fault in faults(program, call):
            if (where, fault) not in reported:
                reported.add((where, fault))
                print(f"{where}: no such {fault}")
    return 1 if reported else 0


if __name__ == "__main__":
    sys.exit(main())
