"""Hypothesis strategies for declarations."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, timedelta
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from headwater import model
from headwater.sql import canonical, parse_expression, spell, spell_name

TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=12)
NAMES = st.one_of(
    st.from_regex(r"[a-z][a-z0-9_]{0,8}", fullmatch=True),
    st.sampled_from(
        ["order", "select", "timestamp", "a b", "größe €", "x`y", "a,b", "Watermark", "primary", "1a", "é"]
    ),
    st.text(st.characters(categories=["L", "N", "P", "S", "Zs"]), min_size=1, max_size=6).filter(
        lambda name: name != "*" and not name.startswith("_") and name.strip() == name
    ),
)
LENGTHS = st.timedeltas(min_value=timedelta(), max_value=timedelta(days=4000))
SCALARS = [
    pa.bool_(), pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.float32(), pa.float64(), pa.string(), pa.binary(),
    pa.date32(), model.INSTANT, pa.timestamp("us"),
]  # fmt: skip
UNLOGGABLE = [pa.time64("us"), pa.duration("us"), pa.month_day_nano_interval(), pa.null(), model.Variant()]


def field(name: str, kind: pa.DataType, nullable: bool) -> pa.Field:
    return pa.field(name, kind, nullable or kind == pa.null())


def types(loggable: bool = True) -> st.SearchStrategy[pa.DataType]:
    scalars = st.sampled_from(SCALARS if loggable else [*SCALARS, *UNLOGGABLE])
    decimals = st.integers(1, 38).flatmap(lambda size: st.builds(pa.decimal128, st.just(size), st.integers(0, size)))

    def nested(inner: st.SearchStrategy[pa.DataType]) -> st.SearchStrategy[pa.DataType]:
        fields = st.lists(st.builds(field, NAMES, inner, st.booleans()), min_size=1, max_size=3)
        return st.one_of(
            st.builds(pa.list_, inner),
            st.builds(pa.map_, inner.filter(lambda kind: kind != pa.null()), inner),
            st.builds(pa.struct, fields),
        )

    return st.recursive(scalars | decimals, nested, max_leaves=4)


@st.composite
def columns(draw: st.DrawFn, loggable: bool = True) -> tuple[model.Column, ...]:
    names = draw(st.lists(NAMES, min_size=1, max_size=5, unique_by=str.lower))
    comments = st.none() | TEXT.filter(bool)
    return tuple(model.Column(name, draw(types(loggable)), draw(st.booleans()), draw(comments)) for name in names)


def _default(kind: pa.DataType) -> st.SearchStrategy[str | None]:
    return st.none() | TEXT if kind == pa.string() else st.none()


@st.composite
def topics(draw: st.DrawFn) -> model.Stream | model.Table:
    found = draw(columns())
    names = [column.name for column in found]
    former = [name for name in draw(st.lists(NAMES, max_size=3, unique_by=str.lower)) if name.lower() not in
              {taken.lower() for taken in (*names, "at", "told")}]  # fmt: skip
    found = (replace(found[0], aliases=tuple(former), default=draw(_default(found[0].type))), *found[1:])
    any_names = st.lists(st.sampled_from(names), unique=True, max_size=3).map(tuple)
    some_names = st.lists(st.sampled_from(names), unique=True, min_size=1, max_size=3).map(tuple)
    shared: dict[str, Any] = {
        "name": draw(NAMES),
        "comment": draw(st.none() | TEXT.filter(bool)),
        "idle": draw(st.none() | LENGTHS),
        "max_ahead": draw(st.none() | LENGTHS),
        "intake": draw(st.none() | intakes()),
        "personal": tuple(
            model.Personal(part, draw(st.sampled_from(names))) for part in draw(st.lists(some_names, max_size=2))
        ),
    }
    taken = {name.lower() for name in names}
    if draw(st.booleans()) and not taken & {"at", "told"}:
        found = (*found, model.Column("at", model.INSTANT), model.Column("told", model.INSTANT))
        shared |= {"time": "at", "watermark": draw(watermarks())}
    if draw(st.booleans()):
        key = draw(some_names)
        found = tuple(replace(column, nullable=column.nullable and column.name not in key) for column in found)
        return model.Table(columns=found, primary_key=key, **shared)
    unique, within = draw(any_names | st.just(model.CONTENT)), draw(st.none() | LENGTHS)
    return model.Stream(columns=found, key=draw(any_names), unique=unique, within=within, **shared)


def intakes() -> st.SearchStrategy[model.Kafka]:
    texts = TEXT.map(str.strip).filter(bool)
    names = texts.filter(lambda text: "," not in text and not text.startswith("^"))
    return st.builds(
        model.Kafka,
        topic=names,
        brokers=st.none() | texts,
        cluster=texts,
        format=st.sampled_from(["json", "avro", "protobuf", "json-schema"]),
        registry=st.none() | texts,
        envelope=st.sampled_from([None, "debezium"]),
        start=st.sampled_from(["earliest", "latest", ((0, 42), (3, 17))]) | st.datetimes(timezones=st.just(UTC)),
        gaps=st.sampled_from(["stop", "skip"]),
        commit_every=LENGTHS,
        max_dead=st.none() | st.integers(0, 1000).map(lambda found: found / 1000),
        dead_topic=st.none() | texts,
    ) | st.builds(
        model.Kafka,
        topic=st.lists(names, min_size=1, unique=True).map(", ".join) | st.just("^payments-.*"),
        format=st.just("csv"),
        fields=st.lists(texts, unique=True).map(tuple),
        delimiter=st.sampled_from([",", ";", "\t", "|", " "]),
    )


def watermarks() -> st.SearchStrategy[model.WatermarkStrategy]:
    shares = st.floats(0, 1, exclude_min=True, exclude_max=True, allow_subnormal=False)
    bounds = st.tuples(LENGTHS, LENGTHS).map(sorted)
    return st.one_of(
        st.builds(model.Bounded, LENGTHS),
        st.just(model.Punctuated("told")),
        st.builds(lambda share, bound: model.Quantile(share, *bound), shares, bounds),
    )


def servings() -> st.SearchStrategy[model.Serving]:
    names, index = (st.lists(NAMES, min_size=least, max_size=2).map(tuple) for least in (0, 1))
    return st.builds(
        model.Serving,
        layout=st.none() | st.sampled_from(model.LAYOUTS),
        score=st.none() | NAMES.filter(lambda name: name == name.strip()),
        group=names,
        ttl=st.none() | LENGTHS,
        indexes=st.lists(index, max_size=2).map(tuple),
    )


@st.composite
def views(draw: st.DrawFn) -> model.View:
    table, column, text = draw(NAMES), draw(NAMES), draw(TEXT)
    literal = spell(parse_expression("'x'").__class__.string(text))
    query = f"SELECT {spell_name(column)} AS {spell_name(draw(NAMES))} FROM {spell_name(table)} WHERE x = {literal}"
    name, comment = draw(NAMES), draw(st.none() | TEXT.filter(bool))
    if draw(st.booleans()):
        return model.View(name=name, query=model.SqlQuery(canonical(query)), materialized=False, comment=comment)
    return model.View(
        name=name,
        query=model.SqlQuery(canonical(query)),
        grace=draw(LENGTHS),
        late=draw(st.sampled_from(["keep", "drop"])),
        emit=draw(st.none() | st.sampled_from(model.Emit)),
        every=draw(st.none() | LENGTHS),
        store=draw(st.none() | TEXT.map(lambda text: text.replace(",", "").strip()).filter(bool)),
        key=draw(st.lists(NAMES, max_size=2).map(tuple)),
        horizon=draw(st.none() | LENGTHS),
        retention=draw(st.none() | LENGTHS),
        execution=draw(st.sampled_from([None, "live", "settle", "batch"])),
        serving=draw(servings()),
        comment=comment,
    )


@st.composite
def functions(draw: st.DrawFn) -> model.Function:
    parameters = draw(columns(loggable=False))
    return model.Function(
        name=draw(NAMES),
        parameters=tuple(model.Column(parameter.name, parameter.type) for parameter in parameters),
        returns=draw(types(loggable=False)),
        body=spell(parse_expression(f"coalesce({spell_name(parameters[0].name)}, 1)")),
        comment=draw(st.none() | TEXT.filter(bool)),
    )


def outlets() -> st.SearchStrategy[model.Outlet]:
    texts = TEXT.map(str.strip).filter(bool)
    shared: dict[str, Any] = {
        "name": NAMES,
        "view": NAMES,
        "accumulation": st.sampled_from(["accumulate", "discard"]),
        "start": st.sampled_from(["earliest", "latest"]),
        "comment": st.none() | TEXT.filter(bool),
    }
    kafka = st.builds(
        model.Outlet,
        **shared,
        to=st.from_regex(r"kafka://[a-z][a-zA-Z0-9._-]{0,9}", fullmatch=True),
        envelope=st.sampled_from(["change", "row", "upsert", "debezium"]),
        key=st.lists(NAMES, max_size=2).map(tuple),
        brokers=st.none() | texts,
        cluster=texts,
    )
    webhook = st.builds(
        model.Outlet,
        **shared,
        to=st.from_regex(r"https?://[a-z]{1,9}(:[1-9][0-9]{1,3})?/[a-z?=']{0,9}", fullmatch=True),
        per_request=st.integers(1, 1000),
        attempts=st.integers(1, 100),
        timeout=LENGTHS,
        headers=st.none() | texts,
    )
    return st.one_of(kafka, webhook)


def declarations() -> st.SearchStrategy[model.Declaration]:
    return st.one_of(topics(), views(), functions(), outlets())
