"""What was measured, and what follows from it. Everything is formed within a round, then the median is taken."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from harness.case import Case

CPU = "cpu"
WALL = "wall"


@dataclass(frozen=True)
class Sample:
    wall: float  # seconds of one call
    cpu: float
    peak: float  # FLOP a second of one core, in the same round

    def seconds(self, clock: str) -> float:
        return self.wall if clock == WALL else self.cpu


@dataclass
class Lane:
    """A contender with a case."""

    key: str
    name: str
    case: Case
    flops: float
    note: str = ""  # why there are no samples
    call: Callable[[], Any] | None = None
    repetitions: int = 1
    cost: float = 0  # seconds that a measurement takes
    heavy: bool = False
    samples: dict[int, Sample] = field(default_factory=dict)  # by round

    @property
    def clock(self) -> str:
        """One thread is judged by its CPU time, which a busy machine stretches least; several by the wall clock."""
        return CPU if self.case.threads == 1 else WALL

    def seconds(self, clock: str = "") -> float | None:
        return middle(s.seconds(clock or self.clock) for s in self.samples.values())

    def share(self) -> float | None:
        """Of the FMA peak of the cores in use."""
        if not self.flops:
            return None
        return middle(self.flops / s.seconds(self.clock) / (s.peak * self.case.threads) for s in self.samples.values())


def middle(values: Iterable[float]) -> float | None:
    values = list(values)
    return median(values) if values else None


@dataclass
class Measured:
    lanes: list[Lane] = field(default_factory=list)
    threads: int = 1  # of cases that ask for one

    def as_run(self, case: Case) -> Case:
        return case.with_(threads=self.threads) if case.threads == 1 else case

    def lane(self, key: str, case: Case) -> Lane | None:
        case = self.as_run(case)
        return next((lane for lane in self.lanes if lane.key == key and lane.case == case), None)

    def share(self, case: Case, key: str = "attnscope") -> float | None:
        lane = self.lane(key, case)
        return lane.share() if lane else None

    def seconds(self, case: Case, key: str = "attnscope", clock: str = "") -> float | None:
        lane = self.lane(key, case)
        return lane.seconds(clock) if lane else None

    def faster(self, case: Case, *others: str, key: str = "attnscope") -> float | None:
        """How many times faster than the best of the others."""
        own = self.lane(key, case)
        rivals = [lane for lane in (self.lane(other, case) for other in others) if lane and lane.samples]
        if own is None or not rivals:
            return None
        return middle(
            min(rival.samples[r].seconds(own.clock) for rival in rivals) / sample.seconds(own.clock)
            for r, sample in own.samples.items()
            if all(r in rival.samples for rival in rivals)
        )

    def between(self, slow: Case, fast: Case, key: str = "attnscope", clock: str = CPU) -> float | None:
        """Time of the one case over the time of the other, same contender."""
        a, b = self.lane(key, slow), self.lane(key, fast)
        if a is None or b is None:
            return None
        return middle(a.samples[r].seconds(clock) / b.samples[r].seconds(clock) for r in a.samples if r in b.samples)
