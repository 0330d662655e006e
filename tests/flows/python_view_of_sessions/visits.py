from pyspark.sql import functions as F

import headwater as hw


@hw.view(
    columns={
        "visitor": "STRING",
        "window_start": "TIMESTAMP",
        "window_end": "TIMESTAMP",
        "n": "BIGINT",
        "least": "STRING",
    },
    time="window_end",
    horizon="1 minute",
)
def visits(clicks):
    sessions = hw.session(clicks, gap="10 seconds", by="visitor")
    return sessions.groupBy("visitor", "window_start", "window_end").agg(
        F.count(F.lit(1)).alias("n"), F.min("page").alias("least")
    )
