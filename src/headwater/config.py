"""headwater.toml: what a project needs to know about the place it runs in.

Secrets never stand in the file: a value may name environment variables as `${NAME}`, and a setting that holds a secret
must.
"""

from __future__ import annotations

import difflib
import os
import re
import tomllib
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from headwater.errors import NotAProject, Origin, SettingsRefused
from headwater.model import DEFAULT_RULES, Emit, Figure, Rule, Store, parse_duration

FILE = "headwater.toml"
_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_SECRET = re.compile(r"password|secret|token|account_key|sas_key|user\.info|authorization|api-?key", re.IGNORECASE)
_PASSWORD_IN_URL = re.compile(r"://[^/@\s]*:(?!\$\{)[^/@\s]+@")
_DEFAULT_STORE = "main"


Duration = Annotated[timedelta, BeforeValidator(parse_duration)]


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class StoreSettings(_Section):
    """A place where views are served from."""

    url: str = Field(description="Where the store is, such as `sqlite:///views.db`.")
    options: dict[str, str] = Field(default={}, description="Options that this kind of store takes.")


class CatchUpSettings(_Section):
    """The settings by which views are brought to the head of their topics."""

    views_at_once: int | None = Field(
        default=None, ge=1, description="How many views run at a time; as many as Spark has cores, if not given."
    )
    attempts: int = Field(default=5, ge=1, description="How often a step is attempted that fails for the moment.")
    backoff: Duration = Field(
        default=timedelta(milliseconds=500), description="The wait before the second attempt; each is twice the last."
    )
    longest_backoff: Duration = Field(default=timedelta(seconds=30), description="The longest wait between attempts.")
    give_up_after: Duration | None = Field(
        default=None, description="How long a view that follows may fail without a batch between before it stops."
    )
    lease: Duration = Field(
        default=timedelta(seconds=30),
        ge=timedelta(seconds=1),
        description="After how long without a sign of life a run loses its views and outlets to another one.",
    )


class ServeSettings(_Section):
    """The settings by which a project is served over HTTP."""

    host: str = Field(default="127.0.0.1", description="The address to bind to; loopback needs no tokens.")
    port: int = Field(default=8765, ge=0, le=65535, description="The port; 0 takes a free one.")
    tls_cert: str | None = Field(default=None, description="A file with the certificate (chain) to serve with TLS.")
    tls_key: str | None = Field(default=None, description="A file with the certificate's key.")
    tls_key_password: str | None = Field(default=None, description="What the key is encrypted with, if it is.")
    behind_proxy: bool = Field(
        default=False, description="Whether a proxy in front ends TLS; else none may be left out off loopback."
    )
    requests_per_second: float | None = Field(
        default=None, ge=0, description="How often a client may ask; 0 for no limit."
    )
    workers: int = Field(
        default=0, ge=0, le=64, description="How many processes of their own serve; with 0 that of the run does."
    )
    dashboard: bool = Field(
        default=True, description="Whether the dashboard is served; elsewhere than on loopback one logs in."
    )
    body_bytes: int = Field(default=16 * 1024 * 1024, ge=1024, description="The most bytes of a request's body.")
    body_timeout: Duration = Field(
        default=timedelta(seconds=30),
        description="How long a body may take, and each part of it; a large one longer, at 64 KiB a second.",
    )
    answer_timeout: Duration = Field(
        default=timedelta(seconds=30),
        description="How long an answer may take to be read; a large one longer, at 64 KiB a second.",
    )
    access_log: str | None = Field(
        default=None, description="A file for a JSON line about every request; relative to the project."
    )
    connections: int = Field(default=2000, ge=1, description="How many connections may be open at a time.")
    page_rows: int = Field(default=10_000, ge=1, description="The most rows of a page of a view.")
    query_rows: int = Field(default=10_000, ge=1, description="The most rows that a query answers.")
    appends: int = Field(default=32, ge=1, description="How many appends may be under way at a time.")
    queries: int = Field(default=8, ge=1, description="How many queries may be under way at a time.")
    subscriptions: int = Field(default=1000, ge=1, description="How many subscriptions may be open at a time.")
    heartbeat: Duration = Field(
        default=timedelta(seconds=15), description="How often a subscription without changes is told that it is alive."
    )
    longest_wait: Duration = Field(
        default=timedelta(seconds=30), description="The longest that a read may wait for a position."
    )


def _within(path: str) -> str:
    """A path, or a pattern of some, that stays within the project's folder."""
    if not path or Path(path).is_absolute() or ".." in Path(path).parts:
        raise ValueError(f'"{path}" is not below the project\'s folder')
    return path


def _seconds(value: Any) -> Any:
    """A threshold that is written as a duration, in seconds."""
    return parse_duration(value).total_seconds() if isinstance(value, str) else value


class AlertSettings(_Section):
    """A rule: when somebody should look."""

    name: str | None = Field(
        default=None, min_length=1, description="What the rule is called; its figure, if not given."
    )
    when: Figure = Field(description="The figure that is watched.")
    above: Annotated[float, BeforeValidator(_seconds)] = Field(
        default=0, ge=0, description="From where on it is too much: a number, or a duration."
    )
    lasting: Duration = Field(default=timedelta(), alias="for", description="For how long it has to be above.")
    of: tuple[str, ...] = Field(default=(), description="The topics, views and outlets that are watched; all, if none.")

    def declared(self) -> Rule:
        """The rule as the model knows it."""
        named = self.name or " ".join([self.when, *self.of])
        return Rule(name=named, when=self.when, above=self.above, lasting=self.lasting, of=self.of)


class AlertingSettings(_Section):
    """Who is told of alerts."""

    to: str | None = Field(default=None, pattern="^https?://", description="The URL that alerts are posted to.")
    headers: str | None = Field(default=None, description="The section of `webhooks` whose headers go with them.")
    secret: str | None = Field(default=None, min_length=8, description="What they are signed with.")
    every: Duration = Field(default=timedelta(seconds=5), description="How often the rules are looked at.")


class PromotionSettings(_Section):
    """Who may serve another version of a view, and what has to hold before."""

    hold: bool = Field(default=False, description="Whether views that have changed are held until they are promoted.")
    max_diff: float | None = Field(default=None, ge=0, le=1, description="The share of rows that may differ.")
    max_missing: float | None = Field(default=None, ge=0, le=1, description="The share of rows that may be missing.")
    require: tuple[str, ...] = Field(default=(), description="Queries over `old` and `new` that have to be true.")
    keep_old: Duration = Field(
        default=timedelta(hours=24), description="For how long the version that was served before is fed."
    )
    by: tuple[str, ...] = Field(default=(), description="Who may promote, as in the audit; everybody, if nobody.")


class Settings(_Section):
    """Everything in headwater.toml."""

    name: str = Field(min_length=1, description="The project's name.")
    data: str = Field(default="data", description="Where the log is: a folder (relative to the project), or a URL.")
    declarations: tuple[Annotated[str, AfterValidator(_within)], ...] | None = Field(
        default=None, min_length=1, description="The files and folders that declare; if not given, they are found."
    )
    storage: dict[str, str] = Field(default={}, description="Options of the object store that `data` points to.")
    stores: dict[str, StoreSettings] = Field(
        default={}, description="The stores that views may name; `main` is default."
    )
    kafka: dict[str, dict[str, str]] = Field(
        default={}, description="How to reach each cluster of Kafka: options of librdkafka; `main` is default."
    )
    webhooks: dict[str, dict[str, str]] = Field(
        default={}, description="Headers that outlets send with their requests, by the name that they give."
    )
    catch_up: CatchUpSettings = Field(
        default=CatchUpSettings(), description="How views are brought to the head of their topics."
    )
    serve: ServeSettings = Field(default=ServeSettings(), description="How the project is served over HTTP.")
    alerts: tuple[AlertSettings, ...] | None = Field(default=None, description="Rules of alerts; `[]` for none.")
    alerting: AlertingSettings = Field(default=AlertingSettings(), description="Who is told of alerts.")
    promotion: PromotionSettings = Field(
        default=PromotionSettings(), description="Who may serve another version of a view, and by which gate."
    )
    spark: dict[str, str] = Field(default={}, description="Settings that are passed to Spark.")

    def declared_stores(self) -> tuple[Store, ...]:
        """The stores as the model knows them; the embedded one is there without being declared."""
        declared = self.stores or {_DEFAULT_STORE: StoreSettings(url="sqlite:///views.db")}
        return tuple(
            Store(name=name, url=store.url, takes=frozenset(Emit), options=tuple(sorted(store.options.items())))
            for name, store in declared.items()
        )

    def rules(self) -> tuple[Rule, ...]:
        """The rules of alerts; some are there without being declared."""
        return DEFAULT_RULES if self.alerts is None else tuple(alert.declared() for alert in self.alerts)


def load_settings(folder: Path, environment: Mapping[str, str] = os.environ) -> Settings:
    """The settings of the project in a folder."""
    path = folder / FILE
    try:
        text = path.read_text(encoding="utf-8")
    except (FileNotFoundError, NotADirectoryError):
        raise NotAProject(
            f'"{folder}" is not a project',
            detail=f"It has no {FILE}.",
            hint="Change to a project's folder, name one with --project, or make one with `headwater init DIR`.",
            path=str(folder),
        ) from None
    except (OSError, UnicodeDecodeError) as cause:
        raise SettingsRefused(f'"{path}" can\'t be read', detail=f"{cause}.", path=str(path)) from cause
    try:
        return Settings.model_validate(_expanded(tomllib.loads(text), (), path, environment))
    except tomllib.TOMLDecodeError as cause:
        raise SettingsRefused(f'"{path}" is not valid TOML', detail=f"{cause}.", origin=Origin(str(path))) from cause
    except ValidationError as cause:
        raise _refusal(path, text, cause) from cause


def _expanded(value: Any, setting: tuple[str, ...], path: Path, environment: Mapping[str, str]) -> Any:
    """The value with `${NAME}` replaced, everywhere below it; refuses a secret that is spelled out."""
    if isinstance(value, dict):
        return {name: _expanded(part, (*setting, name), path, environment) for name, part in value.items()}
    if isinstance(value, list):
        return [_expanded(item, setting, path, environment) for item in value]
    if not isinstance(value, str):
        return value
    spelled_out = setting and _SECRET.search(setting[-1]) and not _VARIABLE.search(value)
    if spelled_out or _PASSWORD_IN_URL.search(value):
        raise SettingsRefused(
            f'setting "{".".join(setting)}" holds a secret',
            detail=f"Secrets do not stand in {FILE}, which is kept with the code.",
            hint='Put it into an environment variable and write "${NAME}".',
            path=str(path),
        )
    missing = [name for name in _VARIABLE.findall(value) if name not in environment]
    if missing:
        raise SettingsRefused(
            f'setting "{".".join(setting)}" needs the environment variable {missing[0]}',
            detail="It is not set.",
            hint=f"Set {missing[0]} before you run headwater.",
            path=str(path),
        )
    return _VARIABLE.sub(lambda variable: environment[variable[1]], value)


def _section(setting: list[str]) -> type[_Section]:
    """The section that a setting belongs to."""
    if len(setting) == 1:
        return Settings
    sections: dict[str, type[_Section]] = {
        "catch_up": CatchUpSettings,
        "serve": ServeSettings,
        "alerts": AlertSettings,
        "alerting": AlertingSettings,
        "promotion": PromotionSettings,
    }
    return sections.get(setting[0], StoreSettings)


def _refusal(path: Path, text: str, cause: ValidationError) -> SettingsRefused:
    problem = cause.errors()[0]
    setting = [str(part) for part in problem["loc"]]
    name = setting[-1] if setting else FILE
    line = next(
        (n for n, line in enumerate(text.splitlines(), 1) if re.match(rf'\s*\[?"?{re.escape(name)}\b', line)), 1
    )
    origin = Origin(str(path), line)
    if problem["type"] == "extra_forbidden":
        known = [field.alias or name for name, field in _section(setting).model_fields.items()]
        close = difflib.get_close_matches(name, known, 1)
        hint = f'Did you mean "{close[0]}"?' if close else f"The settings here are {', '.join(known)}."
        return SettingsRefused(f'unknown setting "{".".join(setting)}"', hint=hint, origin=origin, path=str(path))
    return SettingsRefused(
        f'setting "{".".join(setting)}" can\'t be used', detail=f"{problem['msg']}.", origin=origin, path=str(path)
    )
