#!/usr/bin/env python3
"""Runs transformers' own comparisons of eager attention and "sdpa", with "sdpa" pointed to attnscope.

    TRANSFORMERS_TESTS=DIR .venv/bin/python tests/transformers_suite.py [FAMILY ...] [-- PYTEST OPTIONS]

DIR is a checkout of transformers at the installed version; its folder tests/ is used, the package itself is the
installed one. A family is a folder of tests/models. The tests need the package parameterized. Exit codes: 0 all passed,
1 some failed or nothing ran on attnscope, 2 wrong usage.
"""

import os
import pathlib
import sys

FAMILIES = ("albert", "bart", "bert", "clip", "distilbert", "gemma2", "gemma3", "gpt2", "gpt_neox", "llama", "mistral",
            "modernbert", "olmo2", "opt", "phi3", "qwen2", "qwen3", "roberta", "t5", "vit", "whisper")  # fmt: skip
COMPARISONS = "eager_matches_sdpa"


class Repoint:
    """A pytest plugin that puts attnscope in the place of sdpa, and counts its calls."""

    def __init__(self):
        self.calls = 0

    def counted(self, function):
        def call(*args, **kwargs):
            self.calls += 1
            return function(*args, **kwargs)

        return call

    def pytest_configure(self):
        import attnscope as at
        import torch
        from attnscope._hf.masks import mask_function
        from transformers import AttentionInterface, masking_utils

        def mask(*args, **kwargs):
            try:
                return mask_function(*args, **kwargs)
            except ValueError:  # a model with attention of its own, which calls torch's function
                return masking_utils.sdpa_mask(*args, **kwargs)

        AttentionInterface.register("sdpa", self.counted(at.transformers.attention_forward))
        masking_utils.AttentionMaskInterface.register("sdpa", mask)
        torch.nn.functional.scaled_dot_product_attention = self.counted(at.torch.scaled_dot_product_attention)

    def pytest_terminal_summary(self, terminalreporter):
        terminalreporter.write_line(f"attnscope computed {self.calls} calls")


def fail(message):
    print(f"transformers_suite: {message}", file=sys.stderr)
    sys.exit(2)


def main(arguments):
    split = arguments.index("--") if "--" in arguments else len(arguments)
    families, options = arguments[:split] or FAMILIES, arguments[split + 1 :]
    checkout = os.environ.get("TRANSFORMERS_TESTS")
    if not checkout:
        fail("set TRANSFORMERS_TESTS to a checkout of transformers at the installed version")
    models = pathlib.Path(checkout).resolve() / "tests" / "models"
    if not models.is_dir():
        fail(f"TRANSFORMERS_TESTS is {checkout}, which has no folder tests/models")
    files = [models / family / f"test_modeling_{family}.py" for family in families]
    absent = [file.parent.name for file in files if not file.is_file()]
    if absent:
        fail(f"{models} has no tests of {', '.join(absent)}")
    import pytest

    os.chdir(models.parent.parent)
    sys.path.insert(0, str(models.parent.parent))  # its tests import each other as tests.x
    plugin = Repoint()
    always = ["-q", "--disable-warnings", "-p", "no:cacheprovider", "-k", COMPARISONS]
    status = pytest.main([*always, *options, *map(str, files)], plugins=[plugin])
    return 0 if status == 0 and plugin.calls else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
