"""A disk quota that runs out: one line, exit code 1, earlier results whole, nothing left behind.

Quotas need a file system that has them, so a small library in front of the C library refuses to write more bytes to
files than it is told to, with the error of the kernel (EDQUOT)."""

import os
import shutil
import subprocess

import pytest
from conftest import attnscope
from test_kills import COMMANDS, content, made_in

SOURCE = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

static long left = -1;

static int refuses(int file, size_t size) {
  struct stat facts;
  if (fstat(file, &facts) != 0 || !S_ISREG(facts.st_mode)) return 0;
  if (left < 0) left = atol(getenv("QUOTA"));
  if ((long)size > left) { left = 0; errno = EDQUOT; return 1; }
  left -= (long)size;
  return 0;
}

ssize_t write(int file, const void *bytes, size_t size) {
  ssize_t (*real)(int, const void *, size_t) = dlsym(RTLD_NEXT, "write");
  return refuses(file, size) ? -1 : real(file, bytes, size);
}
ssize_t pwrite(int file, const void *bytes, size_t size, off_t at) {
  ssize_t (*real)(int, const void *, size_t, off_t) = dlsym(RTLD_NEXT, "pwrite");
  return refuses(file, size) ? -1 : real(file, bytes, size, at);
}
ssize_t writev(int file, const struct iovec *parts, int count) {
  ssize_t (*real)(int, const struct iovec *, int) = dlsym(RTLD_NEXT, "writev");
  size_t size = 0;
  for (int i = 0; i < count; ++i) size += parts[i].iov_len;
  return refuses(file, size) ? -1 : real(file, parts, count);
}
"""


@pytest.fixture(scope="session")
def quota(tmp_path_factory):
    """A function that returns an environment in which files may take this many bytes."""
    folder = tmp_path_factory.mktemp("quota")
    (folder / "quota.c").write_text(SOURCE)
    compiler = next(filter(None, map(shutil.which, ("cc", "gcc", "clang-19"))))
    subprocess.run([compiler, "-shared", "-fPIC", "-o", folder / "quota.so", folder / "quota.c", "-ldl"], check=True)
    return lambda size: {
        **os.environ,
        "HF_HUB_OFFLINE": "1",
        "LD_PRELOAD": str(folder / "quota.so"),
        "QUOTA": str(size),
    }


def refused_for_quota(command, place, env):
    done = attnscope(*command, check=False, cwd=place, env=env)
    assert done.returncode == 1, done.stderr
    assert done.stderr.count("\n") == 1 and "Disk quota exceeded" in done.stderr, done.stderr


@pytest.mark.parametrize("size", [0, 500, 4000])
@pytest.mark.parametrize("name", [name for name in COMMANDS if name != "pull"])
def test_nothing_is_lost_where_a_quota_runs_out(tmp_path, quota, name, size):
    place = made_in(tmp_path / "place", name)
    if name != "train":  # it would find its work done
        attnscope(*COMMANDS[name], cwd=place)
    before = content(place / "to")
    command = COMMANDS[name] if name != "corpus" else [*COMMANDS[name], "--limit", "100"]
    refused_for_quota(command, place, quota(size))
    after = content(place / "to")
    if name == "train":  # checkpoints that were complete stay, for the next run
        after = {file: data for file, data in after.items() if file.endswith(".part")}
    assert after == before


def test_training_goes_on_when_there_is_room_again(tmp_path, quota):
    whole, short = (made_in(tmp_path / which, "train") for which in ("whole", "short"))
    attnscope(*COMMANDS["train"], cwd=whole)
    refused_for_quota(COMMANDS["train"], short, quota(100_000))
    attnscope(*COMMANDS["train"], cwd=short)
    assert content(short / "to") == content(whole / "to")
