"""Numbers have a point, and are read with one, whatever the locale says: in the program and in a Python session that
has chosen its user's locale."""

import subprocess
import sys

import locales
import pytest
from conftest import attnscope, model_folder


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    return locales.made_in(tmp_path_factory.mktemp("locales"))


COMMANDS = [
    "generate --model GPT2 --prompt cat --tokens 8 --temperature 1.9 --top-p 0.75 --seed 3",
    "weights --text cat --layer 0 --head 0 --csv",
    "analyze --text the_cat_sat --json",
    "analyze --table table.csv",
    "heatmap --table table.csv --layer 0 --head 0 --range 0.25,0.75 -o out.svg",
    "headview --text the_cat_sat_on_the_mat --layer 0 -o out.svg",
    "lesson dot-product --all",
    "lesson gpt --json --set temperature=1.5",
]


@pytest.mark.parametrize("command", COMMANDS)
def test_program_writes_and_reads_the_same_numbers(environment, tmp_path, command):
    (tmp_path / "table.csv").write_text("0.5,0.5,1e-60\n0.25,0.75,0\n0.125,0.5,0.375\n")
    words = [model_folder("gpt2") if word == "GPT2" else word.replace("_", " ") for word in command.split()]

    def output(name):
        done = attnscope(*words, cwd=tmp_path, env={**locales.under(environment, name), "COLUMNS": "80"})
        picture = tmp_path / "out.svg"
        return done.stdout, picture.read_bytes() if picture.exists() else b""

    if command.startswith("generate"):  # its last line is a speed
        assert output("C.UTF-8")[0] == output("de_DE.UTF-8")[0]
        return
    plain = output("C.UTF-8")
    assert all(output(name) == plain for name in locales.NAMES)


SESSION = """
import locale, sys
chosen = locale.setlocale(locale.LC_ALL, "")
import numpy, attnscope as at

folder, model = sys.argv[1:]
with open(folder + "/table.csv", "w") as file:
    file.write("0.5,0.5,1e-60\\n0.25,0.75,0\\n0.125,0.5,0.375\\n")
bert = at.load("tiny-bert").record("the cat sat on the mat")
print(at.load(model).generate("cat", max_tokens=8, temperature=1.9, top_p=0.75, seed=3))
print(bert.analyze().text())
table = at.open(folder + "/table.csv")
print(table.weights(0, 0).tolist(), table.analyze().text())
for drawing in (at.heatmap(bert, layer=0, head=0), at.headview(bert, layer=0), at.heatmap(table, layer=0, head=0)):
    print(drawing.svg())
bert.save(folder + "/a.attn")
print(at.open(folder + "/a.attn").weights(1, 1).sum())
one = numpy.ones((1, 1, 2, 4), "f4")
for wrong in (lambda: at.attention(one, one, one, softcap=-0.5), lambda: at.linear_attention(one, one, one, epsilon=-0.5)):
    try:
        wrong()
    except ValueError as error:
        print(error)
print("in", locale.str(1.5) if "de" in chosen else "1,5", file=sys.stderr)
"""


def test_python_session_in_its_users_locale_computes_the_same(environment, tmp_path):
    def session(name):
        done = subprocess.run(
            [sys.executable, "-c", SESSION, str(tmp_path), model_folder("gpt2")],
            capture_output=True,
            text=True,
            env=locales.under(environment, name),
        )
        assert done.returncode == 0, done.stderr
        return done

    plain = session("C.UTF-8").stdout
    assert "0.5" in plain
    for name in locales.NAMES:
        found = session(name)
        assert found.stderr.endswith("in 1,5\n")  # the locale is in force
        assert found.stdout == plain
