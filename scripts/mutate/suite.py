"""Runs the entries of ctest, each on its own terms: environment, folder, time, alone or not."""
import ctypes
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from pathlib import Path

# They read the text of the sources, which planting changes.
TEXT_CHECKS = ("layering", "files")
# What an entry may ask for and is granted below; with anything else it goes through ctest.
KNOWN = {"ENVIRONMENT", "WORKING_DIRECTORY", "TIMEOUT", "LABELS", "RUN_SERIAL", "SKIP_RETURN_CODE",
         "SKIP_REGULAR_EXPRESSION"}


class Entry:
    def __init__(self, test, build):
        properties = {item["name"]: item["value"] for item in test.get("properties", [])}
        self.name = test["name"]
        self.command = test.get("command", [])
        self.folder = properties.get("WORKING_DIRECTORY", str(build))
        self.environment = dict(item.split("=", 1) for item in properties.get("ENVIRONMENT", []))
        self.serial = bool(properties.get("RUN_SERIAL"))
        self.slow = "slow" in properties.get("LABELS", [])
        self.passes = {0, properties.get("SKIP_RETURN_CODE", 0)}
        if not set(properties) <= KNOWN:
            self.command = ["ctest", "-R", f"^{re.escape(self.name)}$"]
            self.folder, self.environment = str(build), {}
        # The real program, with processes, sockets and clocks: a failure may be the machine's.
        self.whole_program = self.command[:1] and Path(self.command[0]).name == "e2e-tests"


def entries(build):
    listed = subprocess.run(["ctest", "--show-only=json-v1"], cwd=build, check=True, capture_output=True, text=True)
    all_entries = [Entry(test, build) for test in json.loads(listed.stdout)["tests"]]
    return {e.name: e for e in all_entries if e.command and not e.slow and e.name not in TEXT_CHECKS}


class Gate:
    """Lets entries run side by side, but one that must be alone, alone."""
    def __init__(self):
        self.changed = threading.Condition()
        self.running, self.alone = 0, 0  # those that run; those that must be alone and run or wait

    def enter(self, serial):
        with self.changed:
            self.alone += serial
            self.changed.wait_for(lambda: self.running == 0 if serial else self.alone == 0)
            self.running += 1

    def leave(self, serial):
        with self.changed:
            self.running -= 1
            self.alone -= serial
            self.changed.notify_all()


GATE = Gate()


def limit_resources():
    """For this program and what it starts: a bug may ask for all memory or fill the disk."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 4
    resource.setrlimit(resource.RLIMIT_DATA, (memory, memory))
    resource.setrlimit(resource.RLIMIT_FSIZE, (4 << 30, resource.RLIM_INFINITY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def adopt_orphans():
    """Processes whose parent has ended become ours, and nobody else's need to be looked at."""
    ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER


def descendants():
    parents = {}
    for process in Path("/proc").glob("[0-9]*/stat"):
        try:
            parents[int(process.parent.name)] = int(process.read_text().rpartition(")")[2].split()[1])
        except OSError:
            pass  # gone
    found = {os.getpid()}
    while more := {one for one, parent in parents.items() if parent in found} - found:
        found |= more
    return found - {os.getpid()}


def end_leftovers(mark):
    """Ends the processes that a failed entry left behind; they carry its mark in their environment. All are stopped
    before the first is killed: a shell whose command is killed would go on to the next one."""
    for sent in (signal.SIGSTOP, signal.SIGKILL):
        for process in descendants():
            try:
                if mark.encode() in Path(f"/proc/{process}/environ").read_bytes().split(b"\0"):
                    os.kill(process, sent)
            except OSError:
                pass  # gone


def run(entry, settings, timeout):
    """(verdict, seconds, output): verdict is "passed", "failed" or "timeout". settings: more of the environment."""
    GATE.enter(entry.serial)
    folder = tempfile.mkdtemp(prefix="mutate-")
    mark = f"CAIT_MUTANT_RUN={os.getpid()}-{Path(folder).name}"
    environment = {**os.environ, **entry.environment, **settings, "TMPDIR": folder, "GTEST_FAIL_FAST": "1",
                   **dict([mark.split("=")])}
    began = time.monotonic()
    try:
        with open(Path(folder) / "output", "w+b") as output:
            process = subprocess.Popen(entry.command, cwd=entry.folder, env=environment, stdin=subprocess.DEVNULL,
                                       stdout=output, stderr=subprocess.STDOUT, start_new_session=True)
            try:
                verdict = "passed" if process.wait(timeout) in entry.passes else "failed"
            except subprocess.TimeoutExpired:
                verdict = "timeout"
            seconds = time.monotonic() - began
            if verdict != "passed":
                end_leftovers(mark)
            process.wait()
            output.seek(max(0, os.fstat(output.fileno()).st_size - 3000))
            return verdict, seconds, output.read().decode(errors="replace")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        GATE.leave(entry.serial)


def together(jobs, work):
    """Runs work() in so many threads until it returns False in each; an exception in one ends the program."""
    problems = []

    def loop():
        try:
            while not problems and work():
                pass
        except BaseException as problem:  # reported below
            problems.append(problem)
    threads = [threading.Thread(target=loop, daemon=True) for _ in range(jobs)]
    for thread in threads:
        thread.start()
    for thread in threads:
        while thread.is_alive():
            thread.join(1)  # lets Ctrl-C through
    if problems:
        raise problems[0]
