"""Read one k6 points file in every way there is, whole processes, in turn, and print a table.

    python benchmarks/compare.py RUN [--runs 5] [--jobs reader,duckdb,...] [--out FILE.md]

RUN is a folder that `grow.py` made. Every job but `lint`, `imports` and `isal` answers the same question:
samples and exact p50, p90, p95 and p99 per (metric, tags). Jobs run in turn (A B C A B C ...), so that a
machine that slows down slows all of them; ratios (to the first job) are taken round by round, and of everything
the median is printed. CPU is user and system time of the whole process, start-up included.

`python benchmarks/compare.py RUN1 RUN4 RUN16 --growth` measures reader and lint on runs of growing length.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import platform
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from datetime import datetime
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

    from auditor.evidence import PointsPart

HERE = Path(__file__).resolve().parent
RANKS = (0.5, 0.9, 0.95, 0.99)


class Used(NamedTuple):
    wall_s: float
    cpu_s: float
    peak_mb: float


# --- the jobs; each runs in a process of its own ----------------------------------------------------------


def reader(path: str) -> int:
    from auditor.ingest.k6.points_json import JsonPoints

    return _grouped(JsonPoints(Path(path), "k6.json").parts(1, hashed=False)[0])


def csv_reader(path: str) -> int:
    from auditor.ingest.k6.points_csv import CsvPoints

    return _grouped(CsvPoints(Path(path), "k6.csv").parts(1, hashed=False)[0])


def _grouped(source: PointsPart) -> int:
    """Samples and exact quantiles per (metric, tags)."""
    import numpy as np

    kept: dict[int, list[Any]] = {}
    for batch in source.batches():
        # By metric first: few, so that what is grouped by tag set later is one small integer.
        order = np.argsort(batch.metric.astype(np.uint16), kind="stable")
        tagset, value = batch.tagset.take(order), batch.value.take(order)
        start = 0
        for metric, n in enumerate(np.bincount(batch.metric).tolist()):
            if n:
                kept.setdefault(metric, []).append((tagset[start : start + n], value[start : start + n]))
                start += n
    groups = 0
    for parts in kept.values():
        tagset = np.concatenate([p[0] for p in parts])
        value = np.concatenate([p[1] for p in parts])
        sizes = np.bincount(tagset)
        sizes = sizes[sizes > 0]
        if len(sizes) == 1:
            np.quantile(value, RANKS)
        elif len(sizes) <= 64:
            value = value[np.argsort(tagset, kind="stable")]
            for piece in np.split(value, np.cumsum(sizes)[:-1]):
                np.quantile(piece, RANKS)
        else:
            # Many small groups: all sorted at once, and all quantiles read off by position.
            value = value[np.lexsort((value, tagset))]
            place = np.multiply.outer(RANKS, sizes - 1)
            low = np.floor(place).astype(np.int64)
            first = np.cumsum(sizes) - sizes
            below, above = value[first + low], value[first + np.minimum(low + 1, sizes - 1)]
            below + (above - below) * (place - low)
        groups += len(sizes)
    return groups


def read_only(path: str) -> int:
    from auditor.ingest.k6.points_json import JsonPoints

    return sum(
        len(batch.value) for batch in JsonPoints(Path(path), "k6.json").parts(1, hashed=False)[0].batches()
    )


def plain_reader(path: str) -> int:
    from auditor.ingest.k6.points_json import JsonPoints

    return sum(
        len(batch.value)
        for batch in JsonPoints(Path(path), "k6.json", fast=False).parts(1, hashed=False)[0].batches()
    )


def duckdb(path: str) -> int:
    import duckdb

    relation: Any = duckdb.sql(
        f"""SELECT metric, data.tags AS tags, count(*), quantile_cont(data.value, {list(RANKS)})
        FROM read_json('{path}', format='newline_delimited', columns={{metric: 'VARCHAR', type: 'VARCHAR',
             data: 'STRUCT(time VARCHAR, value DOUBLE, tags JSON)'}})
        WHERE type = 'Point' GROUP BY ALL"""
    )
    return len(relation.fetchall())


def csv_duckdb(path: str) -> int:
    import duckdb

    with open(path, encoding="utf-8") as file:
        tags = [name for name in file.readline().strip().split(",")[3:] if name != "metadata"]
    columns = ", ".join(f'"{name}"' for name in tags)
    relation: Any = duckdb.sql(
        f"""SELECT metric_name, {columns}, count(*), quantile_cont(metric_value, {list(RANKS)})
        FROM read_csv('{path}', header=true, all_varchar=true, types={{'metric_value': 'DOUBLE'}})
        GROUP BY ALL"""
    )
    return len(relation.fetchall())


def polars(path: str) -> int:
    import polars as pl

    frame = (
        pl.scan_ndjson(path, infer_schema_length=2000)
        .filter(pl.col("type") == "Point")
        .select("metric", pl.col("data").struct.field("value"), pl.col("data").struct.field("tags"))
        .group_by("metric", "tags")
        .agg(pl.len(), *(pl.col("value").quantile(r, "linear").alias(str(r)) for r in RANKS))
        .collect()
    )
    return len(frame)


def _exact(groups: dict[Any, list[float]]) -> int:
    import numpy as np

    for values in groups.values():
        np.quantile(values, RANKS)
    return len(groups)


def pyarrow_json(path: str) -> int:
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.json as pj

    # Metric lines have other keys than points: the schema says what to read.
    names = ("check", "expected_response", "group", "method", "name", "proto", "scenario", "status", "url")
    tags = pa.struct([(name, pa.string()) for name in names])
    data = pa.struct([("time", pa.string()), ("value", pa.float64()), ("tags", tags)])
    schema = pa.schema([("metric", pa.string()), ("type", pa.string()), ("data", data)])
    options = pj.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore")
    table = pj.read_json(path, pj.ReadOptions(block_size=8 << 20), options)
    table = table.filter(pc.equal(table["type"], "Point")).flatten().flatten()
    keys = [name for name in table.column_names if name == "metric" or name.startswith("data.tags.")]
    grouped = table.select([*keys, "data.value"]).group_by(keys, use_threads=True)
    found = grouped.aggregate([("data.value", "list")])
    for values in found["data.value_list"]:
        np.quantile(values.values.to_numpy(), RANKS)
    return len(found)


def pandas(path: str) -> int:
    import pandas as pd

    parts = []
    for frame in pd.read_json(path, lines=True, chunksize=200_000):
        points = frame[frame["type"] == "Point"]
        data = points["data"]
        parts.append(
            pd.DataFrame(
                {
                    "metric": points["metric"].astype("category"),
                    "tags": data.map(lambda d: str(d["tags"])),
                    "value": data.map(lambda d: d["value"]),
                }
            )
        )
    every = pd.concat(parts)
    grouped: Any = every.groupby(["metric", "tags"], observed=True)["value"]
    return len(grouped.quantile(list(RANKS)).unstack())


def orjson(path: str) -> int:
    import orjson

    groups: dict[Any, list[float]] = {}
    with open(path, "rb") as file:
        for line in file:
            item = orjson.loads(line)
            if item["type"] == "Point":
                data = item["data"]
                groups.setdefault((item["metric"], tuple(data["tags"].items())), []).append(data["value"])
    return _exact(groups)


JOBS: dict[str, Callable[[str], int]] = {
    f.__name__: f
    for f in (
        reader,
        read_only,
        plain_reader,
        csv_reader,
        duckdb,
        csv_duckdb,
        polars,
        pyarrow_json,
        pandas,
        orjson,
    )
}
LABELS = {
    "reader": "k6-auditor's reader, grouping and quantiles",
    "read_only": "k6-auditor's reader, columns only",
    "plain_reader": "k6-auditor's plain reader, columns only",
    "csv_reader": "k6-auditor's CSV reader, grouping and quantiles",
    "csv_duckdb": "DuckDB `read_csv`",
    "lint": "`k6-audit lint`",
    "convert": "`k6-audit convert`",
    "lint_parquet": "`k6-audit lint` of the columnar copy",
    "c": "C scanner (no quantiles)",
    "duckdb": "DuckDB `read_json`",
    "polars": "polars `scan_ndjson`",
    "pyarrow_json": "pyarrow.json",
    "pandas": "pandas `read_json(lines=True)`",
    "orjson": "orjson, line by line",
    "gzip": "k6-auditor's reader, gzip",
    "isal": "isal alone, to /dev/null",
    "imports": '`python -c "import pandas, scipy.stats"`',
}
USUAL = "reader,read_only,lint,c,duckdb,polars,pyarrow_json,orjson,pandas"


# --- measuring --------------------------------------------------------------------------------------------


def measure(command: list[str]) -> Used:
    """One run of a command, from the outside.

    Raises:
        SystemExit: if the command fails.
    """
    start = time.perf_counter()
    # As the command line sets it, for all: the start of NumPy's threads costs 50 ms of CPU that nobody needs.
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    child = os.posix_spawn(
        command[0], command, environment, file_actions=[(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
    )
    _, status, usage = os.wait4(child, 0)
    wall = time.perf_counter() - start
    if os.waitstatus_to_exitcode(status):
        raise SystemExit(f"failed: {shlex.join(command)}")
    return Used(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def commands(run: Path, jobs: list[str], place: Path) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    command = str(Path(sys.executable).parent / "k6-audit")
    points = str(run / "k6.json")
    zipped = str(run / "k6.json.gz")
    for job in jobs:
        if job.startswith("csv_"):
            found[job] = [sys.executable, str(HERE / "compare.py"), "--job", job, as_csv(points, place)]
        elif job in JOBS:
            found[job] = [sys.executable, str(HERE / "compare.py"), "--job", job, points]
        elif job == "gzip":
            found[job] = [sys.executable, str(HERE / "compare.py"), "--job", "read_only", zipped]
        elif job == "isal":
            found[job] = [sys.executable, "-m", "isal.igzip", "-cd", zipped]
        elif job == "imports":
            found[job] = [sys.executable, "-c", "import pandas, scipy.stats"]
        elif job == "lint":
            found[job] = [command, "lint", str(run), "--warmup", "5s", "--exit-zero"]
        elif job == "convert":
            found[job] = [command, "convert", str(run), "--force", "-o", str(place / "converted.parquet")]
        elif job == "lint_parquet":
            copy = with_copy(command, run, place / "copy")
            found[job] = [command, "lint", str(copy), "--warmup", "5s", "--exit-zero"]
        elif job == "c":
            compiler = shutil.which("cc")
            if compiler is None:
                raise SystemExit("no C compiler (cc) for the job c")
            binary = str(place / "scanner")
            subprocess.run([compiler, "-O2", "-o", binary, str(HERE / "scanner.c")], check=True)
            found[job] = [binary, points]
        else:
            raise SystemExit(f"no such job: {job}")
    return found


def with_copy(command: str, run: Path, folder: Path) -> Path:
    """The run's folder with a columnar copy in place of its points."""
    folder.mkdir()
    for path in run.iterdir():
        if not path.name.startswith("k6."):
            shutil.copyfile(path, folder / path.name)
    subprocess.run([command, "convert", str(run), "-o", str(folder / "k6.parquet")], check=True)
    return folder


def as_csv(points: str, place: Path) -> str:
    """The same samples as k6 writes them with `--out csv`: whole seconds, a column for each system tag."""
    found = place / "k6.csv"
    if found.exists():
        return str(found)
    names = [
        "check",
        "error",
        "error_code",
        "expected_response",
        "group",
        "method",
        "name",
        "proto",
        "scenario",
        "service",
        "status",
        "subproto",
        "tls_version",
        "url",
    ]
    with open(points, encoding="utf-8") as lines, found.open("w", newline="", encoding="utf-8") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(["metric_name", "timestamp", "metric_value", *names, "extra_tags", "metadata"])
        for line in lines:
            item = json.loads(line)
            if item["type"] == "Point":
                data = item["data"]
                stamp = int(datetime.fromisoformat(data["time"][:19] + "+00:00").timestamp())
                tags = [data["tags"].get(name, "") for name in names]
                table.writerow([item["metric"], stamp, f"{data['value']:f}", *tags, "", ""])
    return str(found)


def in_turn(jobs: dict[str, list[str]], runs: int) -> dict[str, list[Used]]:
    for command in jobs.values():  # compiled code and the file's pages are warm from here on
        measure(command)
    found: dict[str, list[Used]] = {job: [] for job in jobs}
    for _ in range(runs):
        for job, command in jobs.items():
            found[job].append(measure(command))
    return found


def table(found: dict[str, list[Used]]) -> list[str]:
    base = next(iter(found))
    lines = [
        f"| what | CPU s | wall s | peak MB | CPU, times {base} | wall, times {base} |",
        "|---|---|---|---|---|---|",
    ]
    for job, used in found.items():
        cpu, wall, peak = (
            statistics.median(getattr(u, f) for u in used) for f in ("cpu_s", "wall_s", "peak_mb")
        )
        pairs = list(zip(used, found[base], strict=True))
        cpu_ratio = statistics.median(u.cpu_s / b.cpu_s for u, b in pairs)
        wall_ratio = statistics.median(u.wall_s / b.wall_s for u, b in pairs)
        lines.append(
            f"| {LABELS[job]} | {cpu:.2f} | {wall:.2f} | {peak:.0f} | {cpu_ratio:.2f} | {wall_ratio:.2f} |"
        )
    return lines


def machine() -> str:
    names = ("numpy", "numba", "pyarrow", "duckdb", "polars", "pandas", "orjson", "isal")
    versions = []
    for name in names:
        try:
            versions.append(f"{name} {metadata.version(name)}")
        except metadata.PackageNotFoundError:
            continue
    model = ""
    if (cpuinfo := Path("/proc/cpuinfo")).exists():
        model = next(
            (s.split(":")[1].strip() for s in cpuinfo.read_text().splitlines() if "model name" in s), ""
        )
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    cores = len(os.sched_getaffinity(0))
    return (
        f"{cores} cores ({model}), {memory:.0f} GiB, {platform.system()} {platform.release()}, "
        f"Python {platform.python_version()}; {', '.join(versions)}"
    )


def growth(runs: list[Path], times: int) -> list[str]:
    lines = [
        "| run | MB | reader CPU s | peak MB | lint CPU s | lint wall s | peak MB |",
        "|---|---|---|---|---|---|---|",
    ]
    for run in runs:
        found = in_turn(commands(run, ["reader", "lint"], run), times)
        cells = [run.name, f"{(run / 'k6.json').stat().st_size / 1e6:.0f}"]
        cells.append(f"{statistics.median(u.cpu_s for u in found['reader']):.2f}")
        cells.append(f"{statistics.median(u.peak_mb for u in found['reader']):.0f}")
        for name, digits in (("cpu_s", 2), ("wall_s", 2), ("peak_mb", 0)):
            cells.append(f"{statistics.median(getattr(u, name) for u in found['lint']):.{digits}f}")
        lines.append("| " + " | ".join(cells) + " |")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs_or_path", nargs="+", metavar="RUN", help="folders with k6.json")
    parser.add_argument("--runs", type=int, default=5, help="how often each job is run")
    parser.add_argument("--jobs", default=USUAL, help=f"of {', '.join(LABELS)}")
    parser.add_argument("--growth", action="store_true")
    parser.add_argument("--out", type=Path, help="append the table to this file")
    parser.add_argument("--job", choices=JOBS, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.job:
        sys.path.insert(0, str(HERE.parent))
        print(JOBS[asked.job](asked.runs_or_path[0]))
        return
    folders = [Path(run) for run in asked.runs_or_path]
    with tempfile.TemporaryDirectory() as place:
        if asked.growth:
            lines = growth(folders, asked.runs)
        else:
            lines = table(in_turn(commands(folders[0], asked.jobs.split(","), Path(place)), asked.runs))
    text = "\n".join([f"`python {shlex.join(sys.argv)}`", "", machine(), "", *lines, ""])
    print(text)
    if asked.out:
        with asked.out.open("a", encoding="utf-8") as file:
            file.write(text + "\n")


if __name__ == "__main__":
    main()
