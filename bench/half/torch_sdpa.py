"""torch's fused kernel; the case says the rest."""

from full.torch_sdpa import NAME, make

__all__ = ["NAME", "make"]
