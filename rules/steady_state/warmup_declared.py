"""
What it checks
    Whether the length of the warm-up was declared.

Why it matters
    Which part is left out of the figures is a decision: caches fill, code is compiled, pools grow. If a default
    or a tool makes it, nobody can tell afterwards whether an incident was cut away with it.

How it is computed
    The option --warmup, or warmup in k6-audit.toml. 0 s is a declaration. Without one the figures are computed
    with 0 s and the run is not proven.

How to fix it
    Decide it before the test: at least to the end of the ramp-up (SS03), longer if the system needs it.

When it is wrong
    Never: the auditor never chooses a warm-up by itself, because automatic truncation to "the stable part"
    removes incidents.
"""

from auditor.api import Declared, Findings, Missing, Plan, Rule, Unknown

RULE = Rule(
    id="SS01",
    slug="warmup-declared",
    title="No warm-up was declared",
    severity="invalid",
    since="0.1",
    references=("semantics §3",),
    about=("warmup_excluded",),
)


def check(declared: Declared, plan: Plan) -> Findings:
    if declared.warmup_s is not None:
        return
    ramps = [one.schedule.ramp_end_s for one in plan.measured() if one.schedule is not None]
    end_s = max((float(end) for end in ramps if end is not None), default=0.0)
    example = f"--warmup {end_s:g}s covers the ramp-up" if end_s else "--warmup 0s leaves nothing out"
    yield Unknown(
        "no warm-up was declared, so the measurement window is not defined (0 s is an answer)",
        f"declare it: {example}; or set warmup in k6-audit.toml",
        missing=Missing.WARMUP,
    )
