"""The description of a table: its columns, each with the declared type that takes its values, and its primary key."""

from __future__ import annotations

from headwater.intake.mysql.database import Database, address_of
from headwater.intake.mysql.types import UNREAD, declared_type
from headwater.model import Description, Mysql, Table


def describe(name: str, mysql: Mysql) -> Description:
    """Ask the database for the columns of the table that a topic takes in, without those of types that aren't read."""
    topic = Table(name=name, columns=(), primary_key=(), intake=mysql)
    database = Database(address_of(topic), f'table "{name}"', name)
    with database.connected() as connection:
        table = database.table(connection, mysql.table)
    columns = tuple(
        (column, declared_type(kind, is_unsigned=column in table.is_unsigned))
        for column, kind in table.columns.items()
        if kind not in UNREAD
    )
    return Description(columns, table.key)
