"""Real servers for tests: each is started on a free port of 127.0.0.1 in a temporary folder, and stopped by its pid."""
