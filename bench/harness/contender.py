"""Contenders: the modules of a task's folder."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import torch

from harness.case import Case, Inputs

Call = Callable[[], Any]


@dataclass(frozen=True)
class Contender:
    """A module with NAME and make(case, inputs), which gives the call to be timed, or None for a case it leaves out.

    If the call's result is not [B, H, N, D] (with weights: that and [B, H, N, M]), unpack(case, result) makes it so;
    it is not timed. A module with CHECKED = False computes something else and is not checked.
    """

    key: str  # the file's name
    module: ModuleType

    @property
    def name(self) -> str:
        return self.module.NAME

    @property
    def checked(self) -> bool:
        return getattr(self.module, "CHECKED", True)

    def make(self, case: Case, x: Inputs) -> Call | None:
        return self.module.make(case, x)

    def unpack(self, case: Case, result: Any) -> tuple[torch.Tensor, ...]:
        if hasattr(self.module, "unpack"):
            result = self.module.unpack(case, result)
        return result if isinstance(result, tuple) else (result,)


def load_contenders(package: ModuleType) -> tuple[list[Contender], dict[str, str]]:
    """attnscope first, the others by name; and, by file name, why some could not be imported."""
    found, absent = [], {}
    for info in pkgutil.iter_modules(package.__path__):
        try:
            found.append(Contender(info.name, importlib.import_module(f"{package.__name__}.{info.name}")))
        except ImportError as error:
            absent[info.name] = str(error)
    return sorted(found, key=lambda c: (c.key != "attnscope", c.key)), absent
