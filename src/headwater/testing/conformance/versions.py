"""The duties about versions: who may write one, which one is served, and which may go."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa

from headwater.errors import ArgumentRefused, Fenced, UnknownVersion, VersionRefused
from headwater.model import Column, Emit
from headwater.store import Store
from headwater.testing.conformance.expect import Again, refuses
from headwater.testing.conformance.targets import SPEND, batch, position, rows_of, version


class Versions:
    """A version has one writer, belongs to one plan, and is served when it is promoted."""

    def test_the_older_of_two_openers_is_fenced(self, store: Store, again: Again) -> None:
        zombie, epoch = store, store.open(SPEND, "plan")
        zombie.apply(SPEND, epoch, batch(0, [("a", 1, 1)]))
        heir = again()
        newer = heir.open(SPEND, "plan")
        assert newer > epoch
        with refuses(Fenced, match='view "spend" version 1 was taken over') as fenced:
            zombie.apply(SPEND, epoch, batch(1, [("a", 1, 9)]))
        assert fenced.value.fields["epoch"] == newer
        assert rows_of(heir) == {("a", 1, "1.00")}
        assert heir.apply(SPEND, newer, batch(1, [("a", 1, 2)]))
        with refuses(Fenced):
            zombie.apply(SPEND, epoch, batch(1, [("a", 1, 2)]))

    def test_versions_are_fenced_apart(self, store: Store) -> None:
        first, second = store.open(SPEND, "plan"), store.open(version(2), "plan")
        assert store.apply(SPEND, first, batch(0, [("a", 1, 1)]))
        assert store.apply(version(2), second, batch(0, [("a", 1, 2)]))
        assert (rows_of(store, 1), rows_of(store, 2)) == ({("a", 1, "1.00")}, {("a", 1, "2.00")})

    def test_dropping_a_version_does_not_let_its_old_holder_back_in(self, store: Store) -> None:
        epoch = store.open(SPEND, "plan")
        store.apply(SPEND, epoch, batch(0, [("a", 1, 1)]))
        store.drop("spend", 1)
        with refuses(UnknownVersion):
            store.apply(SPEND, epoch, batch(1, [("a", 1, 2)]))
        newer = store.open(SPEND, "another plan")
        with refuses(Fenced):
            store.apply(SPEND, epoch, batch(1, [("a", 1, 2)]))
        assert (store.position("spend", 1), store.ledger("spend", 1), rows_of(store)) == (None, {}, set())
        assert store.apply(SPEND, newer, batch(0, [("z", 1, 1)]))

    def test_a_version_that_another_plan_made_is_refused(self, store: Store) -> None:
        epoch = store.open(SPEND, "plan")
        narrower = Column("spent", pa.decimal128(20, 2))
        for target, fingerprint in (
            (SPEND, "another plan"),
            (replace(SPEND, key=("card",)), "plan"),
            (replace(SPEND, emit=Emit.FINAL), "plan"),
            (replace(SPEND, columns=(*SPEND.columns[:2], narrower)), "plan"),
        ):
            with refuses(VersionRefused, 'view "spend" version 1 was made by another plan'):
                store.open(target, fingerprint)
        assert store.apply(SPEND, epoch, batch(0)), "a refused opener fences nobody"

    def test_promote_gives_the_name_to_a_version_and_rollback_gives_it_back(self, store: Store) -> None:
        for number in (1, 2):
            store.apply(
                version(number), store.open(version(number), f"plan {number}"), batch(0, [("a", number, number)])
            )
        assert store.promoted("spend") is None
        with refuses(UnknownVersion, match="no promoted version"):
            store.read("spend")
        for number in (1, 2, 1):
            store.promote("spend", number)
            assert store.promoted("spend") == number
            assert rows_of(store, None) == {("a", number, f"{number}.00")}
        assert [(kept.target.version, kept.fingerprint, kept.promoted) for kept in store.versions("spend")] == [
            (1, "plan 1", True),
            (2, "plan 2", False),
        ]
        assert [kept.target for kept in store.versions("spend")] == [version(1), version(2)]
        assert [kept.position for kept in store.versions("spend")] == [position(0), position(0)]

    def test_the_promoted_version_cannot_be_dropped_and_others_can(self, store: Store) -> None:
        for number in (1, 2):
            store.open(version(number), "plan")
        store.promote("spend", 2)
        with refuses(ArgumentRefused, match="is the promoted one"):
            store.drop("spend", 2)
        store.drop("spend", 1)
        store.drop("spend", 1)
        assert [kept.target.version for kept in store.versions("spend")] == [2]
        with refuses(UnknownVersion, match='view "spend" has no version 1'):
            store.promote("spend", 1)
        with refuses(UnknownVersion):
            store.read("spend", 1)
