"""Every finding: its class, its place, and its full text."""

from __future__ import annotations

import pickle
import re

import pytest

from headwater import model, plan
from headwater.errors import CheckFailed, Finding
from headwater.findings import (
    AmbiguousColumn,
    ApproximateValue,
    DependencyCycle,
    DuplicateName,
    EmitRefused,
    ImpureFunction,
    KeyNotInOutput,
    NotSupportedYet,
    NoWatermark,
    OptionRefused,
    OrderDependent,
    QueryRefused,
    ReservedName,
    StoreRefused,
    TypeMismatch,
    UnboundedJoin,
    UnboundedState,
    UngroupedColumn,
    UnknownColumn,
    UnknownFunction,
    UnknownName,
    UnknownStore,
    UnknownType,
    UnnamedColumn,
    UnversionedJoin,
    WindowRefused,
)
from tests.plan.planning import declared, marked, planned, view

CASES: list[tuple[type[Finding], str, str]] = [
    (
        UnknownName,
        """\
    CREATE MATERIALIZED VIEW v AS
    SELECT id FROM ordrs
--                 ^ here
""",
        """\
view "v" reads "ordrs", which is declared nowhere
  Detail: No stream, table or view has that name.
  Hint:   Did you mean "orders"?""",
    ),
    (
        UnknownName,
        """\
    CREATE MATERIALIZED VIEW v AS
    WITH a AS (SELECT id FROM b), b AS (SELECT id FROM orders)
--                            ^ here
    SELECT id FROM a
""",
        """\
view "v" reads "b", which is declared nowhere
  Detail: No stream, table or view has that name.
  Hint:   Declare it with CREATE STREAM, CREATE TABLE or CREATE VIEW.""",
    ),
    (
        UnknownColumn,
        """\
    CREATE MATERIALIZED VIEW v AS
    SELECT id, o.amout
--             ^ here
    FROM orders o
""",
        """\
view "v" reads an unknown column "o.amout"
  Detail: Its inputs have the columns id, customer, amount, weight, items, at.
  Hint:   Did you mean "amount"?""",
    ),
    (
        UnknownColumn,
        """\
    CREATE MATERIALIZED VIEW v AS
    SELECT window_end, count(*) AS n
    FROM TUMBLE(TABLE orders, DESCRIPTOR(att), INTERVAL '1' MINUTE)
--                                       ^ here
    GROUP BY window_end
""",
        """\
view "v" reads an unknown column "att"
  Detail: Its inputs have the columns id, customer, amount, weight, items, at.
  Hint:   Did you mean "at"?""",
    ),
    (
        UnknownFunction,
        """\
    CREATE MATERIALIZED VIEW v AS
    SELECT id, concat(customer, uper(customer)) AS twice FROM orders
--                              ^ here
""",
        """\
view "v" calls an unknown function "uper"
  Hint:   Did you mean upper?""",
    ),
    (
        AmbiguousColumn,
        """\
    CREATE MATERIALIZED VIEW v AS
    SELECT o.id FROM orders o JOIN payments p
    ON o.id = p.order_id AND p.at BETWEEN o.at AND o.at + INTERVAL '1' HOUR
    WHERE paid > 0 AND id <> ''
--                     ^ here
""",
        """\
view "v" names a column "id" that more than one of its inputs has
  Hint:   Write o.id or p.id.""",
    ),
    (
        DuplicateName,
        """\
    CREATE VIEW a AS SELECT id FROM orders;
    CREATE VIEW A AS SELECT id FROM payments;
--  ^ here
""",
        """\
view "A" has a name that is taken
  Detail: The other is a view, declared at project.sql:1:5.
  Hint:   Give one of them another name.""",
    ),
    (
        ReservedName,
        """\
    CREATE MATERIALIZED VIEW v AS
    SELECT id, amount AS _amount FROM orders
--             ^ here
""",
        """\
view "v" has an output column "_amount", a name that belongs to the log
  Hint:   Give it another name: _amount AS amount.""",
    ),
    (
        UnnamedColumn,
        """\
    CREATE MATERIALIZED VIEW v AS
    SELECT id, upper(customer) FROM orders
--             ^ here
""",
        """\
view "v" has an output column without a name
  Detail: The column is UPPER(customer).
  Hint:   Give it a name with AS: UPPER(customer) AS upper.""",
    ),
    (
        DependencyCycle,
        """\
    CREATE VIEW a AS SELECT id FROM c;
--                                  ^ here
    CREATE VIEW b AS SELECT id FROM a;
    CREATE VIEW c AS SELECT id FROM b;
""",
        """\
view "a" depends on itself
  Detail: It reads in a circle: a → c → b → a.
  Hint:   Take one of the views out of the circle.""",
    ),
    (
        DependencyCycle,
        """\
    CREATE MATERIALIZED VIEW v AS SELECT id FROM orders UNION ALL SELECT id FROM v
--                                                                               ^ here
""",
        """\
view "v" depends on itself
  Detail: It reads in a circle: v → v.
  Hint:   Take one of the views out of the circle.""",
    ),
    (
        TypeMismatch,
        """\
    CREATE MATERIALIZED VIEW v AS
    SELECT id FROM orders WHERE amount > 0 AND at = weight
--                                             ^ here
""",
        """\
view "v" applies "=" to TIMESTAMP and DOUBLE
  Hint:   Write at = CAST(weight AS TIMESTAMP), or compare what was meant.""",
    ),
    (
        TypeMismatch,
        """\
    CREATE MATERIALIZED VIEW v AS
    SELECT id, amount FROM orders UNION ALL SELECT id, at FROM payments
--  ^ here
""",
        """\
view "v" unites columns of different types as "amount"
  Detail: Their types are DECIMAL(12, 2) and TIMESTAMP.
  Hint:   Let both have one type, like CAST(at AS DECIMAL(12, 2)) AS amount.""",
    ),
    (
        TypeMismatch,
        """\
    CREATE MATERIALIZED VIEW v AS
    SELECT id FROM orders UNION ALL SELECT id, at FROM payments
--  ^ here
""",
        """\
view "v" unites queries with different numbers of columns
  Detail: One side has 1 columns, the other 2.
  Hint:   Select the same columns on both sides, like CAST(NULL AS STRING) AS name for one that a side lacks.""",
    ),
    (
        UnknownType,
        """\
    CREATE MATERIALIZED VIEW v AS
    SELECT id, NULL AS nothing FROM orders
--             ^ here
""",
        """\
view "v" has a column "nothing" of type VOID, which can't be kept
  Detail: A store and a derived topic keep the types that the log keeps.
  Hint:   Write CAST(… AS type) AS nothing, or compute a number from it.""",
    ),
    (
        NoWatermark,
        """\
    CREATE MATERIALIZED VIEW v AS
    SELECT window_end, count(*) AS n
    FROM TUMBLE(TABLE clicks, DESCRIPTOR(at), INTERVAL '1' MINUTE)
--                                       ^ here
    GROUP BY window_end
""",
        """\
view "v" uses the event time of stream "clicks", which declares no watermark
  Detail: Without a watermark nothing says when a window is complete or a row is late.
  Hint:   Add WATERMARK FOR at AS at - INTERVAL '5' SECOND to its declaration.""",
    ),
    (
        NoWatermark,
        """\
    CREATE MATERIALIZED VIEW v AS
    SELECT o.id, c.id AS click FROM orders o
    JOIN clicks c
--  ^ here
    ON o.customer = c.customer AND c.at BETWEEN o.at AND o.at + INTERVAL '1' HOUR
""",
        """\
view "v" uses the event time of stream "clicks", which declares no watermark
  Detail: Without a watermark nothing says when a window is complete or a row is late.
  Hint:   Add WATERMARK FOR at AS at - INTERVAL '5' SECOND to its declaration.""",
    ),
    (
        NoWatermark,
        """\
    CREATE MATERIALIZED VIEW v WITH (retention = '1 day') AS
    SELECT customer, count(*) AS n FROM clicks GROUP BY customer
--                                                      ^ here
""",
        """\
view "v" keeps state over stream "clicks", which declares no watermark
  Detail: Without a watermark nothing says when state can be forgotten or a row is late.
  Hint:   Add WATERMARK FOR at AS at - INTERVAL '5' SECOND to its declaration.""",
    ),
    (
        WindowRefused,
        """\
    CREATE MATERIALIZED VIEW v AS
    SELECT window_end, count(*) AS n
    FROM HOP(TABLE orders, DESCRIPTOR(at), INTERVAL '2' MINUTE, INTERVAL '5' MINUTE)
--       ^ here
    GROUP BY window_end
""",
        """\
view "v" has a hopping window whose size is not a multiple of its slide
  Detail: Its size is 5 minutes and its slide 2 minutes: rows would be in different numbers of windows.
  Hint:   Choose a slide that divides the size, like INTERVAL '1 minute'.""",
    ),
    (
        WindowRefused,
        """\
    CREATE MATERIALIZED VIEW v AS
    SELECT window_end, count(*) AS n
    FROM HOP(TABLE orders, DESCRIPTOR(at), INTERVAL '0.001' SECOND, INTERVAL '30' DAY)
--       ^ here
    GROUP BY window_end
""",
        """\
view "v" has windows that overlap 2,592,000,000 times
  Detail: Each row would be in so many windows; up to 1,000,000 can be kept.
  Hint:   Let the windows follow each other at a greater distance.""",
    ),
    (
        WindowRefused,
        """\
    CREATE MATERIALIZED VIEW v AS
    SELECT window_end, count(*) AS n
    FROM TUMBLE(TABLE orders, DESCRIPTOR(weight), INTERVAL '2' MINUTE)
--                                       ^ here
    GROUP BY window_end
""",
        """\
view "v" windows over "weight", which is not the time of its input
  Detail: The event time is at.
  Hint:   Write DESCRIPTOR(at), or DESCRIPTOR(_arrived_at) for the time of arrival.""",
    ),
    (
        WindowRefused,
        """\
    CREATE MATERIALIZED VIEW v AS
    SELECT window_start, count(*) AS n
    FROM CUMULATE(TABLE orders, DESCRIPTOR(at), INTERVAL '1' MINUTE, INTERVAL '1' HOUR)
    GROUP BY window_start
--           ^ here
""",
        """\
view "v" groups by the start of a CUMULATE window without its end
  Detail: Several windows share a start, and would be counted as one.
  Hint:   Group by window_start and window_end.""",
    ),
    (
        WindowRefused,
        """\
    CREATE MATERIALIZED VIEW v AS
    SELECT customer, window_start, window_end, count(*) AS n
    FROM SESSION(TABLE orders, DESCRIPTOR(at), INTERVAL '1' MINUTE)
    GROUP BY customer, window_start, window_end
--           ^ here
""",
        """\
view "v" groups sessions by other columns than those they are made of
  Detail: The sessions are partitioned by nothing, and grouped by customer.
  Hint:   Name the same columns in PARTITION BY and in GROUP BY.""",
    ),
    (
        WindowRefused,
        """\
    CREATE MATERIALIZED VIEW v AS
    SELECT id, window_end FROM SESSION(TABLE orders PARTITION BY customer, DESCRIPTOR(at), INTERVAL '1' MINUTE)
--                             ^ here
""",
        """\
view "v" reads the bounds of sessions without grouping by them
  Detail: A session has no bounds until all of its rows have come.
  Hint:   Group by window_start, window_end and the columns of PARTITION BY.""",
    ),
    (
        UnboundedJoin,
        """\
    CREATE MATERIALIZED VIEW v AS
    SELECT o.id FROM orders o JOIN payments p ON o.id = p.order_id
--                            ^ here
""",
        """\
view "v" joins stream "orders" and stream "payments" without a bound in time
  Detail: Every row would wait for ever for a partner that may still come.
  Hint:   Add a time bound, like AND p.at BETWEEN o.at AND o.at + INTERVAL '1' HOUR. \
Or keep every row: WITH (retention = 'forever').""",
    ),
    (
        UnboundedJoin,
        """\
    CREATE MATERIALIZED VIEW v AS
    SELECT o.id FROM orders o JOIN payments p ON o.id = p.order_id AND p.at < o.at + INTERVAL '1' HOUR
--                            ^ here
""",
        """\
view "v" joins stream "orders" and stream "payments" without a bound in time
  Detail: The condition bounds p.at − o.at on one side only; the lower bound is missing.
  Hint:   Add a time bound, like AND p.at BETWEEN o.at AND o.at + INTERVAL '1' HOUR. \
Or keep every row: WITH (retention = 'forever').""",
    ),
    (
        UnboundedJoin,
        """\
    CREATE MATERIALIZED VIEW v AS
    SELECT o.id
    FROM TUMBLE(TABLE orders, DESCRIPTOR(at), INTERVAL '1' MINUTE) o
    JOIN TUMBLE(TABLE payments, DESCRIPTOR(at), INTERVAL '1' MINUTE) p ON o.id = p.order_id
--  ^ here
""",
        """\
view "v" joins stream "orders" and stream "payments" without a bound in time
  Detail: Every row would wait for ever for a partner that may still come.
  Hint:   Join the same windows: AND o.window_start = p.window_start AND o.window_end = p.window_end.""",
    ),
    (
        UnboundedState,
        """\
    CREATE MATERIALIZED VIEW v AS
    SELECT date_trunc('HOUR', at) AS hour, count(*) AS n FROM orders GROUP BY date_trunc('HOUR', at)
--                                                                            ^ here
""",
        """\
view "v" groups rows for ever
  Detail: DATE_TRUNC('HOUR', at) is a value like any other: it doesn't say when a group is over. A window does.
  Hint:   Write FROM TUMBLE(TABLE orders, DESCRIPTOR(at), INTERVAL '1' HOUR) … GROUP BY window_start, window_end, and \
window_start in place of it.""",
    ),
    (
        UnboundedState,
        """\
    CREATE MATERIALIZED VIEW v AS
    SELECT DISTINCT customer FROM orders
--  ^ here
""",
        """\
view "v" removes duplicates for ever
  Detail: Nothing in the query says when its state can be forgotten.
  Hint:   Add at or a window to the columns, or state how long a row counts: \
WITH (retention = '30 days'), or 'forever'.""",
    ),
    (
        UnboundedState,
        """\
    CREATE MATERIALIZED VIEW v AS
    SELECT id, lag(amount) OVER (PARTITION BY customer ORDER BY at) AS before FROM orders
--             ^ here
""",
        """\
view "v" looks with "lag" at rows of any age
  Detail: Nothing in the query says when its state can be forgotten.
  Hint:   State how far back a row can matter: WITH (horizon = '1 hour'). \
Or let every row count for ever: WITH (retention = 'forever').""",
    ),
    (
        UnboundedState,
        """\
    CREATE MATERIALIZED VIEW v AS
    SELECT id, amount FROM orders QUALIFY row_number() OVER (PARTITION BY customer ORDER BY amount DESC) <= 3
--                                        ^ here
""",
        """\
view "v" ranks rows for ever
  Detail: Nothing in the query says when its state can be forgotten.
  Hint:   Write FROM TUMBLE(TABLE orders, DESCRIPTOR(at), INTERVAL '1' HOUR) and PARTITION BY customer, window_end. \
Or state how long a row counts: WITH (retention = '30 days'), or 'forever'.""",
    ),
    (
        UnversionedJoin,
        """\
    CREATE MATERIALIZED VIEW v AS
    SELECT o.id, c.country FROM orders o JOIN customers c ON o.customer = c.customer
--                                       ^ here
""",
        """\
view "v" joins table "customers" as it happens to be when a row is processed
  Detail: A replay would meet other rows of the table, and give other results.
  Hint:   Write JOIN customers FOR SYSTEM_TIME AS OF o.at AS c ON ….""",
    ),
    (
        UnversionedJoin,
        """\
    CREATE MATERIALIZED VIEW v AS
    SELECT o.id FROM orders o JOIN payments FOR SYSTEM_TIME AS OF o.at AS p ON o.id = p.order_id
--                            ^ here
""",
        """\
view "v" asks stream "payments" for its rows as of an instant
  Detail: Only a table whose changes have an event time and a watermark has versions.
  Hint:   Write JOIN payments AS p ON … AND p.at BETWEEN o.at - INTERVAL '1' DAY AND o.at, and keep the newest: \
QUALIFY ROW_NUMBER() OVER (PARTITION BY o.id, o.at ORDER BY p.at DESC) = 1.""",
    ),
    (
        ImpureFunction,
        """\
    CREATE MATERIALIZED VIEW v AS
    SELECT id FROM orders WHERE at > current_timestamp() - INTERVAL '1' HOUR
--                                   ^ here
""",
        """\
view "v" calls "current_timestamp", which is not a pure function
  Detail: It reads the clock. A replay would give other rows.
  Hint:   Leave the condition out, and compare the event time when you query the view: a view reads no clock.""",
    ),
    (
        ImpureFunction,
        """\
    CREATE FUNCTION tag(x STRING) RETURNS STRING RETURN concat(x, uuid());
--  ^ here
    CREATE MATERIALIZED VIEW v AS SELECT tag(id) AS id FROM orders
""",
        """\
function "tag" calls "uuid", which is not a pure function
  Detail: It is random; with a seed it depends on how rows are spread over partitions. A replay would give other rows.
  Hint:   Give the function the value as a parameter.""",
    ),
    (
        OrderDependent,
        """\
    CREATE MATERIALIZED VIEW v AS
    SELECT window_end, collect_union(items) AS all_items
--                     ^ here
    FROM TUMBLE(TABLE orders, DESCRIPTOR(at), INTERVAL '1' MINUTE) GROUP BY window_end
""",
        """\
view "v" aggregates with "collect_union", whose value depends on the order of the rows
  Detail: Executions see the rows of a group in different orders: the order of its elements depends on the batching, \
and nothing is left of the rows to order them by.
  Hint:   Use an aggregate whose value follows from the rows, like max_by(value, at).""",
    ),
    (
        OrderDependent,
        """\
    CREATE MATERIALIZED VIEW v AS
    SELECT id, unix_millis(_arrived_at) AS arrived FROM payments
--                         ^ here
""",
        """\
view "v" reads "_arrived_at" of a stream whose duplicates are removed
  Detail: Copies of an event differ in position, stamp and time of arrival, and which copy is kept is arbitrary.
  Hint:   Use the event time, or _id, which all copies share.""",
    ),
    (
        OrderDependent,
        """\
    CREATE MATERIALIZED VIEW v AS
    SELECT id, rank() OVER (PARTITION BY at) AS place FROM orders
--             ^ here
""",
        """\
view "v" ranks rows with "rank" in no stated order
  Detail: Which row comes first would depend on how the rows happen to be processed.
  Hint:   Add ORDER BY to the OVER clause.""",
    ),
    (
        ApproximateValue,
        """\
    CREATE MATERIALIZED VIEW v AS
    SELECT window_end, 2 * sum(weight) AS weight
--                         ^ here
    FROM TUMBLE(TABLE orders, DESCRIPTOR(at), INTERVAL '1' MINUTE) GROUP BY window_end
""",
        """\
view "v" aggregates with "sum", whose value may differ between executions
  Detail: What may differ: the last digits of a floating-point result.
  Hint:   Keep it if an estimate is enough, or write sum(CAST(weight AS DECIMAL(18, 6))), which is exact.""",
    ),
    (
        UngroupedColumn,
        """\
    CREATE MATERIALIZED VIEW v AS
    SELECT window_end, max(amount) + weight AS sum
--                                   ^ here
    FROM TUMBLE(TABLE orders, DESCRIPTOR(at), INTERVAL '1' MINUTE) GROUP BY window_end
""",
        """\
view "v" reads a column "weight" that is neither grouped nor aggregated
  Hint:   Add it to GROUP BY, or say which value of the group is meant, like max(weight).""",
    ),
    (
        QueryRefused,
        """\
    CREATE MATERIALIZED VIEW v AS
    SELECT id FROM orders LIMIT 10
--                              ^ here
""",
        """\
view "v" keeps a number of rows without saying which
  Hint:   Add ORDER BY before LIMIT, with a constant number of rows.""",
    ),
    (
        QueryRefused,
        """\
    CREATE MATERIALIZED VIEW v AS
    SELECT 1 AS one
--  ^ here
""",
        """\
view "v" reads nothing
  Hint:   Add FROM with a stream, a table or a view.""",
    ),
    (
        QueryRefused,
        """\
    CREATE MATERIALIZED VIEW v AS
    SELECT id FROM orders WHERE count(*) > 1
--                              ^ here
""",
        """\
view "v" aggregates with "count" in WHERE
  Hint:   Aggregate in SELECT, HAVING or QUALIFY, or in a subquery.""",
    ),
    (
        QueryRefused,
        """\
    CREATE MATERIALIZED VIEW v AS
    SELECT o.id, p.id FROM orders o JOIN payments p
--               ^ here
    ON o.id = p.order_id AND p.at BETWEEN o.at AND o.at + INTERVAL '1' HOUR
""",
        """\
view "v" has two output columns named "id"
  Hint:   Give one of them another name with AS.""",
    ),
    (
        QueryRefused,
        """\
    CREATE MATERIALIZED VIEW v AS
    SELECT window_end, sum(count(*)) AS n
--                         ^ here
    FROM TUMBLE(TABLE orders, DESCRIPTOR(at), INTERVAL '1' MINUTE) GROUP BY window_end
""",
        """\
view "v" aggregates an aggregate
  Hint:   Aggregate in a subquery or a view of its own, and aggregate its rows.""",
    ),
    (
        QueryRefused,
        """\
    CREATE MATERIALIZED VIEW v WITH (retention = '1 day') AS
    SELECT count(*) AS n, max(amount) AS most FROM orders GROUP BY n
--         ^ here
""",
        """\
view "v" groups by an aggregate
  Hint:   Group by columns, or by expressions over columns.""",
    ),
    (
        QueryRefused,
        """\
    CREATE MATERIALIZED VIEW v AS
    SELECT id, hash(*) AS h FROM orders
--                  ^ here
""",
        """\
view "v" uses * where a value is meant
  Hint:   Name the columns.""",
    ),
    (
        QueryRefused,
        """\
    CREATE MATERIALIZED VIEW v AS
    SELECT id, upper(customer) OVER (PARTITION BY at) AS u FROM orders
--             ^ here
""",
        """\
view "v" calls "upper" with OVER, but it looks at one row
  Hint:   Leave OVER out.""",
    ),
    (
        QueryRefused,
        """\
    CREATE MATERIALIZED VIEW v AS
    SELECT id, row_number() AS place FROM orders
--             ^ here
""",
        """\
view "v" ranks rows with "row_number" without OVER
  Hint:   Give it an OVER clause in SELECT, and filter by it in QUALIFY.""",
    ),
    (
        QueryRefused,
        """\
    CREATE MATERIALIZED VIEW v AS
    SELECT id, upper(explode(items)) AS item FROM orders
--                   ^ here
""",
        """\
view "v" makes rows with "explode" inside an expression
  Hint:   Write LATERAL VIEW, or let it be a column of its own in SELECT.""",
    ),
    (
        QueryRefused,
        """\
    CREATE MATERIALIZED VIEW v WITH (horizon = '1 day') AS
    SELECT id, count(*) OVER w AS n FROM orders
--                           ^ here
""",
        """\
view "v" names an unknown window "w"
  Hint:   Declare it with WINDOW w AS (…).""",
    ),
    (
        UnknownColumn,
        """\
    CREATE MATERIALIZED VIEW v AS
    SELECT id, count(*) OVER w AS n FROM orders WINDOW w AS (PARTITION BY at, custmer)
--                                                                            ^ here
""",
        """\
view "v" reads an unknown column "custmer"
  Detail: Its inputs have the columns id, customer, amount, weight, items, at.
  Hint:   Did you mean "customer"?""",
    ),
    (
        TypeMismatch,
        """\
    CREATE MATERIALIZED VIEW v AS
    SELECT id, sum(amount) OVER (
      PARTITION BY at ORDER BY amount RANGE BETWEEN INTERVAL '1' HOUR PRECEDING AND CURRENT ROW
--                                                  ^ here
    ) AS s FROM orders
""",
        """\
view "v" has a frame in time over rows that time doesn't order
  Hint:   Write RANGE, and order by one column of time.""",
    ),
    (
        UnboundedState,
        """\
    CREATE MATERIALIZED VIEW v AS
    SELECT first_at FROM orders
    MATCH_RECOGNIZE (
--  ^ here
      PARTITION BY customer ORDER BY at MEASURES A.at AS first_at
      PATTERN (A B+) DEFINE A AS amount > 1, B AS amount > 2
    )
""",
        """\
view "v" looks for a pattern that may never end
  Detail: Nothing in the query says when its state can be forgotten.
  Hint:   Write WITHIN INTERVAL '10' MINUTE behind the pattern: how long a match may last. Or write FROM TUMBLE(TABLE \
orders, DESCRIPTOR(at), INTERVAL '1' HOUR) and PARTITION BY customer, window_end.""",
    ),
    (
        NotSupportedYet,
        """\
    CREATE STREAM people (id STRING, email STRING, at TIMESTAMP, WATERMARK FOR at AS at, PERSONAL (email) OF id)
--  ^ here
""",
        """\
stream "people" has personal columns, which can't be kept in this version
  Detail: PERSONAL (email) OF id is understood, but nothing would be encrypted.
  Hint:   Leave these columns out, or encrypt them before they are appended.""",
    ),
    (
        UnboundedJoin,
        """\
    CREATE MATERIALIZED VIEW v AS
    SELECT id, (SELECT max(paid) AS most FROM payments) AS most FROM orders
--              ^ here
""",
        """\
view "v" uses a subquery as a value that looks at rows of all time
  Detail: Every row would wait for ever for rows that may still change the value.
  Hint:   Compare the windows of both in its WHERE, like i.window_end = o.window_end.""",
    ),
    (
        NotSupportedYet,
        """\
    CREATE MATERIALIZED VIEW v AS
    SELECT id, id IN (SELECT order_id FROM payments) AS paid FROM orders
--                    ^ here
""",
        """\
view "v" asks for the rows of a subquery inside an expression, which is not supported yet
  Hint:   Let IN or NOT IN be a condition of WHERE on its own, write EXISTS, or join with ON.""",
    ),
    (
        NotSupportedYet,
        """\
    CREATE MATERIALIZED VIEW v WITH (retention = '1 day') AS
    SELECT c, count(*) AS n FROM (SELECT country AS c FROM customers UNION ALL SELECT id FROM orders) GROUP BY c
--                                                                                                             ^ here
""",
        """\
view "v" computes over the rows of a table and lets go of others
  Detail: A change of the table would have to take back what its old row added.
  Hint:   Hold every row for ever: WITH (retention = 'forever').""",
    ),
    (
        NotSupportedYet,
        """\
    CREATE MATERIALIZED VIEW totals WITH (retention = '1 day') AS
    SELECT customer, count(*) AS n FROM orders GROUP BY customer;
    CREATE MATERIALIZED VIEW v AS SELECT customer FROM totals WHERE n > 10
--  ^ here
""",
        """\
view "v" reads view "totals", whose rows are never final
  Detail: A derived topic holds rows that no longer change.
  Hint:   Group view "totals" by a window, or read what it reads.""",
    ),
    (
        KeyNotInOutput,
        """\
    CREATE MATERIALIZED VIEW v WITH (key = 'idd') AS SELECT id FROM orders
--  ^ here
""",
        """\
view "v" declares a key "idd" that is not in its output
  Detail: Its columns are id.
  Hint:   Did you mean "id"?""",
    ),
    (
        EmitRefused,
        """\
    CREATE MATERIALIZED VIEW v WITH (emit = 'changes') AS
--  ^ here
    SELECT customer, window_start, window_end, median(amount) AS m
    FROM SESSION(TABLE orders PARTITION BY customer, DESCRIPTOR(at), INTERVAL '5' MINUTE)
    GROUP BY customer, window_start, window_end
""",
        """\
view "v" can't keep emit = 'changes'
  Detail: Spark's streaming keeps no changes of sessions, and nothing says how long one can be.
  Hint:   Write emit = 'final', or state the longest that counts with horizon = '…'.""",
    ),
    (
        EmitRefused,
        """\
    CREATE MATERIALIZED VIEW v WITH (emit = 'final', retention = '1 day') AS
--  ^ here
    SELECT customer, count(*) AS n FROM orders GROUP BY customer
""",
        """\
view "v" can't keep emit = 'final'
  Detail: Its rows have no end in time, so that none is ever final.
  Hint:   Write emit = 'changes', or group by a window.""",
    ),
    (
        EmitRefused,
        """\
    CREATE MATERIALIZED VIEW v WITH (retention = '1 day') AS
--  ^ here
    SELECT id, amount FROM orders QUALIFY rank() OVER (ORDER BY amount DESC) <= 3
""",
        """\
view "v" can't keep its rows up to date
  Detail: Its rows are never final, and have no key by which a change could find them.
  Hint:   Declare what tells its rows apart with key = '…', or show the rank.""",
    ),
    (
        OptionRefused,
        """\
    CREATE MATERIALIZED VIEW v WITH (retention = '0 seconds') AS
--  ^ here
    SELECT customer, count(*) AS n FROM orders GROUP BY customer
""",
        """\
view "v" states a retention of nothing
  Detail: It states 0 seconds: no row would ever count.
  Hint:   Write how long a row counts, like retention = '7 days'.""",
    ),
    (
        OptionRefused,
        """\
    CREATE MATERIALIZED VIEW v WITH (retention = 'forever') AS
    SELECT customer, count(*) AS n
    FROM (SELECT customer FROM TUMBLE(TABLE orders, DESCRIPTOR(at), INTERVAL '1' MINUTE)) GROUP BY customer
--                             ^ here
""",
        """\
view "v" holds every row for ever, and reads what doesn't
  Detail: A window ends, and lets go of what comes too late for it.
  Hint:   State how long a row counts: retention = '30 days'; or make a view of its own for that part. \
A period is also a value: GROUP BY date_trunc('DAY', at).""",
    ),
    (
        OptionRefused,
        """\
    CREATE MATERIALIZED VIEW v WITH (retention = 'forever', execution = 'settle') AS
--  ^ here
    SELECT customer, count(*) AS n FROM orders GROUP BY customer
""",
        """\
view "v" can't be kept with execution = 'settle'
  Detail: Every row counts for ever, so that it is maintained by what has changed.
  Hint:   Write execution = 'batch', or leave it out.""",
    ),
    (
        OptionRefused,
        """\
    CREATE MATERIALIZED VIEW v WITH (retention = 'forever', every = '5 seconds') AS
--  ^ here
    SELECT customer, count(*) AS n FROM orders GROUP BY customer
""",
        """\
view "v" states every, and has nothing to show at a cadence
  Detail: Every row counts for ever, and what a step touches is shown at once.
  Hint:   Leave every out.""",
    ),
    (
        OptionRefused,
        """\
    CREATE MATERIALIZED VIEW v WITH (retention = '1 day') AS
--  ^ here
    SELECT window_end, count(*) AS n FROM TUMBLE(TABLE orders, DESCRIPTOR(at), INTERVAL '1' MINUTE) GROUP BY window_end
""",
        """\
view "v" states a retention, and keeps nothing that would need one
  Detail: Every group in it ends with a window or a time, and is forgotten then.
  Hint:   Leave retention out; how long a window still takes rows after its end is grace = '…'.""",
    ),
    (
        EmitRefused,
        """\
    CREATE MATERIALIZED VIEW v WITH (emit = 'final') AS SELECT customer, country FROM customers
--  ^ here
""",
        """\
view "v" can't keep emit = 'final'
  Detail: Its rows have no end in time, so that none is ever final.
  Hint:   Write emit = 'changes', or group by a window.""",
    ),
    (
        UnknownStore,
        """\
    CREATE MATERIALIZED VIEW v WITH (store = 'postgres') AS SELECT id FROM orders
--  ^ here
""",
        """\
view "v" names a store "postgres" that is not declared
  Detail: headwater.toml declares main, archive.
  Hint:   Add [stores.postgres] to headwater.toml.""",
    ),
    (
        StoreRefused,
        """\
    CREATE MATERIALIZED VIEW v WITH (store = 'archive', emit = 'changes') AS SELECT id FROM orders
--  ^ here
""",
        """\
view "v" emits changes, which store "archive" can't take
  Detail: The store takes final.
  Hint:   Write emit = 'final', or name another store.""",
    ),
    (
        OptionRefused,
        """\
    CREATE MATERIALIZED VIEW v WITH (horizon = '1 minute') AS
--  ^ here
    SELECT id, sum(amount) OVER (
      PARTITION BY customer ORDER BY at RANGE BETWEEN INTERVAL '1' HOUR PRECEDING AND CURRENT ROW
    ) AS spent FROM orders
""",
        """\
view "v" states a horizon that is shorter than its query reaches back
  Detail: It states 1 minute, and its windows, joins and frames reach back 1 hour.
  Hint:   Write horizon = '1 hour' or more.""",
    ),
]


@pytest.mark.parametrize(("kind", "text", "message"), CASES, ids=[case[0].__name__ for case in CASES])
def test_a_finding_has_its_class_its_place_and_its_text(kind: type[Finding], text: str, message: str) -> None:
    project, parsed = declared(text)
    (finding,) = plan.check(project).findings
    assert parsed == ()
    assert type(finding) is kind
    assert str(finding) == message
    assert finding.origin == marked(text)


def test_all_findings_of_all_views_are_found_at_once_in_the_order_of_the_file() -> None:
    found = planned("""
        CREATE MATERIALIZED VIEW a AS SELECT idd, now() AS n FROM orders LIMIT 1;
        CREATE MATERIALIZED VIEW b AS SELECT x FROM nowhere;
        CREATE MATERIALIZED VIEW c AS SELECT y FROM b;
        CREATE MATERIALIZED VIEW d AS SELECT customer, sum(weight) AS w FROM orders GROUP BY customer;
    """).findings
    assert [type(finding).__name__ for finding in found] == [
        "UnknownColumn",
        "ImpureFunction",
        "QueryRefused",
        "UnknownName",
        "UnknownColumn",
        "ApproximateValue",
        "UnboundedState",
    ]
    assert [finding.fields["view"] for finding in found] == ["a", "a", "a", "b", "c", "d", "d"]


def test_a_plan_with_findings_raises_them_all_when_it_is_required() -> None:
    found = planned("CREATE MATERIALIZED VIEW a AS SELECT idd, now() AS n FROM orders")
    with pytest.raises(CheckFailed) as failed:
        found.checked()
    assert failed.value.findings == found.findings
    assert str(pickle.loads(pickle.dumps(failed.value))) == str(failed.value)


def test_cautions_dont_refuse() -> None:
    query = "SELECT window_end, sum(weight) AS w FROM TUMBLE(TABLE orders, DESCRIPTOR(at), INTERVAL '1' DAY) GROUP BY 1"
    found = planned(f"CREATE MATERIALIZED VIEW v AS {query}")
    assert [finding.severity for finding in found.findings] == ["warning"]
    assert found.checked() is found


def test_an_unknown_input_doesnt_make_its_columns_unknown_too() -> None:
    found = planned("CREATE MATERIALIZED VIEW v AS SELECT n.a, b, upper(c) AS d FROM nowhere n WHERE e > 1").findings
    assert [type(finding) for finding in found] == [UnknownName]


def test_a_function_with_findings_is_reported_once_however_often_it_is_called() -> None:
    found = planned("""
        CREATE FUNCTION f(x DOUBLE) RETURNS DOUBLE RETURN x + y;
        CREATE MATERIALIZED VIEW v AS SELECT f(weight) AS a, f(f(weight)) AS b FROM orders;
    """).findings
    assert [str(finding).splitlines()[0] for finding in found] == [
        'function "f" names "y", which is none of its parameters'
    ]


def test_a_function_that_calls_itself_is_refused_where_it_is_called() -> None:
    found = planned("""
        CREATE FUNCTION f(x DOUBLE) RETURNS DOUBLE RETURN g(x);
        CREATE FUNCTION g(x DOUBLE) RETURNS DOUBLE RETURN f(x);
        CREATE MATERIALIZED VIEW v AS SELECT f(weight) AS a FROM orders;
    """).findings
    assert [finding.summary for finding in found] == ['view "v" calls the function "f", which calls itself']


def test_findings_inside_an_inline_view_are_reported_for_it_and_state_for_those_that_read_it() -> None:
    found = planned("""
        CREATE VIEW totals AS SELECT customer, count(*) AS n, now() AS at FROM orders GROUP BY customer;
        CREATE MATERIALIZED VIEW a AS SELECT customer FROM totals WHERE n > 1;
        CREATE MATERIALIZED VIEW b WITH (retention = '1 day') AS SELECT customer FROM totals WHERE n > 2;
    """).findings
    assert [(type(finding), finding.fields["view"]) for finding in found] == [
        (ImpureFunction, "totals"),
        (UnboundedState, "a"),
    ]


@pytest.mark.parametrize(
    ("query", "options", "kind", "emit"),
    [
        ("SELECT id FROM orders", "", "settle", "changes"),
        ("SELECT id FROM orders", "WITH (emit = 'final')", "settle", "final"),
        ("SELECT window_end, count(*) AS n FROM TUMBLE(TABLE orders, DESCRIPTOR(at), INTERVAL '1' DAY) GROUP BY 1", "",
         "settle", "changes"),
        ("SELECT window_end, collect_set(id) AS ids FROM TUMBLE(TABLE orders, DESCRIPTOR(at), INTERVAL '1' DAY) "
         "GROUP BY 1", "", "live", "changes"),
        ("SELECT customer, window_start, window_end, median(amount) AS m "
         "FROM SESSION(TABLE orders PARTITION BY customer, DESCRIPTOR(at), INTERVAL '5' MINUTE) GROUP BY ALL", "",
         "live", "final"),
        ("SELECT customer, window_start, window_end, count(*) AS n "
         "FROM SESSION(TABLE orders PARTITION BY customer, DESCRIPTOR(at), INTERVAL '5' MINUTE) GROUP BY ALL", "",
         "settle", "final"),
        ("SELECT customer, window_start, window_end, count(*) AS n "
         "FROM SESSION(TABLE orders PARTITION BY customer, DESCRIPTOR(at), INTERVAL '5' MINUTE) GROUP BY ALL",
         "WITH (emit = 'changes')", "settle", "changes"),
        ("SELECT customer, window_start, window_end, median(amount) AS m "
         "FROM SESSION(TABLE orders PARTITION BY customer, DESCRIPTOR(at), INTERVAL '5' MINUTE) GROUP BY ALL",
         "WITH (emit = 'changes', horizon = '1 day')", "settle", "changes"),
        ("SELECT o.id FROM orders o JOIN payments p ON o.id = p.order_id AND p.at = o.at", "", "settle", "changes"),
        ("SELECT o.id FROM orders o JOIN payments p ON o.id = p.order_id "
         "AND p.at BETWEEN o.at AND o.at + INTERVAL '1' HOUR", "", "live", "changes"),
        ("SELECT o.id FROM orders o LEFT JOIN payments p ON o.id = p.order_id AND p.at = o.at", "", "live", "final"),
        ("SELECT o.id FROM orders o LEFT JOIN payments p ON o.id = p.order_id AND p.at = o.at",
         "WITH (emit = 'changes', key = 'id')", "settle", "changes"),
        ("SELECT o.id FROM orders o LEFT ANTI JOIN payments p ON o.id = p.order_id AND p.at = o.at", "",
         "settle", "final"),
        ("SELECT o.id FROM orders o JOIN payments p ON p.at = o.at AND p.paid > o.amount", "", "settle", "changes"),
        ("SELECT o.id FROM orders o JOIN payments p ON p.at BETWEEN o.at AND o.at + INTERVAL '1' HOUR", "",
         "settle", "final"),
        ("SELECT customer, count(*) AS n FROM orders GROUP BY customer", "WITH (retention = '1 day')",
         "settle", "changes"),
        ("SELECT customer, count(*) AS n FROM orders GROUP BY customer", "WITH (retention = 'forever')",
         "maintained", "changes"),
        ("SELECT o.id, o.at FROM orders o JOIN payments p ON o.id = p.order_id",
         "WITH (retention = 'forever', key = 'id')",
         "maintained", "changes"),
        ("SELECT customer, count(*) AS n FROM orders GROUP BY customer",
         "WITH (retention = 'forever', execution = 'batch')", "batch", "changes"),
        ("SELECT country, count(*) AS n FROM customers GROUP BY country", "", "maintained", "changes"),
        ("SELECT n.name, count(*) AS n FROM customers c JOIN countries n ON n.country = c.country GROUP BY n.name", "",
         "maintained", "changes"),
        ("SELECT customer, id FROM orders QUALIFY row_number() OVER (PARTITION BY customer ORDER BY at) = 1",
         "WITH (retention = '1 day')", "settle", "changes"),
        ("SELECT DISTINCT id, at FROM orders", "", "settle", "changes"),
        ("SELECT id, order_id FROM payments QUALIFY row_number() OVER (PARTITION BY id ORDER BY at) = 1", "",
         "settle", "changes"),
        ("SELECT window_end, max(n) AS n FROM (SELECT customer, window_end, count(*) AS n "
         "FROM TUMBLE(TABLE orders, DESCRIPTOR(at), INTERVAL '1' DAY) GROUP BY ALL) GROUP BY window_end", "",
         "settle", "changes"),
    ],
)  # fmt: skip
def test_the_execution_follows_from_the_shape(query: str, options: str, kind: str, emit: str) -> None:
    execution = view(query, options).execution
    assert (execution.kind, execution.emit) == (kind, model.Emit(emit))
    assert execution.why
    assert execution.emit_why


DAYS = "TUMBLE(TABLE orders, DESCRIPTOR(at), INTERVAL '1' DAY)"
TUMBLED = "SELECT window_end, count(*) AS n FROM TUMBLE(TABLE orders, DESCRIPTOR(at), INTERVAL '1' DAY) GROUP BY 1"
PAIRED = (
    "SELECT o.id FROM orders o JOIN payments p ON o.id = p.order_id AND p.at BETWEEN o.at AND o.at + INTERVAL '1' HOUR"
)
RANKED = (
    "SELECT window_end, id, row_number() OVER (PARTITION BY window_end ORDER BY amount) AS place "
    "FROM TUMBLE(TABLE orders, DESCRIPTOR(at), INTERVAL '1' DAY)"
)


@pytest.mark.parametrize(
    ("query", "wanted", "why"),
    [
        (TUMBLED, "live", "Spark's streaming keeps its aggregate"),
        ("SELECT id FROM orders", "live", "every row is computed from one row"),
        (PAIRED, "live", "Spark's streaming keeps its join"),
        (PAIRED, "settle", "as declared"),
        (TUMBLED, "settle", "as declared"),
        (TUMBLED, "batch", "as declared"),
        (RANKED, "settle", "as declared"),
        (RANKED, "batch", "as declared"),
    ],
)
def test_the_author_may_choose_the_execution(query: str, wanted: str, why: str) -> None:
    execution = view(query, f"WITH (execution = '{wanted}')").execution
    assert (execution.kind, execution.why) == (wanted, why)


@pytest.mark.parametrize(
    ("query", "options", "detail", "hint"),
    [
        (RANKED, "execution = 'live'", "Spark's streaming has no OVER windows.",
         "Write execution = 'settle' or 'batch', or leave it out."),
        ("SELECT customer, window_end, count(*) AS n FROM TUMBLE(TABLE orders, DESCRIPTOR(at), INTERVAL '5' MINUTE) "
         "GROUP BY ALL", "execution = 'live', key = 'customer'",
         "Its key leaves out window_end, by which Spark's streaming tells its groups apart.",
         "Write execution = 'settle' or 'batch', or leave it out."),
        ("SELECT customer, window_start, window_end, count(*) AS n FROM "
         "SESSION(TABLE orders PARTITION BY customer, DESCRIPTOR(at), INTERVAL '5' MINUTE) GROUP BY ALL",
         "execution = 'batch'", "Nothing says how far back an input can matter.",
         "Write execution = 'live' or 'settle', or leave it out."),
    ],
)  # fmt: skip
def test_an_execution_that_is_not_legal_is_refused_with_the_reason(
    query: str, options: str, detail: str, hint: str
) -> None:
    (finding,) = planned(f"CREATE MATERIALIZED VIEW v WITH ({options}) AS {query}").errors
    assert (type(finding), finding.detail, finding.hint) == (OptionRefused, detail, hint)


@pytest.mark.parametrize(
    ("query", "horizon"),
    [
        ("SELECT id FROM orders", "0 seconds"),
        ("SELECT window_end, count(*) AS n "
         "FROM HOP(TABLE orders, DESCRIPTOR(at), INTERVAL '1' MINUTE, INTERVAL '1' HOUR) GROUP BY 1", "1 hour"),
        ("SELECT o.id FROM orders o JOIN payments p "
         "ON o.id = p.order_id AND p.at BETWEEN o.at - INTERVAL '2' HOUR AND o.at + INTERVAL '1' HOUR", "2 hours"),
        ("SELECT id, sum(amount) OVER (PARTITION BY customer ORDER BY at "
         "RANGE BETWEEN INTERVAL '3' HOUR PRECEDING AND INTERVAL '4' HOUR FOLLOWING) AS s FROM orders", "4 hours"),
        ("SELECT window_end, max(s) AS s FROM TUMBLE((SELECT at, sum(amount) OVER (PARTITION BY customer ORDER BY at "
         "RANGE BETWEEN INTERVAL '3' HOUR PRECEDING AND CURRENT ROW) AS s FROM orders), "
         "DESCRIPTOR(at), INTERVAL '1' DAY) GROUP BY window_end", "1 day 3 hours"),
        ("SELECT id, lag(id) OVER (PARTITION BY window_end ORDER BY at) AS before "
         "FROM TUMBLE(TABLE orders, DESCRIPTOR(at), INTERVAL '1' HOUR)", "1 hour"),
    ],
)  # fmt: skip
def test_the_horizon_is_the_sum_of_what_the_stages_reach_back(query: str, horizon: str) -> None:
    assert view(query).horizon == model.parse_duration(horizon)


@pytest.mark.parametrize(
    ("query", "options", "kind", "columns"),
    [
        ("SELECT id FROM orders", "", "row", ()),
        ("SELECT id, at FROM orders", "WITH (key = 'ID')", "declared", ("id",)),
        ("SELECT customer AS who, window_end AS until, count(*) AS n "
         "FROM TUMBLE(TABLE orders, DESCRIPTOR(at), INTERVAL '1' DAY) GROUP BY customer, window_start, window_end", "",
         "group", ("who", "until")),
        ("SELECT count(*) AS n FROM orders", "WITH (retention = '1 day')", "group", ()),
        ("SELECT customer AS who, count(*) AS n FROM orders GROUP BY customer ORDER BY n DESC LIMIT 10",
         "WITH (retention = '1 day')", "group", ("who",)),
        ("SELECT customer, count(*) AS n FROM orders GROUP BY customer QUALIFY rank() OVER (ORDER BY n DESC) <= 10",
         "WITH (retention = '1 day')", "group", ("customer",)),
        ("SELECT id, order_id, at FROM payments QUALIFY row_number() OVER (PARTITION BY id ORDER BY at) = 1", "",
         "group", ("id",)),
        ("SELECT * FROM (SELECT id, at, row_number() OVER (PARTITION BY at ORDER BY id) AS place FROM orders) "
         "WHERE place <= 3", "", "group", ("at", "place")),
    ],
)  # fmt: skip
def test_the_key_tells_rows_apart(query: str, options: str, kind: str, columns: tuple[str, ...]) -> None:
    key = view(query, options).key
    assert (key.kind, key.columns) == (kind, columns)


@pytest.mark.parametrize(
    "query",
    [
        f"SELECT customer COLLATE UTF8_LCASE AS c, window_end, count(*) AS n FROM {DAYS} GROUP BY 1, 2",
        f"SELECT collate(customer, 'UNICODE_CI') AS c, window_end, count(*) AS n FROM {DAYS} GROUP BY 1, 2",
        "SELECT c, window_end, count(*) AS n FROM (SELECT lower(customer COLLATE UTF8_LCASE) AS c, window_end"
        f" FROM {DAYS}) GROUP BY c, window_end",
        "SELECT DISTINCT customer COLLATE UTF8_LCASE AS c, at FROM orders",
    ],
    ids=["an operator", "a function", "below", "distinct"],
)
def test_groups_of_texts_that_a_collation_takes_for_equal_are_refused(query: str) -> None:
    (finding,) = planned(f"CREATE MATERIALIZED VIEW v AS {query}").findings
    assert "collation" in str(finding)
    assert "lower(…)" in str(finding.hint)


@pytest.mark.parametrize(
    "call",
    [
        "max(customer COLLATE UTF8_LCASE)",
        "min_by(id, collate(customer, 'UNICODE_CI'))",
        "collect_set(customer COLLATE UTF8_LCASE)",
        "count(DISTINCT customer COLLATE UTF8_LCASE)",
        "mode(customer COLLATE UTF8_LCASE)",
    ],
)
def test_aggregates_that_compare_texts_by_a_collation_are_refused(call: str) -> None:
    below = f"(SELECT id, customer COLLATE UTF8_LCASE AS customer, window_end FROM {DAYS})"
    for rows in (f"SELECT window_end, {call} AS c FROM {DAYS}", f"SELECT window_end, max(customer) AS c FROM {below}"):
        (finding,) = planned(f"CREATE MATERIALIZED VIEW v AS {rows} GROUP BY window_end").findings
        assert "compared by a collation" in str(finding)
        assert "lower(name)" in str(finding.hint)


@pytest.mark.parametrize("call", ["count(customer)", "collect_list(customer)", "max(at)", "first(customer)"])
def test_aggregates_that_take_texts_as_they_are_take_those_with_a_collation(call: str) -> None:
    below = f"(SELECT customer COLLATE UTF8_LCASE AS customer, at, window_end FROM {DAYS})"
    assert view(f"SELECT window_end, {call} AS c FROM {below} GROUP BY window_end").emit


NEAR = "b.at BETWEEN a.at AND a.at + INTERVAL '1' HOUR"


@pytest.mark.parametrize(
    "query",
    [
        f"SELECT a.id FROM orders a JOIN orders b ON a.id COLLATE UTF8_LCASE = b.id COLLATE UTF8_LCASE AND {NEAR}",
        f"SELECT a.id FROM orders a LEFT JOIN orders b ON collate(a.id, 'UNICODE_CI') = b.id AND {NEAR}",
        "SELECT a.id FROM (SELECT id COLLATE UTF8_LCASE AS id, at FROM orders) a"
        f" JOIN orders b ON a.id = b.id AND {NEAR}",
        f"SELECT id FROM {DAYS} a WHERE id COLLATE UTF8_LCASE IN"
        f" (SELECT id FROM {DAYS} b WHERE a.window_end = b.window_end)",
    ],
    ids=["both", "one", "below", "IN"],
)
def test_joins_by_texts_that_a_collation_takes_for_equal_are_refused(query: str) -> None:
    (finding,) = planned(f"CREATE MATERIALIZED VIEW v AS {query}").findings
    assert "joins by a text that is compared by a collation" in str(finding)
    assert "lower(…) = lower(…)" in str(finding.hint)


def test_a_join_that_compares_by_more_than_equality_may_use_a_collation() -> None:
    joined = f"orders a JOIN orders b ON a.customer = b.customer AND {NEAR}"
    assert view(f"SELECT a.id FROM {joined} AND a.id COLLATE UTF8_LCASE < b.id").emit


@pytest.mark.parametrize("word", ["UNION", "EXCEPT", "INTERSECT", "UNION ALL"])
def test_unions_of_texts_with_a_collation_are_refused(word: str) -> None:
    query = f"SELECT at, id COLLATE UTF8_LCASE AS id FROM orders {word} SELECT at, id FROM payments"
    (finding,) = planned(f"CREATE MATERIALIZED VIEW v AS {query}").findings
    assert "collation" in str(finding)
    assert "lower(…)" in str(finding.hint)


@pytest.mark.parametrize("word", ["UNION", "EXCEPT", "INTERSECT"])
def test_rows_of_a_union_that_can_not_be_compared_are_refused(word: str) -> None:
    query = f"SELECT at, map('a', id) AS m FROM orders {word} SELECT at, map('a', id) FROM orders"
    (finding,) = planned(f"CREATE MATERIALIZED VIEW v AS {query}").findings
    assert 'takes DISTINCT rows with a column "m" whose type has no order' in finding.summary


@pytest.mark.parametrize(
    "query",
    [
        "SELECT id AS a, upper(customer) AS b, at FROM orders UNION ALL SELECT id, lower(order_id), at FROM payments",
        "SELECT id AS a, order_id AS b, at FROM payments UNION ALL (SELECT id, id, at FROM orders)",
        "WITH x(a, b, at) AS (SELECT id, upper(customer), at FROM orders) SELECT a, b, at FROM x",
        "SELECT a, b, at FROM (SELECT id, upper(customer), at FROM orders) AS x(a, b, at)",
    ],
    ids=["a union", "twice", "a CTE", "a subquery"],
)
def test_columns_that_are_named_elsewhere_need_no_names(query: str) -> None:
    assert [column.name for column in view(query).columns] == ["a", "b", "at"]


@pytest.mark.parametrize(
    "query",
    [
        "SELECT id, at FROM orders FULL UNION ALL BY NAME SELECT upper(id), at FROM payments",
        "SELECT upper(id), at FROM orders UNION ALL SELECT id, at FROM payments",
        "WITH x AS (SELECT id, upper(customer), at FROM orders) SELECT id FROM x",
    ],
    ids=["by name", "the first", "a CTE"],
)
def test_columns_that_have_no_name_anywhere_are_refused(query: str) -> None:
    assert (
        "has an output column without a name" in planned(f"CREATE MATERIALIZED VIEW v AS {query}").findings[0].summary
    )


@pytest.mark.parametrize(
    ("query", "said"),
    [
        (
            f"SELECT a.id FROM orders a JOIN orders b ON a.id = b.id AND a.items = b.at AND {NEAR}",
            "a.items is an array",
        ),
        (f"SELECT a.id, b.at + b.weight AS x FROM orders a JOIN orders b ON a.id = b.id AND {NEAR}", "Write b.at + "),
        (f"SELECT a.id FROM orders a JOIN orders b ON a.id = b.id AND {NEAR} WHERE b.items > 1", "b.items is an array"),
    ],
)
def test_a_finding_names_the_columns_of_a_join_as_the_query_does(query: str, said: str) -> None:
    (finding,) = planned(f"CREATE MATERIALIZED VIEW v AS {query}").findings
    assert said in str(finding.hint)
    assert not re.search(r"\b[lr]\.|\bb_", str(finding))


def test_what_has_no_end_is_not_told_twice() -> None:
    joined = f"{DAYS} a FULL JOIN {DAYS} b ON a.id = b.id AND a.window_end = b.window_end"
    query = f"SELECT a.window_end, count(*) AS n FROM {joined} GROUP BY a.window_end"
    (finding,) = planned(f"CREATE MATERIALIZED VIEW v WITH (emit = 'final') AS {query}").findings
    assert "groups rows for ever" in finding.summary


def test_a_collation_that_only_compares_is_taken() -> None:
    query = (
        f"SELECT customer, window_end, count(*) AS n FROM {DAYS} WHERE customer COLLATE UTF8_LCASE = 'a' GROUP BY 1, 2"
    )
    assert view(query).execution.kind == "settle"
