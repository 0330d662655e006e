"""Tables of MariaDB and MySQL: a snapshot of them, and then the changes as the server's binary log tells them."""
