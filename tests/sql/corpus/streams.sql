-- Card payments as the terminals send them.
CREATE STREAM transactions (
  id STRING, card_id STRING, amount DECIMAL(12,2), country STRING, at TIMESTAMP,
  WATERMARK FOR at AS at - INTERVAL '5' SECOND
) WITH (key = 'card_id', unique = 'id', idle = '30 seconds', max_ahead = '1 minute');

/* Clicks:
 * one row per page view. */
create stream clicks (user_id bigint not null, url string comment 'the page''s address', at timestamp,
  watermark for at as at);

CREATE STREAM IF NOT EXISTS sensor (
  id STRING NOT NULL, reading DOUBLE, measured TIMESTAMP(3),
  WATERMARK FOR measured AS measured - INTERVAL 5 MINUTES
) COMMENT 'from the factory floor' WITH ('unique' = '*', idle = '10s', max_ahead = 'none');

CREATE STREAM learned (at TIMESTAMP_LTZ(3), v INT, WATERMARK FOR at AS at - QUANTILE(0.999, INTERVAL '1' SECOND, INTERVAL '5' MINUTE));

CREATE STREAM told (at TIMESTAMP, complete_to TIMESTAMP, WATERMARK FOR at AS complete_to);

CREATE STREAM timeless (a INT, b STRING);

CREATE STREAM spans (at TIMESTAMP, WATERMARK FOR at AS at - INTERVAL '1 2:03:04.5' DAY TO SECOND);

CREATE STREAM parts (at TIMESTAMP, WATERMARK FOR at AS at - INTERVAL '1 hour 30 minutes');

CREATE TABLE flink_orders (
  order_id BIGINT, price DECIMAL(32, 2), currency STRING, order_time TIMESTAMP(3),
  WATERMARK FOR order_time AS order_time - INTERVAL '10' SECOND
);

CREATE SOURCE bids (auction BIGINT, price BIGINT, "channel" STRING, ts TIMESTAMP, WATERMARK FOR ts AS ts - INTERVAL '4' SECOND)
WITH (key = 'auction');

CREATE SOURCE plain (a INT);

CREATE STREAM `odd name` (
  `order` STRING, `a``b` INT, `größe €` DOUBLE, `select` BOOLEAN, `with,comma` STRING, at TIMESTAMP,
  WATERMARK FOR at AS at - INTERVAL '1' MILLISECOND
) WITH (key = '`with,comma`, `order`', unique = '`a``b`');

CREATE STREAM people (
  customer_id STRING NOT NULL, name STRING, email STRING, note STRING, at TIMESTAMP,
  WATERMARK FOR at AS at,
  PERSONAL (name, email) OF customer_id,
  PERSONAL (note) OF customer_id
);

CREATE STREAM every_type (
  a BOOLEAN, b BYTE, c TINYINT, d SHORT, e SMALLINT, f INT, g INTEGER, h LONG, i BIGINT, j FLOAT, k REAL, l DOUBLE,
  m DECIMAL, n DEC(5), o NUMERIC(38, 38), p STRING, q BINARY, r BYTES, s DATE, t TIMESTAMP, u TIMESTAMP_LTZ,
  v TIMESTAMP_NTZ, w ARRAY<ARRAY<INT>>, x MAP<STRING, ARRAY<DECIMAL(10, 2)>>,
  y STRUCT<a: INT, b: STRUCT<c: STRING NOT NULL, `d e`: MAP<INT, DATE>>>, z ROW<a INT, b BYTES, c ROW<d STRING>>,
  aa VARBINARY, bb TIMESTAMP(3) WITH LOCAL TIME ZONE
);

CREATE STREAM lengths (a VARCHAR(10), b CHAR(3), c ARRAY<VARCHAR(5)>);
