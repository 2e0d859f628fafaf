"""The report's tables in words: each a title, columns and rows of text, for every format alike."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from auditor.fields import CHARTED, LABEL_OF, SCENARIO_COLUMNS
from auditor.present.view import PARTS, header_field
from auditor.present.words import duration, least_words, ms, value_words

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from auditor.present.view import AccountRow, View

MISSING = "–"


@dataclass(frozen=True)
class Column:
    label: str
    numeric: bool = False
    code: bool = False
    """Whether the cells are names or digests: set in a fixed width, broken anywhere."""


@dataclass(frozen=True)
class PrintedTable:
    """A table, or the reason why there is none."""

    id: str
    title: str
    columns: tuple[Column, ...]
    rows: Sequence[Sequence[str]]
    note: str = ""
    empty: str = ""


def tables(model: Mapping[str, Any], view: View) -> list[PrintedTable]:
    """All tables but the figures' own, in the order of the report."""
    return [
        _scenarios(model),
        *([_accounting(view.accounts)] if len(view.accounts) > 1 else []),
        _names(model),
        _errors(model),
        _stalls(model),
        _generators(model),
        _hosts(model),
        _thresholds(model),
    ]


def provenance(model: Mapping[str, Any], view: View) -> list[PrintedTable]:
    """What was read, what was not, and which policy was in force."""
    return [_files(model), _ignored(view), _policy(model)]


def _number(value: float | None, digits: int = 0) -> str:
    return MISSING if value is None else f"{value:,.{digits}f}"


def _percent(value: float | None, digits: int = 1) -> str:
    return MISSING if value is None else f"{value:.{digits}f} %"


def _ms(value: float | None) -> str:
    return MISSING if value is None else ms(value)


def _why_not(table: Mapping[str, Any]) -> str:
    why = table.get("why_not")
    return f"Not known: {why}" + (f" (to have it: {table['fix']})" if table.get("fix") else "") if why else ""


def _more(table: Mapping[str, Any]) -> str:
    return f"and {table['more']:,} more, left out here" if table.get("more") else ""


def _table(
    id_: str, title: str, columns: Sequence[Column], table: Mapping[str, Any], rows: Any, note: str, empty: str
) -> PrintedTable:
    """A table of the model in words; ``rows`` makes one row of text of one of its rows."""
    found = [rows(row) for row in table.get("rows", ())]
    notes = "; ".join(n for n in (_more(table), note if found else "") if n)
    return PrintedTable(id_, title, tuple(columns), found, notes, _why_not(table) or empty)


def _scenarios(model: Mapping[str, Any]) -> PrintedTable:
    plans = {row["scenario"]: row for row in model["tables"]["scenarios"].get("rows", ())}
    headers = {name: one["header"] for name, one in model["result"]["scenarios"].items()}
    rows = []
    for name in dict.fromkeys([*headers, *plans]):
        plan, fields = plans.get(name, {}), headers.get(name)
        executor = plan.get("executor") or "not known"
        cells = (
            [_cell(f, fields[f]) if f in fields else MISSING for f in SCENARIO_COLUMNS]
            if fields is not None
            else [MISSING] * len(SCENARIO_COLUMNS)
        )
        rows.append(
            [
                name,
                f"{executor}, support" if plan.get("support") else executor,
                _number(plan.get("max_vus")),
                *cells,
            ]
        )
    columns = [Column("Scenario", code=True), Column("Executor"), Column("VUs at most", numeric=True)]
    columns += [Column(label, numeric=True) for label in SCENARIO_COLUMNS.values()]
    note = "≥: not identified, at least this" if any("≥" in cell for row in rows for cell in row) else ""
    return PrintedTable("scenarios", "Scenarios", tuple(columns), rows, note, "No scenario is known.")


def _cell(name: str, raw: Mapping[str, Any]) -> str:
    field = header_field(name, raw)
    if field.status == "missing":
        return "missing"
    if field.status == "not-identified":
        return least_words(field) or "not identified"
    return value_words(field)


def _accounting(accounts: Sequence[AccountRow]) -> PrintedTable:
    columns = [Column("Scenario", code=True), Column("Planned", numeric=True)]
    columns += [Column(word.capitalize(), numeric=True) for _, word in PARTS]
    rows = [
        [a.scenario, "none: a closed model" if a.planned is None else _number(a.planned)]
        + [_number(value) for _, value in a.parts]
        for a in accounts
    ]
    return PrintedTable("accounting", "Accounting by scenario", tuple(columns), rows)


def _names(model: Mapping[str, Any]) -> PrintedTable:
    def row(r: Mapping[str, Any]) -> list[str]:
        share = 100 * r["failed"] / r["requests"]
        return [
            r["name"] or "(no name)",
            _number(r["requests"]),
            _number(r["failed"]),
            _percent(share, 2),
            *(_ms(r.get(p)) for p in (*CHARTED, "max")),
        ]

    columns = [
        Column("Request name", code=True),
        *(
            Column(label, numeric=True)
            for label in ("Requests", "Failed", "Failed share", *(LABEL_OF[p] for p in CHARTED), "Max")
        ),
    ]
    note = "of what was sent in the measurement window; – where the samples are too few for the percentile"
    return _table(
        "names",
        "Requests by name",
        columns,
        model["tables"]["names"],
        row,
        note,
        "No request was made in the window.",
    )


def _errors(model: Mapping[str, Any]) -> PrintedTable:
    table = model["tables"]["errors"]

    def row(r: Mapping[str, Any]) -> list[str]:
        share = 100 * r["count"] / table["requests"]
        return [
            _number(r["count"]),
            _percent(share, 2),
            r["status"] or MISSING,
            r["code"] or MISSING,
            r["error"] or MISSING,
            r["name"],
        ]

    columns = [
        Column("Requests", numeric=True),
        Column("Share", numeric=True),
        Column("Status"),
        Column("k6 code"),
        Column("Error", code=True),
        Column("Request name", code=True),
    ]
    empty = f"None of the {table.get('requests', 0):,} requests of the window failed."
    return _table("errors", "Errors by cause", columns, table, row, "", empty)


def _stalls(model: Mapping[str, Any]) -> PrintedTable:
    def row(r: Mapping[str, Any]) -> list[str]:
        inside = {True: "yes", False: "no", None: MISSING}[r["in_window"]]
        return [
            r["what"],
            r["where"],
            duration(r["from_s"]),
            duration(r["length_s"]),
            _number(r["due"]),
            _number(r["started"]),
            inside,
        ]

    columns = [
        Column("What"),
        Column("Where", code=True),
        Column("From", numeric=True),
        Column("Length", numeric=True),
        Column("Starts due", numeric=True),
        Column("Made", numeric=True),
        Column("In the window"),
    ]
    return _table(
        "stalls",
        "Stalls",
        columns,
        model["tables"]["stalls"],
        row,
        "from: since the start of the scenario",
        "None: completions never paused for longer than the limit of rule CO02.",
    )


def _generators(model: Mapping[str, Any]) -> PrintedTable:
    def row(r: Mapping[str, Any]) -> list[str]:
        early = r["stopped"] or "early"
        return [
            r["generator"] or "generator",
            MISSING if r["share"] is None else _percent(100 * r["share"], 2),
            *(_number(r[c]) for c in ("planned", "started", "dropped", "points", "malformed")),
            MISSING if r["exit_code"] is None else str(r["exit_code"]),
            r["torn"] or (early if r["ended_early"] else "as planned"),
        ]

    columns = [
        Column("Generator", code=True),
        *(
            Column(label, numeric=True)
            for label in ("Part", "Planned", "Started", "Dropped", "Points", "Unreadable", "Exit code")
        ),
        Column("Ended"),
    ]
    return _table("generators", "Generators", columns, model["tables"]["generators"], row, "", "None was read.")


def _hosts(model: Mapping[str, Any]) -> PrintedTable:
    def row(r: Mapping[str, Any]) -> list[str]:
        return [
            r["generator"] or "generator",
            r["host"] or "no metrics",
            _number(r["cores"]),
            *(_percent(r[c]) for c in ("cpu_mean", "cpu_max_5s", "worst_core", "memory_max", "steal_mean")),
            MISSING if r["coverage"] is None else _percent(100 * r["coverage"], 0),
        ]

    labels = ("Cores", "CPU mean", "CPU max 5 s", "Core max 10 s", "Memory max", "Steal", "Window covered")
    columns = [
        Column("Generator", code=True),
        Column("Host", code=True),
        *(Column(label, numeric=True) for label in labels),
    ]
    return _table("hosts", "Hosts of the generators", columns, model["tables"]["generators"], row, "", "None.")


def _thresholds(model: Mapping[str, Any]) -> PrintedTable:
    table = model["tables"]["thresholds"]

    def row(r: Mapping[str, Any]) -> list[str]:
        cells = [
            r["metric"],
            r["expression"],
            r["state"],
            MISSING if r["value"] is None else f"{r['value']:,.6g}",
        ]
        return [*cells, r["generator"] or MISSING]

    columns = [
        Column("Metric", code=True),
        Column("Expression", code=True),
        Column("Again from the points"),
        Column("Value", numeric=True),
        Column("Generator", code=True),
    ]
    note = "over everything that was sampled, as k6 does; a crossed threshold is a result about the system"
    none = (
        "The run had none."
        if table.get("defined") is False
        else "It is not known which thresholds the run had."
    )
    return _table("thresholds", "Thresholds, evaluated again", columns, table, row, note, none)


def _files(model: Mapping[str, Any]) -> PrintedTable:
    rows = [
        [
            s["path"],
            s["format"] + (f" ({s['note']})" if s["note"] else ""),
            _number(s["size_bytes"]),
            s["sha256"],
        ]
        for s in model["result"]["sources"]
    ]
    columns = (
        Column("File", code=True),
        Column("Read as"),
        Column("Bytes", numeric=True),
        Column("SHA-256", code=True),
    )
    return PrintedTable("files", "Files read", columns, rows, empty="Nothing was read.")


def _ignored(view: View) -> PrintedTable:
    rows = []
    for group in view.ignored:
        rows += [[path, group.reason] for path in group.paths]
        rows += [[f"{group.more:,} more", group.reason]] if group.more else []
    return PrintedTable(
        "ignored", "Files ignored", (Column("File", code=True), Column("Why")), rows, empty="None was ignored."
    )


def _policy(model: Mapping[str, Any]) -> PrintedTable:
    policy = model["result"]["policy"]
    rows = [[s["name"], s["value"], s["source"]] for s in policy["settings"]]
    columns = (Column("Setting", code=True), Column("Value"), Column("From", code=True))
    return PrintedTable("policy", "Policy in force", columns, rows, note=f"digest {policy['digest']}")
