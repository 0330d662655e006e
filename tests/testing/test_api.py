"""What `headwater.testing` offers its users."""

from __future__ import annotations

import inspect
from types import ModuleType

from headwater import testing


def test_all_is_the_public_api() -> None:
    members = {name for name in vars(testing) if not name.startswith("_")}
    assert set(testing.__all__) == {name for name in members if not isinstance(getattr(testing, name), ModuleType)}


def test_all_is_sorted_constants_then_classes_then_functions() -> None:
    assert list(testing.__all__) == sorted(testing.__all__, key=lambda name: (not name.isupper(), name))


def test_every_public_name_has_a_docstring() -> None:
    assert not [name for name in testing.__all__ if not inspect.getdoc(getattr(testing, name))]
