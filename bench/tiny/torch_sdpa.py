"""torch's fused kernel."""

from full.torch_sdpa import NAME, make

__all__ = ["NAME", "make"]
