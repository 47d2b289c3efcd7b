"""What the launcher prints when a signal ends it."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

_WORKER = "import signal; signal.signal(2, lambda *_: None); print('ready', flush=True); signal.pause()"


_LAUNCHER = "import sys; from sa2va_lab.launch import main; sys.exit(main())"
# A busy machine: workers run before torchrun has noted the last of them.
_SLOW = """
import subprocess, time
begun = subprocess.Popen.__init__
def begin(*given, **more):
    begun(*given, **more)
    time.sleep(4)
subprocess.Popen.__init__ = begin
"""


@pytest.mark.parametrize("launcher", [_LAUNCHER, _SLOW + _LAUNCHER], ids=["started", "starting"])
def test_ctrl_c_ends_all_processes_with_a_sentence(launcher: str, tmp_path: Path) -> None:
    worker = tmp_path / "worker.py"
    worker.write_text(_WORKER)
    words = ["-c", launcher, "--standalone", "--nproc_per_node", "2", str(worker)]
    with subprocess.Popen(
        [sys.executable, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as started:
        assert started.stdout is not None and started.stderr is not None
        assert [started.stdout.readline() for _ in range(2)] == ["ready\n"] * 2
        started.send_signal(signal.SIGINT)
        # Until the last process that holds it has ended.
        said = started.stderr.read()
    assert started.returncode == 1
    assert said.endswith("SIGINT ended all processes; started again, the run continues from its newest checkpoint\n")
    assert "Traceback" not in said
