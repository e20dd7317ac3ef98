"""Compares two recordings, head by head."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from . import _scope
from ._parts import place
from ._recording import Recording

if TYPE_CHECKING:
    from ._figures import Figure


class Comparison:
    """The differences between two recordings: see Recording.compare()."""

    def __init__(self, held: _scope.Difference) -> None:
        self._held = held
        self._found = json.loads(held.json())

    @property
    def heads(self) -> list[dict[str, Any]]:
        """One dict per head, the most changed first: layer, head, kind, change (0 to 1), entropy_a, entropy_b."""
        return self._found["heads"]

    @property
    def aligned(self) -> list[dict[str, Any]]:
        """The tokens that the two texts share, per kind: pairs of indices."""
        return self._found["aligned"]

    def to_dict(self) -> dict[str, Any]:
        """Returns what `attnscope compare --json` writes."""
        return self._found

    def difference(self) -> Recording:
        """Returns the weights of the first recording minus those of the second, -1 to 1, on the tokens they share."""
        return Recording(_scope.difference(self._held))

    def figure(self, layer: int | None = None, head: int | None = None, **options: Any) -> Figure:
        """Draws the difference of one head (default: the most changed one); takes the options of Recording.figure()."""
        if layer is None or head is None:
            best = self._most_changed(layer, head, options.get("attention"))
            layer, head = best["layer"], best["head"]
            options["attention"] = best["kind"]
        defaults = {"cmap": "RdBu", "reduce": "mean", "bar_label": "Difference of weights"}
        return self.difference().figure("heatmap", layer=layer, head=head, **{**defaults, **options})

    def _most_changed(self, layer: int | None, head: int | None, kind: str | None) -> dict[str, Any]:
        if (layer, head, kind) == (None, None, None):
            return self.heads[0]
        stack = self.difference()._stack(kind)
        layer = layer if layer is None else place(layer, stack.layers, "layer")
        head = head if head is None else place(head, stack.heads, "head")
        return next(
            each
            for each in self.heads
            if each["kind"] == stack.kind and layer in (None, each["layer"]) and head in (None, each["head"])
        )

    def __repr__(self) -> str:
        best = self.heads[0]
        return (
            f"<attnscope.Comparison of {len(self.heads)} heads: most changed {best['kind']} layer {best['layer']}, "
            f"head {best['head']}, by {best['change']:.3f}>"
        )
