"""Small faults that could be in a module: every place and change, and the text with one of them."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

COMPARE = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq, ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
ARITHMETIC = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.Pow: ast.Mult,
    ast.FloorDiv: ast.Mult, ast.Mod: ast.FloorDiv, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd,
}  # fmt: skip
NAMES = {
    "min": "max", "max": "min", "minimum": "maximum", "maximum": "minimum", "argmin": "argmax",
    "argmax": "argmin", "any": "all", "all": "any", "sum": "mean", "sqrt": "square",
    "flatnonzero": "atleast_1d", "empty": "ones", "zeros": "ones", "ones": "zeros",
}  # fmt: skip


@dataclass(frozen=True)
class Change:
    """One fault: the line it is in, what stood there, and what stands there now."""

    source: str
    number: int
    line: int
    column: int
    before: str
    after: str

    @property
    def tree(self) -> ast.Module:
        """The module with this fault, every line where it was."""
        tree = ast.parse(self.source)
        node, after = next(islice(_places(tree), self.number, None))
        node.__dict__.update(after.__dict__)
        node.__class__ = after.__class__  # type: ignore[assignment]
        return ast.fix_missing_locations(tree)

    @property
    def text(self) -> str:
        """The module with this fault, as text."""
        return ast.unparse(self.tree)

    @property
    def in_a_body(self) -> bool:
        """Whether it is in what a function does, and not in what importing the module does."""
        tree = ast.parse(self.source)
        place, _ = next(islice(_places(tree), self.number, None))
        functions = (n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef))
        return any(place is n for f in functions for line in f.body for n in ast.walk(line))

    @property
    def statement(self) -> range:
        """The lines of its statement; of one with a body, those before it."""
        lines = range(self.line, self.line + 1)
        for node in ast.walk(ast.parse(self.source)):  # outer ones first
            if isinstance(node, ast.stmt) and node.lineno <= self.line <= (node.end_lineno or 0):
                body = getattr(node, "body", None)
                end = body[0].lineno if body else (node.end_lineno or node.lineno) + 1
                lines = range(node.lineno, max(end, node.lineno + 1))
        return lines


def changes(source: str) -> Iterator[Change]:
    """Yield every small fault that ``source`` could have."""
    for number, (node, after) in enumerate(_places(ast.parse(source))):
        before, then = ast.unparse(node), ast.unparse(after)
        yield Change(source, number, node.lineno, node.col_offset, before, then)


def _places(tree: ast.AST) -> Iterator[tuple[ast.expr | ast.stmt, ast.AST]]:
    for node in _code(tree):
        for after in _variants(node):
            yield node, after


def _code(tree: ast.AST) -> Iterator[ast.expr | ast.stmt]:
    """Walk what runs and can be wrong: not types, not assertions, not the words of errors."""
    skipped = (ast.Assert, ast.Raise, ast.Import, ast.ImportFrom, ast.JoinedStr)
    for field, value in ast.iter_fields(tree):
        if field in ("annotation", "returns", "decorator_list", "type_params"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if not isinstance(child, ast.AST) or isinstance(child, skipped):
                continue
            if isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING":
                continue
            if isinstance(child, ast.Call) and ast.unparse(child.func) in ("warn", "cast"):
                continue
            if isinstance(child, ast.expr | ast.stmt):
                yield child
            yield from _code(child)


def _variants(node: ast.AST) -> Iterator[ast.AST]:
    """Yield what could stand in the place of a node by mistake."""
    match node:
        case ast.Compare(ops=[one]) if type(one) in COMPARE:
            yield ast.Compare(node.left, [COMPARE[type(one)]()], node.comparators)
        case ast.BinOp(op=op) if type(op) in ARITHMETIC:
            yield ast.BinOp(node.left, ARITHMETIC[type(op)](), node.right)
        case ast.BoolOp(op=ast.And()):
            yield ast.BoolOp(ast.Or(), node.values)
        case ast.BoolOp(op=ast.Or()):
            yield ast.BoolOp(ast.And(), node.values)
        case ast.UnaryOp(op=ast.Not() | ast.USub()):
            yield copy.copy(node.operand)
        case ast.Constant(value=bool() as value):
            yield ast.Constant(not value)
        case ast.Constant(value=int() as value):
            yield ast.Constant(value + 1)
        case ast.Constant(value=float() as value):
            yield ast.Constant(2 * value if value else 1.0)
        case ast.Attribute(attr=name) if name in NAMES:
            yield ast.Attribute(node.value, NAMES[name], node.ctx)
        case ast.Name(id=name, ctx=ast.Load()) if name in NAMES:
            yield ast.Name(NAMES[name], node.ctx)
        case ast.AugAssign(op=op) if type(op) in ARITHMETIC:
            yield ast.AugAssign(node.target, ARITHMETIC[type(op)](), node.value)
        case ast.IfExp():
            yield ast.IfExp(node.test, node.orelse, node.body)
        case ast.Break():
            yield ast.Continue()
        case ast.Expr(value=ast.Call()):
            yield ast.Pass()
