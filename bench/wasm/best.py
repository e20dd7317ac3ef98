"""The native engine on the best instruction set of this machine."""

from harness.calls import Engine, Native

NAME = "native, best"


def start() -> Engine:
    return Native("best")
