CREATE SOURCE sent (mail varchar, sent_at timestamptz, WATERMARK FOR sent_at AS sent_at - INTERVAL '1 minute') WITH (connector = 'kafka', topic = 'sent', properties.bootstrap.server = 'b:9092') FORMAT PLAIN ENCODE JSON;
CREATE SOURCE opened (mail varchar, opened_at timestamptz, WATERMARK FOR opened_at AS opened_at - INTERVAL '1 minute') WITH (connector = 'kafka', topic = 'opened', properties.bootstrap.server = 'b:9092') FORMAT PLAIN ENCODE JSON;
CREATE MATERIALIZED VIEW read_mails AS
SELECT s.mail, s.sent_at, o.opened_at FROM sent s JOIN opened o ON s.mail = o.mail AND o.opened_at BETWEEN s.sent_at AND s.sent_at + INTERVAL '3 days';
