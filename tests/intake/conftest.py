"""Decoders that the tests of intake share."""

from __future__ import annotations

import pytest

from headwater.intake import Decoder
from tests.intake.topics import ORDERS


@pytest.fixture
def orders() -> Decoder:
    return Decoder(ORDERS)
