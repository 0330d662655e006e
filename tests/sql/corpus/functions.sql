CREATE FUNCTION cents(amount DECIMAL(12, 2)) RETURNS BIGINT RETURN CAST(amount * 100 AS BIGINT);

-- How long a text is, or zero.
create function if not exists size_of(a int, b string) returns int return a + coalesce(length(b), 0);

CREATE FUNCTION always() RETURNS BOOLEAN COMMENT 'true' RETURN TRUE;

CREATE FUNCTION tax(country STRING, amount DOUBLE) RETURNS DOUBLE
RETURN CASE WHEN country IN ('DE', 'AT') THEN amount * 0.19 WHEN country = 'CH' THEN amount * 0.081 ELSE 0 END;

CREATE FUNCTION tags(x STRING) RETURNS ARRAY<STRING> AS transform(split(x, ','), t -> trim(t));
