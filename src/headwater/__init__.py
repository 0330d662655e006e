"""Headwater: materialized views over event streams, correct, fresh and rebuildable, on Apache Spark."""

__version__ = "0.1.0"
