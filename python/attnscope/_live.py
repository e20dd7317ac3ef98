"""Records a transformers model while it runs."""

from __future__ import annotations

import operator
import os
import warnings
from typing import Any, overload

from ._recording import Recording


class LiveRecording(Recording):
    """The recording of a `with` block: after it, a Recording of the first text, and a list of all texts."""

    def __init__(self, model: Any, tokenizer: Any, values: bool) -> None:
        self._watched = (model, tokenizer, values)
        self._texts: list[Recording] = []
        self._under_way: Any = None
        self._missing = "there is no recording yet: it is made at the end of the with block of at.record()"

    def __getattr__(self, name: str) -> Any:
        if name in ("_held", "_stacks") and not self.__dict__.get("_texts"):
            raise RuntimeError(self._missing)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __repr__(self) -> str:
        return super().__repr__() if self._texts else "<attnscope.record: nothing yet>"

    def __enter__(self) -> LiveRecording:
        from ._hf.live import Session

        if self._under_way is not None or self._texts:
            raise RuntimeError("this recording is already made: call at.record() again for another one")
        session = Session(*self._watched)
        session.begin()
        self._under_way = session
        return self

    def __exit__(self, kind: Any, value: Any, trace: Any) -> None:
        session, self._under_way = self._under_way, None
        self._watched = (None, None, False)
        session.end()
        try:
            held = session.recordings()
        except Exception as error:
            last = error if kind is None else value
            self._missing = f"there is no recording: the block ended with {type(last).__name__}: {last}"
            if kind is None:
                raise
            return
        super().__init__(held[0])
        self._texts = [Recording(each) for each in held]

    def __len__(self) -> int:
        return len(self._texts)

    @overload
    def __getitem__(self, text: int) -> Recording: ...
    @overload
    def __getitem__(self, text: slice) -> list[Recording]: ...
    def __getitem__(self, text: Any) -> Any:
        if isinstance(text, slice):
            return self._texts[text]
        try:
            text = operator.index(text)
        except TypeError:
            raise TypeError(f"texts are indexed by number, as in rec[0], not by {type(text).__name__}") from None
        if not -len(self._texts) <= text < len(self._texts):
            raise IndexError(f"there is no text {text}: {len(self._texts)} were recorded")
        return self._texts[text]

    def __bool__(self) -> bool:
        return True

    def save(self, path: str | os.PathLike) -> None:
        """Writes the first text, and warns if there are more: rec[1].save(path) writes the second."""
        if len(self._texts) > 1:
            warnings.warn(
                f"only the first of {len(self._texts)} texts is written: rec[1].save(...) writes the second",
                UserWarning,
                stacklevel=2,
            )
        super().save(path)


def record(model: Any, tokenizer: Any = None, *, values: bool = False) -> LiveRecording:
    """Records the attention of a transformers model inside a `with` block, without storing its tables.

    It stores Q and K as they enter the product, and one number per row: memory grows as N, while output_attentions=True
    would need N x N numbers per head. After the block, the result is a Recording of the first text; rec[0], rec[1] ...
    rec[len(rec) - 1] are all texts in the order in which the model read them, each without its padding and without what
    generate() appends to a text that has ended. generate() continues its text; a call that starts over is another text.

    A call that cannot be recorded, such as beam search, raises an error at the end of the block; the model itself is
    not interrupted. If an exception leaves the block, the texts before it are kept. Compiled models run uncompiled
    inside it.

    A model with another attn_implementation is switched to "attnscope" for the block. The tokenizer names the tokens
    (default: by their ids). values also keeps V. Raises TypeError for anything but a transformers model, ValueError
    for one that does not compute its attention through transformers' AttentionInterface.

    >>> import torch, transformers, attnscope as at
    >>> config = transformers.GPT2Config(n_embd=32, n_layer=2, n_head=4, vocab_size=50, bos_token_id=0, eos_token_id=0)
    >>> model = transformers.AutoModelForCausalLM.from_config(config).eval()
    >>> with at.record(model) as rec:
    ...     out = model(input_ids=torch.tensor([[5, 6, 7, 8], [9, 9, 9, 0]]))
    >>> rec.weights(layer=1, head=0).shape
    (4, 4)
    >>> len(rec)
    2
    """
    return LiveRecording(model, tokenizer, bool(values))
