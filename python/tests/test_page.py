"""Tests the page: served from Python, in a notebook, as one file, and through BertViz's functions."""

import gc
import html
import inspect
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
import types
import urllib.error
import urllib.request

import attnscope as at
import numpy as np
import pytest
from attnscope import _page
from offline_page import unpacked

TEXT = "The cat sat on the mat."


@pytest.fixture(scope="module")
def rec():
    return at.load("tiny-bert").record(TEXT)


@pytest.fixture(autouse=True)
def no_browser(monkeypatch):
    opened = []
    monkeypatch.setattr(_page.webbrowser, "open", opened.append)
    return opened


@pytest.fixture
def notebook(monkeypatch):
    """Simulates IPython's kernel; returns what it displays."""
    shown = []
    display = types.ModuleType("IPython.display")
    display.display = shown.append
    display.HTML = lambda data: types.SimpleNamespace(data=data)
    ipython = types.ModuleType("IPython")
    ipython.get_ipython = lambda: types.SimpleNamespace(kernel=object())
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    return shown


def fetched(url):
    with urllib.request.urlopen(url, timeout=10) as answer:
        return answer.read()


def tables(*shape, seed=11):
    print("seed", seed)
    return np.random.default_rng(seed).dirichlet(np.ones(shape[-1]), shape[:-1]).astype(np.float32)


# ---- served ----


def test_a_served_page_has_the_recordings_weights(rec):
    with rec.view(open=False) as page:
        assert b"<!doctype html>" in fetched(page.url).lower()
        facts = json.loads(fetched(page.url + "api/recordings/1"))
        assert facts["text"] == TEXT and facts["name"] == "tiny-bert"
        assert [token["text"] for token in facts["stacks"][0]["query_tokens"]] == rec.tokens
        for layer, head, row in ((0, 0, 0), (3, 2, 5)):
            got = fetched(f"{page.url}api/recordings/1/row?layer={layer}&head={head}&row={row}")
            assert got == rec.weights(layer, head, rows=row).tobytes()
        entropies = rec.statistics().array("entropy")
        for head in facts["heads"]:
            assert head["entropy"] == pytest.approx(entropies[head["layer"], head["head"]], rel=1e-6)


def test_a_page_of_a_model_that_is_here_reads_other_texts(rec):
    with rec.view(open=False) as page:
        assert json.loads(fetched(page.url + "api/recordings/1"))["live"]
        body = json.dumps({"model": "tiny-bert", "text": "Another text."}).encode()
        request = urllib.request.Request(page.url + "api/recordings", body, {"Content-Type": "application/json"})
        ident = json.loads(fetched(request))["id"]
        other = at.load("tiny-bert").record("Another text.")
        row = np.frombuffer(fetched(f"{page.url}api/recordings/{ident}/row?layer=1&head=2&row=3"), "<f4")
        assert np.abs(row - other.weights(1, 2, rows=3)).max() < 1e-6


def test_closing_frees_the_port(rec):
    page = rec.view(port=0, open=False)
    fetched(page.url)
    port = page._server.port
    assert not page.closed and repr(page) == f"<attnscope.Page at http://127.0.0.1:{port}/>"
    begin = time.monotonic()
    page.close()
    page.close()
    assert time.monotonic() - begin < 3  # a kept connection is given five
    assert page.closed and repr(page).endswith(", closed>") and "iframe" not in page._repr_html_()
    with pytest.raises(OSError):
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    rec.view(port=port, open=False).close()


def test_a_port_that_is_taken_is_an_os_error(rec):
    with rec.view(port=0, open=False) as page:
        with pytest.raises(OSError, match=f"port {page._server.port} cannot be used"):
            rec.view(port=page._server.port, open=False)
    for port in (-1, 65536):
        with pytest.raises(ValueError, match="from 0 to 65535"):
            rec.view(port=port)


def test_python_runs_while_a_page_is_served_and_pages_outlive_their_names(rec):
    url = rec.view(open=False).url  # the caller keeps no reference
    gc.collect()
    assert json.loads(fetched(url + "api/recordings"))["recordings"][0]["tokens"] == len(rec.tokens)
    _page._close_all()
    with pytest.raises(urllib.error.URLError):
        fetched(url)


def test_a_browser_is_opened_where_there_is_one(rec, no_browser, monkeypatch):
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(sys, "platform", "linux")
    rec.view().close()
    assert no_browser == []
    monkeypatch.setenv("DISPLAY", ":0")
    with rec.view() as page:
        assert no_browser == [page.url]
    rec.view(open=False).close()
    assert len(no_browser) == 1


def test_a_notebook_shows_the_page_in_a_frame(rec, no_browser, notebook, monkeypatch):
    monkeypatch.setenv("DISPLAY", ":0")
    with rec.view() as page:
        assert no_browser == []
        assert f'<iframe src="{page.url}"' in page._repr_html_()


def test_a_script_ends_with_its_pages_open():
    code = (
        "import attnscope as at, urllib.request\n"
        f"page = at.load('tiny-bert').record({TEXT!r}).view(open=False)\n"
        "print(len(urllib.request.urlopen(page.url + 'api/recordings/1').read()) > 1000)"
    )
    folder = os.path.dirname(os.path.dirname(at.__file__))
    begin = time.monotonic()
    environment = {**os.environ, "PYTHONPATH": folder}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, env=environment)
    assert (done.returncode, done.stdout, done.stderr) == (0, "True\n", "")
    assert time.monotonic() - begin < 20


IN_THE_BACKGROUND = "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)"  # as a shell leaves it there


@pytest.mark.skipif(sys.platform == "win32", reason="no pty here")
@pytest.mark.parametrize("last", ["", "page.close()", "1 / 0", "import sys; sys.ps1 = '>>> '", IN_THE_BACKGROUND])
def test_at_a_terminal_a_script_stays_with_its_open_page_until_ctrl_c(last):
    import pty

    code = (
        "import attnscope as at, numpy as np\n"
        "page = at.head_view(np.full((1, 1, 2, 2), 0.5, np.float32), ['a', 'b'])\n" + last
    )
    hidden = ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")
    environment = {name: value for name, value in os.environ.items() if name not in hidden}
    environment["PYTHONPATH"] = os.path.dirname(os.path.dirname(at.__file__))
    ours, theirs = pty.openpty()
    script = subprocess.Popen(
        [sys.executable, "-c", code],
        stdin=subprocess.DEVNULL,
        stdout=theirs,
        stderr=subprocess.PIPE,
        env=environment,
        preexec_fn=lambda: signal.signal(
            signal.SIGINT, signal.SIG_DFL
        ),  # the tests themselves may be in the background
    )
    os.close(theirs)
    try:
        if not last:
            said = script.stderr.readline().decode()
            url = re.fullmatch(r"attnscope: serving at (http://\S+); press Ctrl-C to stop\n", said).group(1)
            assert fetched(url.split("#")[0]).lower().startswith(b"<!doctype html>")
            script.send_signal(signal.SIGINT)
        assert script.wait(60) == (1 if last == "1 / 0" else 0)
        assert b"Ctrl-C" not in script.stderr.read()
    finally:
        script.kill()
        script.wait()
        script.stderr.close()
        os.close(ours)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_child_ends_and_leaves_the_page_to_its_parent():
    code = (
        "import attnscope as at, os, sys, urllib.request\n"
        f"page = at.load('tiny-bert').record({TEXT!r}).view(open=False)\n"
        "child = os.fork()\n"
        "if child == 0: page.close(); del page; sys.exit(3)\n"
        "status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])\n"
        "print(status, urllib.request.urlopen(page.url).status)"
    )
    folder = os.path.dirname(os.path.dirname(at.__file__))
    environment = {**os.environ, "PYTHONPATH": folder}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, env=environment)
    assert (done.stdout, done.stderr) == ("3 200\n", "")


def test_the_requested_number_of_threads_is_used(rec, threads_restored):
    with rec.view(open=False) as page:
        for threads in (1, 3):
            at.set_num_threads(threads)
            assert len(fetched(page.url + f"api/recordings/1/row?layer={threads}&head=0&row=0")) == 4 * len(rec.tokens)


# ---- one file ----


def test_one_file_parses_back_to_the_weights(rec, tmp_path):
    page = rec.html()
    assert rec.html(tmp_path / "page.html") is None
    assert (tmp_path / "page.html").read_bytes() == page
    facts, blocks, state = unpacked(page.decode())
    assert facts["text"] == TEXT and state == {}
    for layer in range(rec.layers):
        for head in range(rec.heads):
            assert np.abs(blocks[f"head/self/{layer}/{head}"] - rec.weights(layer, head)).max() < 1.6e-5
    with pytest.raises(at.Error, match="page.html"):
        rec.html(tmp_path / "no folder" / "page.html")


def test_a_notebook_keeps_pages_that_are_small_and_no_others(rec):
    frame = _page.iframe(rec)
    inner = html.unescape(re.search(r'srcdoc="([^"]*)"', frame).group(1))
    assert inner == rec.html().decode()
    sandbox = re.search(r'sandbox="([^"]*)"', frame).group(1).split()
    assert "allow-scripts" in sandbox and "allow-same-origin" not in sandbox
    assert frame in rec._repr_mimebundle_()["text/html"]
    large = at.Recording.from_tables(tables(2, 2, 1500, 1500))
    assert _page.iframe(large) is None
    noise = at.Recording.from_tables(np.random.default_rng(2).random((4, 4, 300, 300), np.float32))
    assert len(noise.html()) > 2_000_000 - 200_000 and (_page.iframe(noise) is None) == (len(noise.html()) > 2_000_000)


# ---- what is no weight ----


@pytest.mark.parametrize(
    ("table", "says"),
    [
        ([[50, 20], [3, 1000]], "and 50 is not one"),
        ([[0.5, 0.5], [-0.5, 0.5]], "and -0.5 is not one"),
        ([[0.5, 0.5], [np.nan, 1]], "and NaN is not one"),
        ([[0.5, 0.5], [np.inf, 1]], "and inf is not one"),
        ([[0.5, 0.5], [0, 1.01]], "and 1.01 is not one"),
    ],
)
def test_numbers_that_are_not_weights_are_rejected(table, says, tmp_path):
    other = at.Recording.from_tables(np.array(table, np.float32))
    said = "the page shows weights from 0 to 1, " + says + "; a heatmap draws any table"
    for show in (
        lambda: other.view(open=False),
        other.html,
        lambda: other.html(tmp_path / "page.html"),
        lambda: at.head_view(np.array([[table]], np.float32), ["a", "b"]),
        lambda: at.model_view(np.array([[table]], np.float32), ["a", "b"], html_action="return"),
    ):
        with pytest.raises(ValueError, match=re.escape(said)):
            show()
    assert not _page._open and not list(tmp_path.iterdir())


def test_weights_that_are_off_by_rounding_are_shown():
    almost = at.Recording.from_tables(np.array([[1.0005, 0], [0, 1]], np.float32))
    assert almost.html().startswith(b"<!doctype html>")
    almost.view(open=False).close()


def test_weights_times_norms_are_rejected_but_display_in_a_notebook(rec):
    weighted = rec.value_weighted()
    for show in (weighted.html, lambda: weighted.view(open=False)):
        with pytest.raises(ValueError, match="the page shows weights from 0 to 1"):
            show()
    assert _page.iframe(weighted) is None and "<svg" in weighted._repr_mimebundle_()["text/html"]


# ---- for those who come from BertViz ----


# As bertviz 1.4 has them.
HEAD_VIEW = (
    "attention tokens sentence_b_start prettify_tokens layer heads encoder_attention decoder_attention cross_attention "
    "encoder_tokens decoder_tokens include_layers html_action"
).split()
MODEL_VIEW = (
    "attention tokens sentence_b_start prettify_tokens display_mode encoder_attention decoder_attention "
    "cross_attention encoder_tokens decoder_tokens include_layers include_heads html_action"
).split()


def test_they_take_the_same_arguments_in_the_same_order():
    assert list(inspect.signature(at.head_view).parameters) == HEAD_VIEW
    assert list(inspect.signature(at.model_view).parameters) == MODEL_VIEW


def test_attentions_of_transformers_as_they_are():
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    torch.manual_seed(3)
    config = transformers.BertConfig(
        hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=32, vocab_size=40
    )
    model = transformers.AutoModel.from_config(config, attn_implementation="eager").eval()
    with torch.no_grad():
        attention = model(torch.tensor([[2, 7, 9, 3, 8, 3]]), output_attentions=True).attentions
    tokens = ["[CLS]", "the", "cat", "[SEP]", "sat", "[SEP]"]
    page = at.head_view(attention, tokens, sentence_b_start=4, layer=1, heads=[2, 0], html_action="return")
    facts, blocks, state = unpacked(page.data)
    assert state == {"view": "heads", "kind": "self", "layer": "1", "head": "2", "others": "1.0"}
    named = facts["stacks"][0]["query_tokens"]
    assert [token["text"] for token in named] == tokens
    assert [token["sequence"] for token in named] == [0, 0, 0, 0, 1, 1]
    assert [token["special"] for token in named] == [True, False, False, True, False, True]
    for layer in range(2):
        for head in range(4):
            expected = attention[layer][0, head].numpy()
            assert np.abs(blocks[f"head/self/{layer}/{head}"] - expected).max() < 1.6e-5


def test_an_encoder_and_a_decoder():
    encoder, decoder, cross = tables(2, 1, 4, 5, 5), tables(2, 1, 4, 3, 3), tables(2, 1, 4, 3, 5)
    page = at.model_view(
        encoder_attention=list(encoder),
        decoder_attention=list(decoder),
        cross_attention=list(cross),
        encoder_tokens=list("abcde"),
        decoder_tokens=list("xyz"),
        html_action="return",
    )
    facts, blocks, state = unpacked(page.data)
    assert state == {"view": "overview"}
    assert [stack["kind"] for stack in facts["stacks"]] == ["self", "decoder", "cross"]
    assert [token["text"] for token in facts["stacks"][2]["query_tokens"]] == list("xyz")
    assert [token["text"] for token in facts["stacks"][2]["key_tokens"]] == list("abcde")
    for kind, given in (("self", encoder), ("decoder", decoder), ("cross", cross)):
        assert np.abs(blocks[f"head/{kind}/1/3"] - given[1, 0, 3]).max() < 1.6e-5


def test_some_layers_and_heads():
    given = tables(4, 3, 2, 2)
    page = at.model_view(given, ["a", "b"], include_layers=[3, 1], include_heads=[2], html_action="return")
    _, blocks, _ = unpacked(page.data)
    assert set(blocks) == {"thumbnails/self", "head/self/0/0", "head/self/1/0"}
    assert np.abs(blocks["head/self/0/0"] - given[3, 2]).max() < 1.6e-5
    assert np.abs(blocks["head/self/1/0"] - given[1, 2]).max() < 1.6e-5
    state = unpacked(at.head_view(given, ["a", "b"], layer=1, include_layers=[3, 1], html_action="return").data)[2]
    assert (state["layer"], state["others"]) == ("1", "1.1,1.2")


def test_negative_layers_and_heads_count_from_the_end():
    given = tables(4, 3, 2, 2)

    def state(**options):
        return unpacked(at.head_view(given, ["a", "b"], html_action="return", **options).data)[2]

    assert state(layer=-1, heads=[-1, 0]) == state(layer=3, heads=[2, 0])
    assert state(layer=-4, heads=[-3]) == state(layer=0, heads=[0])
    assert state(layer=-1, include_layers=[0, 3])["layer"] == state(layer=3, include_layers=[0, -1])["layer"] == "1"
    page = at.model_view(given, ["a", "b"], include_layers=[-1], include_heads=[-2], html_action="return")
    assert np.abs(unpacked(page.data)[1]["head/self/0/0"] - given[3, 1]).max() < 1.6e-5


def test_pieces_are_made_readable_unless_they_should_not_be():
    given = tables(1, 1, 3, 3)

    def names(**options):
        page = at.head_view(given, ["Ġthe", "▁cat", "sat</w>"], html_action="return", **options)
        return [token["text"] for token in unpacked(page.data)[0]["stacks"][0]["query_tokens"]]

    assert names() == [" the", " cat", "sat"]
    assert names(prettify_tokens=False) == ["Ġthe", "▁cat", "sat</w>"]


def test_a_notebook_displays_it_and_a_script_gets_a_page(notebook, monkeypatch, no_browser):
    assert at.head_view(tables(1, 1, 3, 3), list("abc")) is None
    assert notebook[0].data.startswith("<iframe srcdoc=")
    monkeypatch.delitem(sys.modules, "IPython")
    page = at.model_view(tables(1, 1, 3, 3), list("abc"))
    assert page.url.endswith("/#view=overview")
    page.close()


def test_a_returned_page_is_text_that_shows_itself():
    page = at.head_view(tables(1, 1, 3, 3), list("abc"), html_action="return")
    assert str(page) == page.data and page.data.startswith("<!doctype html>")
    assert page._repr_html_().startswith("<iframe srcdoc=") and re.fullmatch(r"<.* [\d,]+ characters>", repr(page))


@pytest.mark.parametrize(
    ("function", "arguments", "error", "says"),
    [
        ("head_view", {}, ValueError, "pass attention, or encoder_attention"),
        ("head_view", {"attention": 1}, ValueError, "tokens are missing"),
        ("head_view", {"attention": 1, "tokens": "abc"}, TypeError, "tokens is a single string"),
        ("head_view", {"attention": 1, "tokens": ["a"], "layer": 1}, IndexError, "no layer 1: layers count from 0"),
        ("head_view", {"attention": 1, "tokens": ["a"], "heads": [3]}, IndexError, "no head 3: heads count from 0"),
        ("head_view", {"attention": 1, "tokens": ["a"], "heads": []}, ValueError, "heads is empty"),
        ("head_view", {"attention": 1, "tokens": ["a"], "layer": 0, "include_layers": [1]}, IndexError, "no layer 1"),
        ("head_view", {"attention": 1, "tokens": ["a"], "encoder_tokens": ["a"]}, ValueError, "not both"),
        ("head_view", {"attention": 1, "tokens": ["a", "b"]}, ValueError, "2 tokens for 1 rows"),
        ("head_view", {"attention": 1, "tokens": ["a"], "html_action": "print"}, ValueError, "'view' or 'return'"),
        (
            "head_view",
            {"attention": 1, "tokens": ["a"], "heads": 1},
            TypeError,
            "heads must be a list of numbers, not int",
        ),
        (
            "head_view",
            {"attention": 1, "tokens": ["a"], "heads": ["x"]},
            TypeError,
            "each of heads must be a whole number",
        ),
        ("head_view", {"attention": 1, "tokens": ["a"], "heads": [-3]}, IndexError, "no head -3"),
        ("head_view", {"attention": 1, "tokens": ["a"], "layer": -2}, IndexError, "no layer -2"),
        ("head_view", {"attention": 1, "tokens": ["a"], "layer": "x"}, TypeError, "layer must be a whole number"),
        ("head_view", {"attention": 1, "tokens": ["a"], "sentence_b_start": 99}, ValueError, "sentence_b_start is 99"),
        ("head_view", {"attention": 1, "tokens": ["a"], "sentence_b_start": -1}, ValueError, "sentence_b_start is -1"),
        ("head_view", {"cross_attention": 1, "decoder_tokens": ["a"]}, ValueError, "encoder_tokens are missing"),
        ("head_view", {"cross_attention": 1, "tokens": ["a"]}, ValueError, "pass encoder_tokens"),
        ("head_view", {"cross_attention": 1, "sentence_b_start": 2}, ValueError, "sentence_b_start goes with"),
        ("model_view", {"attention": 1, "tokens": ["a"], "include_heads": [9]}, IndexError, "no head 9"),
        (
            "model_view",
            {"attention": 1, "tokens": ["a"], "include_layers": 0},
            TypeError,
            "include_layers must be a list",
        ),
        ("model_view", {"attention": 1, "tokens": ["a"], "display_mode": "x"}, ValueError, "'dark' or 'light'"),
    ],
)
def test_invalid_arguments_raise_clear_errors(function, arguments, error, says):
    table = np.ones((1, 2, 1, 1), np.float32)
    given = {name: table if name.endswith("attention") else value for name, value in arguments.items()}
    with pytest.raises(error, match=re.escape(says)):
        getattr(at, function)(**given)
