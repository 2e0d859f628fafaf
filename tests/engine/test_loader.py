"""Rule files: one rule, or several alike ones whose pages are made from one docstring."""

from __future__ import annotations

from pathlib import Path

import pytest

from auditor.engine.loader import load_rules
from auditor.engine.rule import HEADINGS
from auditor.errors import AuditError

SEVERAL = '''"""
What it checks
    Whether {what} is there.

Why it matters
    It does.

How to fix it
    Write {what}.

How it is computed
    By looking.

When it is wrong
    Never.
"""

from auditor.api import NotApplicable, OneOfMany, Rule


def checks(what):
    def check():
        yield NotApplicable(what)

    return check


def one(id, what):
    rule = Rule(id=id, slug=what, title=what, severity="info", since="1")
    return OneOfMany(rule, WORDS(what), checks(what))


RULES = (one("ZZ01", "salt"), one("ZZ02", "pepper"))
'''


def written(folder: Path, words: str) -> Path:
    (folder / "several.py").write_text(SEVERAL.replace("WORDS(what)", words))
    return folder


def test_a_file_of_several_rules(tmp_path: Path) -> None:
    found = {r.meta.id: r for r in load_rules([written(tmp_path, '{"what": what}')]) if r.own}
    assert list(found) == ["ZZ01", "ZZ02"]
    for rule, what in zip(found.values(), ("salt", "pepper"), strict=True):
        assert set(rule.doc) == set(HEADINGS)
        assert rule.doc["What it checks"] == f"Whether {what} is there."
        assert rule.check is not None
        assert [said.reason for said in rule.check()] == [what]  # type: ignore[union-attr]
        assert rule.path == f"{tmp_path.name}/several.py"


def test_a_placeholder_without_words_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(AuditError, match="ZZ01 has no words for: 'what'") as raised:
        load_rules([written(tmp_path, "{}")])
    assert "several.py" in str(raised.value)


def test_two_of_a_file_with_one_id_are_refused(tmp_path: Path) -> None:
    (written(tmp_path, '{"what": what}') / "several.py").write_text(
        (tmp_path / "several.py").read_text().replace("ZZ02", "ZZ01")
    )
    with pytest.raises(AuditError, match="ZZ01 is defined twice"):
        load_rules([tmp_path])
