"""attnscope, with all its threads."""

from full.attnscope import NAME, make

__all__ = ["NAME", "make"]
