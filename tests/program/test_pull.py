"""attnscope pull, against a fake hub. Other failures are tested in tests/model/hub*_test.cc."""

import hashlib
import http.server
import json
import os
import socket
import threading

import pytest
from conftest import GOLDEN, attnscope, refused

COMMIT = "0123456789abcdef0123456789abcdef01234567"
MODEL = GOLDEN / "models" / "bert"


def blob_id(data):
    return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()


class Hub(http.server.BaseHTTPRequestHandler):
    files = {path.name: path.read_bytes() for path in MODEL.iterdir() if path.name != "expected.safetensors"}
    asked = []

    def do_GET(self):
        Hub.asked.append(self.path)
        if self.path.startswith("/api/models/someone/tiny/revision/main"):
            siblings = [
                {"rfilename": name, "size": len(data), "blobId": blob_id(data)} for name, data in self.files.items()
            ]
            return self.answer(200, json.dumps({"sha": COMMIT, "siblings": siblings}).encode())
        name = self.path.rpartition("/")[2]
        if self.path == f"/someone/tiny/resolve/{COMMIT}/{name}" and name in self.files:
            return self.answer(200, self.files[name])
        return self.answer(404, b"{}")

    def answer(self, code, body):
        self.send_response(code)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)

    do_HEAD = do_GET

    def log_message(self, *_):
        pass


@pytest.fixture
def hub(tmp_path):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    Hub.asked.clear()
    keep = {
        name: value for name, value in os.environ.items() if not name.startswith("HF_") and "proxy" not in name.lower()
    }
    yield {"env": {**keep, "HF_ENDPOINT": f"http://127.0.0.1:{server.server_port}", "HF_HOME": str(tmp_path / "hf")}}
    server.shutdown()


def test_a_pulled_model_is_found_by_its_name(hub, tmp_path):
    folder = attnscope("pull", "someone/tiny", **hub).stdout.strip()
    assert folder == str(tmp_path / "hf" / "hub" / "models--someone--tiny" / "snapshots" / COMMIT)
    listed = json.loads(attnscope("models", "--json", **hub).stdout)["models"]
    assert [model["name"] for model in listed if not model["built_in"]] == ["someone/tiny"]
    by_name = attnscope("fill", "--model", "someone/tiny", "--text", "a [MASK]", "--json", **hub).stdout
    assert by_name == attnscope("fill", "--model", MODEL, "--text", "a [MASK]", "--json").stdout
    Hub.asked.clear()
    assert (
        attnscope("pull", "someone/tiny", "--json", **hub).stdout
        == json.dumps({"name": "someone/tiny", "folder": folder}, separators=(",", ":")) + "\n"
    )
    assert len(Hub.asked) == 1  # the listing; nothing is downloaded again


def test_leftover_of_version_0_1_among_the_revisions_is_removed(hub, tmp_path):
    huggingface_hub = pytest.importorskip("huggingface_hub")
    attnscope("pull", "someone/tiny", **hub)
    cache = tmp_path / "hf" / "hub"
    refs = cache / "models--someone--tiny" / "refs"
    (refs / ".attnscope-123-4.part").write_text("0123")
    assert huggingface_hub.scan_cache_dir(cache).warnings  # "corrupted"
    attnscope("pull", "someone/tiny", **hub)
    assert os.listdir(refs) == ["main"]
    assert huggingface_hub.scan_cache_dir(cache).warnings == []


def test_a_model_missing_on_the_hub_prints_one_line_and_exits_with_1(hub):
    assert "nobody/nothing" in refused(1, "pull", "nobody/nothing", **hub)
    assert "127.0.0.1:1" in refused(1, "pull", "someone/tiny", env={**hub["env"], "HF_ENDPOINT": "http://127.0.0.1:1"})


def test_a_pipe_sees_no_progress_bar(hub):
    assert attnscope("pull", "someone/tiny", **hub).stderr == ""


def test_missing_certificates_are_reported(hub, tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as listening:  # certificates are loaded after connecting
        endpoint = f"https://127.0.0.1:{listening.getsockname()[1]}"
        there = {**hub["env"], "HF_ENDPOINT": endpoint, "SSL_CERT_FILE": str(tmp_path / "nothing.crt")}
        said = refused(1, "pull", "someone/tiny", env=there)
    assert "apt install ca-certificates" in said and "check the network" not in said
