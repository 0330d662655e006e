from pyspark.sql import functions as F

import headwater as hw


@hw.view(
    columns={"id": "STRING", "due_at": "TIMESTAMP", "paid": "DECIMAL(20, 2)", "payments": "BIGINT"},
    time="due_at",
    horizon="10 seconds",
)
def paid_in_time(orders, payments):
    """What was paid for an order within ten seconds, once they are over."""
    due = orders.select("id", (F.col("made_at") + F.expr("INTERVAL 10 SECONDS")).alias("due_at"))
    pairs = due.join(
        payments.select("order_id", "paid", "made_at"),
        (F.col("id") == F.col("order_id"))
        & F.col("made_at").between(F.col("due_at") - F.expr("INTERVAL 10 SECONDS"), F.col("due_at")),
        "left",
    )
    return pairs.groupBy("id", "due_at").agg(F.sum("paid").alias("paid"), F.count("order_id").alias("payments"))
