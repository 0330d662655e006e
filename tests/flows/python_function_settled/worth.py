import pyarrow as pa
import pyarrow.compute as pc

import headwater as hw


@hw.function(parameters={"amount": "DECIMAL(10, 2)"}, returns="BIGINT", deterministic=True)
def worth(amount):
    """Whole units, at least one."""
    return pc.max_element_wise(pc.cast(pc.floor(amount), pa.int64()), pa.scalar(1), skip_nulls=True)
