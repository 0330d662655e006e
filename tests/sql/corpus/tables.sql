CREATE TABLE customers (id STRING, name STRING, PRIMARY KEY (id));

CREATE TABLE currency_rates (
  currency STRING NOT NULL, rate DECIMAL(10, 4), valid_from TIMESTAMP,
  WATERMARK FOR valid_from AS valid_from - INTERVAL '15' SECOND,
  PRIMARY KEY (currency) NOT ENFORCED
) WITH (idle = '1 minute');

CREATE TABLE keyed_inline (id BIGINT PRIMARY KEY, v STRING COMMENT 'free text') COMMENT 'it\'s a "table"\nof two lines';

CREATE SOURCE changes (a INT, b INT, c STRING, PRIMARY KEY (a, b)) WITH (max_ahead = '2 days');

CREATE TABLE IF NOT EXISTS accounts (
  id STRING, owner STRING, iban STRING, PRIMARY KEY (ID), PERSONAL (owner, iban) OF id
);
