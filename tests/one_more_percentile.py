"""A program: k6-audit whose header has one more percentile, p75.

    python -m tests.one_more_percentile COMMANDS.json RESULTS.json

It makes the one edit that docs/development.md asks for, an entry in auditor/fields.py, on the module's text in
memory before anything else of the package is imported. Then it runs each command of COMMANDS (name -> arguments
of k6-audit) and writes what it printed and its exit code, and the schemas as they would be committed.
"""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType

NAME = "auditor.fields"
BEFORE = '    _percentile(\n        "p90",\n'
ENTRY = """    _percentile(
        "p75",
        0.75,
        rule="HD75",
        meaning="one request in four was slower",
        why="The upper quartile tells whether the median is typical.",
    ),
"""


def register() -> None:
    """Put the edited registry in the place of the one on disk."""
    import auditor

    spec = importlib.util.find_spec(NAME)
    assert spec is not None
    assert spec.origin is not None
    assert {name for name in sys.modules if name.startswith("auditor")} == {"auditor"}
    source = Path(spec.origin).read_text()
    assert source.count(BEFORE) == 1
    module = ModuleType(NAME)
    module.__file__ = spec.origin
    sys.modules[NAME] = module
    auditor.fields = module
    exec(compile(source.replace(BEFORE, ENTRY + BEFORE), spec.origin, "exec"), module.__dict__)


def main(commands: Path, results: Path) -> None:
    register()
    from typer.testing import CliRunner

    from auditor.cli.app import app
    from auditor.present import schema

    found: dict[str, object] = {}
    for name, arguments in json.loads(commands.read_text()).items():
        done = CliRunner().invoke(app, arguments, catch_exceptions=False)
        found[name] = {"exit_code": done.exit_code, "text": done.stdout, "errors": done.stderr}
    found["schemas"] = {path.name: schema.text(path) for path in schema.paths()}
    results.write_text(json.dumps(found))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
