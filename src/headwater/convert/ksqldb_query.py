"""Queries of ksqlDB: WINDOW clauses, joins WITHIN, PARTITION BY and ROWTIME, in our words."""

from __future__ import annotations

from sqlglot import exp

from headwater.convert.drafts import Conversion, Topic, View
from headwater.convert.queries import adopt, parse_foreign
from headwater.convert.statement import Statement
from headwater.convert.system import length_of, take_emit
from headwater.convert.words import Reader
from headwater.findings import SyntaxRefused
from headwater.model import parse_duration
from headwater.sql import parse_expression
from headwater.sql.interval import interval_node
from headwater.sql.nodes import WindowFunction

_KINDS = {"TUMBLING": "TUMBLE", "HOPPING": "HOP", "SESSION": "SESSION"}
_DEFAULT_GRACE = "1 day"
_BOUNDS = {"windowstart": "window_start", "windowend": "window_end"}


def read_query(statement: Statement, words: Reader, conversion: Conversion, name: str) -> View:
    """The view of the query that is left in a statement."""
    view = View(name, statement.comment)
    view.emit = take_emit(words)
    window = _cut_window(words, view)
    within = _cut_within(words, view)
    _cut_partition(words, view)
    tree = parse_foreign(words.written().replace("->", "."))
    if isinstance(tree, exp.Select):
        _bound_joins(tree, within, conversion, view)
        time = _time_of(tree, conversion)
        if window is not None:
            _let_read(tree, window, time or "rowtime")
        _name_bounds(tree, time, view)
    view.query, notes = adopt(tree, conversion, counts_from_one=True)
    view.notes += notes
    return view


def _cut_window(words: Reader, view: View) -> WindowFunction | None:
    """Take `WINDOW TUMBLING (SIZE 1 HOUR, GRACE PERIOD 5 MINUTES)` out of a query."""
    at = words.find("WINDOW")
    if at is None:
        return None
    clause = words.cut(at, at + 2)
    kind = _KINDS.get(clause.words[-1].upper)
    if kind is None:
        raise SyntaxRefused("the query has a window of no known kind", hint=f"There are {', '.join(_KINDS)}.")
    first = words.at
    words.at = at
    group = words.group()
    end, words.at = words.at, first
    lengths: dict[str, str] = {}
    for part in group.parts() if group else ():
        word = part.take_any("SIZE", "ADVANCE", "RETENTION", "GRACE")
        part.take_any("BY", "PERIOD")
        lengths[word or "GAP"] = length_of(part.rest())
    words.cut(at, end)
    if "RETENTION" in lengths:
        view.notes.append("RETENTION of the window was left out: rows of a view stay.")
    view.options["grace"] = lengths.get("GRACE", _DEFAULT_GRACE)
    if "GRACE" not in lengths:
        view.notes.append(
            "A window takes rows for a day after its end in ksqlDB, where nothing else is said: grace = '1 day' "
            "is that."
        )
    order = {"TUMBLE": ("SIZE",), "HOP": ("ADVANCE", "SIZE"), "SESSION": ("GAP",)}[kind]
    missing = [part for part in order if part not in lengths]
    if missing:
        raise SyntaxRefused(f"the window doesn't say its {missing[0]}")
    intervals = [interval_node(parse_duration(lengths[part])) for part in order]
    return WindowFunction(kind=kind, expressions=intervals)


def _cut_within(words: Reader, view: View) -> list[tuple[int, str, str]]:
    """Take `WITHIN 1 HOUR` out of joins: the number of the join, how far before and how far after."""
    bounds: list[tuple[int, str, str]] = []
    while (at := words.find("WITHIN")) is not None:
        join = sum(word.upper == "JOIN" for word in words.words[words.at : at]) - 1
        first, words.at = words.at, at + 1
        group = words.group()
        if group is None:
            words.next()
            words.next()
        grace = words.skip_to("ON") if words.take("GRACE", "PERIOD") else _DEFAULT_GRACE
        view.options["grace"] = length_of(grace)
        end, words.at = words.at, first
        parts = [part.rest() for part in group.parts()] if group else [words.between(at + 1, at + 3)]
        before, after = length_of(parts[0]), length_of(parts[-1])
        bounds.append((join, before, after))
        words.cut(at, end)
    return bounds


def _cut_partition(words: Reader, view: View) -> None:
    at = words.find("PARTITION", "BY")
    if at is not None:
        part = words.cut(at, len(words.words))
        view.notes.append(
            f"{part.written()} was left out: rows of a view are not partitioned; messages of an outlet are "
            f"keyed by key = '…'."
        )


def _time_of(tree: exp.Select, conversion: Conversion) -> str | None:
    source = tree.args["from_"].this if tree.args.get("from_") else None
    return _event_time(source, conversion)


def _event_time(source: exp.Expr | None, conversion: Conversion) -> str | None:
    draft = conversion.find(source.name) if isinstance(source, exp.Table) else None
    if isinstance(draft, Topic):
        return draft.time
    if isinstance(draft, View) and isinstance(draft.query, exp.Select) and draft.query.args.get("from_"):
        return _event_time(draft.query.args["from_"].this, conversion)
    return None


def _let_read(tree: exp.Select, window: WindowFunction, time: str) -> None:
    """Let a query read its source by a window table function, and group by the window."""
    source, group = tree.args["from_"].this, tree.args.get("group")
    name, data = source.alias_or_name, source.copy()
    data.set("alias", None)
    window.set("this", data)
    window.set("time", exp.to_identifier(time))
    keys = [key for key in (group.expressions if group else []) if isinstance(key, exp.Column)]
    if window.text("kind") == "SESSION":
        window.set("partition_by", [exp.column(key.name) for key in keys])
    tree.args["from_"].set("this", exp.Table(this=window, alias=exp.TableAlias(this=exp.to_identifier(name))))
    bounds = [exp.column("window_start"), exp.column("window_end")]
    tree.set("group", exp.Group(expressions=[*(group.expressions if group else []), *bounds]))
    shown = {column.alias_or_name.lower() for column in tree.expressions}
    for key in keys:
        if key.name.lower() not in shown:
            tree.append("expressions", key.copy())
    if not any(column.name.lower() in _BOUNDS for column in tree.find_all(exp.Column)):
        for bound in bounds:
            tree.append("expressions", bound.copy())


def _bound_joins(tree: exp.Select, within: list[tuple[int, str, str]], conversion: Conversion, view: View) -> None:
    """Write the bound in time of a join into its condition."""
    left = tree.args["from_"].this if tree.args.get("from_") else None
    joins = tree.args.get("joins") or []
    for number, before, after in within:
        if number >= len(joins):
            raise SyntaxRefused("WITHIN stands at no join")
        right = joins[number].this
        left_time, right_time = _event_time(left, conversion), _event_time(right, conversion)
        if left is None or left_time is None or right_time is None:
            view.notes.append(
                f"WITHIN {before} was left out: write the bound into ON, AND r.at BETWEEN l.at - … AND l.at + …."
            )
            continue
        mine, theirs = f"{left.alias_or_name}.{left_time}", f"{right.alias_or_name}.{right_time}"
        bound = f"{theirs} BETWEEN {mine} - {_spelled(before)} AND {mine} + {_spelled(after)}"
        joins[number].set("on", exp.and_(joins[number].args.get("on"), parse_expression(bound), copy=False))


def _spelled(length: str) -> str:
    from headwater.sql import spell_interval

    return spell_interval(parse_duration(length))


def _name_bounds(tree: exp.Select, time: str | None, view: View) -> None:
    """Write the columns that ksqlDB has beside those of a row by the names that they have here."""
    for column in list(tree.find_all(exp.Column)):
        name = column.name.lower()
        ours = _BOUNDS.get(name) or (time if name == "rowtime" else None)
        if ours is None or ours == column.name:
            continue
        call = column.parent
        if (
            isinstance(call, exp.Anonymous) and call.name.upper() == "TIMESTAMPTOSTRING"
        ):  # of an instant it needs no more
            call.set("this", "DATE_FORMAT")
        is_shown = isinstance(call, exp.Select) and column.arg_key == "expressions"
        table = None if name in _BOUNDS else column.table or None
        named = exp.column(ours, table=table)
        column.replace(exp.alias_(named, column.name) if is_shown else named)
        note = (
            "WINDOWSTART, WINDOWEND and ROWTIME are instants here, in ksqlDB milliseconds: unix_millis(…) counts them."
        )
        if note not in view.notes:
            view.notes.append(note)
