"""The typed record of what a run left behind: what was read and where it came from. Nothing is judged here.

Readers (`auditor.ingest`) build these values; facts (`auditor.facts`) consume them. Names carry units.
"""

from auditor.evidence.console import (
    BannerScenario,
    Console,
    ExitCode,
    FinalCounts,
    LogEvidence,
    PrintedThreshold,
    ScenarioProgress,
    Span,
    merged_log,
)
from auditor.evidence.declared import Declared, ScenarioDeclaration
from auditor.evidence.host import HostSeries
from auditor.evidence.options import (
    EXECUTORS,
    ITERATION_EXECUTORS,
    LOOPING_EXECUTORS,
    OPEN_EXECUTORS,
    SILENT_MODULES,
    Options,
    OptionsKind,
    ScenarioOptions,
    ScriptText,
)
from auditor.evidence.points import (
    Digest,
    MetricBatch,
    MetricDefinition,
    PartReport,
    PointBatch,
    PointsPart,
    PointsSource,
    PointTables,
    Position,
    ReadReport,
    Tags,
)
from auditor.evidence.report import Answer, ReportedField, ReportEvidence
from auditor.evidence.run import Evidence, Foreign, GeneratorEvidence
from auditor.evidence.sources import Ignored, Source
from auditor.evidence.summary import Summary, SummaryMetric

__all__ = [
    "EXECUTORS",
    "ITERATION_EXECUTORS",
    "LOOPING_EXECUTORS",
    "OPEN_EXECUTORS",
    "SILENT_MODULES",
    "Answer",
    "BannerScenario",
    "Console",
    "Declared",
    "Digest",
    "Evidence",
    "ExitCode",
    "FinalCounts",
    "Foreign",
    "GeneratorEvidence",
    "HostSeries",
    "Ignored",
    "LogEvidence",
    "MetricBatch",
    "MetricDefinition",
    "Options",
    "OptionsKind",
    "PartReport",
    "PointBatch",
    "PointTables",
    "PointsPart",
    "PointsSource",
    "Position",
    "PrintedThreshold",
    "ReadReport",
    "ReportEvidence",
    "ReportedField",
    "ScenarioDeclaration",
    "ScenarioOptions",
    "ScenarioProgress",
    "ScriptText",
    "Source",
    "Span",
    "Summary",
    "SummaryMetric",
    "Tags",
    "merged_log",
]
