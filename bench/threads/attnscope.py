"""attnscope; the case says the rest."""

from full.attnscope import NAME, make

__all__ = ["NAME", "make"]
