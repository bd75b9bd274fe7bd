"""Small faults that could be in a module: every place and change, and the text with one of them."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator
from dataclasses import dataclass

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
    """One fault: the line it is in, what stood there, what stands there now, the new module."""

    line: int
    column: int
    before: str
    after: str
    text: str


def changes(source: str) -> Iterator[Change]:
    """Yield every module that differs from ``source`` by one small fault."""
    tree = ast.parse(source)
    for node in list(_code(tree)):
        for before, after in _variants(node):
            saved = copy.copy(node.__dict__)
            shown = ast.unparse(before)
            node.__dict__.update(after.__dict__)
            kind, node.__class__ = node.__class__, after.__class__  # type: ignore[assignment]
            text = ast.unparse(tree)
            node.__class__ = kind  # type: ignore[assignment]
            node.__dict__.clear()
            node.__dict__.update(saved)
            yield Change(node.lineno, node.col_offset, shown, ast.unparse(after), text)


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


def _variants(node: ast.AST) -> Iterator[tuple[ast.AST, ast.AST]]:
    """Yield pairs: the node, and what could stand in its place by mistake."""
    match node:
        case ast.Compare(ops=[one]) if type(one) in COMPARE:
            yield node, ast.Compare(node.left, [COMPARE[type(one)]()], node.comparators)
        case ast.BinOp(op=op) if type(op) in ARITHMETIC:
            yield node, ast.BinOp(node.left, ARITHMETIC[type(op)](), node.right)
        case ast.BoolOp(op=ast.And()):
            yield node, ast.BoolOp(ast.Or(), node.values)
        case ast.BoolOp(op=ast.Or()):
            yield node, ast.BoolOp(ast.And(), node.values)
        case ast.UnaryOp(op=ast.Not() | ast.USub()):
            yield node, copy.copy(node.operand)
        case ast.Constant(value=bool() as value):
            yield node, ast.Constant(not value)
        case ast.Constant(value=int() as value):
            yield node, ast.Constant(value + 1)
        case ast.Constant(value=float() as value):
            yield node, ast.Constant(2 * value if value else 1.0)
        case ast.Attribute(attr=name) if name in NAMES:
            yield node, ast.Attribute(node.value, NAMES[name], node.ctx)
        case ast.Name(id=name, ctx=ast.Load()) if name in NAMES:
            yield node, ast.Name(NAMES[name], node.ctx)
        case ast.AugAssign(op=op) if type(op) in ARITHMETIC:
            yield node, ast.AugAssign(node.target, ARITHMETIC[type(op)](), node.value)
        case ast.IfExp():
            yield node, ast.IfExp(node.test, node.orelse, node.body)
        case ast.Break():
            yield node, ast.Continue()
        case ast.Expr(value=ast.Call()):
            yield node, ast.Pass()
