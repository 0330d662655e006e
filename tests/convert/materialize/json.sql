CREATE CONNECTION k TO KAFKA (BROKER 'b:9092');
CREATE SOURCE raw_events FROM KAFKA CONNECTION k (TOPIC 'events') FORMAT JSON;
CREATE VIEW events AS
SELECT data->>'user' AS who, (data->>'amount')::numeric(10, 2) AS amount, (data->>'at')::timestamptz AS at FROM raw_events;
