"""The two stages that run tests: which entries come by which bug, and which bugs make one of them fail."""
import threading
import time
from pathlib import Path

import suite

FIRST_LIMIT = 600  # seconds that an entry may take, as in the test presets


def say(text):
    print(f"dev mutate: {text}", flush=True)


class Progress:
    """A line now and then, with the time that is left."""
    def __init__(self, what, total, done=0, every=20):
        self.what, self.total, self.done, self.every = what, total, done, every
        self.first, self.began, self.said = done, time.monotonic(), time.monotonic()

    def step(self, text="", always=False):
        self.done += 1
        now = time.monotonic()
        if not always and now - self.said < self.every and self.done < self.total:
            return
        self.said = now
        left = (now - self.began) / (self.done - self.first) * (self.total - self.done)
        say(f"{self.what} {self.done} of {self.total}, about {left / 60:.0f} min left{text}")


def record(entries, state, jobs, scratch):
    """Runs every entry without a bug and notes which it comes by, in state.data["entries"]."""
    known = state.data["entries"]
    # Those that hold many tests in one take longest: first.
    queue = sorted((e for e in entries.values() if e.name not in known), key=lambda e: "." in e.name)
    size = max(state.numbers, default=0) + 1
    progress = Progress("recorded", len(entries), len(known))
    lock = threading.Lock()
    scratch.mkdir(parents=True, exist_ok=True)

    def work():
        with lock:
            if not queue:
                return False
            entry = queue.pop(0)
        reached = Path(scratch) / f"reached-{threading.get_ident()}"
        for attempt in (1, 2):
            reached.write_bytes(bytes(size))
            verdict, seconds, output = suite.run(entry, {"CAIT_MUTANT_REACHED": str(reached.resolve())}, FIRST_LIMIT)
            if verdict == "passed":
                break
        numbers = [i for i, byte in enumerate(reached.read_bytes()) if byte]
        with lock:
            if verdict != "passed":
                say(f"{entry.name} is left out: {verdict} twice without a bug\n{output[-1500:]}")
            known[entry.name] = {"passed": verdict == "passed", "seconds": round(seconds, 3), "reached": numbers}
            progress.step()
            state.save(at_most_every=5)
        return True
    suite.together(jobs, work)
    state.save()


class Hunt:
    """Tries the bugs one after another: the entries that come by one, quickest first, until one fails."""
    def __init__(self, entries, state, skipped):
        self.entries, self.state, self.lock = entries, state, threading.Lock()
        self.results = state.data["results"]
        known = state.data["entries"]
        self.seconds = {name: known[name]["seconds"] for name in known}
        self.open = {}  # number → entries still to run
        self.under_way = {}  # number → how many of its entries run now
        self.busy = set()  # entries that run now
        for number in state.numbers:
            if str(number) in self.results or number in skipped:
                continue
            reaching = [name for name in known if number in known[name]["reached"] and known[name]["passed"]
                        and name in entries]
            self.open[number] = sorted(reaching, key=self.seconds.get)
            self.under_way[number] = 0
        self.began = {}
        wanted = [number for number in state.numbers if number not in skipped]
        self.progress = Progress("tried", len(wanted), len(wanted) - len(self.open))
        for number in [number for number, names in self.open.items() if not names]:
            self.close(number, "not reached")

    def close(self, number, status, by=None):
        site = self.state.sites[number]
        self.open.pop(number)
        seconds = time.monotonic() - self.began.get(number, time.monotonic())
        self.results[str(number)] = {"status": status, "by": by, "seconds": round(seconds, 1)}
        self.state.save()
        by = f" by {by}" if by else ""
        self.progress.step(f": {number} {status}{by} ({site.file}:{site.line})", always=True)

    def take(self):
        """The next (number, entry) to run, None to wait, False when all is done."""
        for number, names in self.open.items():
            for name in names:
                if name not in self.busy:
                    names.remove(name)
                    self.busy.add(name)
                    self.under_way[number] += 1
                    self.began.setdefault(number, time.monotonic())
                    return number, name
        return None if self.open else False

    def fails(self, number, name):
        limit = max(20, 5 * self.seconds[name])
        entry = self.entries[name]
        # Twice where a busy machine could fail it too.
        for _ in range(2 if entry.whole_program else 1):
            verdict, _, _ = suite.run(entry, {"CAIT_MUTANT": str(number)}, limit)
            if verdict == "passed":
                return None
        return verdict

    def work(self):
        with self.lock:
            job = self.take()
        if not job:
            time.sleep(0.05)
            return job is None
        number, name = job
        verdict = self.fails(number, name)
        with self.lock:
            self.busy.discard(name)
            self.under_way[number] -= 1
            if number not in self.open:
                return True
            if verdict:
                self.close(number, "caught", name + (" (timeout)" if verdict == "timeout" else ""))
            elif not self.open[number] and self.under_way[number] == 0:
                self.close(number, "survived")
        return True

    def run(self, jobs):
        suite.together(jobs, self.work)
