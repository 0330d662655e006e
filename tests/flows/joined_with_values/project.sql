CREATE STREAM trades (
  id STRING, symbol STRING, price INT, volume DECIMAL(10, 2), made_at TIMESTAMP NOT NULL,
  WATERMARK FOR made_at AS made_at - INTERVAL '5' SECOND
) WITH (key = 'symbol');

-- every trade with the class of its price, and those of known companies with their names
CREATE MATERIALIZED VIEW told AS
SELECT id, class, known.name
FROM trades AS t
JOIN (VALUES (0, 10, 'low'), (5, 20, 'middle'), (20, 1000, 'high')) AS classes (least, most, class)
  ON price >= least AND price < classes.most
LEFT JOIN (VALUES ('a', 'Alpha'), ('b', NULL), ('b', 'Beta')) AS known (symbol, name) ON known.symbol = t.symbol;
