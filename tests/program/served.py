"""The program while it serves its page."""

import json
import os
import re
import signal
import subprocess
import urllib.error
import urllib.request

from conftest import PROGRAM


class Served:
    """Runs `attnscope view` for the length of a with block."""

    def __init__(self, *arguments, port="0"):
        self.command = [PROGRAM, "view", "--no-open", *(["--port", port] if port else []), *map(str, arguments)]

    def __enter__(self):
        environment = {**os.environ, "HF_HUB_OFFLINE": "1"}
        self.process = subprocess.Popen(
            self.command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
        )
        self.said = ""  # output up to the address: what the terminal shows of the text
        while not (address := re.search(r"http://127\.0\.0\.1:\d+/", self.said)):
            line = self.process.stdout.readline()
            assert line, self.process.stderr.read()
            self.said += line
        self.url = address.group(0)
        self.port = int(self.url.rstrip("/").rsplit(":", 1)[1])
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGINT)
        self.process.wait(10)
        self.process.stdout.close()
        self.process.stderr.close()

    def get(self, path, headers=(), **query):
        where = path.lstrip("/") + ("?" + "&".join(f"{k}={v}" for k, v in query.items()) if query else "")
        return self.ask(where, None, dict(headers))

    def post(self, path, body):
        return self.ask(path.lstrip("/"), json.dumps(body).encode(), {"Content-Type": "application/json"})

    def ask(self, where, body, headers):
        request = urllib.request.Request(self.url + where, data=body, headers=headers)
        try:
            with urllib.request.urlopen(request, timeout=20) as answer:
                return answer.status, answer.headers, answer.read()
        except urllib.error.HTTPError as refusal:
            with refusal:
                return refusal.code, refusal.headers, refusal.read()

    def recording(self, what="", **query):
        return self.get(f"api/recordings/1{what}", **query)

    def facts(self, **query):
        return json.loads(self.recording(**query)[2])
