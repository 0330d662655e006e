"""From headwater.toml to a Delta store."""

from __future__ import annotations

from pathlib import Path

from headwater.log.storage import open_storage
from headwater.model import Store as Declared
from headwater.store.delta import DeltaStore
from headwater.store.options import CHANGES_RETENTION, Options

LOCAL = "delta://"


def open_declared(declared: Declared, folder: Path) -> DeltaStore:
    """`delta://lake` is a folder in the project's, `delta:///var/lake` one elsewhere, `delta+s3://bucket/lake` a prefix
    of a bucket, whose options are those of `deltalake`.
    """
    if declared.url.startswith(LOCAL):
        place, storage = str(folder / declared.url.removeprefix(LOCAL)), {}
        options = Options(declared, "A Delta store in a folder", ("changes_retention",))
    else:
        place = declared.url.removeprefix("delta+")
        storage = {name: text for name, text in declared.options if name != "changes_retention"}
        options = Options(declared, "A Delta store", ("changes_retention", *storage))
    return DeltaStore(
        place,
        lambda path: open_storage(f"{place.rstrip('/')}/{path}", storage),
        changes_retention=options.duration("changes_retention", CHANGES_RETENTION),
    )
