"""onnxruntime's own fused node."""

from peers.onnxruntime_mha import NAME, make, unpack

__all__ = ["NAME", "make", "unpack"]
