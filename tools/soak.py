"""tools/soak.py [--minutes 15] [--requests 200000] [--clients 8] [--memory 100MB] [PROGRAM]

Sends requests of all kinds, good and bad, to `attnscope view` over loopback, spread evenly over the time, and prints the
resident memory of the server once per minute. Ends with status 1 if the server dies, answers with an unexpected status, or no longer answers.
Not part of `make test`: it is run before a release, and SECURITY.md has its figures."""

import argparse
import http.client
import json
import os
import pathlib
import random
import re
import signal
import socket
import subprocess
import sys
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
WORDS = "the cat sat on a mat while old keys to every cabinet were lost and nobody asked why it rained so long".split()
LATE = 30  # seconds after which a request counts as not answered


def text(of, words):
    return " ".join(of.choice(WORDS) for _ in range(words))


def resident(process):
    """MB."""
    for line in pathlib.Path(f"/proc/{process}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    return 0.0


class Kinds:
    """The kinds of requests. Each returns (method, path, body, statuses that are right)."""

    def __init__(self, of):
        self.of, self.id = of, "1"

    def page(self):
        return "GET", self.of.choice(["/", "/learn", "/nothing", "/assets/none.js"]), None, {200, 404}

    def lists(self):
        return "GET", self.of.choice(["/api/recordings", "/api/models", "/api/patterns", "/api/lessons"]), None, {200}

    def look(self):
        where = f"layer={self.of.randrange(3)}&head={self.of.randrange(4)}"
        what = self.of.choice(
            [f"row?{where}&row=0", f"column?{where}&column=1", f"tile?{where}&level=0&row=0&column=0", "thumbnails"]
            + [f"profile?{where}", f"trace?{where}&row=1&column=0", f"row?{where}&row=9999", "predictions?top=3", ""]
        )
        return "GET", f"/api/recordings/{self.id}/{what}".rstrip("/"), None, {200, 400, 404, 409}

    def figure(self):
        path = f"/api/recordings/{self.id}/figure?view=heatmap&format=png&layer=0&head=0&dpi=72"
        return "GET", path, None, {200, 400, 404}

    def record(self):
        model = self.of.choice(["tiny-bert", "tiny-gpt"])
        body = {"model": model, "text": text(self.of, self.of.choice([5, 20, 100]))}
        return "POST", "/api/recordings", body, {200, 400, 413, 429}

    def generate(self):
        body = {"model": "tiny-gpt", "text": text(self.of, 4), "generate": {"tokens": 8, "seed": self.of.randrange(9)}}
        return "POST", "/api/recordings", body, {200, 400, 429}

    def mask(self):
        body = {
            "text": self.of.choice(["causal", "causal & window(3)", "sparse(4)", "wrong("]),
            "queries": 40,
            "keys": 40,
        }
        return "POST", "/api/mask", body, {200, 400}

    def find(self):
        body = {"picture": [[self.of.random() for _ in range(32)] for _ in range(32)]}
        return "POST", f"/api/recordings/{self.id}/find", body, {200, 404, 429}

    def lesson(self):
        return "POST", "/api/lessons/masks", {"settings": {"n": self.of.randrange(4, 12)}}, {200, 429}

    def bad_body(self):
        body = self.of.choice(
            ['{"model":"x","text":' + "[" * 50_000 + "]" * 50_000 + "}", "{", "[1]", '{"text":1e99999}', "\xff", ""]
            + ['{"text": [' + "0," * 200_000 + "0]}", "{" + ",".join(f'"{n}":0' for n in range(20_000)) + "}"]
        )
        return "POST", self.of.choice(["/api/recordings", "/api/mask", "/api/lessons/masks/answer"]), body, {400}

    SHARES = {
        page: 12,
        lists: 12,
        look: 60,
        figure: 1,
        record: 3,
        generate: 1,
        mask: 5,
        find: 2,
        lesson: 1,
        bad_body: 3,
    }


class Soak:
    def __init__(self, port, seconds, most):
        self.port, self.most, self.begin, self.seconds = port, most, time.monotonic(), seconds
        self.lock, self.done, self.wrong = threading.Lock(), 0, []

    def running(self):
        with self.lock:
            return time.monotonic() < self.begin + self.seconds and self.done < self.most and len(self.wrong) < 20

    def wait_for_turn(self):
        with self.lock:
            due = self.begin + self.seconds * self.done / self.most
        time.sleep(max(0.0, due - time.monotonic()))

    def note(self, problem=None):
        with self.lock:
            self.done += 1
            if problem:
                self.wrong.append(problem)

    def ask(self, connection, kinds):
        kind = kinds.of.choices(list(Kinds.SHARES), list(Kinds.SHARES.values()))[0]
        method, path, body, right = kind(kinds)
        data = body if body is None or isinstance(body, str) else json.dumps(body)
        data = data.encode("latin-1") if data is not None else None
        connection.request(method, path, data, {"Content-Type": "application/json"} if data is not None else {})
        response = connection.getresponse()
        answer = response.read()
        if response.status not in right:
            return f"{method} {path}: {response.status} {answer[:200]!r}"
        if path == "/api/recordings" and method == "POST" and response.status == 200:
            kinds.id = json.loads(answer)["id"]
        return None

    def client(self, seed):
        kinds = Kinds(random.Random(seed))
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=LATE)
        while self.running():
            self.wait_for_turn()
            try:
                self.note(self.ask(connection, kinds))
                if kinds.of.random() < 0.02:
                    connection.close()
            except (http.client.HTTPException, OSError) as failure:
                connection.close()
                # A connection that the server has closed while it was idle, or to make room.
                closed = isinstance(failure, (http.client.RemoteDisconnected, ConnectionResetError, BrokenPipeError))
                self.note(None if closed else f"{type(failure).__name__}: {failure}")

    def dripper(self):
        """Sends requests that never end, over connections that it gives up now and then."""
        starts = [
            b"GET / HTTP/1.1\r\nHost: local",
            b"POST /api/mask HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99\r\n\r\n{",
        ]
        of = random.Random(0)
        opened = []
        while self.running():
            try:
                opened.append(socket.create_connection(("127.0.0.1", self.port), 5))
                opened[-1].sendall(of.choice(starts))
                of.choice(opened).sendall(b" ")
            except OSError:
                pass
            if len(opened) > 40:
                opened.pop(of.randrange(40)).close()
            time.sleep(0.05)


def served(program, memory):
    process = subprocess.Popen(
        [program, "view", "--port", "0", "--no-open", "--memory", memory], stdout=subprocess.PIPE, text=True
    )
    for line in process.stdout:
        if found := re.search(r"http://127\.0\.0\.1:(\d+)/", line):
            threading.Thread(target=process.stdout.read, daemon=True).start()
            return process, int(found[1])
    sys.exit("the server did not start")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program", nargs="?", default=os.fspath(ROOT / "build/attnscope"))
    parser.add_argument("--minutes", type=float, default=15)
    parser.add_argument("--requests", type=int, default=200_000)
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--memory", default="100MB")
    asked = parser.parse_args()
    process, port = served(asked.program, asked.memory)
    begin = time.monotonic()
    soak = Soak(port, 60 * asked.minutes, asked.requests)
    print(f"minute  requests  resident MB\n{0:6}  {0:8}  {resident(process.pid):11.0f}", flush=True)
    threads = [threading.Thread(target=soak.client, args=[seed]) for seed in range(asked.clients)]
    threads.append(threading.Thread(target=soak.dripper))
    for thread in threads:
        thread.start()
    minute = 1
    while soak.running() and process.poll() is None:
        time.sleep(0.2)
        if time.monotonic() - begin >= 60 * minute:
            print(f"{minute:6}  {soak.done:8}  {resident(process.pid):11.0f}", flush=True)
            minute += 1
    for thread in threads:
        thread.join()
    alive = process.poll() is None
    seconds = time.monotonic() - begin
    print(f"   end  {soak.done:8}  {resident(process.pid) if alive else 0:11.0f}   after {seconds:.0f} s")
    process.send_signal(signal.SIGINT)
    code = process.wait(10)
    for problem in soak.wrong:
        print("wrong:", problem)
    sys.exit(0 if alive and not soak.wrong and code in (0, 130, -signal.SIGINT) else f"the server ended with {code}")


if __name__ == "__main__":
    main()
