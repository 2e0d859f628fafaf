"""The parts of the committed JSON schemas that list the header's fields, made from their registry.

`python -m auditor.present.schema` writes every schema of the package anew; a test compares.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from auditor.fields import FIELDS, HOW_MANY

PACKAGE = Path(__file__).parents[1]
FIRST = FIELDS[0].name


def paths() -> list[Path]:
    """The schema files of the package."""
    return sorted(PACKAGE.rglob("*.schema.json"))


def text(path: Path) -> str:
    """A schema as it must be committed, ending in a line break."""
    return json.dumps(with_fields(json.loads(path.read_text())), indent=2, ensure_ascii=False) + "\n"


def with_fields(schema: Any) -> Any:
    """The schema with all fields wherever it lists them: an object whose properties, or an enumeration whose
    values, begin with the first field."""
    if isinstance(schema, list):
        return [with_fields(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    made = {key: with_fields(value) for key, value in schema.items()}
    names = [field.name for field in FIELDS]
    if FIRST in made.get("enum", ()):
        made["enum"] = names
    if FIRST in (properties := made.get("properties", {})):
        made["properties"] = dict.fromkeys(names, properties[FIRST])
        made["required"] = names
        if "description" in made:
            made["description"] = f"The {HOW_MANY} fields, in the order of the report's header."
    return made


if __name__ == "__main__":
    for schema_path in paths():
        schema_path.write_text(text(schema_path))
