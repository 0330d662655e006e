"""CREATE OUTLET: which targets there are, and which options and envelopes each of them takes."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from headwater import model
from headwater.findings import OutletRefused, UnknownOption
from headwater.installed import installed
from headwater.sql.nodes import CreateOutlet, Option
from headwater.sql.options import read_options
from headwater.sql.parser import first_offset
from headwater.sql.reading import Reading
from headwater.sql.refusal import did_you_mean

GROUP = "headwater.outlets"
"""The entry points of packages that bring targets along; the name of one is the scheme of its URLs."""
_KAFKA_TOPIC = re.compile(r"(?!\.{1,2}$)[A-Za-z0-9._-]{1,249}")
_HINT = "Write TO 'kafka://topic', 'delta://path' or 'https://host/hook'."
_OPTIONS: dict[model.TargetKind, frozenset[str]] = {
    "kafka": frozenset({"envelope", "format", "registry", "accumulation", "start", "key", "brokers", "cluster"}),
    "delta": frozenset({"envelope", "accumulation", "start"}),
    "webhook": frozenset(
        {"envelope", "format", "accumulation", "start", "per_request", "attempts", "timeout", "headers"}
    ),
    "foreign": frozenset({"envelope", "format", "accumulation", "start", "key"}),
}
"""The options that an outlet to each kind of target takes."""
_ENVELOPES: dict[model.TargetKind, frozenset[model.Envelope]] = {
    "kafka": frozenset({"change", "row", "upsert", "debezium"}),
    "delta": frozenset({"change", "row", "upsert"}),
    "webhook": frozenset({"change", "row", "debezium"}),
    "foreign": frozenset({"change", "row", "upsert", "debezium"}),
}
"""The envelopes that can be sent to each kind of target."""


def read_outlet(reading: Reading, tree: CreateOutlet) -> model.Outlet | None:
    """The outlet that a statement declares; None if nothing can be made of its target."""
    values, refusals = read_options("outlet", reading.name, tree.args.get("options") or ())
    for refusal in refusals:
        reading.find(refusal)
    if not _is_target(reading, tree):
        return None
    kind = model.SCHEMES.get(tree.expression.name.partition("://")[0].lower(), "foreign")
    for option in tree.args.get("options") or ():
        _check_option(reading, kind, option)
    return model.Outlet(
        name=tree.name,
        view=tree.args["view"].name,
        to=tree.expression.name,
        comment=reading.comment(tree),
        origin=reading.origin(tree),
        view_origin=reading.source.at(first_offset(tree.args["view"]) or 0),
        **values,
    )


def _is_target(reading: Reading, tree: CreateOutlet) -> bool:
    """Tells whether an outlet can send there; finds why not."""
    target = tree.expression
    scheme, separator, address = target.name.partition("://")
    known = list(model.SCHEMES) if scheme.lower() in model.SCHEMES else [*model.SCHEMES, *installed(GROUP)]
    if not separator or scheme.lower() not in known:
        near = did_you_mean(scheme, known) if separator else None
        summary = f'{reading.title} sends to "{target.name}", which is no target'
        detail = f"Its scheme is {scheme}." if separator else "It has no scheme."
        reading.refuse(OutletRefused, target, summary, detail=detail, hint=f"{near} {_HINT}" if near else _HINT)
        return False
    if scheme.lower() == "delta" and not address.strip("/"):
        summary = f"{reading.title} sends to no path"
        reading.refuse(
            OutletRefused, target, summary, hint="Write TO 'delta://path', a path from the project's folder."
        )
        return False
    if scheme.lower() in ("http", "https") and (problem := _about_url(target.name)):
        summary = f"{reading.title} sends to a URL {problem}"
        hint = "Write TO 'https://host/hook'; what is secret goes into [webhooks] of headwater.toml, as headers."
        reading.refuse(OutletRefused, target, summary, hint=hint)
        return False
    if scheme.lower() == "kafka" and not _KAFKA_TOPIC.fullmatch(address):
        summary = f'{reading.title} sends to a topic "{address}", which Kafka can\'t have'
        hint = "Letters, digits, dots, hyphens and underscores make its name, at most 249."
        reading.refuse(OutletRefused, target, summary, hint=hint)
        return False
    return True


def _about_url(url: str) -> str | None:
    try:
        parts = urlsplit(url)
    except ValueError:
        return "that can't be read"
    if not parts.hostname:
        return "without a host"
    return "with a password" if parts.password is not None else None


def _check_option(reading: Reading, kind: model.TargetKind, option: Option) -> None:
    """Find an option, or an envelope, that this kind of target has no use for."""
    word, known = option.name.lower(), sorted(_OPTIONS[kind])
    if word in {name for names in _OPTIONS.values() for name in names} and word not in known:
        summary = f'{reading.title} has no option "{word}": it sends to {kind}'
        hint = f"An outlet to {kind} has the options {', '.join(known)}."
        reading.refuse(UnknownOption, option, summary, hint=hint)
    value = option.expression.name.lower()
    if word == "envelope" and value in _ENVELOPES["kafka"] and value not in _ENVELOPES[kind]:
        hint = f"It takes {', '.join(sorted(_ENVELOPES[kind]))}."
        reading.refuse(OutletRefused, option.expression, f"{reading.title} can't send {value} to {kind}", hint=hint)
