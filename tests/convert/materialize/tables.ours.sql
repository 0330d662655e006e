-- Note: The password is the variable PASSWORD of the environment: declarations have none.

CREATE TABLE rooms (
  id INT NOT NULL,
  seats INT,
  PRIMARY KEY (id)
)
WITH (connector = 'postgres', url = 'postgresql://mz:${PASSWORD}@db:5432/school', table = 'public.rooms', publication = 'p');

-- Note: Its rows come from INSERT: append them as events, `headwater append`.

CREATE STREAM remarks (
  id INT,
  remark STRING
);

CREATE VIEW large_rooms AS
SELECT
  id
FROM rooms
WHERE
  seats >= 100;

-- headwater check: ok
