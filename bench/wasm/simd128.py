"""The engine as a WebAssembly module in node, without flags."""

from harness.calls import Engine, Module

NAME = "wasm in node"


def start() -> Engine:
    return Module()
