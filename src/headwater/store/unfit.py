"""The error of decoding, for values that are not of the type."""

from __future__ import annotations

import pyarrow as pa


class Unfit(ValueError):
    """The values are not of this type; in a version's own table that means that someone else wrote them."""

    def __init__(self, kind: pa.DataType) -> None:
        super().__init__(f"not {kind}")
        self.kind = kind
