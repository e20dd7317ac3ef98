"""The native engine on SSE4: vectors of 128 bits and no fused multiply-add, as WebAssembly has them."""

from harness.calls import Engine, Native

NAME = "native, SSE4"


def start() -> Engine:
    return Native("SSE4")
