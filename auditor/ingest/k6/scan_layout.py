"""What the compiled scanner and its caller agree on: the places of its state, and how a scan ends."""

SHORTEST_LINE = 88
"""Bytes of the shortest line that k6 can write as a point."""
DONE, METRICS_FULL, TAGSETS_FULL = range(3)
"""How a scan ends: at the end, or where a table has no more room."""
POS, LINES, ROWS, ODD, ODD_BYTES, SLOW, SLOW_BYTES, METRIC, TAGSET, SEED = range(10)
"""Places in the scanner's state."""
