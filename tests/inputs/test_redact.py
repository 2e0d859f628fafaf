"""Secrets planted anywhere in a run reach no output; what is no secret is left alone."""

from __future__ import annotations

import base64
import io
import json
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rich.console import Console as Terminal

from auditor.engine.audit import Audit, audit
from auditor.engine.loader import load_rules
from auditor.engine.policy import load_policy
from auditor.facts.cardinality import Cardinality
from auditor.ingest.bundle import read_run
from auditor.ingest.k6.points_json import JsonPoints
from auditor.inputs.redact import Redactor
from auditor.present.json_v1 import as_json
from auditor.present.terminal import render
from tests.builder import Run, Scenario
from tests.ingest.test_archive import archived

RULES = load_rules()

ORDINARY = [
    "",
    "GET /products/:id",
    "GET /products/{id}?page=2&sort=price",
    "http://127.0.0.1:8080/baskets/123",
    "https://shop.example/users/@me?mail=a@b.example",
    "123e4567-e89b-12d3-a456-426614174000",
    "deadbeefcafebabe0123456789abcdef01234567",
    "Basic authentication",
    "Basic checkout flow",
    "Bearer authentication",
    "bearer tokens",
    "GET /tokens/:id/keys",
    "GET /x?token=:token&key={key}&secret=${secret}",
    "GET /search?keyword=shoes&monkey=banana&max_tokens=100&design=new&hotkey=f1",
    "invalid token: unexpected EOF",
    "http_req_duration{expected_response:true}",
    "http_req_duration{name:GET /a,status:200}",
    "p(95)<500",
    "dial tcp 127.0.0.1:8080: connect: connection refused",
    'Get "http://127.0.0.1:1/": EOF',
    "2026-11-29T22:00:01.000Z",
    "user@example.com",
    "asia-east1",
    "eyJ",
]


@pytest.mark.parametrize("text", ORDINARY)
def test_ordinary_text_is_left_alone(text: str) -> None:
    assert Redactor().text(text) == text
    assert Redactor().tags((("name", text), ("url", text))) == (("name", text), ("url", text))
    assert Redactor().tags((("key", "cart"), ("keyword", "x"))) == (("key", "cart"), ("keyword", "x"))


# Kind -> (how the secret stands in a text); `{}` is the secret.
SHAPES = {
    "user and password": "https://shop:{}@host.example/a?b=1",
    "user alone": "https://{}@host.example/",
    "bearer": "Authorization: Bearer {}",
    "bearer alone": "bearer {}",
    "authorization": "authorization={}",
    "a header as Go prints it": "map[Authorization:[{}] Accept:[text/html]]",
    "token": "GET /a?token={}&page=1",
    "access_token": "/cb#access_token={}",
    "apiKey": "/a?x=1&apiKey={}",
    "key": "/a?key={}",
    "client secret": "/a?client_secret={}",
    "password": "/a?password={}&b=2",
    "signature": "https://s3.example/o?X-Amz-Signature={}&X-Amz-Date=1",
    "sig": "https://blob.example/o?sv=1&sig={}",
    "inside another address": "/go?to=https%3A%2F%2Fa%2F%3Ftoken%3D{}",
    "JSON": '{{"user":"a","password":"{}"}}',
    "JSON with spaces": '"api_token": "{}"',
    "in quotes": 'level=info password="{} and more"',
    "JSON in a string": '{{\\"password\\":\\"{}\\"}}',
}
alphabet = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
secrets = st.text(alphabet, min_size=12, max_size=40).map(lambda t: f"Zq9{t}")


def b64(text: str) -> str:
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


HEADER = '{"alg":"none","typ":"JWT"}'
SHAPED: dict[str, Callable[[str], tuple[str, str]]] = {
    "JWT": lambda s: (f"session {b64(HEADER + s)}.{b64(s)}.{s}", s),
    "JWT cut off": lambda s: (b64(HEADER + s), b64(s)[4:12]),
    "basic": lambda s: (
        f"Basic {base64.b64encode(f'shop:{s}'.encode()).decode()}",
        base64.b64encode(f"shop:{s}".encode()).decode()[8:],
    ),
    "AWS": lambda s: (f"id AKIA{s.upper():A<16.16} end", f"{s.upper():A<16.16}"),
    "GitHub": lambda s: (f"ghp_{s:a<36}", f"{s:a<36}"),
}


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES.keys())
@settings(deadline=None)
@given(secret=secrets)
def test_named_secrets_are_masked(shape: str, secret: str) -> None:
    redactor = Redactor()
    masked = redactor.text(shape.format(secret))
    assert secret not in masked
    assert "[redacted-1]" in masked
    assert redactor.text(masked) == masked, "masking again changes nothing"


@pytest.mark.parametrize("make", SHAPED.values(), ids=SHAPED.keys())
@settings(deadline=None)
@given(secret=secrets)
def test_secrets_of_a_known_form_are_masked(make: Callable[[str], tuple[str, str]], secret: str) -> None:
    text, hidden = make(secret)
    redactor = Redactor()
    masked = redactor.text(text)
    assert hidden not in masked
    assert redactor.text(masked) == masked


@settings(deadline=None)
@given(st.text())
def test_any_text_is_masked_once(text: str) -> None:
    redactor = Redactor()
    masked = redactor.text(text)
    assert redactor.text(masked) == masked


def test_hostile_text_ends_soon() -> None:
    import time

    began = time.monotonic()
    for piece in ("token", "://", "a=", "eyJ", "authorization:", "bearer ", "_key.", "%5D", "eyJa.", "x@"):
        Redactor().text(piece * 20_000)
        Redactor().text((piece * 50 + "\n") * 2_000)
    assert time.monotonic() - began < 20


def test_one_secret_has_one_mask() -> None:
    redactor = Redactor()
    tags = redactor.tags((("token", "abc123"), ("url", "/a?token=abc123")))
    assert tags == (("token", "[redacted-1]"), ("url", "/a?token=[redacted-1]"))
    # so that a threshold still finds its tag
    assert redactor.text("http_reqs{token:abc123,status:200}") == "http_reqs{token:[redacted-1],status:200}"
    assert redactor.text("/b?token=other99") == "/b?token=[redacted-2]"


def point(token: str) -> str:
    tags = {"name": f"GET /a?token={token}", "url": f"/a?token={token}", "scenario": "api"}
    data = {"time": "2026-11-29T21:51:50Z", "value": 1, "tags": tags}
    return json.dumps({"metric": "http_reqs", "type": "Point", "data": data}, separators=(",", ":"))


def test_series_that_differ_in_a_secret_stay_two(tmp_path: Path) -> None:
    path = tmp_path / "k6.json"
    path.write_text("".join(point(token) + "\n" for token in ("one1", "two2", "one1")))
    source = JsonPoints(path, "k6.json")
    (part,) = source.parts(1)
    (batch,) = part.batches()
    assert batch.tagset.tolist() == [0, 1, 0]
    shown = source.masked(part.tables)
    first, second = shown.tagsets
    assert first != second
    assert "one1" not in repr(shown)


def tokens(index: int) -> str:
    return f"GET /a?token=Zq9secret{index % 7}"


def test_counts_of_names_are_not_merged(tmp_path: Path) -> None:
    folder = Run([Scenario(request_name=tokens)]).write(tmp_path / "run")
    result = judged(folder)
    series = result.facts.get(Cardinality).by_generator[""]
    assert series.names == 7
    assert series.names_with_id == 7


def judged(folder: Path) -> Audit:
    return audit(read_run([folder]), load_policy(None, {"warmup": ("5s", "--warmup")}, RULES), RULES)


def shown(result: Audit) -> str:
    """Everything that the audit shows, in JSON and on a terminal that wraps nothing."""
    out = io.StringIO()
    render(result, Terminal(file=out, width=10_000))
    return as_json(result) + out.getvalue()


def plant(folder: Path, text: str) -> None:
    """The text in everything that a run consists of, and in places that findings quote."""
    quoted = json.dumps(text)
    lines = (folder / "k6.json").read_text().splitlines()
    lines = [line.replace('"GET /item"', quoted) for line in lines]
    extra = json.dumps(
        {
            "metric": text,
            "type": "Point",
            "data": {"time": "2026-11-29T21:51:50Z", "value": 1, "tags": {"scenario": text, text: text}},
        }
    )
    failing = {
        "name": text,
        "error": text,
        "error_code": "1212",
        "status": "0",
        "scenario": "api",
        "testid": text,
    }
    failed = json.dumps(
        {
            "metric": "http_req_failed",
            "type": "Point",
            "data": {"time": "2026-11-29T21:51:51Z", "value": 1, "tags": failing},
        }
    )
    iterations = json.dumps(
        {
            "metric": "data_sent",
            "type": "Point",
            "data": {"time": "2026-11-29T21:51:50Z", "value": 1, "tags": {"scenario": text}},
        }
    )
    (folder / "k6.json").write_text("\n".join([*lines, extra, failed, *[iterations] * 3]) + "\n")
    console = (folder / "console.txt").read_text()
    (folder / "console.txt").write_text(
        console.replace("* api:", f"* {text}: 10 somethings\n              * api:").replace(
            "1 scenario,", "2 scenarios,"
        )
    )
    logged = text.replace("\\", "\\\\").replace('"', '\\"')
    (folder / "log.txt").write_text(
        f'time="2026-11-29T21:51:50Z" level=error msg="test aborted: {logged} at f"\n'
        f'time="2026-11-29T21:51:50Z" level=warning msg="{logged} overrides scenarios configuration"\n'
        f'time="2026-11-29T21:51:50Z" level=warning msg="Insufficient VUs, reached 9 active VUs" scenario="{logged}"\n'
    )
    options = json.loads((folder / "inspect.json").read_text())
    options["scenarios"][text] = {"executor": text}
    options["thresholds"] = {f"http_reqs{{url:{text}}}": [text], "checks": [text]}
    (folder / "inspect.json").write_text(json.dumps(options))
    archived(
        folder / "a.tar",
        {"scenarios": {text: {"executor": "constant-vus", "duration": "1s"}}},
        env={"E": text, text: "x"},
    )
    (folder / "script.js").write_text(
        f"export const options = {{ scenarios: {{ [{quoted}]: {{ rate: f() }} }} }};"
    )
    (folder / "bad.csv").write_text(f"timestamp,cpu_busy_percent\n{quoted},5\n")
    host = (folder / "host.csv").read_text()
    (folder / "host.csv").write_text(host + f"{quoted},5,5,5\n")


@pytest.fixture(scope="module")
def healthy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Run([Scenario(duration_s=10)]).write(tmp_path_factory.mktemp("redact") / "run")


CASES = [(name, lambda s, shape=shape: (shape.format(s), s)) for name, shape in SHAPES.items()] + list(
    SHAPED.items()
)


@pytest.mark.parametrize("make", [make for _, make in CASES], ids=[name for name, _ in CASES])
@settings(max_examples=1, deadline=None, suppress_health_check=list(HealthCheck))
@given(secret=secrets)
def test_planted_secrets_are_never_shown(
    healthy: Path, make: Callable[[str], tuple[str, str]], secret: str
) -> None:
    text, hidden = make(secret)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "run"
        shutil.copytree(healthy, folder)
        plant(folder, text)
        result = judged(folder)
        everything = shown(result)
    assert hidden not in everything
    assert "[redacted-" in everything
    assert not [r for r in result.results if r.outcome == "error"]


def test_planted_text_would_be_shown(healthy: Path, tmp_path: Path) -> None:
    """The test above proves something: an ordinary text in the same places is shown."""
    folder = tmp_path / "run"
    shutil.copytree(healthy, folder)
    plant(folder, "GET /plain/text")
    everything = shown(judged(folder))
    assert everything.count("GET /plain/text") >= 5


def test_a_masked_scenario_is_still_the_planned_one(tmp_path: Path) -> None:
    """Banner, options and samples mask one name alike, so that it stays one scenario."""
    name = "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9"
    result = judged(Run([Scenario(name=name)]).write(tmp_path / "run"))
    assert result.verdict == "VALID"
    assert name not in shown(result)
