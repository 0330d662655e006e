"""Whatever bytes come, a decoder answers with rows, dead letters or an error of ours: it doesn't crash, hang or grow.

The decoders run in a process of their own, because a crash is what is looked for. `FUZZ_SECONDS` is how long each
format is looked at; `make chaos` does so for an hour altogether.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.fuzz.decoders import FORMATS

IN_CHAOS = os.environ.get("HYPOTHESIS_PROFILE") == "chaos"
SECONDS = float(os.environ.get("FUZZ_SECONDS", 300 if IN_CHAOS else 3))
SEED = os.environ.get("FUZZ_SEED", str(time.time_ns()) if IN_CHAOS else "1")


def run(forms: str, file: Path, seconds: float) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-X", "faulthandler", "-m", "tests.fuzz.decoders", forms, SEED, str(seconds), str(file)]
    longest = (seconds + 30) * len(forms.split(","))
    return subprocess.run(command, capture_output=True, text=True, timeout=longest, check=False)


@pytest.mark.timeout(0 if IN_CHAOS else 300)
@pytest.mark.parametrize("forms", FORMATS if IN_CHAOS else [",".join(FORMATS)])
def test_mutated_bytes_are_taken_or_refused(forms: str, tmp_path: Path) -> None:
    file = tmp_path / "number"
    done = run(forms, file, SECONDS)
    last = file.read_text() if file.exists() else "none"
    assert done.returncode == 0, f"the last input: {last}, seed {SEED}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"


CRASH = """
import ctypes, sys
from pathlib import Path
import tests.fuzz.decoders as fuzz

told = Path(sys.argv[4])
sound = fuzz.FORMATS["lines"]
fuzz.FORMATS["lines"] = sound[0], lambda body: ctypes.string_at(0) if told.exists() else sound[1](body), sound[2]
fuzz.main()
"""


def test_a_process_that_dies_is_seen_and_says_at_which_input(tmp_path: Path) -> None:
    file = tmp_path / "number"
    command = [sys.executable, "-c", CRASH, "lines", "1", "5", str(file)]
    done = subprocess.run(command, capture_output=True, timeout=60, check=False)
    assert done.returncode < 0
    assert file.read_text() == "lines 0"
