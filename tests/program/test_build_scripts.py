"""What make says while it builds, and when it cannot: tools/phase.sh and tools/setup.sh, with commands that play apt and others."""

import os
import pathlib
import subprocess
import tempfile
import time

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


@pytest.fixture
def place(tmp_path):
    """A folder that has the scripts and nothing else."""
    (tmp_path / "tools").symlink_to(ROOT / "tools")
    return tmp_path


def phases(place, script, **options):
    text = f"set -euo pipefail\nsource tools/phase.sh\n{script}\n"
    return subprocess.run(["bash", "-c", text], cwd=place, capture_output=True, text=True, timeout=30, **options)


def test_a_phase_leaves_a_line_with_its_time_a_log_and_the_time_for_the_next_one(place):
    done = phases(place, 'phase slow 70 "Doing it" bash -c "echo at work; sleep 3"')
    assert done.returncode == 0
    first, last = done.stderr.splitlines()
    assert first.split() == ["Doing", "it", "usually", "takes", "about", "1", "min"]
    assert last.split()[:2] == ["Doing", "it"] and last.endswith(" s")
    assert (place / "build/log/slow.log").read_text() == "at work\n"
    assert (place / "build/log/times").read_text().split()[0] == "slow"
    again = phases(place, 'phase slow 70 "Doing it" sleep 3')
    assert "a few seconds" in again.stderr


def test_a_phase_with_nothing_to_do_says_nothing(place):
    done = phases(place, 'phase quick 70 "Doing it" true')
    assert (done.returncode, done.stderr, done.stdout) == (0, "", "")


def test_steps_of_ninja_are_counted(place):
    (place / "log").write_text("[1/210] Building a\n[118/210] Building b\nwarning: nothing\n")
    assert phases(place, "phase_status log 118 0").stdout == "118 of 210, about 2 min left\n"
    assert phases(place, "phase_status log 118 300").stdout == "118 of 210, about 3 min left\n"
    assert phases(place, "phase_status log 400 300").stdout == "118 of 210\n"


@pytest.mark.parametrize(
    "said, sentence",
    [
        ("cc1plus: error: No space left on device", "the disk is full"),
        ("E: You don't have enough free space: not enough free space in /var/cache", "the disk is full"),
        ("E: Failed to fetch a.deb  Temporary failure resolving 'x'", "check the network connection"),
        ("npm error code ENOTFOUND", "check the network connection"),
        ("error: failed to download from x: [6] Could not resolve hostname", "check the network connection"),
        ("ERROR: Could not find a version (Name or service not known)", "check the network connection"),
        ("setup: packages are missing; as root run: apt-get install g++", "as root run: apt-get install g++"),
        ("c++: fatal error: Killed signal terminated program cc1plus", "ran out of memory"),
        (
            "CMake Error at CMakeLists.txt:9 (message):\n  g++-11 is GNU 11.3, which is too old: install g++ 12",
            "too old",
        ),
        ("FAILED: a.o\na.cc:1:2: error: expected ';'", "see the error above"),
    ],
)
def test_a_phase_that_fails_ends_with_what_to_do(place, said, sentence):
    (place / "said").write_text(said + "\n")
    done = phases(place, 'phase bad 5 "Compiling" bash -c "cat said; exit 3"\necho not reached')
    assert done.returncode == 1 and done.stdout == ""
    last = done.stderr.splitlines()[-1]
    assert last.startswith("attnscope: Compiling failed: ") and sentence in last
    assert last.endswith("Everything it printed is in build/log/bad.log.")
    assert said.splitlines()[-1].strip() in done.stderr.rsplit("\n\n", 1)[0]


def test_a_background_job_is_awaited_and_its_failure_counts(place):
    done = phases(place, 'beside other bash -c "sleep 0.5; echo broken; exit 1"\njoined other 5 "The other"')
    assert done.returncode == 1
    assert "broken" in done.stderr and "The other failed" in done.stderr


def test_a_tried_command_returns_its_failure_and_the_script_continues(place):
    done = phases(place, 'try phase bad 5 "Bad" false || echo "it was $?"\nphase good 5 "Good" true\necho done')
    assert (done.returncode, done.stdout) == (0, "it was 1\ndone\n")
    assert done.stderr.split()[:3] == ["Bad", "failed", "after"] and done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    "line, detail",
    [
        (" 799/2317 Test  #191: Ranks.Together ...   Passed    0.04 sec", "799 of 2317"),
        ("........s.........................................   [ 45%]", "45%"),
        ("\x1b[1A\x1b[2K[190/200] tests/page/axe.ts:49:9", "190 of 200"),
        ("setup: installing g++", "installing g++"),
    ],
)
def test_progress_of_every_runner_is_read(place, line, detail):
    (place / "log").write_text(line + "\n")
    assert phases(place, "phase_status log 2 0").stdout == detail + "\n"


def running_commands():
    return subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True).stdout.splitlines()


def test_an_interrupt_ends_everything_that_was_started(place):
    script = 'beside other sleep 60.25\nphase main 5 "Main" sleep 60.5'
    process = subprocess.Popen(
        ["bash", "-c", f"source tools/phase.sh\n{script}"], cwd=place, stderr=subprocess.PIPE, start_new_session=True
    )
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(1)
    process.terminate()
    assert process.wait(10) == 143
    process.stderr.close()
    until = time.monotonic() + 10  # signals can take a while on a busy machine
    while {"sleep 60.25", "sleep 60.5"} & set(running_commands()):
        assert time.monotonic() < until
        time.sleep(0.05)


def player(folder, name, script):
    (folder / name).write_text("#!/bin/sh\n" + script + "\n")
    (folder / name).chmod(0o755)


@pytest.mark.skipif(not pathlib.Path("/usr/bin/setpriv").exists(), reason="no setpriv here")
def test_without_root_and_sudo_setup_names_the_command_to_run():
    with tempfile.TemporaryDirectory() as folder:  # pytest's own folders are closed to other users
        os.chmod(folder, 0o755)
        check_without_root(pathlib.Path(folder))


def check_without_root(bin_folder):
    player(bin_folder, "dpkg-query", "exit 1")
    player(bin_folder, "sudo", "exit 1")
    as_nobody = ["setpriv", "--reuid=65534", "--clear-groups"] if os.geteuid() == 0 else []
    done = subprocess.run(
        [*as_nobody, "bash", "-s", "fonts"],
        input=(ROOT / "tools/setup.sh").read_text().replace('cd "$(dirname "${BASH_SOURCE[0]}")/.."', ":"),
        env={"PATH": f"{bin_folder}:/usr/bin:/bin"},
        cwd=bin_folder,
        capture_output=True,
        text=True,
        timeout=30,
    )
    assert done.returncode == 1
    assert done.stderr.strip() == (
        "setup: packages are missing; as root run: apt-get install "
        "fonts-noto-core fonts-noto-cjk fonts-noto-color-emoji fonts-dejavu-core"
    )


def test_a_wrong_argument_is_refused():
    for script in ("build.sh", "measure_build.sh"):
        done = subprocess.run([ROOT / "tools" / script, "bogus"], capture_output=True, text=True, timeout=30)
        assert done.returncode == 2 and "usage: tools/" + script in done.stderr, (script, done.stderr)
