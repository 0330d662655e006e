"""Tables of PostgreSQL: Debezium reads a snapshot of them and then the changes, transaction by transaction.

An outbox may also be read by queries.
"""
