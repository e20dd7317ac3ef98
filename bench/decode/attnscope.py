"""attnscope: a key is read once for all the heads that share it."""

from full.attnscope import NAME, make

__all__ = ["NAME", "make"]
