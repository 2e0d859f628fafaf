"""Scripts, read and never run: every literal form, and everything that is none."""

from __future__ import annotations

import json
import time
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from auditor.evidence import Options
from auditor.ingest.k6.options import read_options
from auditor.ingest.k6.script import MAX_SCRIPT_BYTES, UnreadableScript, read_script
from tests.builder import Run
from tests.command import run
from tests.conftest import ROOT, Judge, outcomes, recorded_files

OPEN = """executor: "constant-arrival-rate", rate: 20, timeUnit: "1s", duration: "30s", preAllocatedVUs: 5"""


def read(text: str) -> Options:
    return read_script(text, "script.js")


def exported(body: str, before: str = "", after: str = "") -> Options:
    return read(f"{before}\nexport const options = {body};\n{after}\n")


def scripts() -> list[Path]:
    found = [
        *sorted((ROOT / "sample_runs").rglob("script.js")),
        *recorded_files("recordings/stories/**/script.js").values(),
    ]
    return [path for path in found if path.with_name("inspect.json").exists()]


@pytest.mark.parametrize("path", scripts(), ids=lambda p: f"{p.parent.parent.name}-{p.parent.name}")
def test_recorded_scripts_say_what_inspect_says(path: Path) -> None:
    found = read(path.read_text())
    inspected = read_options(json.loads(path.with_name("inspect.json").read_text()), "inspect.json")
    assert found.scenarios == inspected.scenarios
    assert found.thresholds == inspected.thresholds
    assert found.rps == inspected.rps
    assert not found.problems
    assert not found.unread
    assert found.script is not None
    assert found.script.lines["options"] >= 1


FORMS = {
    "const": ("export const options = {vus: 7, duration: '9s'}", 7),
    "let": ("export let options = {vus: 7, duration: '9s'}", 7),
    "var": ("export var options = {vus: 7, duration: '9s'}", 7),
    "exported later": ("const options = {vus: 7, duration: '9s'};\nexport { options };", 7),
    "exported by another name": ("const o = {vus: 7, duration: '9s'};\nexport { o as options };", 7),
    "bound to a name": ("const o = {vus: 7, duration: '9s'};\nexport const options = o;", 7),
    "a constant": ("const VUS = 7; export const options = {vus: VUS, duration: '9s'}", 7),
    "a constant of a constant": (
        "const A = 7; const B = A; export const options = {vus: B, duration: '9s'}",
        7,
    ),
    "let that nothing changes": ("let V = 7; export const options = {vus: V, duration: '9s'}", 7),
    "a part of a constant": (
        "const c = {load: {vus: 7}}; export const options = {vus: c.load['vus'], duration: '9s'}",
        7,
    ),
    "shorthand": ("const vus = 7; export const options = {vus, duration: '9s'}", 7),
    "spread": ("const base = {vus: 3, duration: '9s'}; export const options = {...base, vus: 7}", 7),
    "spread before": ("const base = {vus: 7}; export const options = {vus: 3, duration: '9s', ...base}", 7),
    "arithmetic": (
        "const n = 3; export const options = {vus: (n + 2 ** 3) * 2 - 30 / 2 % 16, duration: '9s'}",
        7,
    ),
    "minus": ("export const options = {vus: -(-7), duration: '9s'}", 7),
    "other numbers": ("export const options = {vus: 0x0_7, duration: 9e3}", 7),
    "quoted keys": ("export const options = {'vus': 7, [\"duration\"]: '9s'}", 7),
    "a template": ("export const options = {vus: 7, duration: `9s`}", 7),
    "escapes": ("export const options = {vus: 7, duration: '\\x39\\u0073'}", 7),
    "comments": ("export const options = { /* a */ vus: 7, // b\n duration: '9s', };", 7),
    "null and undefined": (
        "export const options = {vus: 7, duration: '9s', stages: null, iterations: undefined}",
        7,
    ),
    "read elsewhere": (
        "export const options = {vus: 7, duration: '9s'}; export default function () { log(options.vus) }",
        7,
    ),
    "shadowed elsewhere": (
        "export const options = {vus: 7, duration: '9s'}; function get(url, options) { options.x = 1; f(options) }"
        " function h() { const options = {}; options.vus = 3; }",
        7,
    ),
}


@pytest.mark.parametrize(("text", "vus"), FORMS.values(), ids=FORMS.keys())
def test_literal_forms(text: str, vus: int) -> None:
    found = read(text)
    (only,) = found.scenarios
    assert (only.vus, only.duration_s, found.problems) == (vus, Fraction(9), ())


UNKNOWN = {
    "the environment": "__ENV.VUS",
    "the environment with a default": "__ENV.VUS || 5",
    "a call": "Number('5')",
    "a name that nothing binds": "VUS",
    "a name from an import": "imported",
    "a name that is assigned again": "again",
    "a name that is counted up": "counted",
    "a name that a pattern assigns": "patterned",
    "a part of a changed object": "changed.vus",
    "a part of an object that a function got": "given.vus",
    "a part of an object with another name": "aliased.vus",
    "a part of an object inside a changed one": "inner.vus",
    "a part of an object in a loop": "looped[0]",
    "a name bound twice": "twice",
    "a choice": "1 > 0 ? 5 : 6",
    "a function": "() => 5",
    "text and number": "'5' + 5",
    "not": "!5",
    "a division by zero": "5 / 0",
    "a big integer": "5n",
    "beyond what is exact": "2 ** 60",
    "a template with a name": "`${five}`",
    "a class": "new Five()",
    "a part that is not there": "five.vus",
    "a circle": "circle",
}
BEFORE = """
import { imported } from "./x.js";
const five = 5;
let again = 5; again = 6;
let counted = 5; function up() { counted++; }
let patterned = 5; [patterned] = [6];
const changed = { vus: 5 }; changed.vus = 6;
const given = { vus: 5 }; adjust(given);
const aliased = { vus: 5 }; const alias = aliased; alias.vus = 6;
const inner = { vus: 5 }; const outer = { inner }; outer.inner.vus = 6;
const looped = [5]; for (const one of looped) { adjust(one); }
var twice = 5; var twice = 6;
const circle = round; const round = circle;
"""


@pytest.mark.parametrize("value", UNKNOWN.values(), ids=UNKNOWN.keys())
def test_what_is_not_literal_is_unknown_and_never_guessed(value: str) -> None:
    found = exported(
        f"{{ vus: {value}, duration: '9s', thresholds: {{ a: ['rate<1'] }}, rps: {value} }}", BEFORE
    )
    assert found.scenarios == ()
    assert "vus" in found.problems[0]
    assert found.unread == {"rps"}
    assert found.thresholds == {"a": ("rate<1",)}
    one = exported(f"{{ scenarios: {{ a: {{ {OPEN}, maxVUs: {value} }}, b: {{ {OPEN} }} }} }}", BEFORE)
    assert [s.name for s in one.scenarios] == ["b"]
    assert one.problems == ("scenario 'a': maxVUs is not literal",)


@pytest.mark.parametrize(
    "after",
    [
        "options.vus = 3;",
        "options.scenarios.a.rate = 3;",
        "delete options.scenarios;",
        "if (__ENV.X) { options['vus'] = 3; }",
        "Object.assign(options, x);",
        "const { scenarios } = options; scenarios.a = 1;",
        "const s = options.scenarios; s.a = 1;",
        "for (const s of Object.values(options.scenarios)) { s.rate = 1; }",
        "options.scenarios.list.push(1);",
        "const all = [options]; f(all);",
        "function f() { return options; }",
        "export function change() { options = {}; }",
    ],
)
def test_options_that_are_changed_later_are_not_read(after: str) -> None:
    with pytest.raises(UnreadableScript, match="changes its options"):
        read(f"export let options = {{ scenarios: {{ a: {{ {OPEN} }} }} }};\n{after}")


@pytest.mark.parametrize(
    "body",
    ["{ ...__ENV, vus: 1 }", "{ ...base(), vus: 1 }", "{ [__ENV.K]: 1, vus: 1 }", "{ vus: 1, ...base }"],
)
def test_an_unknown_spread_leaves_every_other_option_open(body: str) -> None:
    found = exported(body)
    assert found.scenarios == ()
    assert found.problems
    assert found.unread >= {"scenarios", "thresholds", "rps"}


def test_scenarios_after_an_unknown_spread_are_known() -> None:
    found = exported(f"{{ ...base, scenarios: {{ a: {{ {OPEN} }} }} }}")
    assert [s.name for s in found.scenarios] == ["a"]
    assert found.problems == ()
    assert "thresholds" in found.unread


def test_scenarios_that_are_partly_unknown() -> None:
    found = exported(f"{{ scenarios: {{ ...more, a: {{ {OPEN} }}, b: make(), c: {{ ...one, rate: 5 }} }} }}")
    assert [s.name for s in found.scenarios] == ["a"]
    assert len(found.problems) == 3
    assert not exported("{ scenarios: make(), vus: 3, duration: '5s' }").scenarios


@pytest.mark.parametrize("values", ["[1, , 2]", "[, 1]", "[...x, 1]"])
def test_holes_and_unknown_spreads_in_arrays(values: str) -> None:
    assert "systemTags" in exported(f"{{ systemTags: {values} }}").unread


@pytest.mark.parametrize(
    "text",
    [
        "import http from 'k6/http';",
        "export default function () {}",
        "export { options } from './other.js';",
        "export * from './other.js';",
        "export const options = makeOptions();",
        "export const options = JSON.parse(open('./o.json'));",
        "export let options;",
        "export const options: Options = { vus: 1, duration: '1s' };",
        "export const options = { vus: 1, ",
        "export const options = [1];",
        "export const options = " + "(" * 3000 + "{}" + ")" * 3000,
        "x" * (MAX_SCRIPT_BYTES + 1),
    ],
)
def test_scripts_without_readable_options(text: str) -> None:
    with pytest.raises(UnreadableScript):
        read(text)


def test_hostile_scripts_end_soon() -> None:
    doubling = "const a = [1, 1];" + "".join(
        f"const a{i} = [...a{i - 1 if i else ''}, ...a{i - 1 if i else ''}];" for i in range(80)
    )
    began = time.monotonic()
    with pytest.raises(UnreadableScript):
        exported("{ stages: a79 }", doubling)
    assert not exported("{ vus: " + "1+" * 20_000 + "1, duration: '1s' }").scenarios
    assert exported("{ rps: " + "[" * 20_000 + "]" * 20_000 + "}").unread == {"rps"}
    for hostile in (
        "{ f(options.vus); " * 5_000 + "}" * 5_000,
        "f(options.vus);" * 100_000,
        "f" + "(options.vus, f" * 5_000 + ")" * 5_000,
    ):
        with pytest.raises(UnreadableScript, match="too large or too deeply nested"):
            exported("{ vus: 2, duration: '1s' }", after=hostile)
    assert len(exported("{ vus: 2, duration: '1s' }", after="f(options.vus);" * 5_000).scenarios) == 1
    assert time.monotonic() - began < 20


@settings(deadline=None)
@given(st.text(max_size=200))
def test_any_text(text: str) -> None:
    for one in (text, f"export const options = {text}", f"export const options = {{ vus: {text} }};"):
        try:
            read(one)
        except UnreadableScript:
            continue


literals = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**40), 2**40) | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


@settings(deadline=None)
@given(st.dictionaries(st.text(max_size=12).filter(lambda t: t != "__proto__"), st.lists(literals, max_size=3)))
def test_json_in_a_script_is_read_as_json(thresholds: dict[str, Any]) -> None:
    found = exported(f"{{ thresholds: {json.dumps(thresholds)} }}")
    assert found.thresholds == read_options({"thresholds": thresholds}, "x").thresholds


SLEEPS = {
    "literal": ("export default function () { http.get('x'); sleep(0.25); }", Fraction(1, 4)),
    "arrow": ("export default () => { sleep(1 / 4); };", Fraction(1, 4)),
    "named": ("function main() { sleep(PAUSE); }\nexport default main;\nconst PAUSE = 0.25;", Fraction(1, 4)),
    "exported as default": ("function main() { sleep(0.25); }\nexport { main as default };", Fraction(1, 4)),
    "a return in another function": (
        "export default function () { const f = () => { return 1; }; sleep(0.25); }",
        Fraction(1, 4),
    ),
    "random": ("export default function () { sleep(Math.random()); }", None),
    "not at the end": ("export default function () { sleep(0.25); http.get('x'); }", None),
    "an early return": ("export default function () { if (x) { return; } sleep(0.25); }", None),
    "a throw": ("export default function () { if (x) throw new Error('x'); sleep(0.25); }", None),
    "in a branch": ("export default function () { if (x) { sleep(0.25); } }", None),
    "none": ("export default function () { http.get('x'); }", None),
    "no statement": ("export default function () {}", None),
    "no default": ("export function other() { sleep(0.25); }", None),
    "a changed constant": ("let P = 0.25; P = 1; export default function () { sleep(P); }", None),
}


@pytest.mark.parametrize(("text", "expected"), SLEEPS.values(), ids=SLEEPS.keys())
def test_the_sleep_at_the_end_of_an_iteration(text: str, expected: Fraction | None) -> None:
    found = read(f"import {{ sleep }} from 'k6';\nexport const options = {{ vus: 1, duration: '1s' }};\n{text}")
    assert found.script is not None
    assert found.script.end_sleep_s == expected
    other = read(f"export const options = {{ vus: 1, duration: '1s' }};\n{text}\nfunction sleep(x) {{}}")
    assert other.script is not None
    assert other.script.end_sleep_s is None


def test_places() -> None:
    found = read("// a\nexport const options = {\n  scenarios: {},\n\n  'thresholds': {},\n};")
    assert found.script is not None
    assert found.script.lines == {"options": 2, "scenarios": 3, "thresholds": 5}


ENVIRONMENTS = {
    "none": ("const NAME = 'x';", ()),
    "members, once each, in order": ("const R = __ENV.RATE || 5; f(__ENV.HOST, __ENV.RATE);", ("RATE", "HOST")),
    "brackets": ("f(__ENV['RATE'], __ENV[\"HOST_2\"]);", ("RATE", "HOST_2")),
    "taken out by name": ("const { RATE, VUS = 3, HOST: host } = __ENV;", ("RATE", "VUS", "HOST")),
    "inside a function": ("function f() { return `${__ENV.URL}/x`; }", ("URL",)),
    "a name that is computed": ("f(__ENV[NAME], __ENV['a b; rm']);", ()),
    "of another object": ("f(my.__ENV.RATE, env.RATE); const { VUS } = env;", ()),
    "in a comment and in a string": ("// __ENV.RATE\nf('__ENV.HOST');", ()),
}


@pytest.mark.parametrize(("text", "names"), ENVIRONMENTS.values(), ids=ENVIRONMENTS.keys())
def test_the_environment_variables_that_a_script_reads(text: str, names: tuple[str, ...]) -> None:
    found = read(f"{text}\nexport const options = {{ vus: 1, duration: '1s' }};")
    assert found.script is not None
    assert found.script.environment == names


def test_min_iteration_duration_and_sequence_of_a_script() -> None:
    found = read(
        "export const options = { vus: 1, duration: '1s', minIterationDuration: '1s500ms', "
        "executionSegmentSequence: '0,1/3,1' };"
    )
    assert found.min_iteration_duration_s == Fraction(3, 2)
    assert found.segment_sequence == (Fraction(0), Fraction(1, 3), Fraction(1))


# --- in a run ---------------------------------------------------------------------------------------------


def script_of(run: Run) -> str:
    return f"export const options = {run.inspect_json()};\nexport default function () {{}}\n"


def test_the_script_stands_in_for_inspect(tmp_path: Path, judge: Judge) -> None:
    run = Run(inspect=False)
    folder = run.write(tmp_path / "run")
    (folder / "script.js").write_text(script_of(run))
    result = judge(folder, warmup="5s")
    assert result.verdict == "VALID", outcomes(result)


def test_recorded_run_without_inspect_is_valid_by_its_script(tmp_path: Path, judge: Judge) -> None:
    import shutil

    run = tmp_path / "run"
    shutil.copytree(ROOT / "sample_runs" / "open_healthy", run)
    (run / "inspect.json").unlink()
    assert judge(run, warmup="5s").verdict == "VALID"
    other = ROOT / "sample_runs" / "vu_starved" / "script.js"
    shutil.copy(other, run / "script.js")
    assert outcomes(judge(run, warmup="5s"))["EV03"] == "fail:invalid"


@pytest.mark.parametrize("console", [True, False])
def test_a_script_of_another_test_beside_inspect(tmp_path: Path, judge: Judge, console: bool) -> None:
    folder = Run(console=console).write(tmp_path / "run")
    (folder / "script.js").write_text(script_of(Run()).replace('"rate": 100', '"rate": 130'))
    result = judge(folder, warmup="5s")
    assert outcomes(result)["EV03"] == "fail:invalid"
    (finding,) = next(r for r in result.results if r.id == "EV03").findings
    assert "script.js" in finding.evidence


@pytest.mark.parametrize("console", [True, False])
def test_scenarios_of_another_name(tmp_path: Path, judge: Judge, console: bool) -> None:
    folder = Run(console=console).write(tmp_path / "run")
    (folder / "script.js").write_text(script_of(Run()).replace('"api"', '"web"'))
    assert outcomes(judge(folder, warmup="5s"))["EV03"] == "fail:invalid"


@pytest.mark.parametrize("console", [True, False])
@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace('"rate": 100', '"rate": Number(__ENV.RATE)'),
        lambda text: text.replace('"api": {', "[__ENV.NAME]: {"),
        lambda text: text + "options.scenarios.api.rate = 5;",
        lambda text: "export function helper() {}",
    ],
)
def test_what_a_script_cannot_tell_contradicts_nothing(
    tmp_path: Path, judge: Judge, console: bool, change: Any
) -> None:
    folder = Run(console=console).write(tmp_path / "run")
    (folder / "script.js").write_text(change(script_of(Run())))
    result = judge(folder, warmup="5s")
    assert result.verdict == "VALID", outcomes(result)


def test_the_schedule_hidden_from_the_banner_is_compared_too(tmp_path: Path, judge: Judge) -> None:
    from tests.builder import Scenario

    def run(middle: int) -> Run:
        stages = [(10.0, middle), (20.0, 100)]
        return Run([Scenario(executor="ramping-arrival-rate", start_rate=10, stages=stages)])

    folder = run(60).write(tmp_path / "run")
    (folder / "script.js").write_text(script_of(run(60)))
    assert outcomes(judge(folder, warmup="11s"))["EV03"] == "pass"
    (folder / "script.js").write_text(script_of(run(80)))
    assert outcomes(judge(folder, warmup="11s"))["EV03"] == "fail:invalid"


def test_unknown_thresholds_of_a_script_are_not_taken_for_none(tmp_path: Path, judge: Judge) -> None:
    folder = Run(inspect=False).write(tmp_path / "run")
    text = (
        f"export const options = {{ scenarios: {json.dumps({'api': Run().scenarios[0].options()})}, ...more }};"
    )
    (folder / "script.js").write_text(text)
    assert outcomes(judge(folder, warmup="5s"))["WM04"] == "unknown"


def test_more_iterations_than_the_sleep_allows(tmp_path: Path, judge: Judge) -> None:
    import shutil

    for story, said, false in (("closed_users", "sleep(0.1)", "sleep(0.2)"), ("stall_closed", "0.385", "0.5")):
        run = tmp_path / story
        shutil.copytree(ROOT / "sample_runs" / story, run)
        assert outcomes(judge(run))["EV03"] == "pass"
        text = (run / "script.js").read_text()
        assert said in text
        (run / "script.js").write_text(text.replace(said, false))
        assert outcomes(judge(run))["EV03"] == "fail:warning"
        (run / "log.txt").unlink()  # exceptions that skip the sleep would be in the log
        assert outcomes(judge(run))["EV03"] == "pass"


def test_options_from_the_environment_are_asked_for_by_name(tmp_path: Path) -> None:
    """Without a banner the rate is known only by running the script: `k6 inspect -e RATE=…` says it."""
    folder = Run(console=False, inspect=False).write(tmp_path / "run")
    (folder / "load.js").write_text(
        "export const options = { scenarios: { main: { executor: 'constant-arrival-rate', rate: __ENV.RATE,\n"
        "  duration: '60s', preAllocatedVUs: 10 } } };\nexport default function () {}\n"
    )
    done = run("lint", folder, "--warmup", "0s")
    assert done.returncode == 3
    assert "k6 inspect --execution-requirements -e RATE=… load.js > inspect.json" in " ".join(
        done.stdout.split()
    )
