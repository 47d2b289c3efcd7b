"""What the launcher prints when a signal ends it."""

import signal
import subprocess
import sys
from pathlib import Path

_WORKER = "import signal; signal.signal(2, lambda *_: None); print('ready', flush=True); signal.pause()"


def test_ctrl_c_ends_all_processes_with_a_sentence(tmp_path: Path) -> None:
    worker = tmp_path / "worker.py"
    worker.write_text(_WORKER)
    words = ["-m", "sa2va_lab.launch", "--standalone", "--nproc_per_node", "2", str(worker)]
    with subprocess.Popen(
        [sys.executable, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as launcher:
        assert launcher.stdout is not None and launcher.stderr is not None
        assert [launcher.stdout.readline() for _ in range(2)] == ["ready\n"] * 2
        launcher.send_signal(signal.SIGINT)
        said = launcher.stderr.read()
    assert launcher.returncode == 1
    assert said.endswith("SIGINT ended all processes; started again, the run continues from its newest checkpoint\n")
    assert "Traceback" not in said
