"""A k6 script, read and never run: its options as far as they are literal.

Literal are numbers, strings, booleans, null, arrays, objects, arithmetic of numbers, and names that are
bound once at the top of the file to something literal and changed nowhere. Everything else is unknown:
what needs it becomes a problem by name, never a guess.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from auditor.evidence import SILENT_MODULES, Options, ScriptText
from auditor.ingest.k6.options import read_options

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tree_sitter import Node, Tree

MAX_SCRIPT_BYTES = 2 << 20
_MOST_STEPS = 200_000
"""Most values made for one script: a few nested spreads of a name could otherwise make any number."""
_DEEPEST = 100
_DEEPEST_PLACE = 300
_MOST_PLACES = 20_000
_EXACT = 2**53
_LOOKS = re.compile(r"^\s*export (?:default|const|let|var|function|async)\b|\bfrom ['\"]k6", re.M)
_TOP_LEVEL = (
    "scenarios",
    "thresholds",
    "rps",
    "executionSegment",
    "executionSegmentSequence",
    "minIterationDuration",
    "systemTags",
)
_SHORTCUTS = ("vus", "duration", "iterations", "stages")
_OF_SCENARIO = (
    "executor",
    "startTime",
    "gracefulStop",
    "exec",
    "rate",
    "startRate",
    "timeUnit",
    "duration",
    "stages",
    "preAllocatedVUs",
    "maxVUs",
    "vus",
    "startVUs",
    "iterations",
    "maxDuration",
)
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")
_MOST_NAMES = 20
_FUNCTIONS = {
    "function_declaration",
    "function_expression",
    "arrow_function",
    "method_definition",
    "generator_function",
    "generator_function_declaration",
}
_NAMES = {"identifier", "shorthand_property_identifier", "shorthand_property_identifier_pattern"}
_WAITING = frozenset(
    {"sleep", "setTimeout", "setInterval", "Promise", "Date", "performance", "asyncRequest", "require", "eval"}
)
"""Names by which a script may wait, or reach code that is not read."""
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "v": "\v", "0": "\0"}


class UnreadableScript(Exception):
    """Why a script says nothing about the options."""


class _Unknown:
    """A value that is known only by running the script."""

    def __repr__(self) -> str:
        return "unknown"


UNKNOWN = _Unknown()


class _Object(dict[str, Any]):
    """An object literal; ``open`` if something unknown was spread into it, so that it may have more keys."""

    open = False


def looks_like_script(text: str) -> bool:
    """Whether text is a k6 script, or a module of one."""
    return _LOOKS.search(text) is not None


def read_script(text: str, path: str) -> Options:
    """The options of a script's text.

    Raises:
        UnreadableScript: if it exports no options that can be read, or is not plain JavaScript.
    """
    script = _parse(text)
    node = script.options()
    if node is None:
        raise UnreadableScript("a k6 script or module that exports no literal options")
    reader = _Evaluator(script)
    reader.note_changes(node)
    found = reader.value(node)
    if not isinstance(found, _Object):
        raise UnreadableScript("a k6 script whose options are known only by running it")
    return replace(
        _options(found, path),
        kind="script",
        script=script.text(path, reader),
    )


def read_script_text(text: str, path: str) -> ScriptText:
    """What a script's text says beside the values of its options.

    Raises:
        UnreadableScript: if it is not plain JavaScript.
    """
    script = _parse(text)
    return script.text(path, _Evaluator(script))


# --- options from values --------------------------------------------------------------------------------


def _options(found: _Object, path: str) -> Options:
    problems: list[str] = []
    unread = {name for name in _TOP_LEVEL if _is_unknown(found, name)}
    item: dict[str, Any] = {name: found.get(name) for name in _TOP_LEVEL if name not in unread}
    described = found.get("scenarios")
    if "scenarios" in unread and not isinstance(described, _Object):
        problems.append("its scenarios are not literal")
    elif described or "scenarios" in unread:
        item["scenarios"] = {}
        if not isinstance(described, _Object) or described.open:
            problems.append("not all of its scenarios are literal")
        for name, scenario in sorted(described.items()) if isinstance(described, _Object) else ():
            vague = _vague(scenario)
            if vague:
                problems.append(f"scenario {name!r}: {vague} is not literal")
            else:
                item["scenarios"][name] = scenario
    else:
        vague_ones = [name for name in _SHORTCUTS if _is_unknown(found, name)]
        if vague_ones:
            problems.append(f"{', '.join(vague_ones)}: not literal")
        else:
            item |= {name: found.get(name) for name in _SHORTCUTS}
    return replace(read_options(item, path, problems), unread=frozenset(unread))


def _is_unknown(found: _Object, name: str) -> bool:
    return _has_unknown(found[name]) if name in found else found.open


def _vague(scenario: Any) -> str:
    """The first thing that reading a scenario needs and that is unknown; empty if all of it is known."""
    if not isinstance(scenario, _Object):
        return "it"
    return next((name for name in _OF_SCENARIO if _is_unknown(scenario, name)), "")


def _has_unknown(value: Any) -> bool:
    if isinstance(value, _Object):
        return value.open or any(_has_unknown(v) for v in value.values())
    if isinstance(value, list):
        return any(_has_unknown(v) for v in value)
    return value is UNKNOWN


# --- the syntax tree ------------------------------------------------------------------------------------


def _parse(text: str) -> _Script:
    from tree_sitter import Language, Parser
    from tree_sitter_javascript import language

    source = text.encode("utf-8", errors="replace")
    if len(source) > MAX_SCRIPT_BYTES:
        raise UnreadableScript(f"a script of more than {MAX_SCRIPT_BYTES >> 20} MB")
    tree = Parser(Language(language())).parse(source)
    if tree.root_node.has_error:
        raise UnreadableScript("a script that is not plain JavaScript, or is damaged")
    return _Script(tree)


@dataclass
class _Script:
    tree: Tree
    bindings: dict[str, Node] = field(default_factory=dict)
    """Name bound at the top of the file -> the expression it is bound to."""
    bound_twice: set[str] = field(default_factory=set)
    exported: dict[str, str] = field(default_factory=dict)
    """Exported name -> the file's own name of it."""
    default: Node | None = None

    def __post_init__(self) -> None:
        functions: dict[str, Node] = {}
        for node in self.tree.root_node.named_children:
            inner = node.child_by_field_name("declaration") if node.type == "export_statement" else node
            if node.type == "export_statement":
                self._note_exports(node)
            if inner is None:
                continue
            if inner.type in ("lexical_declaration", "variable_declaration"):
                self._note_bindings(inner, exported=inner is not node)
            elif inner.type == "function_declaration" and (name := inner.child_by_field_name("name")):
                functions[_text(name)] = inner
        if self.default is None and "default" in self.exported:
            own = self.exported["default"]
            self.default = functions.get(own) or self.bindings.get(own)

    def _note_bindings(self, declaration: Node, *, exported: bool) -> None:
        for declarator in declaration.named_children:
            name, value = declarator.child_by_field_name("name"), declarator.child_by_field_name("value")
            if name is None or value is None or name.type != "identifier":
                continue
            if _text(name) in self.bindings:
                self.bound_twice.add(_text(name))
            self.bindings[_text(name)] = value
            if exported:
                self.exported[_text(name)] = _text(name)

    def _note_exports(self, node: Node) -> None:
        if any(child.type == "default" for child in node.children):
            found = node.child_by_field_name("value") or node.child_by_field_name("declaration")
            if found is not None and found.type == "identifier":
                self.exported["default"] = _text(found)
            else:
                self.default = found
        if node.child_by_field_name("source") is not None:
            return  # another module's names
        for clause in node.named_children:
            if clause.type != "export_clause":
                continue
            for one in clause.named_children:
                name, alias = one.child_by_field_name("name"), one.child_by_field_name("alias")
                if name is not None:
                    self.exported[_text(alias or name)] = _text(name)

    def options(self) -> Node | None:
        return self.bindings.get(self.exported.get("options", ""))

    def text(self, path: str, reader: _Evaluator) -> ScriptText:
        modules = self.modules()
        return ScriptText(
            path=path,
            lines=self.lines(),
            end_sleep_s=self.end_sleep_s(reader),
            environment=self.environment(),
            modules=tuple(sorted(modules)),
            may_wait=self.waits() or not modules <= SILENT_MODULES | {"k6/http"},
        )

    def environment(self) -> tuple[str, ...]:
        """The names that follow `__ENV`: as a member, in brackets, or taken out of it by name."""
        found: dict[str, None] = {}
        for node in _walk(self.tree.root_node):
            for name in _environment_names(node):
                if _NAME.fullmatch(name) and len(found) < _MOST_NAMES:
                    found[name] = None
        return tuple(found)

    def lines(self) -> dict[str, int]:
        node = self.options()
        if node is None:
            return {}
        found = {"options": node.start_point.row + 1}
        for pair in node.named_children if node.type == "object" else ():
            key = pair.child_by_field_name("key")
            if key is not None and (name := _text(key).strip("'\"")) in ("scenarios", "thresholds"):
                found[name] = key.start_point.row + 1
            elif pair.type == "shorthand_property_identifier" and _text(pair) in ("scenarios", "thresholds"):
                found[_text(pair)] = pair.start_point.row + 1
        return found

    def end_sleep_s(self, reader: _Evaluator) -> Fraction | None:
        """The literal sleep() at the end of the default function, if nothing can leave it before."""
        body = self.default.child_by_field_name("body") if self.default is not None else None
        if body is None or body.type != "statement_block" or not self._imports_sleep():
            return None
        statements = [node for node in body.named_children if node.type != "comment"]
        call = statements[-1].named_children[0] if statements and statements[-1].named_children else None
        if statements and statements[-1].type != "expression_statement":
            return None
        if call is None or call.type != "call_expression":
            return None
        called, given = call.child_by_field_name("function"), call.child_by_field_name("arguments")
        if called is None or _text(called) != "sleep" or given is None or len(given.named_children) != 1:
            return None
        if any(n.type in ("return_statement", "throw_statement") for n in _walk(body, into_functions=False)):
            return None
        reader.note_changes(given.named_children[0])
        length = reader.value(given.named_children[0])
        known = isinstance(length, int | float) and not isinstance(length, bool) and length > 0
        return Fraction(str(length)) if known else None

    def modules(self) -> set[str]:
        """What the script imports or requires; "?" where that is not literal."""
        found: set[str] = set()
        for node in _walk(self.tree.root_node):
            if node.type in ("import_statement", "export_statement"):
                source = node.child_by_field_name("source")
                if source is not None:
                    found.add(_text(source).strip("'\""))
            elif (
                node.type == "call_expression" and (called := node.child_by_field_name("function")) is not None
            ):
                given = node.child_by_field_name("arguments")
                first = given.named_children[0] if given is not None and given.named_children else None
                if called.type == "import" or _text(called) == "require":
                    literal = first is not None and first.type == "string"
                    found.add(_text(first).strip("'\"") if literal and first is not None else "?")
        return found

    def waits(self) -> bool:
        """Whether a name by which a script may wait stands outside its imports, or it awaits anything."""
        inside: tuple[int, int] = (0, 0)
        for node in _walk(self.tree.root_node):
            if node.type == "import_statement":
                inside = node.start_byte, node.end_byte
                renamed = [n.child_by_field_name("name") for n in _walk(node) if n.child_by_field_name("alias")]
                if any(name is not None and _text(name) in _WAITING for name in renamed):
                    return True
            elif node.type in ("await_expression", "async") or (
                node.type in ("identifier", "property_identifier", "shorthand_property_identifier")
                and not inside[0] <= node.start_byte < inside[1]
                and _text(node) in _WAITING
            ):
                return True
        return False

    def _imports_sleep(self) -> bool:
        for node in self.tree.root_node.named_children:
            source = node.child_by_field_name("source") if node.type == "import_statement" else None
            if source is None or _text(source).strip("'\"") != "k6":
                continue
            if any(n.type == "import_specifier" and _text(n) == "sleep" for n in _walk(node)):
                return True
        return False

    def occurrences(self, names: set[str]) -> Iterator[list[Node]]:
        """Where these names stand as names, not as keys: the nodes from the root down to each of them.

        The way down is kept on the walk, since a node finds its own parent only by searching from the root.
        """
        wanted = {name.encode() for name in names}
        cursor = self.tree.root_node.walk()
        way: list[Node] = []
        found = 0
        while True:
            node = cursor.node
            assert node is not None
            if node.type in _NAMES and node.text in wanted:
                found += 1
                if found > _MOST_PLACES or len(way) > _DEEPEST_PLACE:
                    raise UnreadableScript("a k6 script that is too large or too deeply nested to analyse")
                yield [*way, node]
            if cursor.goto_first_child():
                way.append(node)
                continue
            while not cursor.goto_next_sibling():
                if not cursor.goto_parent():
                    return
                way.pop()


def _environment_names(node: Node) -> Iterator[str]:
    """Names that this node reads from `__ENV`."""
    if node.type in ("member_expression", "subscript_expression"):
        of = node.child_by_field_name("object")
        name = node.child_by_field_name("property") or node.child_by_field_name("index")
        if of is None or name is None or _text(of) != "__ENV":
            return
        if node.type == "member_expression" or name.type == "string":
            yield _text(name).strip("'\"")
    elif node.type == "variable_declarator":
        pattern, value = node.child_by_field_name("name"), node.child_by_field_name("value")
        if pattern is None or value is None or pattern.type != "object_pattern" or _text(value) != "__ENV":
            return
        for one in pattern.named_children:
            if one.type == "object_assignment_pattern":
                one = one.child_by_field_name("left") or one
            key = one.child_by_field_name("key") if one.type == "pair_pattern" else one
            if key is not None:
                yield _text(key)


def _text(node: Node) -> str:
    return (node.text or b"").decode("utf-8", errors="replace")


def _walk(node: Node, *, into_functions: bool = True) -> Iterator[Node]:
    """The node and all below it, without recursion: a hostile script may nest as deep as it likes."""
    cursor = node.walk()
    while True:
        here = cursor.node
        assert here is not None
        yield here
        enters = into_functions or here.type not in _FUNCTIONS
        if enters and cursor.goto_first_child():
            continue
        while not cursor.goto_next_sibling():
            if not cursor.goto_parent():
                return


# --- values ---------------------------------------------------------------------------------------------


class _Evaluator:
    """Values of expressions; one for a script, since the steps are counted over all of it."""

    def __init__(self, script: _Script) -> None:
        self._script = script
        self._steps = 0
        self._changed = set(script.bound_twice)
        self._reached: set[str] = set()
        self._holds_parts: dict[str, bool] = {}
        """Whether a name is bound to an object or array, which can be changed in place."""
        self._bound_in: dict[int, set[bytes]] = {}
        """Names that a block or function binds itself, by the id of its node."""
        self._resolving: list[str] = []

    def note_changes(self, node: Node) -> None:
        """Find out which names that ``node`` rests on may change after they are bound: they are unknown."""
        self._reached = set()
        self.value(node)
        own = self._script.exported.get("options", "")
        names = self._reached | {own} & self._script.bindings.keys()
        for way in self._script.occurrences(names):
            if _text(way[-1]) not in self._changed and self._may_change(way, names):
                self._changed.add(_text(way[-1]))
        # What stands inside a changed value can be changed through it.
        grown = True
        while grown:
            grown = False
            for name in names & self._changed:
                inside = {_text(n) for n in _walk(self._script.bindings[name])} & names
                grown = grown or not inside <= self._changed
                self._changed |= inside
        if own in self._changed and self._script.options() == node:
            raise UnreadableScript("a k6 script that changes its options after it declared them")

    def value(self, node: Node, depth: int = 0) -> Any:
        """The value of an expression: a Python value, or UNKNOWN."""
        self._steps += 1
        if depth > _DEEPEST or self._steps > _MOST_STEPS:
            return UNKNOWN
        match node.type:
            case "number":
                return _number(_text(node))
            case "string" | "template_string":
                return _string(node)
            case "true":
                return True
            case "false":
                return False
            case "null" | "undefined":
                return None
            case "array":
                return self._array(node, depth)
            case "object":
                return self._object(node, depth)
            case "identifier" | "shorthand_property_identifier":
                return self._name(_text(node), depth)
            case "parenthesized_expression" if len(node.named_children) == 1:
                return self.value(node.named_children[0], depth + 1)
            case "unary_expression" | "binary_expression":
                return self._arithmetic(node, depth)
            case "member_expression" | "subscript_expression":
                return self._member(node, depth)
        return UNKNOWN

    def _name(self, name: str, depth: int) -> Any:
        binding = self._script.bindings.get(name)
        if binding is None or name in self._changed or name in self._resolving:
            return UNKNOWN
        self._reached.add(name)
        self._resolving.append(name)
        try:
            return self.value(binding, depth + 1)
        finally:
            self._resolving.pop()

    def _array(self, node: Node, depth: int) -> Any:
        found: list[Any] = []
        before = "["
        for child in node.children:
            if child.type == "comment":
                continue
            if child.type == "," and before in ("[", ","):
                return UNKNOWN  # a hole
            before = child.type
            if not child.is_named:
                continue
            if child.type == "spread_element":
                spread = self.value(child.named_children[0], depth + 1)
                if not isinstance(spread, list):
                    return UNKNOWN
                found += spread
            else:
                found.append(self.value(child, depth + 1))
        return found

    def _object(self, node: Node, depth: int) -> _Object:
        found = _Object()
        for child in node.named_children:
            if child.type == "pair":
                key, value = child.child_by_field_name("key"), child.child_by_field_name("value")
                name = self._key(key, depth) if key is not None else UNKNOWN
                if isinstance(name, str) and value is not None:
                    found[name] = self.value(value, depth + 1)
                else:
                    _open(found)
            elif child.type == "shorthand_property_identifier":
                found[_text(child)] = self.value(child, depth + 1)
            elif child.type == "spread_element":
                spread = self.value(child.named_children[0], depth + 1)
                if isinstance(spread, _Object) and not spread.open:
                    found.update(spread)
                else:
                    _open(found)
            elif child.type != "comment":
                name_of = child.child_by_field_name("name")
                name = self._key(name_of, depth) if name_of is not None else UNKNOWN
                if isinstance(name, str):
                    found[name] = UNKNOWN  # a method, or a getter
                else:
                    _open(found)
        return found

    def _key(self, node: Node, depth: int) -> Any:
        if node.type == "property_identifier":
            return _text(node)
        inner = node.named_children[0] if node.type == "computed_property_name" else node
        value = self.value(inner, depth + 1)
        return str(value) if isinstance(value, int) and not isinstance(value, bool) else value

    def _arithmetic(self, node: Node, depth: int) -> Any:
        operator = node.child_by_field_name("operator")
        sides = [
            self.value(side, depth + 1)
            for side in map(node.child_by_field_name, ("argument", "left", "right"))
            if side is not None
        ]
        if operator is None or any(isinstance(s, bool) or not isinstance(s, int | float) for s in sides):
            return UNKNOWN
        return _calculate(_text(operator), [float(side) for side in sides])

    def _member(self, node: Node, depth: int) -> Any:
        base = node.child_by_field_name("object")
        key = node.child_by_field_name("property") or node.child_by_field_name("index")
        held = self.value(base, depth + 1) if base is not None else UNKNOWN
        if key is None or not isinstance(held, _Object) or held.open:
            return UNKNOWN
        return held.get(self._key(key, depth), UNKNOWN)

    def _may_change(self, way: list[Node], names: set[str]) -> bool:
        """Whether what a name holds may be changed where it stands: anything but reading a plain value of it.

        ``way`` are the nodes from the root down to the name.
        """
        name = _text(way[-1])
        if _is_declared(way) or self._is_shadowed(way):
            return False
        at = len(way) - 1
        while way[at - 1].type in ("member_expression", "subscript_expression"):
            if way[at - 1].child_by_field_name("object") != way[at]:
                break
            at -= 1
        if _is_assigned(way, at):
            return True
        if name not in self._holds_parts:
            self._holds_parts[name] = isinstance(self.value(self._script.bindings[name]), list | _Object)
        if not self._holds_parts[name]:
            return False
        if not isinstance(self.value(way[at]), list | _Object | _Unknown):
            return False
        return not _is_inside_literal(way, at, names)

    def _is_shadowed(self, way: list[Node]) -> bool:
        """Whether a block or function around the name binds it itself."""
        for above in way[1:-1]:
            if above.type not in _FUNCTIONS and above.type not in ("statement_block", "for_statement"):
                continue
            if above.id not in self._bound_in:
                self._bound_in[above.id] = _bound_by(above)
            if way[-1].text in self._bound_in[above.id]:
                return True
        return False


def _open(found: _Object) -> None:
    """Something unknown was spread into it: what was set before may be set otherwise."""
    found.open = True
    for key in found:
        found[key] = UNKNOWN


def _is_declared(way: list[Node]) -> bool:
    """Whether this is where a name of the top of the file is bound or exported."""
    place, above = way[-1], way[-2]
    if above.type in ("export_specifier", "export_statement"):
        return True
    if above.type != "variable_declarator" or above.child_by_field_name("name") != place:
        return False
    return way[-4].type in ("program", "export_statement")


def _is_assigned(way: list[Node], at: int) -> bool:
    """Whether the node, or a pattern around it, is what an assignment, update or loop writes to."""
    for below, above in zip(way[at:0:-1], way[at - 1 :: -1], strict=False):
        if above.type in ("assignment_expression", "augmented_assignment_expression", "for_in_statement"):
            return above.child_by_field_name("left") == below
        if above.type == "update_expression":
            return True
        if above.type == "unary_expression":
            operator = above.child_by_field_name("operator")
            return operator is not None and _text(operator) == "delete"
        if not above.type.endswith("pattern"):
            return False
    return False


def _is_inside_literal(way: list[Node], at: int, names: set[str]) -> bool:
    """Whether it is a part of a value bound at the top to one of ``names``: then that name is watched."""
    while way[at - 1].type in ("pair", "object", "array", "spread_element", "parenthesized_expression"):
        at -= 1
    above = way[at - 1]
    name = above.child_by_field_name("name") if above.type == "variable_declarator" else None
    if name is None or above.child_by_field_name("value") != way[at]:
        return False
    return _text(name) in names and _is_declared([*way[:at], name])


def _bound_by(node: Node) -> set[bytes]:
    """Names that a function (its parameters) or a block (its own let and const) binds."""
    if node.type in _FUNCTIONS:
        given = node.child_by_field_name("parameters") or node.child_by_field_name("parameter")
        bound = [given] if given is not None else []
    else:
        bound = [
            target
            for statement in node.named_children
            if statement.type == "lexical_declaration"
            for declarator in statement.named_children
            if (target := declarator.child_by_field_name("name")) is not None
        ]
    return {n.text for b in bound for n in _walk(b) if n.type in _NAMES and n.text is not None}


def _calculate(operator: str, sides: list[float]) -> Any:
    try:
        match operator, sides:
            case "-", [a]:
                result = -a
            case "+", [a]:
                result = a
            case "+", [a, b]:
                result = a + b
            case "-", [a, b]:
                result = a - b
            case "*", [a, b]:
                result = a * b
            case "/", [a, b]:
                result = a / b
            case "%", [a, b]:
                result = math.fmod(a, b)
            case "**", [a, b]:
                result = a**b
            case _:
                return UNKNOWN
    except (ArithmeticError, ValueError):
        return UNKNOWN
    return _plain(result)


def _plain(value: Any) -> Any:
    """A number as JSON has it: whole ones as int; UNKNOWN if it is no finite number that is exact."""
    if not isinstance(value, int | float) or not math.isfinite(value) or abs(value) > _EXACT:
        return UNKNOWN
    return int(value) if value == int(value) else float(value)


def _number(text: str) -> Any:
    digits = text.replace("_", "").lower()
    try:
        if digits[:2] in ("0x", "0o", "0b"):
            return _plain(int(digits, 0))
        if len(digits) > 40 or re.fullmatch(r"0\d+", digits):
            return UNKNOWN  # an octal of old, or nothing a person wrote
        return _plain(float(digits))
    except (ValueError, OverflowError):
        return UNKNOWN


def _string(node: Node) -> Any:
    parts: list[str] = []
    for child in node.named_children:
        if child.type == "string_fragment":
            parts.append(_text(child))
        elif child.type == "escape_sequence":
            parts.append(_escape(_text(child)[1:]))
        elif child.type != "comment":
            return UNKNOWN
    # Two halves of a character beyond the 16-bit range are one.
    return "".join(parts).encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _escape(text: str) -> str:
    if text[:1] in ("\n", "\r", "\u2028", "\u2029"):
        return ""
    if text[:1] in ("u", "x") and (digits := text[1:].strip("{}")):
        code = int(digits, 16)
        return chr(code) if code <= 0x10FFFF else "\ufffd"
    return _ESCAPES.get(text, text)
