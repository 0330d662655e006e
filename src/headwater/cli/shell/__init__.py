"""`headwater sql`: statements over a project, at a prompt or from a script."""
