import pyarrow as pa
import pyarrow.compute as pc

import headwater as hw


@hw.function(parameters={"shop": "STRING"}, returns="STRING", deterministic=True)
def bucket(shop):
    return pc.replace_substring_regex(shop, "[B-Z]", "rest")


@hw.function(parameters={"amount": "DECIMAL(10, 2)"}, returns="BIGINT", deterministic=True)
def cents(amount):
    return pc.cast(pc.multiply(amount, pa.scalar(100)), pa.int64())
