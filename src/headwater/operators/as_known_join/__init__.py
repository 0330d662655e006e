"""The join with a table as it was known when a row arrived."""
