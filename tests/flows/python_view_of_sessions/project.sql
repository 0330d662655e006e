CREATE STREAM clicks (
  id STRING, visitor STRING, page STRING, made_at TIMESTAMP NOT NULL,
  WATERMARK FOR made_at AS made_at - INTERVAL '5' SECOND
);
