"""A columnar copy says what its original says, bit for bit; and whatever contradicts itself is refused."""

from __future__ import annotations

import gzip
import hashlib
import json
import pickle
import random
import shutil
import struct
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from pyarrow import parquet as pq

from auditor.columnar import layout as parquet_layout
from auditor.columnar import read as points_parquet
from auditor.columnar import write as parquet
from auditor.columnar.about import ABOUT_KEY, DIGEST_KEY, tags_of, tags_text
from auditor.columnar.layout import TAGS, TIME, VALUE, Damaged, check_pages
from auditor.columnar.read import ParquetPoints
from auditor.columnar.write import copy_points
from auditor.errors import AuditError
from auditor.evidence import PointsSource
from auditor.ingest.bundle import read_run
from auditor.ingest.k6.points_formats import spans_lines
from auditor.ingest.sniff import sniff
from auditor.inputs import streams
from auditor.inputs.redact import Verbatim
from auditor.present.json_v1 import document
from auditor.samples.columns import GeneratorSamples, merged
from auditor.samples.reduce import KEPT, SUMMED, Keep, reduce_part
from auditor.samples.workers import Threads
from tests.builder import Answer, Run, Scenario, spread, stamp
from tests.conftest import ROOT, Judge, recorded_files

SECOND = 1_000_000_000


def copied(original: Path, copy: Path) -> Path:
    """The columnar copy of a points file, or of the one in a folder."""
    (generator,) = read_run([original], redactor=Verbatim()).generators
    assert generator.points is not None
    copy_points(generator.points, "k6 points", copy, Threads())  # type: ignore[arg-type]
    return copy


def points_of(path: Path) -> PointsSource:
    (generator,) = read_run([path]).generators
    assert generator.points is not None
    return generator.points


def samples_of(source: PointsSource, keep: Keep = None, threads: int = 1) -> GeneratorSamples:
    (parts,) = Threads(threads).reduce([(source, keep)])
    return merged(source, parts)


def same(mine: GeneratorSamples, theirs: GeneratorSamples) -> None:
    for name in ("metrics", "tagsets", "definitions", "read"):
        assert getattr(mine, name) == getattr(theirs, name), name
    for name in ("series_metric", "series_tagset", "series_count", "second_first_ns", "second_last_ns"):
        assert np.array_equal(getattr(mine, name), getattr(theirs, name)), name
    assert mine.columns.keys() == theirs.columns.keys()
    for name, column in theirs.columns.items():
        own = mine.columns[name]
        assert np.array_equal(own.time_ns, column.time_ns), name
        assert np.array_equal(own.tagset, column.tagset), name
        # Which of 0.0 and -0.0 comes first, if all else is equal, is not said.
        assert sorted(bits(own.value)) == sorted(bits(column.value)), name
        assert np.array_equal(own.value, column.value), name


def bits(value: np.ndarray) -> list[int]:
    return np.ascontiguousarray(value).view(np.int64).tolist()  # type: ignore[no-any-return]


def same_points(original: Path, folder: Path) -> GeneratorSamples:
    copy = copied(original, folder / "copy.parquet")
    theirs = samples_of(points_of(original))
    same(samples_of(points_of(copy)), theirs)
    same(samples_of(points_of(copy), KEPT), samples_of(points_of(original), KEPT))
    return theirs


def text_of(run: Run) -> str:
    return "\n".join(run.lines()) + "\n"


def written(folder: Path, text: str | bytes, name: str = "k6.json") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


# --- it says the same -----------------------------------------------------------------------------------

ODD_TAGS = {'odd k"e\\y': 'a}b{c,"d" é <&>', "group": "::a\u2028::b", "null": "\0", "empty": "", "emoji": "🙂"}
SHORT = Run([Scenario(duration_s=2, tags=ODD_TAGS), Scenario("b", duration_s=2, rate=30)], setup_ms=5.0)


PLAIN_TAGS = Run([Scenario(duration_s=2, tags={"team": 'a,"b"é'}), Scenario("b", duration_s=2, rate=30)])


def with_infinity(text: str) -> str:
    lines = text.splitlines()
    at = next(i for i, line in enumerate(lines) if '"http_req_waiting","type":"Point"' in line)
    start = lines[at].index('"value":')
    lines[at] = f"{lines[at][: start + 8]}+Inf{lines[at][lines[at].index(',', start) :]}"
    return "\n".join(lines) + "\n"


def with_damage(text: str) -> str:
    lines = text.splitlines()
    lines[40] = lines[40][:50]
    lines.insert(
        90,
        '{"metric":"only_here","type":"Point","data":{"time":"2026-13-01T00:00:00Z","value":1,"tags":{"n":"x"}}}',
    )
    lines.insert(200, "no JSON at all")
    return "\n".join(lines) + "\n"


TEXTS: dict[str, bytes] = {
    "whole": text_of(SHORT).encode(),
    "torn": text_of(SHORT).encode()[:-70],
    "without its last line feed": text_of(SHORT).encode()[:-1],
    "damaged lines": with_damage(text_of(SHORT)).encode(),
    "a value that is no number": with_infinity(text_of(SHORT)).encode(),
    "gzip": gzip.compress(text_of(SHORT).encode()),
    "gzip, cut off": gzip.compress(text_of(SHORT).encode())[:-900],
    "definitions only": "\n".join(x for x in SHORT.lines() if '"Metric"' in x).encode() + b"\n",
    "CSV, ns": PLAIN_TAGS.csv(1).encode(),
    "CSV, ms": PLAIN_TAGS.csv(1_000_000).encode(),
    "CSV, s": PLAIN_TAGS.csv(SECOND).encode(),
    "CSV, torn": PLAIN_TAGS.csv(1).encode()[:-20],
    "CSV, damaged": PLAIN_TAGS.csv(1).replace("\nhttp_reqs,", "\nhttp_reqs,x", 3).encode(),
    "CSV, a metric of nothing but +Inf": (
        PLAIN_TAGS.csv(1) + f"odd,{1_796_000_003 * SECOND},+Inf" + "," * 16 + "\n"
    ).encode(),
    "milliseconds that are whole seconds": Run(
        [Scenario(duration_s=2, rate=1, think_ms=0, answer=lambda i, s: Answer(0.0))]
    )
    .csv(1_000_000)
    .encode(),
}


@pytest.mark.parametrize("name", TEXTS)
def test_every_kind_of_original(name: str, tmp_path: Path) -> None:
    same_points(written(tmp_path / "run", TEXTS[name], "k6.csv" if "CSV" in name else "k6.json"), tmp_path)


def test_the_report_of_a_damaged_original_is_carried(tmp_path: Path) -> None:
    text = with_infinity(with_damage(text_of(SHORT)))[:-30]
    read = samples_of(points_of(copied(written(tmp_path / "run", text), tmp_path / "copy.parquet"))).read
    assert read == samples_of(points_of(tmp_path / "run")).read
    assert (read.malformed, read.first_malformed_line, read.dropped_values) == (3, 41, 1)
    assert read.torn == "last line incomplete"


SAMPLES = sorted((ROOT / "sample_runs").glob("**/k6.json.gz"))
RECORDED = [
    path
    for path in recorded_files(
        "recordings/stories/*/k6.*.gz", "recordings/versions/**/k6.*", "facts/k6_examples/*.json*"
    ).values()
    if path.stat().st_size < 1_500_000 and sniff(path).kind == "points"
]


@pytest.mark.parametrize("path", [*SAMPLES, *RECORDED], ids=lambda p: f"{p.parent.name}/{p.name}")
def test_recorded_files(path: Path, tmp_path: Path) -> None:
    if spans_lines(streams.decode(streams.head(path))) or read_run([path]).sources[0].note:
        pytest.skip("console text in it")
    same_points(path, tmp_path)


# Enough of each for stamps and tag sets that are shared, and for all that a double can be.
numbers = st.floats(allow_nan=False, allow_infinity=False) | st.sampled_from(
    [0.0, -0.0, 1.0, 5e-324, -5e-324, 2.2250738585072014e-308, 1e308, -1.7976931348623157e308]
)
texts = st.text(st.characters(), max_size=8)
tagsets = st.dictionaries(texts, texts, max_size=4)
points = st.lists(
    st.tuples(
        st.sampled_from(["iterations", "http_req_duration", "mine", "héé", "a b"]),
        st.integers(0, 10**12) | st.sampled_from([0, 1, 10**12]),
        numbers,
        st.integers(0, 5),
    ),
    max_size=40,
)
quick = settings(
    max_examples=150,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@quick
@given(points, st.lists(tagsets, min_size=6, max_size=6), st.integers(1, 9), st.integers(1, 60))
@example([("mine", 0, -0.0, 0), ("mine", 0, 0.0, 0)], [{"\ud800": "\udfff\ud800"}] * 6, 1, 1)
def test_any_samples(
    tmp_path: Path, rows: list[Any], sets: list[dict[str, str]], group_rows: int, tag_bytes: int
) -> None:
    """Row groups of a few rows, and of a few bytes of tags: a metric has many of them."""
    lines = [
        json.dumps({"metric": m, "type": "Point", "data": {"time": stamp(at), "value": v, "tags": sets[i]}})
        for m, at, v, i in rows
    ]
    original = written(tmp_path / "run", "".join(f"{line}\n" for line in lines) or '{"type":"Metric"')
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parquet, "GROUP_ROWS", group_rows)
        patch.setattr(
            parquet,
            "GROUP_TAG_BYTES",
            max(tag_bytes, *(len(tags_text(tuple(t.items())).encode()) for t in sets)),
        )
        found = same_points(original, tmp_path)
    expected = Counter((m, at, struct.pack("d", v), tuple(sorted(sets[i].items()))) for m, at, v, i in rows)
    plain = samples_of(ParquetPoints(tmp_path / "copy.parquet", "x", Verbatim()))
    assert expected == Counter(
        (name, at, struct.pack("d", value), plain.tagsets[tagset])
        for name, column in plain.columns.items()
        for at, value, tagset in zip(
            column.time_ns.tolist(), column.value.tolist(), column.tagset.tolist(), strict=True
        )
    )
    assert found.read.points == len(rows)


@quick
@given(tagsets)
def test_a_tag_set_and_its_text(tags: dict[str, str]) -> None:
    pairs = tuple(sorted(tags.items()))
    text = tags_text(pairs)
    assert json.loads(text) == tags
    text.encode()
    assert tags_of(text) == pairs


def test_a_column_that_a_csv_has_twice(tmp_path: Path) -> None:
    twice = PLAIN_TAGS.csv(1).replace(",scenario,", ",group,", 1)
    same_points(written(tmp_path / "run", twice, "k6.csv"), tmp_path)


def test_more_tag_sets_than_two_bytes_count(tmp_path: Path) -> None:
    lines = [
        f'{{"metric":"{m}","type":"Point","data":{{"time":"{stamp(i * 1000)}","value":1,"tags":{{"n":"{i}"}}}}}}\n'
        for i in range(70_000)
        for m in ("iterations", "mine")
    ]
    same_points(written(tmp_path / "run", "".join(lines)), tmp_path)


# --- parts ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("threads", [2, 3, 7])
def test_any_number_of_threads(threads: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet, "GROUP_ROWS", 50)
    copy = copied(written(tmp_path / "run", with_damage(text_of(SHORT))), tmp_path / "copy.parquet")
    source = points_of(copy)
    same(samples_of(source, threads=threads), samples_of(points_of(tmp_path / "run")))
    position = source.position()
    assert position.points == samples_of(source).read.points
    assert 0 < position.read_bytes <= position.size_bytes == copy.stat().st_size


def test_chunks_go_to_other_processes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet, "GROUP_ROWS", 50)
    monkeypatch.setattr(points_parquet, "CHUNK_ROWS", 500)
    copy = copied(written(tmp_path / "run", with_damage(text_of(SHORT))), tmp_path / "copy.parquet")
    source = points_of(copy)
    chunks = source.chunks()
    assert len(chunks) > 2
    sent = [pickle.dumps(chunk) for chunk in chunks]
    assert max(map(len, sent)) < 2000
    reduced = [pickle.loads(pickle.dumps(reduce_part(pickle.loads(one), None))) for one in sent]
    same(merged(source, reduced), samples_of(points_of(tmp_path / "run")))
    assert source.sha256.hex() == hashlib.sha256(copy.read_bytes()).hexdigest()
    with copy.open("ab") as file:
        file.write(b"x")
    with pytest.raises(AuditError, match="another file"):
        pickle.loads(sent[0])


def test_what_metrics_have_in_common_is_decoded_once_and_values_that_nobody_needs_never(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    decoded: Counter[str] = Counter()
    real = points_parquet._File._decoded

    def counted(self: Any, group: Any, raw: dict[str, bytes]) -> Any:
        decoded.update(list(raw))
        return real(self, group, raw)

    copy = copied(written(tmp_path / "run", text_of(Run())), tmp_path / "copy.parquet")
    monkeypatch.setattr(points_parquet._File, "_decoded", counted)
    found = samples_of(points_of(copy), KEPT)
    # The metrics of requests, those of iterations, and the gauges; each once, not once for every metric.
    assert (len(found.metrics), decoded["time"], decoded["tags"]) == (15, 3, 3)
    assert set(found.columns) == KEPT & set(found.metrics)
    # Of the bytes received only the sum is kept.
    assert decoded["value"] == len(found.columns) + len(SUMMED - KEPT)


def test_a_remote_copy_is_fetched_once(tmp_path: Path) -> None:
    pytest.importorskip("upath")
    from fsspec.implementations.memory import MemoryFileSystem

    from auditor.inputs.locations import resolve

    copy = copied(written(tmp_path / "run", text_of(SHORT)), tmp_path / "copy.parquet")
    memory = MemoryFileSystem()
    memory.pipe_file("/bucket/copies/k6.parquet", copy.read_bytes())
    try:
        (place,) = resolve("memory://bucket/copies")
        source = points_of(place)
        same(samples_of(source), samples_of(points_of(copy)))
        memory.rm("/bucket", recursive=True)
        assert source.sha256.hex() == hashlib.sha256(copy.read_bytes()).hexdigest()
    finally:
        memory.store.clear()


# --- any tool reads it --------------------------------------------------------------------------------------


def test_it_is_a_plain_long_table(tmp_path: Path) -> None:
    copy = copied(written(tmp_path / "run", text_of(SHORT)), tmp_path / "copy.parquet")
    table = pq.read_table(copy)
    assert [(f.name, str(f.type)) for f in table.schema] == [
        ("metric", "dictionary<values=string, indices=int32, ordered=0>"),
        ("time", "timestamp[ns, tz=UTC]"),
        ("value", "double"),
        ("tags", "dictionary<values=string, indices=int32, ordered=0>"),
    ]
    found = [
        (m, t.value, v, tuple(json.loads(g).items()))
        for m, t, v, g in zip(*(table[name].to_pylist() for name in table.schema.names), strict=True)
    ]
    assert [(m, t) for m, t, _, _ in found] == sorted((m, t) for m, t, _, _ in found)
    expected = []
    for line in SHORT.lines():
        item = json.loads(line)
        if item["type"] == "Point":
            data = item["data"]
            at = np.datetime64(data["time"].rstrip("Z"), "ns").astype(np.int64)
            expected.append(
                (item["metric"], int(at), float(data["value"]), tuple(sorted(data["tags"].items())))
            )
    assert sorted(found) == sorted(expected)
    # A reader that wants one metric finds it without reading the others.
    metadata = pq.read_metadata(copy)
    for i in range(metadata.num_row_groups):
        statistics = metadata.row_group(i).column(0).statistics
        assert statistics.min == statistics.max


def test_duckdb_reads_it(tmp_path: Path) -> None:
    duckdb = pytest.importorskip("duckdb")
    copy = copied(written(tmp_path / "run", text_of(SHORT)), tmp_path / "copy.parquet")
    query = "SELECT metric, count(*), sum(value) FROM read_parquet(?) WHERE tags->>'scenario' = 'b' GROUP BY 1"
    found = {m: (n, total) for m, n, total in duckdb.execute(query, [str(copy)]).fetchall()}
    assert found["iterations"] == (60, 60.0)


# --- lint says the same -------------------------------------------------------------------------------------

COPY = "copy-of-points.parquet"


def linted(folder: Path, judge: Judge, warmup: str | None) -> Any:
    """The whole result, without what differs by nature."""
    text = json.dumps(document(judge(folder, warmup=warmup)))
    for name in (COPY, "k6.json.gz", "k6.csv.gz", "k6.csv"):
        text = text.replace(name, "k6.json")
    doc = json.loads(text)
    for source in doc["sources"]:
        if source["path"].endswith("k6.json"):
            assert (source["format"] == "columnar copy of k6 points") == ("made of " in source["note"])
            source["sha256"] = source["size_bytes"] = source["format"] = source["note"] = None
    # In the order of the files' names, which the copy's is not.
    doc["sources"] = sorted(doc["sources"], key=lambda s: s["path"])
    del doc["target"]
    return doc


def in_place_of(original: Path, folder: Path) -> Path:
    """The same folder with a copy of its points, and of those of its sub-folders, in their place."""
    shutil.copytree(original, folder)
    for path in [p for p in folder.rglob("*") if p.is_file() and sniff(p).kind == "points"]:
        copied(path, path.with_name(COPY))
        path.unlink()
    return folder


def same_lint(original: Path, tmp_path: Path, judge: Judge, warmup: str | None = "1s") -> Any:
    mine, theirs = (
        linted(in_place_of(original, tmp_path / "copied"), judge, warmup),
        linted(original, judge, warmup),
    )
    assert mine == theirs
    return theirs


SECRETS = Scenario(
    request_name=lambda i: f"https://ada:hunter{i % 3}@x.example/a?api_key=abcdef{i % 5}",
    tags={"token": "t0psecret"},
)
SHORTLY = {"duration_s": 6.0, "rate": 50}
RUNS: dict[str, tuple[Run, str]] = {
    "healthy": (Run(), "VALID"),
    "a quarter not started": (
        Run([Scenario(starts_s=[s for i, s in enumerate(Scenario().slots_s()) if i % 4])]),
        "INVALID",
    ),
    "failing": (
        Run(
            [
                Scenario(
                    answer=lambda i, s: (
                        Answer(20.0, "500", failed=True, error_code="1500") if i % 5 == 0 else Answer(20.0)
                    )
                )
            ]
        ),
        "INVALID",
    ),
    "dropped": (Run([Scenario(drops_s=spread(40, 10, 20))]), "INVALID"),
    "interrupted, with setup": (Run([Scenario(interrupted_s=[29.5, 29.6])], setup_ms=30.0), "VALID"),
    "two scenarios": (
        Run([Scenario(), Scenario("b", start_time_s=5, duration_s=20)], tags={"testid": "7"}),
        "VALID",
    ),
    "thresholds on a metric of its own": (
        Run(thresholds={"http_req_waiting": ["p(95)<10"], "http_req_duration{scenario:api}": ["p(99)<10"]}),
        "INVALID",
    ),
    "CSV": (Run(csv_unit_ns=1), "VALID"),
    "CSV, coarse": (Run(csv_unit_ns=SECOND), "NOT PROVEN"),
    "secrets": (Run([SECRETS]), "VALID"),
    "cut off": (Run(end_s=20.0), "INVALID"),
}


@pytest.mark.parametrize("name", RUNS)
def test_lint_says_the_same_of_built_runs(name: str, tmp_path: Path, judge: Judge) -> None:
    run, verdict = RUNS[name]
    found = same_lint(run.write(tmp_path / "original"), tmp_path, judge)
    assert found["verdict"] == verdict


@pytest.mark.parametrize(
    "name", ["torn", "damaged lines", "a value that is no number", "gzip, cut off", "definitions only"]
)
def test_lint_says_the_same_of_damaged_originals(name: str, tmp_path: Path, judge: Judge) -> None:
    folder = SHORT.write(tmp_path / "original")
    (folder / "k6.json").write_bytes(TEXTS[name])
    assert same_lint(folder, tmp_path, judge, "0s")["verdict"] != "VALID"


def test_lint_says_the_same_of_two_generators(tmp_path: Path, judge: Judge) -> None:
    for i in (1, 2):
        Run(tags={"instance": str(i)}).write(tmp_path / "original" / f"gen-{i}")
    same_lint(tmp_path / "original", tmp_path, judge)


def test_two_copies_of_one_original_are_the_same_data(tmp_path: Path, judge: Judge) -> None:
    for i in (1, 2):
        Run().write(tmp_path / "original" / f"gen-{i}")
    found = same_lint(tmp_path / "original", tmp_path, judge)
    assert "DM06" in {finding["rule"] for finding in found["findings"]}


@pytest.mark.parametrize(
    "story", sorted(p.parent for p in (ROOT / "sample_runs").glob("*/expected.json")), ids=lambda p: p.name
)
def test_lint_says_the_same_of_the_sample_runs(story: Path, tmp_path: Path, judge: Judge) -> None:
    expected = json.loads((story / "expected.json").read_text())
    found = same_lint(story, tmp_path, judge, expected["warmup"])
    assert found["verdict"] == expected["verdict"]


# --- what it is recognised as ---------------------------------------------------------------------------------


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    return copied(written(tmp_path / "run", text_of(SHORT)), tmp_path / "copy.parquet")


def refusal(path: Path) -> str:
    """Why the run with this copy is refused: when it is opened, or while it is read."""
    with pytest.raises(AuditError) as told:
        samples_of(points_of(path))
    assert "\n" not in str(told.value)
    return str(told.value)


def test_a_parquet_file_of_others_is_set_aside(tmp_path: Path) -> None:
    path = tmp_path / "other.parquet"
    pq.write_table(pa.table({"a": [1]}), path)
    assert (sniff(path).kind, sniff(path).reason) == ("other", "a Parquet file that k6-audit did not write")


def test_a_compressed_copy_is_set_aside(copy: Path) -> None:
    path = copy.with_name("k6.parquet.gz")
    path.write_bytes(gzip.compress(copy.read_bytes()))
    assert sniff(path).reason == "a compressed Parquet file: unpack it"


@pytest.mark.parametrize("left", [4, 11, 12, 100, 0.5, -9, -8, -4, -1])
def test_a_copy_that_is_cut_off_is_refused_and_not_passed_over(copy: Path, left: float) -> None:
    """Set aside, it would be a generator's points that nobody misses."""
    data = copy.read_bytes()
    copy.write_bytes(data[: int(left * len(data)) if left == 0.5 else int(left)])
    assert "a damaged columnar copy (its" in refusal(copy)


def test_an_altered_copy_is_refused_or_says_the_same(copy: Path, tmp_path: Path) -> None:
    """One byte, anywhere."""
    theirs = samples_of(points_of(tmp_path / "run"))
    data = copy.read_bytes()
    dice = random.Random(5)
    footer = int.from_bytes(data[-8:-4], "little")
    places = [
        *dice.sample(range(4, len(data) - footer - 8), 250),
        *dice.sample(range(len(data) - footer - 8, len(data)), 250),
    ]
    refused = 0
    for at in places:
        altered = bytearray(data)
        altered[at] ^= 1 << dice.randrange(8)
        copy.write_bytes(altered)
        if sniff(copy).kind == "other":
            assert ABOUT_KEY not in altered  # what says that it is ours
            continue
        try:
            found = samples_of(points_of(copy))
        except AuditError:
            refused += 1
        else:
            same(found, theirs)
    assert refused > 250


def test_beside_its_original_it_is_not_needed(copy: Path, judge: Judge) -> None:
    folder = SHORT.write(copy.parent / "beside")
    shutil.copy(copy, folder / "a.parquet")
    shutil.copy(copy, folder / "b.parquet")
    found = judge(folder).evidence
    assert {i.path: i.reason for i in found.ignored} == {
        "a.parquet": "a columnar copy of k6.json",
        "b.parquet": "the same points as a.parquet",
    }
    assert "k6.json" in {s.path for s in found.sources}


@pytest.mark.parametrize(
    "other", [with_damage(text_of(SHORT)), text_of(SHORT).replace("GET", "PUT"), PLAIN_TAGS.csv(1)]
)
def test_beside_another_points_file_it_is_refused(copy: Path, other: str) -> None:
    path = written(copy.parent / "beside", other, "k6.csv" if other.startswith("metric_name") else "k6.json")
    shutil.copy(copy, path.parent)
    with pytest.raises(
        AuditError, match=r"two points files neither of which was made from the other: .* and copy.parquet"
    ):
        read_run([path.parent])


# --- hostile copies -------------------------------------------------------------------------------------------


def about_of(path: Path) -> dict[str, Any]:
    said: dict[str, Any] = json.loads(pq.read_metadata(path).metadata[ABOUT_KEY])
    return said


Rows = list[tuple[str, Any, Any, str]]
ROWS: Rows = [
    ("iterations", 1, 1.0, '{"a":"b"}'),
    ("iterations", 2, 1.0, "{}"),
    ("mine", 2, 3.5, '{"a":"b"}'),
]
TEXT = pa.dictionary(pa.int32(), pa.string())
SCHEMA = pa.schema(
    [
        pa.field("metric", TEXT, nullable=False),
        pa.field("time", pa.timestamp("ns", tz="UTC"), nullable=False),
        pa.field("value", pa.float64(), nullable=False),
        pa.field("tags", TEXT, nullable=False),
    ]
)


def crafted(
    path: Path,
    groups: list[Rows],
    *,
    schema: pa.Schema = SCHEMA,
    about: Callable[[dict[str, Any]], object] = lambda said: None,
    said: bytes | None = None,
    digest: str | None = None,
    **how: Any,
) -> Path:
    """A copy made by hand: ``about`` changes what it says of its original."""
    n = sum(len(rows) for rows in groups)
    document: dict[str, Any] = {
        "format": 1,
        "tool": "by hand",
        "original": {"name": "k6.json", "format": "k6 JSON points", "size_bytes": 1, "sha256": "0" * 64},
        "read": {
            "lines": n,
            "points": n,
            "malformed": 0,
            "first_malformed_line": None,
            "dropped_values": 0,
            "torn": "",
            "stamp_unit_ns": 1,
        },
        "definitions": [],
        "without_samples": {"metrics": [], "tags": []},
    }
    about(document)
    raw = json.dumps(document).encode() if said is None else said
    options = {
        "compression": "zstd",
        "use_dictionary": ["metric", "tags"],
        "column_encoding": {"time": "DELTA_BINARY_PACKED", "value": "PLAIN"},
        "write_page_checksum": True,
        **how,
    }
    with pq.ParquetWriter(path, schema, **options) as writer:
        for rows in groups:
            columns = [
                pa.array([row[i] for row in rows]).cast(field.type)
                if not pa.types.is_dictionary(field.type)
                else pa.array([row[i] for row in rows]).dictionary_encode()
                for i, field in enumerate(schema)
            ]
            writer.write_table(pa.Table.from_arrays(columns, schema=schema))
        writer.add_key_value_metadata({ABOUT_KEY: raw, DIGEST_KEY: digest or hashlib.sha256(raw).hexdigest()})
    return path


GROUPS = [ROWS[:2], ROWS[2:]]


def test_a_copy_made_by_hand_is_read(tmp_path: Path) -> None:
    found = samples_of(points_of(crafted(tmp_path / "x.parquet", GROUPS)))
    assert found.count_of == {"iterations": 2, "mine": 1}


def retyped(name: str, kind: pa.DataType, *, nullable: bool = False) -> pa.Schema:
    return SCHEMA.set(SCHEMA.get_field_index(name), pa.field(name, kind, nullable=nullable))


ENCODED = {"time": "DELTA_BINARY_PACKED", "value": "PLAIN"}
HOSTILE: dict[str, tuple[list[Rows], dict[str, Any], str]] = {
    "a value that is NaN": ([[("m", 1, float("nan"), "{}")]], {}, "not a finite number"),
    "a value that is infinite": ([[("m", 1, float("-inf"), "{}")]], {}, "not a finite number"),
    "metrics not in order": ([ROWS[2:], ROWS[:2]], {}, "order of their metrics"),
    "metrics mixed": ([ROWS], {}, "several metrics"),
    "time not in order": ([[ROWS[1], ROWS[0]]], {}, "out of time order"),
    "tags that are a list": ([[("m", 1, 1.0, "[]")]], {}, "not an object of strings"),
    "tags that are no JSON": ([[("m", 1, 1.0, "{a}")]], {}, "property name"),
    "tags that are a number": ([[("m", 1, 1.0, '{"a":1}')]], {}, "not an object of strings"),
    "tags within tags": ([[("m", 1, 1.0, '{"a":{"b":"c"}}')]], {}, "not an object of strings"),
    "tags without an end": ([[("m", 1, 1.0, '{"a":' + "[" * 100_000)]], {}, "RecursionError"),
    "values in another type": (GROUPS, {"schema": retyped("value", pa.float32())}, "column value is of another type"),
    "milliseconds": (GROUPS, {"schema": retyped("time", pa.timestamp("ms", tz="UTC"))}, "column time is of another type"),
    "local time": (GROUPS, {"schema": retyped("time", pa.timestamp("ns"))}, "column time is of another type"),
    "values that may be missing": (GROUPS, {"schema": retyped("value", pa.float64(), nullable=True)}, "without a value"),
    "a value that is missing": ([[("m", 1, None, "{}")]], {"schema": retyped("value", pa.float64(), nullable=True)}, "without a value"),
    "bytes that are no text": (GROUPS, {"schema": retyped("tags", pa.dictionary(pa.int32(), pa.binary()))}, "column tags is of another type"),
    "other columns": (GROUPS, {"schema": SCHEMA.set(3, SCHEMA.field(3).with_name("labels"))}, "other columns"),
    "values in another encoding": (
        GROUPS,
        {"column_encoding": {"time": "DELTA_BINARY_PACKED", "value": "BYTE_STREAM_SPLIT"}},
        "another encoding",
    ),
    "tags without a dictionary": (GROUPS, {"use_dictionary": ["metric"]}, "another encoding"),
    "no checksums": (GROUPS, {"write_page_checksum": False}, "without a checksum"),
    "pages of version 2": (GROUPS, {"data_page_version": "2.0"}, "another encoding"),
    "another compression": (GROUPS, {"compression": "gzip"}, "not as k6-audit writes it"),
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_columns(name: str, tmp_path: Path) -> None:
    groups, how, why = HOSTILE[name]
    told = refusal(crafted(tmp_path / "x.parquet", groups, **how))
    assert told.startswith("x.parquet: a damaged columnar copy (")
    assert why in told


def put(*path: str, to: Any) -> Callable[[dict[str, Any]], object]:
    def change(said: dict[str, Any]) -> None:
        for name in path[:-1]:
            said = said[name]
        said[path[-1]] = to

    return change


SAYINGS: dict[str, tuple[Callable[[dict[str, Any]], object], str]] = {
    "more samples than there are": (lambda s: s["read"].update(points=4, lines=4), "3 samples, but its metadata says 4"),
    "fewer samples than there are": (put("read", "points", to=2), "3 samples, but its metadata says 2"),
    "fewer lines than samples": (put("read", "lines", to=2), "contradict"),
    "samples below zero": (put("read", "points", to=-3), "-3 is not a count"),
    "samples that are no number": (put("read", "points", to="3"), "is not a count"),
    "samples that are a truth": (put("read", "dropped_values", to=True), "True is not a count"),
    "lines beyond counting": (put("read", "lines", to=2**63), "is not a count"),
    "damage without a place": (lambda s: s["read"].update(malformed=1, lines=4), "first malformed line"),
    "a place without damage": (put("read", "first_malformed_line", to=1), "first malformed line"),
    "damage beyond the end": (lambda s: s["read"].update(malformed=1, lines=4, first_malformed_line=5), "first malformed line"),
    "a unit of stamps that is none": (put("read", "stamp_unit_ns", to=7), "contradict"),
    "torn by a number": (put("read", "torn", to=5), "5 is not text"),
    "no report": (lambda s: s.pop("read"), "KeyError"),
    "no definitions": (put("definitions", to=None), "not iterable"),
    "a definition that is none": (put("definitions", to=[1]), "not subscriptable"),
    "a threshold that is none": (
        put("definitions", to=[{"name": "m", "type": "trend", "contains": "time", "thresholds": [1], "submetrics": []}]),
        "1 is not text",
    ),
    "an original of less than nothing": (put("original", "size_bytes", to=-1), "-1 is not a count"),
    "tag sets that are none": (put("without_samples", "tags", to=['{"a":1}']), "not an object of strings"),
    "no version": (lambda s: s.pop("format"), "KeyError"),
}  # fmt: skip


@pytest.mark.parametrize("name", SAYINGS)
def test_hostile_sayings(name: str, tmp_path: Path) -> None:
    change, why = SAYINGS[name]
    told = refusal(crafted(tmp_path / "x.parquet", GROUPS, about=change))
    assert told.startswith("x.parquet: a damaged columnar copy (")
    assert why in told


@pytest.mark.parametrize(
    "said", [b"", b"{", b"[]", b"1", b"\xff", b"[" * 100_000], ids=["nothing", "{", "[]", "1", "bytes", "deep"]
)
def test_sayings_that_are_no_document(said: bytes, tmp_path: Path) -> None:
    assert "a damaged columnar copy" in refusal(crafted(tmp_path / "x.parquet", GROUPS, said=said))


def test_a_saying_that_was_altered(tmp_path: Path) -> None:
    assert "another digest" in refusal(crafted(tmp_path / "x.parquet", GROUPS, digest="0" * 64))


def test_a_version_that_is_not_known(tmp_path: Path) -> None:
    told = refusal(crafted(tmp_path / "x.parquet", GROUPS, about=put("format", to=2)))
    assert "x.parquet: a columnar copy in version 2 of the format" in told
    assert "use a later k6-audit" in told


def test_coarse_stamps_cannot_be_said_away(tmp_path: Path) -> None:
    """The resolution is that of the stamps themselves, whatever the copy says of its original's unit."""
    rows: Rows = [("iterations", i * SECOND, 1.0, "{}") for i in range(9)]
    assert samples_of(points_of(crafted(tmp_path / "x.parquet", [rows]))).coarse_ns == SECOND


# --- bombs ------------------------------------------------------------------------------------------------------


def allocated(read: Callable[[], object]) -> int:
    """Bytes that pyarrow had at most at once."""
    pool = pa.system_memory_pool()
    before = pa.default_memory_pool()
    pa.set_memory_pool(pool)
    try:
        start = pool.max_memory()
        read()
        return int(pool.max_memory() - start)
    finally:
        pa.set_memory_pool(before)


def test_a_row_group_of_too_many_rows(tmp_path: Path) -> None:
    n = parquet_layout.MAX_GROUP_ROWS + 1
    path = tmp_path / "x.parquet"
    columns = [
        pa.DictionaryArray.from_arrays(pa.array(np.zeros(n, np.int32)), pa.array(["iterations"])),
        pa.array(np.zeros(n, np.int64)).cast(SCHEMA.field("time").type),
        pa.array(np.zeros(n)),
        pa.DictionaryArray.from_arrays(pa.array(np.zeros(n, np.int32)), pa.array(["{}"])),
    ]
    crafted(path, [])
    said = about_of(path)
    said["read"].update(points=n, lines=n)
    raw = json.dumps(said).encode()
    how: dict[str, Any] = {
        "compression": "zstd",
        "use_dictionary": ["metric", "tags"],
        "column_encoding": ENCODED,
        "write_page_checksum": True,
    }
    with pq.ParquetWriter(path, SCHEMA, **how) as writer:
        writer.write_table(pa.Table.from_arrays(columns, schema=SCHEMA), row_group_size=n)
        writer.add_key_value_metadata({ABOUT_KEY: raw, DIGEST_KEY: hashlib.sha256(raw).hexdigest()})
    assert path.stat().st_size < 20_000
    assert f"a row group of {n:,} rows" in refusal(path)


def test_more_rows_than_a_file_of_that_size_can_have(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows: Rows = [("iterations", 1, 1.0, "{}")] * 50_000
    path = crafted(tmp_path / "x.parquet", [rows])
    samples_of(points_of(path))
    monkeypatch.setattr(parquet_layout, "ROWS_ALWAYS_ACCEPTED", 1000)
    assert "50,000 samples in" in refusal(path)


def test_a_dictionary_that_fills_a_memory(tmp_path: Path) -> None:
    """70 MB of one byte, which take a few thousand in the file."""
    rows: Rows = [("iterations", 1, 1.0, '{"a":"' + "x" * (70 << 20) + '"}')]
    path = crafted(tmp_path / "x.parquet", [rows], dictionary_pagesize_limit=100 << 20)
    assert path.stat().st_size < 100_000
    told: list[str] = []
    assert allocated(lambda: told.append(refusal(path))) < 10 << 20
    assert "a dictionary of 1 entries, 73,400," in told[0]


def test_tag_sets_that_are_far_larger_than_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows: Rows = [("iterations", i, 1.0, json.dumps({"a": "x" * i})) for i in range(3000)]
    path = crafted(tmp_path / "x.parquet", [rows])
    samples_of(points_of(path))
    monkeypatch.setattr(streams, "EXPANSION_FREE_BYTES", 1 << 20)
    monkeypatch.setattr(streams, "MAX_EXPANSION", 10)
    assert "far larger than the file" in refusal(path)


# Page headers by hand: Thrift's compact protocol, fields in order, all of them i32 or structs.


def varint(number: int) -> bytes:
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes([*out, number])


def i32(number: int) -> bytes:
    return b"\x15" + varint((number << 1) ^ (number >> 63) if number >= 0 else ((-number) << 1) - 1)


def data_page(
    rows: int, encoding: int, *, expanded: int = 8, size: int = 8, crc: bool = True, body: bytes = b"x" * 8
) -> bytes:
    header = i32(0) + i32(expanded) + i32(size) + (i32(1) + b"\x1c" if crc else b"\x2c")
    return header + i32(rows) + i32(encoding) + i32(3) + i32(3) + b"\0" + b"\0" + body


def dictionary_page(entries: int, *, expanded: int = 8) -> bytes:
    header = i32(2) + i32(expanded) + i32(8) + i32(1) + b"\x3c"
    return header + i32(entries) + i32(0) + b"\0" + b"\0" + b"x" * 8


def test_pages_as_they_should_be() -> None:
    check_pages(data_page(5, 0) + data_page(3, 0), 8, VALUE)
    check_pages(dictionary_page(2) + data_page(5, 8), 5, TAGS)


PAGES: dict[str, tuple[bytes, int, str]] = {
    "too few rows": (data_page(5, 0), 6, VALUE),
    "too many rows": (data_page(5, 0) * 2, 9, VALUE),
    "rows below zero": (data_page(9, 0) + data_page(-1, 0), 8, VALUE),
    "no rows at all": (data_page(0, 0) + data_page(8, 0), 8, VALUE),
    "a body that is cut off": (data_page(8, 0)[:-1], 8, VALUE),
    "a body of less than nothing": (data_page(8, 0, size=-8), 8, VALUE),
    "2 GB for eight rows": (data_page(8, 0, expanded=2**31 - 1), 8, VALUE),
    "less than nothing, expanded": (data_page(8, 0, expanded=-1), 8, VALUE),
    "another encoding": (data_page(8, 0), 8, TIME),
    "no checksum": (data_page(8, 0, crc=False), 8, VALUE),
    "a dictionary where none is": (dictionary_page(1) + data_page(8, 0), 8, VALUE),
    "two dictionaries": (dictionary_page(1) * 2 + data_page(8, 8), 8, TAGS),
    "a dictionary of more entries than rows": (dictionary_page(9) + data_page(8, 8), 8, TAGS),
    "a dictionary of less than nothing": (dictionary_page(-1) + data_page(8, 8), 8, TAGS),
    "a dictionary that is a bomb": (
        dictionary_page(1, expanded=parquet_layout.MAX_DICTIONARY_BYTES + 1) + data_page(8, 8),
        8,
        TAGS,
    ),
    "an unknown kind": (i32(7) + i32(8) + i32(8) + i32(1) + b"\0" + b"x" * 8, 8, VALUE),
    "nothing": (b"", 8, VALUE),
    "a number without an end": (b"\x15" + b"\xff" * 100, 8, VALUE),
    "a field that is none": (b"\x05\0\0", 8, VALUE),
    "structs without an end": (b"\x1c" * 1000, 8, VALUE),
    "a list": (b"\x19\xf5", 8, VALUE),
    "text beyond the end": (b"\x18\xff\xff\xff\xff\x0f", 8, VALUE),
}  # fmt: skip


@pytest.mark.parametrize("name", PAGES)
def test_hostile_pages(name: str) -> None:
    data, rows, column = PAGES[name]
    with pytest.raises(Damaged):
        check_pages(data, rows, column)


@quick
@given(st.binary(max_size=60), st.integers(0, 60))
def test_any_bytes_for_pages(data: bytes, at: int) -> None:
    whole = dictionary_page(2) + data_page(5, 8)
    for one in (data, whole[:at] + data, whole[:at] + data + whole[at:]):
        try:
            check_pages(one, 5, TAGS)
        except Damaged:
            continue
