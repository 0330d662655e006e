"""The queries of the Nexmark benchmark as views, checked against DuckDB."""
