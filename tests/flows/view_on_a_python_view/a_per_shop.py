from pyspark.sql import functions as F

import headwater as hw


@hw.view(
    columns={"shop": "STRING", "window_end": "TIMESTAMP", "n": "BIGINT", "total": "DECIMAL(20, 2)"},
    time="window_end",
    key=["shop", "window_end"],
    horizon="10 seconds",
    gap="0 seconds",
    emit="changes",
)
def per_shop(sales):
    windows = hw.tumble(sales, size="10 seconds")
    return windows.groupBy("shop", "window_end").agg(F.count(F.lit(1)).alias("n"), F.sum("amount").alias("total"))
