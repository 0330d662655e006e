"""Functions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from headwater import model, sql
from headwater.declare.arguments import ColumnSpec, caller, checked, located
from headwater.declare.fields import column_of, type_of


def function(
    name: str,
    *,
    parameters: Mapping[str, ColumnSpec] | None = None,
    returns: ColumnSpec,
    body: str,
    comment: str | None = None,
) -> model.Function:
    """Declare a function by its SQL expression.

    >>> function("twice", parameters={"n": "INT"}, returns="INT", body="n*2").body
    'n * 2'
    """
    origin = caller()
    with located(origin):
        declared = model.Function(
            name=name,
            parameters=tuple(
                replace(column_of(parameter, spec), nullable=True) for parameter, spec in (parameters or {}).items()
            ),
            returns=type_of(returns),
            body=sql.spell(sql.parse_expression(body)),
            comment=comment,
        )
    return checked(declared, origin)
