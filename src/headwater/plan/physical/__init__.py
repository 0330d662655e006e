"""The physical plan: everything about how a view is carried out, decided once and held as data.

    execution    live, settled, in batch or not at all, and what is emitted
    pace         the stamp, how far Spark's watermark stays behind it, and when a row is final
    finality     how long stages wait for what can still change their rows
    published    how the derived topic of a view follows it
    view         all of it together, for one view; `decision` makes it

The engine carries it out. It reads fields, and asks no stage what could be said here.
"""
