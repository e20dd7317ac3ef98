"""Implements the `with` block of at.record(): switches the model's attention, records it and switches back."""

from __future__ import annotations

import sys
from typing import Any

import torch
from transformers import PreTrainedModel

from .. import transformers as _plug_in
from .assemble import Assembler
from .recorder import RecordedBatch, Recorder


def _models(model: Any) -> list[PreTrainedModel]:
    if not isinstance(model, torch.nn.Module):
        raise TypeError(f"model must be a transformers model, not {type(model).__name__}")
    found = [module for module in model.modules() if isinstance(module, PreTrainedModel)]
    if not found:
        raise TypeError(f"model must be a transformers model; this {type(model).__name__} contains none")
    return found


class Session:
    def __init__(self, model: Any, tokenizer: Any, values: bool) -> None:
        self._models = _models(model)
        if tokenizer is not None and not all(hasattr(tokenizer, name) for name in ("convert_ids_to_tokens", "decode")):
            raise TypeError(f"tokenizer must be a transformers tokenizer, not {type(tokenizer).__name__}")
        self._tokenizer, self._values = tokenizer, values
        self._recorder = Recorder(model, self._values)
        self._before: list[tuple[Any, Any]] = []
        self._stance: Any = None

    def begin(self) -> None:
        for one in self._models:
            if not one._can_set_attn_implementation():
                raise ValueError(
                    f"{type(one).__name__} does not compute its attention through transformers' AttentionInterface: it "
                    "cannot be recorded"
                )
        _plug_in.register()
        self._before = [(one, one.config._attn_implementation) for one in self._models]
        if "torch._dynamo" in sys.modules:  # otherwise nothing is compiled
            self._stance = torch.compiler.set_stance("force_eager")
        try:
            for one, known in self._before:
                if known != _plug_in.NAME:
                    one.set_attn_implementation(_plug_in.NAME)
            self._recorder.attach()
            _plug_in.listeners.append(self._recorder)
        except BaseException:
            self.end()
            raise

    def end(self) -> None:
        if self._stance is not None:
            self._stance.__exit__(None, None, None)
            self._stance = None
        if self._recorder in _plug_in.listeners:
            _plug_in.listeners.remove(self._recorder)
        self._recorder.detach()
        while self._before:  # the outermost model last: it also sets those inside it
            one, known = self._before.pop()
            if one.config._attn_implementation != known:
                one.set_attn_implementation(known)

    def recordings(self) -> list[Any]:
        """Returns one recording per text, and frees what was kept for them."""
        if self._recorder.trouble is not None:
            raise self._recorder.trouble
        batches, self._recorder.batches = self._recorder.batches, []
        name = type(self._models[0]).__name__
        if not batches:
            raise RuntimeError(
                f"nothing was recorded: no attention of {name} went through transformers' AttentionInterface"
                if self._recorder.called
                else f"nothing was recorded: {name} was not called inside the block"
            )
        config, made = self._models[0].config, []
        for at, recorded in enumerate(batches):
            shared = any(later.parts.get("self", 0) is recorded.parts.get("self", 1) for later in batches[at + 1 :])
            form = "encoder-decoder" if "decoder" in recorded.parts or "cross" in recorded.parts else "encoder"
            if form == "encoder" and any(chunk.causal for chunk in recorded.parts["self"][0]):
                form = "decoder"
            origin = (config.name_or_path or name, config.model_type, form)
            made += Assembler(recorded, self._values).run(origin, self._tokenizer, config, shared)
            batches[at] = RecordedBatch()  # frees its memory
        return made
