"""Commands of the schema registry: register, check, list, diff, level, delete."""

from __future__ import annotations

import difflib
import json
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

import headwater as hw
from headwater.cli.app import HERE, Folder, Json, app, command
from headwater.cli.output import console, print_json
from headwater.errors import ArgumentRefused
from headwater.schemas.level import Level

if TYPE_CHECKING:
    from headwater.schemas.known import Draft, Reference, Registered
    from headwater.schemas.registry import SchemaRegistry

schemas = typer.Typer(no_args_is_help=True, help="The project's schema registry.")
app.add_typer(schemas, name="schema")
to_schemas = partial(command, to=schemas)
Subject = Annotated[str, typer.Argument(metavar="SUBJECT", help="The values of topic t are t-value, its keys t-key.")]
File = Annotated[Path, typer.Argument(metavar="FILE", help="A schema: .avsc, .proto, or .json for JSON Schema.")]
References = Annotated[
    list[str] | None, typer.Option("--reference", metavar="NAME=SUBJECT:VERSION", help="A schema that it refers to.")
]
_LANGUAGES = {".avsc": "AVRO", ".proto": "PROTOBUF", ".json": "JSON"}


@to_schemas
def register(
    subject: Subject, file: File, reference: References = None, project: Folder = HERE, json_: Json = False
) -> None:
    """Make a schema the next version of a subject, if it gets on with those before it."""
    with hw.open(project) as opened:
        registered = opened.schemas.register(subject, _draft(file, reference))
    if json_:
        print_json(_registered(registered))
    else:
        console.print(f"[green]{subject}[/]: version {registered.version}, schema {registered.number}")


@to_schemas
def check(
    subject: Subject, file: File, reference: References = None, project: Folder = HERE, json_: Json = False
) -> int:
    """Tell whether a schema could be the next version of a subject, and which views it would break.

    Exit code 1 if something is in the way, or a view would break.
    """
    from headwater.operate.impact import impact

    with hw.open(project) as opened:
        draft = _draft(file, reference)
        problems = opened.schemas.check(subject, draft)
        level = opened.schemas.effective_level(subject)
        effects = impact(opened.declared, subject, opened.schemas.written(draft))
    if json_:
        views = [finding.as_dict() for finding in effects.findings]
        print_json(
            {"subject": subject, "level": level, "compatible": not problems, "problems": problems}
            | {"columns": list(effects.columns), "breaks": views}
        )
    else:
        for text in (*problems, *effects.columns, *(f"{one.origin}: {one.summary}" for one in effects.findings)):
            console.print(text, markup=False)
        bad = problems or effects.findings
        verdict = f"{level}: {'no' if problems else 'ok'}"
        broken = f", breaks {len(effects.findings)} of its readers" if effects.findings else ""
        console.print(f"[{'red' if bad else 'green'}]{subject}[/]: {verdict}{broken}")
    return 1 if problems or effects.findings else 0


@to_schemas
def list_(
    subject: Annotated[str | None, typer.Argument(metavar="[SUBJECT]", help="All, if none is named.")] = None,
    deleted: Annotated[bool, typer.Option("--deleted", help="Deleted versions too.")] = False,
    project: Folder = HERE,
    json_: Json = False,
) -> None:
    """Show the subjects with their versions."""
    with hw.open(project) as opened:
        registry = opened.schemas
        for name in [subject] if subject else registry.subjects(deleted=deleted):
            level = registry.effective_level(name)
            for one in registry.versions(name, deleted=deleted):
                if json_:
                    print_json({**_registered(one), "level": level, "deleted": one.deleted})
                else:
                    gone = ", deleted" if one.deleted else ""
                    what = f"version {one.version}, schema {one.number}, {one.language}, {level}{gone}"
                    console.print(f"[green]{name}[/]: {what}")


@to_schemas
def diff(
    subject: Subject,
    before: Annotated[str, typer.Argument(metavar="[VERSION]", help="A version; the one before the latest.")] = "",
    after: Annotated[str, typer.Argument(metavar="[VERSION]", help="Another; the latest.")] = "",
    project: Folder = HERE,
    json_: Json = False,
) -> None:
    """Show what changed between two versions, and which of them can read what was written with the other."""
    from headwater.schemas.canonical import readable
    from headwater.schemas.compatibility import reading_problems
    from headwater.schemas.registry import LATEST

    with hw.open(project) as opened:
        registry = opened.schemas
        new = registry.version(subject, _version(after) if after else LATEST, deleted=bool(after))
        old = registry.version(subject, _version(before) if before else _earlier(registry, new), deleted=bool(before))
        texts = [readable(registry.written(one)) for one in (old, new)]
        reads = [reading_problems(*map(registry.written, pair)) for pair in ((new, old), (old, new))]
    lines = _lines(texts, old, new)
    if json_:
        compared = {"new_reads_old": not reads[0], "old_reads_new": not reads[1], "problems": [*reads[0], *reads[1]]}
        print_json({"subject": subject, "before": old.version, "after": new.version, "diff": lines, **compared})
        return
    for line in lines:
        console.print(line, markup=False)
    for problems, reader, writer in ((reads[0], new, old), (reads[1], old, new)):
        verdict = "; ".join(problems) or "yes"
        console.print(f"version {reader.version} reads version {writer.version}: {verdict}", markup=False)


@to_schemas
def level(
    subject: Annotated[str | None, typer.Argument(metavar="[SUBJECT]", help="All others, if none is named.")] = None,
    to: Annotated[str | None, typer.Argument(metavar="[LEVEL]", help=f"{', '.join(Level)}.")] = None,
    project: Folder = HERE,
    json_: Json = False,
) -> None:
    """Show or set how much compatibility a subject asks of a new version; as `level LEVEL` of all that don't say."""
    if to is None and subject is not None and subject.upper() in Level.__members__:
        subject, to = None, subject
    with hw.open(project) as opened:
        if to is not None:
            opened.schemas.set_level(_level(to), subject)
        effective = opened.schemas.effective_level(subject) if subject else opened.schemas.level()
    if json_:
        print_json({"subject": subject, "level": effective})
    else:
        console.print(f"[green]{subject or 'all others'}[/]: {effective}")


@to_schemas
def delete(
    subject: Subject,
    version: Annotated[str | None, typer.Argument(metavar="[VERSION]", help="All, if none is named.")] = None,
    permanent: Annotated[bool, typer.Option("--permanent", help="For good; only what was deleted before.")] = False,
    project: Folder = HERE,
    json_: Json = False,
) -> None:
    """Delete a version of a subject, or all: messages that name its schema are read all the same, unless for good."""
    with hw.open(project) as opened:
        chosen = None if version is None else _version(version)
        deleted = opened.schemas.delete(subject, chosen, permanent=permanent)
    if json_:
        print_json({"subject": subject, "versions": deleted, "permanent": permanent})
    else:
        console.print(f"[green]{subject}[/]: deleted {', '.join(map(str, deleted))}")


def _draft(file: Path, references: list[str] | None) -> Draft:
    from headwater.schemas.known import Draft

    language = _LANGUAGES.get(file.suffix.lower())
    if language is None:
        raise ArgumentRefused(
            f'file "{file.name}" has no known kind', hint=f"Its name ends in {', '.join(_LANGUAGES)}."
        )
    try:
        text = file.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as problem:
        raise ArgumentRefused(f'file "{file.name}" can\'t be read', detail=f"{problem}.") from problem
    return Draft(language, text, tuple(_reference(one) for one in references or ()))


def _reference(text: str) -> Reference:
    from headwater.schemas.known import Reference

    name, _, referred = text.partition("=")
    subject, _, version = referred.rpartition(":")
    if not name or not subject or not version.isdecimal():
        raise ArgumentRefused(f'"{text}" is no reference', hint="Write NAME=SUBJECT:VERSION.")
    return Reference(name, subject, int(version))


def _version(text: str) -> int | Literal["latest"]:
    from headwater.schemas.registry import LATEST

    if text == LATEST:
        return LATEST
    if not text.isdecimal():
        raise ArgumentRefused(f'"{text}" is no version', hint='A version is a number or "latest".')
    return int(text)


def _level(text: str) -> Level:
    try:
        return Level(text.upper())
    except ValueError:
        raise ArgumentRefused(f'"{text}" is no level', hint=f"It is one of {', '.join(Level)}.") from None


def _earlier(registry: SchemaRegistry, new: Registered) -> int:
    before = [one.version for one in registry.versions(new.subject) if one.version < new.version]
    if not before:
        raise ArgumentRefused(f'version {new.version} of "{new.subject}" is the first', hint="Name two versions.")
    return before[-1]


def _registered(one: Registered) -> dict[str, Any]:
    return {"subject": one.subject, "version": one.version, "number": one.number, "language": one.language}


def _lines(texts: list[str], old: Registered, new: Registered) -> list[str]:
    """The difference of two texts line by line; JSON is indented first, whatever it was written like."""
    before, after = (_indented(text, one.language).splitlines() for text, one in zip(texts, (old, new), strict=True))
    return list(difflib.unified_diff(before, after, f"version {old.version}", f"version {new.version}", lineterm=""))


def _indented(text: str, language: str) -> str:
    return text if language == "PROTOBUF" else json.dumps(json.loads(text), indent=2)
