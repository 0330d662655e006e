"""The systems whose declarations are read, a module each."""
