"""The suite that every store passes, with nothing but the methods of `headwater.store.Store`.

A store of your own runs it with pytest: derive a class whose name starts with `Test`, and give it the fixtures that its
tests name. `again` opens the same store as another process would, one that keeps changes for a day by the clock `wall`;
`store` is such a store; both are fresh for each test.

    class TestMine(StoreConformance):
        @pytest.fixture
        def wall(self):
            return Wall()

        @pytest.fixture
        def again(self, tmp_path, wall):
            return lambda: MyStore(tmp_path, changes_retention=timedelta(days=1), now=wall)

        @pytest.fixture
        def store(self, again):
            return again()
"""

from headwater.testing.conformance.answers import Answers
from headwater.testing.conformance.changelog import Changelog
from headwater.testing.conformance.expect import Again, Wall, refuses
from headwater.testing.conformance.reading import Reading
from headwater.testing.conformance.together import Together
from headwater.testing.conformance.versions import Versions
from headwater.testing.conformance.writing import Writing

__all__ = ["Again", "SqlStoreConformance", "StoreConformance", "TogetherConformance", "Wall", "refuses"]


class StoreConformance(Writing, Versions, Changelog, Reading):
    """The duties of every store."""


class SqlStoreConformance(StoreConformance, Answers):
    """The duties of a store that answers SQL: all of them, and `query`."""


class TogetherConformance(Together):
    """The duties of a store that is `WritesTogether`, beside those of its kind."""
