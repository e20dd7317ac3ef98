"""attnscope, called from Python."""

from full.attnscope import NAME, make

__all__ = ["NAME", "make"]
