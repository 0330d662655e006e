"""The view's own name: a Delta table without files of its own, that has those of the promoted version.

A version's table is the truth, with position and changelog. The table of the view's name follows it: after each batch,
one entry makes its files those that the version has. That entry is written only if nobody wrote another since the table
was read, and the version is read after it, so that it never goes back. A process that stops in between leaves the
table one batch behind, whole; whoever opens the version next brings it on.
"""

from __future__ import annotations

from headwater.log.entry import Action
from headwater.store.delta.declaration import declaration_of, declare_shown
from headwater.store.delta.files import removed
from headwater.store.delta.names import version_of
from headwater.store.delta.note import Note, transaction
from headwater.store.delta.table import State, Table
from headwater.store.protocol import Target


def shown(state: State) -> int | None:
    """The version that the table of a view's name shows."""
    return state.note.get("version")


def follow(root: Table, table: Table, target: Target, at: int) -> None:
    """Bring the view's name to where the version is, if it shows that version."""
    while True:
        before = root.state()
        if shown(before) != target.version or _show(root, before, table, target, at):
            return


def promote(root: Table, table: Table, view: str, version: int, at: int) -> None:
    """Let the view's name show a version."""
    target, _ = declaration_of(view, version, table.state())
    while not _show(root, root.state(), table, target, at):
        pass


def _show(root: Table, before: State, table: Table, target: Target, at: int) -> bool:
    """Write the entry that makes the name's files those of the version; False if another writer was faster."""
    state = table.state()
    folder = version_of(target.version)
    wanted = {f"{folder}/{path}": {**add, "path": f"{folder}/{path}"} for path, add in state.files.items()}
    anew = shown(before) != target.version
    if not anew and wanted.keys() == before.files.keys():
        return True
    position = Note.read(state.note).position
    kept = any(entry.get("dataChange", True) for path, entry in wanted.items() if path not in before.files)
    actions: list[Action] = [
        *(declare_shown(target, before, at) if anew else []),
        *({"remove": removed(before.files[path], at, data_change=kept)} for path in before.files if path not in wanted),
        *({"add": wanted[path]} for path in wanted if path not in before.files),
        *([transaction(position.batch, at)] if position else []),
    ]
    note = {"kind": "shown", "version": target.version, "entry": state.number}
    return root.commit(before, note, actions, "PROMOTE" if anew else "WRITE", at)
