from pyspark.sql import functions as F

import headwater as hw


@hw.view(
    columns={"shop": "STRING", "window_end": "TIMESTAMP NOT NULL", "n": "BIGINT", "share": "DECIMAL(10, 4)"},
    time="window_end",
    key=["shop", "window_end"],
    horizon="20 seconds",
    emit="changes",
)
def shares(sales):
    """The share of each shop in all sales of the last twenty seconds."""
    windows = hw.hop(sales, size="20 seconds", slide="10 seconds").where("id <> '10'")
    whole = windows.groupBy("window_end").agg(F.sum("amount").alias("whole"))
    per_shop = windows.groupBy("shop", "window_end").agg(F.count(F.lit(1)).alias("n"), F.sum("amount").alias("own"))
    share = (F.col("own") / F.col("whole")).cast("DECIMAL(10, 4)").alias("share")
    return per_shop.join(whole, "window_end").select("shop", "window_end", "n", share)
