import pyarrow as pa
from rates import rate_of

import headwater as hw


@hw.function(parameters={"shop": "STRING", "amount": "DECIMAL(10, 2)"}, returns="DECIMAL(14, 4)", deterministic=True)
def commission(shop, amount):
    """What a shop pays for a sale."""
    pairs = zip(shop.to_pylist(), amount.to_pylist(), strict=True)
    return pa.array([None if sum_ is None else sum_ * rate_of(name) for name, sum_ in pairs], pa.decimal128(14, 4))


@hw.function(parameters={"word": "STRING"}, returns="ARRAY<STRING>", deterministic=True)
def letters(word):
    return pa.array([listed(text) for text in word.to_pylist()], pa.list_(pa.string()))


def listed(text):
    return None if text is None else [*text, text.upper()]
