"""TEMPORARY typer adapter."""

from __future__ import annotations

import re
from dataclasses import dataclass

import pyarrow as pa
from sqlglot import exp
from sqlglot.optimizer.annotate_types import annotate_types

from headwater import sql
from headwater.errors import *
from headwater.plan import functions
from headwater.plan.positions import columns_of
from headwater.plan.stages import Expression

WRAP = (exp.Filter, exp.IgnoreNulls, exp.RespectNulls, exp.WithinGroup)


def text(node):
    return sql.spell(node)


def unwrapped(node):
    while isinstance(node, WRAP):
        node = node.this
    return node


@dataclass
class CallInfo:
    name: str
    stability: str


def name_of(node):
    if isinstance(node, exp.Anonymous):
        return node.name.lower()
    m = re.match(r"(\w+)\(", node.sql(dialect=sql.Headwater))
    return m[1].lower() if m else None


def call_of(node):
    n = name_of(unwrapped(node)) or "call"
    info = functions.find(n)
    return CallInfo(n, str(info.stability([])) if info else "exact")


def is_aggregate(node):
    inner = unwrapped(node)
    p = node.parent
    c = node
    while isinstance(p, WRAP) and p.this is c:
        c, p = p, p.parent
    if isinstance(p, exp.Window) and p.this is c:
        return False
    if not isinstance(inner, exp.Func) or isinstance(inner, (exp.Connector, exp.Binary)):
        return False
    n = name_of(inner)
    info = functions.find(n) if n else None
    return bool(info and info.kind == "aggregate")


def _types(node, find):
    for c in columns_of(exp.Paren(this=node)):
        f = find(c)
        c.type = sql.sqlglot_type(f.type) if f is not None else exp.DataType(this=exp.DType.NULL)


def _expr(context, node, find):
    node = node.copy()
    root = exp.Paren(this=node)
    _types(root.this, find)
    try:
        t = annotate_types(root.copy(), dialect=sql.Headwater).this.type
        ty = sql.arrow_type(t) if t else pa.null()
    except Exception:
        ty = pa.null()
    cols = list(columns_of(root))
    reads = tuple(sorted({(c.table + "." if c.table else "") + c.name for c in cols}))
    for n in root.walk():
        if isinstance(n, exp.Func) and not isinstance(n, (exp.Connector, exp.Binary, exp.Cast)):
            nm = name_of(n)
            i = functions.find(nm) if nm else None
            if nm and not i:
                context.refuse(UnknownFunction, f'calls an unknown function "{nm}"', n)
            elif i and not i.pure:
                context.refuse(ImpureFunction, f'calls "{nm}"', n)
    return Expression(text(root.this), ty, True, reads)


def expression(context, node, stage, wanted=None):
    return _expr(context, node, lambda c: stage.column(c.name))


def pair_expression(context, node, l, r):
    return _expr(context, node, lambda c: (l if c.table == "l" else r).column(c.name))


def ancestors_of(e, stage):
    return frozenset(a for n in e.reads for a in (stage.column(n).ancestors if stage.column(n) else ()))


def common_type(a, b):
    return a if a == b else None


def check_function(f, fs, findings):
    pass


def is_generator(node):
    return isinstance(node, (exp.Explode, exp.Posexplode))


def generated_types(node, below):
    return [pa.null()]
