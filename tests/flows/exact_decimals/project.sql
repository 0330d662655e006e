CREATE STREAM ledger (
  id STRING, account STRING, amount DECIMAL(20, 10), rate DECIMAL(6, 5), made_at TIMESTAMP NOT NULL,
  WATERMARK FOR made_at AS made_at - INTERVAL '5' SECOND
);
CREATE MATERIALIZED VIEW balances WITH (emit = 'changes') AS
SELECT account, window_end, sum(amount) AS total, sum(amount * rate) AS interest, max(amount) AS most,
  count(*) AS n
FROM TUMBLE(TABLE ledger, DESCRIPTOR(made_at), INTERVAL '10' SECOND)
GROUP BY account, window_end;
