"""The formula, operator by operator."""

from full.torch_naive import NAME, make

__all__ = ["NAME", "make"]
