"""Damage to a log, said so that somebody can act: which file, which commits, which command comes next."""

from __future__ import annotations

from headwater.errors import LogDamaged, LogFileMissing

MISSING = "it is missing"


def spell_commits(first: int, last: int) -> str:
    """A range of commits.

    >>> spell_commits(3, 3), spell_commits(3, 7)
    ('3', '3-7')
    """
    return str(first) if first >= last else f"{first}-{last}"


class Damage:
    """The refusals of one log, at its URL; `name` is that of its topic."""

    def __init__(self, url: str, name: str = "") -> None:
        self.url = url
        self.name = name

    def entry(self, number: int, what: str, detail: str = "", hint: str | None = None) -> LogDamaged:
        """One entry that can't be believed; `what` completes "entry 3 of the log …"."""
        return self._refusal(f'entry {number} of the log at "{self.url}" {what}', number, number, detail, hint)

    def entries(self, first: int, last: int, what: str, detail: str) -> LogDamaged:
        """Entries of which one can't be believed."""
        return self._refusal(f'entries {first} and {last} of the log at "{self.url}" {what}', first, last, detail)

    def missing(self, first: int, last: int, detail: str) -> LogDamaged:
        """Entries that must be there and are not."""
        which = f"entry {first}" if first == last else f"entries {first} to {last}"
        verb = "is" if first == last else "are"
        return self._refusal(f'{which} of the log at "{self.url}" {verb} missing', first, last, detail)

    def checkpoint(self, number: int, detail: str) -> LogDamaged:
        """A checkpoint that can't be read as it was written. It is made from entries, and no event is lost by it."""
        return LogDamaged(
            f'the checkpoint {number} of the log at "{self.url}" is damaged',
            detail=f"{detail} It holds what the entries up to {number} say; the data files are untouched.",
            hint=f"Run `headwater repair {self.name or 'TOPIC'}`: it is made anew from the entries that are there.",
            path=f"{self.url}/_delta_log/{number:020d}.checkpoint.parquet",
            topic=self.name,
            commits=spell_commits(0, number),
        )

    def file(self, path: str, commits: tuple[int, int], rows: int, reason: str) -> LogDamaged:
        """A data file that is missing, or not as it was written."""
        url = f"{self.url}/{path}"
        kind, summary = LogDamaged, f'a file of topic "{self.name}" is damaged'
        if reason == MISSING:
            kind, summary = LogFileMissing, f'file "{path}" of topic "{self.name}" is missing'
        return kind(
            summary,
            detail=f"{url} holds {rows} rows of the commits {commits[0]} to {commits[1]}: {reason}. Nothing was "
            "guessed in its place.",
            hint=self._hint(),
            path=url,
            topic=self.name,
            commits=spell_commits(*commits),
        )

    def _refusal(self, summary: str, first: int, last: int, detail: str, hint: str | None = None) -> LogDamaged:
        return LogDamaged(
            summary,
            detail=f"{detail} Nothing behind it was read, and nothing is appended.".strip(),
            hint=hint or self._hint(),
            path=f"{self.url}/_delta_log/{first:020d}.json",
            topic=self.name,
            commits=spell_commits(first, last),
        )

    def _hint(self) -> str:
        topic = self.name or "TOPIC"
        return (
            f"`headwater scrub {topic}` lists all that is hurt. `headwater repair {topic} --from URL` puts it back "
            "from a backup."
        )
