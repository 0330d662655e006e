CREATE CONNECTION k TO KAFKA (BROKER 'b:9092');
CREATE SOURCE logins (person text, ok boolean, at timestamptz) FROM KAFKA CONNECTION k (TOPIC 'logins') FORMAT JSON INCLUDE KEY AS login_key;
CREATE MATERIALIZED VIEW failures_today AS
SELECT person, count(*) AS failures FROM logins
WHERE NOT ok AND mz_now() <= at + INTERVAL '1 day' AND mz_now() >= at
GROUP BY person;
