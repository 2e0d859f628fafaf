"""Nanoseconds: every stamp and offset is a whole number of them."""

NS_PER_S = 1_000_000_000
NS_PER_MS = 1_000_000
