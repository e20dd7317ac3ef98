"""Contenders take turns, round by round, in one process: a slow minute of the machine is slow for all of them."""

from __future__ import annotations

import gc
import math
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import torch

from harness.case import Case, Inputs, make_inputs
from harness.contender import Call, Contender
from harness.reference import WrongResult
from harness.result import Lane, Measured, Sample

LEAST_SECONDS = 0.02  # one measurement lasts at least this long
HEAVY_SECONDS = 0.5  # a call this slow is measured in the first rounds only
HEAVY_ROUNDS = 3

Progress = Callable[[str], None]
Check = Callable[[Case, Inputs, "tuple[torch.Tensor, ...]"], None]


@dataclass
class Settings:
    seconds: float  # a group should take about this long
    least_rounds: int
    most_rounds: int
    fma_peak: Callable[[], float]
    progress: Progress = lambda text: None


@dataclass
class Threads:
    """The number of threads of all contenders. One that is not imported needs none."""

    now: int = 0

    def use(self, count: int) -> bool:
        """Returns whether anything changed."""
        if count == self.now:
            return False
        self.now = count
        torch.set_num_threads(count)
        if "attnscope" in sys.modules:
            sys.modules["attnscope"].set_num_threads(count)
        return True


def time_calls(call: Call, count: int) -> tuple[float, float]:
    """Seconds of one call: wall clock, and CPU time of the whole process."""
    wall, cpu = time.perf_counter(), time.process_time()
    for _ in range(count):
        call()
    return (time.perf_counter() - wall) / count, (time.process_time() - cpu) / count


@dataclass
class Group:
    """Cases that are measured side by side."""

    cases: Sequence[Case]
    contenders: Sequence[Contender]
    flops: Callable[[Case], float]
    check: Check
    threads: Threads
    lanes: list[Lane] = field(default_factory=list)

    def prepare(self, settings: Settings) -> None:
        for case in self.cases:
            x = make_inputs(case)
            for contender in self.contenders:
                settings.progress(f"{case.label}: {contender.name} is made ready")
                lane = self._ready_lane(contender, case, x)
                if lane is not None:
                    self.lanes.append(lane)

    def _ready_lane(self, contender: Contender, case: Case, x: Inputs) -> Lane | None:
        """Made, checked, warm, and with a number of repetitions; or with a note on why not."""
        lane = Lane(contender.key, contender.name, case, self.flops(case))
        self.threads.use(case.threads)
        try:
            call = contender.make(case, x)
            if call is None:
                return None
            result = call()
            if contender.checked:
                self.check(case, x, contender.unpack(case, result))
            del result
        except WrongResult as error:
            lane.note = f"wrong: {error}"
            return lane
        except Exception as error:  # whatever a contender throws, the others go on
            lane.note = f"failed: {type(error).__name__}: {str(error).strip().splitlines()[0] if str(error) else ''}"
            return lane
        lane.call = call
        once, _ = time_calls(call, 1)
        lane.repetitions = max(1, math.ceil(1.1 * LEAST_SECONDS / once))
        if lane.repetitions > 1:  # one call alone is a poor guess
            once, _ = time_calls(call, max(1, lane.repetitions // 4))
            lane.repetitions = max(1, math.ceil(1.1 * LEAST_SECONDS / once))
        lane.heavy = once > HEAVY_SECONDS
        lane.cost = once * lane.repetitions
        return lane

    def run(self, settings: Settings) -> Measured:
        self.prepare(settings)
        running = [lane for lane in self.lanes if lane.call is not None]
        light = sum(lane.cost for lane in running if not lane.heavy)
        heavy = sum(lane.cost for lane in running if lane.heavy) * HEAVY_ROUNDS
        rounds = int((settings.seconds - heavy) / light) if light else HEAVY_ROUNDS
        rounds = min(max(rounds, settings.least_rounds), settings.most_rounds)
        gc.collect()
        gc.disable()
        for number in range(rounds):
            settings.progress(f"{self.cases[0].label}: round {number + 1} of {rounds}")
            self._round(number, running, settings.fma_peak)
        gc.enable()
        for lane in running:
            lane.call = None  # lets go of its memory
        return Measured(self.lanes)

    def _round(self, number: int, running: list[Lane], fma_peak: Callable[[], float]) -> None:
        peak = fma_peak()
        turn = number % len(running) if running else 0
        for lane in running[turn:] + running[:turn]:
            if lane.heavy and number >= HEAVY_ROUNDS:
                continue
            assert lane.call is not None
            if self.threads.use(lane.case.threads) or not lane.heavy:
                lane.call()  # after its neighbours, caches and helpers are cold
            wall, cpu = time_calls(lane.call, lane.repetitions)
            lane.samples[number] = Sample(wall, cpu, peak)
