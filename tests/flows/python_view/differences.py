from pyspark.sql import Window
from pyspark.sql import functions as F

import headwater as hw


@hw.view(
    columns={"id": "STRING", "shop": "STRING", "made_at": "TIMESTAMP", "recent": "DECIMAL(20, 2)", "n": "BIGINT"},
    grace="3 seconds",
    horizon="10 seconds",
)
def recent_sales(sales):
    """What a shop sold in the ten seconds up to each sale."""
    seconds = F.unix_micros("made_at")
    last = Window.partitionBy("shop").orderBy(seconds).rangeBetween(-10_000_000, 0)
    return sales.where("amount IS NULL OR amount <> 2").select(
        "id",
        "shop",
        "made_at",
        F.sum("amount").over(last).alias("recent"),
        F.count(F.lit(1)).over(last).alias("n"),
    )
