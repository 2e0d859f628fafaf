"""k6-auditor: says whether a finished k6 load test may be believed."""

__version__ = "0.1.0"
SEMANTICS_VERSION = 2
"""Version of the definitions behind every figure (docs/semantics.md); written into every result."""
