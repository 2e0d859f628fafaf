"""
What it checks
    Whether the report can name the warm-up that was left out of the figures.

Why it matters
    Start-up costs (cold caches, connection pools, ramps) belong to no steady figure; and leaving out too much
    hides incidents. Only who ran the test knows what was start-up.

How it is computed
    The declared length; 0 s is an answer. Missing if nothing was declared: the tool never chooses a warm-up,
    because automatic truncation deletes incidents.
    In a linted report the field is looked for by its machine name (`warmup_excluded`), else by its label;
    absent, blank, "-", "TBD" or "NaN" fails. "n/a" is none.

How to fix it
    Declare it: `--warmup 30s`, `--warmup 0s`, or `warmup = "30s"` in k6-audit.toml.

When it is wrong
    About a run it never fails. Whether the warm-up is long enough, or hides something, is another question
    (SS03, SS06).
"""

from auditor.api import header_checks, header_rule

RULE = header_rule("warmup_excluded", slug="warm-up-field")
check, check_report = header_checks("warmup_excluded")
