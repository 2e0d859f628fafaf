"""Host metrics of a load generator."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


@dataclass(frozen=True)
class HostSeries:
    """Metrics of one host; row i covers (stamp − interval, stamp]. Absent columns are None; NaN is unknown.

    Percent columns are 0..100 of all cores; ``core_busy_percent`` has one column a core.
    """

    path: str
    host: str
    stamp_ns: npt.NDArray[np.int64]
    interval_s: npt.NDArray[np.float64]
    cpu_busy_percent: npt.NDArray[np.float64]
    cores: int | None = None
    core_busy_percent: npt.NDArray[np.float64] | None = None
    steal_percent: npt.NDArray[np.float64] | None = None
    mem_used_percent: npt.NDArray[np.float64] | None = None
    swap_in_pages_per_s: npt.NDArray[np.float64] | None = None
    notes: tuple[str, ...] = ()


# --- what the user says ---------------------------------------------------------------------------------
