"""Creates mutants of a module: one comparison, condition, connective, operator, number or quantifier changed.

`explained.toml` lists mutants that are expected to survive, each with the reason.
"""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass
from functools import cache
from importlib import resources

_COMPARISON_SWAPS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}
_OPERATOR_SWAPS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.Mult: ast.Add,
}
_QUANTIFIERS = {"any": "all", "all": "any", "min": "max", "max": "min"}


_TEXT_LIMITS = frozenset({"MAX_NAMED", "MAX_SUMMARY_CHARS", "MAX_REFERENCE_CHARS", "MAX_ANSWERS"})
"""Constants that limit text lengths; verdicts do not depend on them."""

_RECORDING = frozenset({"record", "as_json", "fold_digest", "services"})
"""Functions that record evidence; digests are compared at the end of every episode."""


_IGNORED_KEYWORD = "strict"
"""Keyword argument of zip() that requires sequences of equal length; it is not mutated."""


@dataclass(frozen=True, order=True)
class Mutant:
    """One change to a module: its index, its line, and the source before and after.

    `function_line` is the first line of the enclosing function, or None outside functions.
    """

    module: str
    number: int
    line: int
    change: str
    function_line: int | None = None
    text: str = ""
    """The source line."""

    function: str = ""
    """The name of the enclosing function."""

    @property
    def place(self) -> str:
        """The location and the change."""
        return f"{self.module.removeprefix('companyos_gateway.')}:{self.line} {self.change}"

    @property
    def scenario(self) -> str:
        """The scenario whose module `companyos_gateway.scenarios.NAME.MODULE` is mutated."""
        return self.module.split(".")[2]

    @property
    def key(self) -> tuple[str, str, str, str]:
        """The identity of the mutant independent of line numbers: module, function, source line and change."""
        return self.module.removeprefix("companyos_gateway."), self.function, self.text, self.change


def mutants_of(module: str, source: str) -> list[Mutant]:
    """Return every mutant of a module."""
    tree, lines = ast.parse(source), source.splitlines()
    functions = _functions(tree)
    found = []
    for number, (node, before, after) in enumerate(_changes(tree)):
        function_line, name = functions.get(id(node), (None, ""))
        change, text = f"`{before}` -> `{after}`", lines[node.lineno - 1].strip()
        found.append(Mutant(module, number, node.lineno, change, function_line, text, name))
    return found


def apply_mutant(source: str, mutant: Mutant) -> ast.Module:
    """Return the module with the mutant's change."""
    tree = ast.parse(source)
    for number, _ in enumerate(_changes(tree, make=mutant.number)):
        if number == mutant.number:
            break
    return ast.fix_missing_locations(tree)


def _functions(tree: ast.Module) -> dict[int, tuple[int, str]]:
    """Return the first line and the name of the innermost enclosing function, by node id."""
    found: dict[int, tuple[int, str]] = {}
    for function in (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)):
        first = min([function.lineno, *(item.lineno for item in function.decorator_list)])
        found |= {id(node): (first, function.name) for part in function.body for node in ast.walk(part)}
    return found


def _changes(tree: ast.Module, make: int | None = None) -> Iterator[tuple[ast.expr | ast.stmt, str, str]]:
    """Yield every possible change, and apply the one with index `make`."""
    number = 0
    for node in _mutable_nodes(tree):
        for before, after in _variants(node):
            text = ast.unparse(before), ast.unparse(after)
            if number == make:
                _replace_node(node, after)
            yield node, text[0], text[1]
            if number == make:
                return
            number += 1


def _mutable_nodes(tree: ast.Module) -> Iterator[ast.expr]:
    """Yield the executed expressions, without annotations, f-strings and decorators."""
    for statement in ast.walk(tree):
        if isinstance(statement, ast.FunctionDef) and statement.name not in _RECORDING:
            for part in statement.body:
                yield from _expressions(part)
        elif isinstance(statement, ast.Assign) and statement in tree.body and not _is_text_limit(statement):
            yield from _expressions(statement)


def _is_text_limit(statement: ast.Assign) -> bool:
    """Return whether a constant only limits text lengths, or names a type."""
    joined = statement.value.left if isinstance(statement.value, ast.BinOp) else None
    is_type = isinstance(joined, ast.Name) and joined.id in ("int", "float", "str")
    return is_type or any(isinstance(item, ast.Name) and item.id in _TEXT_LIMITS for item in statement.targets)


def _expressions(part: ast.AST) -> Iterator[ast.expr]:
    nested = ast.FunctionDef | ast.ClassDef
    queue: list[ast.AST] = [part] if not isinstance(part, nested) else []
    while queue:
        node = queue.pop(0)
        if isinstance(node, ast.expr) and not isinstance(node, ast.JoinedStr):
            yield node
        if not isinstance(node, ast.JoinedStr):
            queue += [child for name, child in _children(node) if name not in ("annotation", "returns")]


def _children(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    nested = ast.FunctionDef | ast.ClassDef
    for name, value in ast.iter_fields(node):
        for child in value if isinstance(value, list) else [value]:
            is_guard = isinstance(child, ast.keyword) and child.arg == _IGNORED_KEYWORD
            if isinstance(child, ast.AST) and not isinstance(child, nested) and not is_guard:
                yield name, child


def _variants(node: ast.expr) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Yield each replacement of a node, with a copy of the original."""
    before = deepcopy(node)
    if isinstance(node, ast.Compare) and type(node.ops[0]) in _COMPARISON_SWAPS:
        yield before, ast.Compare(node.left, [_COMPARISON_SWAPS[type(node.ops[0])](), *node.ops[1:]], node.comparators)
    elif isinstance(node, ast.BoolOp):
        other: ast.boolop = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        yield before, ast.BoolOp(other, node.values)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield before, node.operand
    elif isinstance(node, ast.BinOp) and type(node.op) in _OPERATOR_SWAPS:
        yield before, ast.BinOp(node.left, _OPERATOR_SWAPS[type(node.op)](), node.right)
    elif isinstance(node, ast.IfExp) and not (_is_text(node.body) or _is_text(node.orelse)):
        yield before, ast.IfExp(ast.UnaryOp(ast.Not(), node.test), node.body, node.orelse)
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _QUANTIFIERS:
        yield before, ast.Call(ast.Name(_QUANTIFIERS[node.func.id], ast.Load()), node.args, node.keywords)
    elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
        yield before, ast.Constant(not node.value)
    elif isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        yield before, ast.Constant(node.value + 1)


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))


def _replace_node(node: ast.expr, other: ast.expr) -> None:
    """Replace a node in place."""
    location = node.lineno, node.col_offset
    copied = deepcopy(other)
    node.__class__ = copied.__class__
    node.__dict__.clear()
    node.__dict__.update(copied.__dict__)
    node.lineno, node.col_offset = location


Key = tuple[str, str, str, str]


@cache
def reasons() -> dict[Key, str]:
    """Return the reasons by module, function, source line and change."""
    text = resources.files(__package__).joinpath("explained.toml").read_text(encoding="utf-8")
    entries = tomllib.loads(text)["mutant"]
    return {(item["module"], item["function"], item["line"], item["change"]): item["why"] for item in entries}


def survival_reason(mutant: Mutant) -> str | None:
    """Return the reason for which a mutant may survive, or None."""
    return reasons().get(mutant.key)
