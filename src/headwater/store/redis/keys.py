"""The names of things in Redis.

Every key of a view starts with the same tag in braces, by which a cluster keeps them in one place: a script can only
work on keys of one place.

    {spend}:promoted      the number of the promoted version
    {spend}:versions      a hash: what is known of each version
    {spend}:epochs        a hash: each version's epoch, who holds it and since when
    {spend}:v1:rows       a hash: the rows of version 1 as JSON, by their key as JSON: ["a",1]
    {spend}:v1:row:["a",1]    layout hash: one row as a hash
    {spend}:v1:top:["a"]      layout sorted set: the rows of one group, by their score
    {spend}:v1:stream         layout stream: each change
    {spend}:v1:state, :ledger, :batches, :log, :changed, :changes:7, :stage:3       bookkeeping
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Keys:
    """The keys of one view, below a prefix that the store may have."""

    prefix: str
    view: str

    @property
    def tag(self) -> str:
        """The start of all of them. A brace in the view's name would end the tag early, so it is replaced.

        >>> Keys("shop:", "spend").tag
        '{shop:spend}'
        """
        return "{" + f"{self.prefix}{self.view}".replace("%", "%25").replace("{", "%7B").replace("}", "%7D") + "}"

    @property
    def promoted(self) -> str:
        """The number of the promoted version."""
        return f"{self.tag}:promoted"

    @property
    def versions(self) -> str:
        """All that is known of each version."""
        return f"{self.tag}:versions"

    @property
    def epochs(self) -> str:
        """The epochs, their holders and times."""
        return f"{self.tag}:epochs"

    def of(self, version: int, name: str) -> str:
        """A key of a version."""
        return f"{self.tag}:v{version}:{name}"
