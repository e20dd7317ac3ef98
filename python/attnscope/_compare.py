"""Two recordings beside each other."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from . import _scope
from ._parts import place
from ._recording import Recording

if TYPE_CHECKING:
    from ._figures import Figure


class Comparison:
    """What two recordings have different: see Recording.compare()."""

    def __init__(self, held: _scope.Difference) -> None:
        self._held = held
        self._found = json.loads(held.json())

    @property
    def heads(self) -> list[dict[str, Any]]:
        """layer, head, kind, change (0 to 1), entropy_a, entropy_b; the most changed first."""
        return self._found["heads"]

    @property
    def aligned(self) -> list[dict[str, Any]]:
        """Of each kind, which tokens of the two texts are the same: pairs of their numbers."""
        return self._found["aligned"]

    def to_dict(self) -> dict[str, Any]:
        """As `attnscope compare --json` writes it."""
        return self._found

    def difference(self) -> Recording:
        """The weights of the first less those of the second, on the tokens that are the same: -1 to 1."""
        return Recording(_scope.difference(self._held))

    def figure(self, layer: int | None = None, head: int | None = None, **options: Any) -> Figure:
        """The difference of one head, the most changed one unless it is named; options as of Recording.figure()."""
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
