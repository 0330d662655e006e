"""Views over all of time: a step computes what the new rows touch, and nothing else.

run           rows in the order of the hash of their key, in one piece: in memory or in a file
arrangement   runs of rows by key, a few large and a few small ones, kept beside a view's position
traced        rows that share keys with new ones, as they were and as they are
sums          groups that a step adds to and takes off from
groups        groups without an end, whose parts a step finds by their keys, adds to and puts back
"""
