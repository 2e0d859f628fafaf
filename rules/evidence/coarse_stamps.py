"""
What it checks
    Whether the stamps of the samples are fine enough to say when iterations started.

Why it matters
    k6 stamps the end of an iteration; its start is that minus its duration. If the stamp is cut to a whole
    second (k6's CSV output does so unless it is told otherwise), starts are known to a second only: a stage,
    a 10 s window, a stall of the system or a late schedule cannot be distinguished from rounding.

How it is computed
    The largest power of ten that divides every stamp of a points file, or the unit that the file's time
    format has, if that is coarser. Above 10 ms the rule is unknown, and so are all rules that
    place starts (OL02 with several stages or a warm-up, OL03, CO02). Counts over the whole run are not
    touched. It never fails: coarse stamps show nothing wrong about the run.

How to fix it
    Set K6_CSV_TIME_FORMAT=unix_nano (k6 0.44 or later) for the CSV output, or write JSON
    (`--out json=k6.json.gz`), whose stamps are always in nanoseconds, and run again.

When it is wrong
    A file of very few samples, all of which happen to lie on whole hundredths of a second.
"""

from auditor.api import Findings, Rule, Samples, require_fine_stamps

RULE = Rule(
    id="EV10",
    slug="coarse-stamps",
    title="Stamps are too coarse to place starts",
    severity="invalid",
    since="0.1",
    references=("semantics §8", "k6 documentation, CSV output"),
    waivable=False,
)


def check(samples: Samples) -> Findings:
    require_fine_stamps(samples)
    return ()
