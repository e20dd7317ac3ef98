"""Tests at.record() of generate() with texts that end at different times: none includes padding."""

import attnscope as at
import numpy as np
import pytest
from attnscope._hf.tokens import padding_behind
from hf_models import VOCABULARY, attentions, batch, family, run, torch, transformers

END, ALSO_END, PAD, NEW = 2, 1, 0, 9
LENGTHS = (3, NEW, 6)  # tokens that each text writes, the end included


class EndsAt(transformers.LogitsProcessor):
    """Lets text b say `ends[b]` as its LENGTHS[b]-th token, and neither an end nor padding before."""

    def __init__(self, prompt, ends):
        self.prompt, self.ends = prompt, ends

    def __call__(self, ids, scores):
        scores[:, [END, ALSO_END, PAD]] = -torch.inf
        for b, length in enumerate(LENGTHS):
            if ids.shape[1] - self.prompt == length - 1 and length < NEW:
                scores[b] = -torch.inf
                scores[b, self.ends[b]] = 0
        return scores


@pytest.mark.parametrize("pad", [PAD, END, None], ids=lambda pad: f"pad={pad}")
@pytest.mark.parametrize("name", ["llama", "gpt2", "mistral", "t5"])
def test_padding_behind_the_end_of_a_text_is_not_recorded(name, pad):
    model = family(name)
    model.generation_config.pad_token_id = pad
    texts = batch(model, "left")
    ids, real = texts.inputs["input_ids"], texts.inputs["attention_mask"]
    paired = model.config.is_encoder_decoder
    processor = EndsAt(1 if paired else ids.shape[1], [END, END, ALSO_END])
    with at.record(model) as rec:
        written = model.generate(
            input_ids=ids, attention_mask=real, max_new_tokens=NEW, do_sample=False, eos_token_id=[END, ALSO_END],
            logits_processor=transformers.LogitsProcessorList([processor]),
        )  # fmt: skip
    assert len(rec) == 3
    begins = written.shape[1] - NEW
    for b, (text, length) in enumerate(zip(rec, LENGTHS)):
        source, last = ids[b : b + 1, texts.rows(b)], begins + min(length, NEW - 1)
        said = written[b : b + 1, :last]
        inputs = {"input_ids": source, "decoder_input_ids": said} if paired else {"input_ids": said}
        if not paired:
            inputs["input_ids"] = torch.cat((source, said[:, begins:]), dim=1)
        wanted = attentions(run(model, "eager", inputs, output_attentions=True))
        assert text.queries("decoder" if paired else "self")[-1] == f"#{said[0, -1]}"
        for kind, layers in wanted.items():
            for layer, table in enumerate(layers):
                found = text.weights(layer=layer, kind=kind)
                assert found.shape == table.shape[1:], f"text {b}, {kind}"
                assert np.abs(found - table[0].numpy()).max() < 1e-5, f"text {b}, {kind} layer {layer}"


@pytest.mark.parametrize(
    ("written", "settings", "padding"),
    [
        ([5, 6, END, PAD, PAD], {}, 2),
        ([5, 6, END], {}, 0),
        ([5, 6, PAD, PAD], {}, 0),
        ([5, END, 6, END, PAD], {}, 1),
        ([5, END, END, END], {"pad_token_id": END}, 2),
        ([5, 6, 7], {"pad_token_id": END}, 0),
        ([5, ALSO_END, END, END], {"pad_token_id": END, "eos_token_id": [END, ALSO_END]}, 2),
        ([5, END, END], {"pad_token_id": None}, 1),
        ([5, 6, PAD, PAD], {"stop_strings": ["x"]}, 2),
        ([5, PAD, PAD], {"eos_token_id": None}, 0),
        ([], {"pad_token_id": END}, 0),
    ],
)
def test_padding_is_what_stands_behind_an_end(written, settings, padding):
    config = transformers.GenerationConfig(**{"eos_token_id": END, "pad_token_id": PAD, **settings})
    assert padding_behind(written, config) == padding


def test_the_same_tokens_in_calls_of_ones_own_stay():
    model = family("llama")
    model.generation_config.eos_token_id = END
    with at.record(model) as rec, torch.no_grad():
        cache = model(input_ids=torch.tensor([[5, 6]]), use_cache=True).past_key_values
        for token in (END, PAD, VOCABULARY - 1, END, PAD):
            cache = model(input_ids=torch.tensor([[token]]), past_key_values=cache, use_cache=True).past_key_values
    assert rec.tokens[-3:] == [f"#{VOCABULARY - 1}", f"#{END}", f"#{PAD}"]
