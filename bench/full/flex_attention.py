"""FlexAttention without a mask."""

from peers.flex_attention import NAME, make

__all__ = ["NAME", "make"]
