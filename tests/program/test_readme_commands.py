"""The commands of the README run as they stand there, on the small models of the tests."""

import re
import shlex

from conftest import ROOT, attnscope, model_folder


def readme_commands():
    block = re.search(r"```sh\n(attnscope .*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.S)[1]
    return [shlex.split(line, comments=True)[1:] for line in block.splitlines()]


def test_readme_commands_run():
    commands = readme_commands()
    assert {command[0] for command in commands} == {"pull", "fill", "weights", "generate", "tokenize", "models"}
    stands_for = {"bert-base-uncased": model_folder("bert"), "DIR": model_folder("llama"), "5": "1"}
    for command in commands:
        if command[0] == "pull":  # test_pull.py
            continue
        assert attnscope(*(stands_for.get(word, word) for word in command)).stdout
