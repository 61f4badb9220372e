"""Types: what annotations promise holds in all of the package, as pyright sees it."""

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent


def test_pyright_has_nothing_to_say():
    command = [sys.executable, "-m", "pyright", "--pythonpath", sys.executable, "--outputjson"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.stdout, done.stderr
    found = json.loads(done.stdout)
    assert found["summary"]["filesAnalyzed"] >= len(list((ROOT / "kempe").rglob("*.py")))
    told = []
    for report in found["generalDiagnostics"]:
        path = Path(report["file"]).relative_to(ROOT).as_posix()
        told.append(f"{path}:{report['range']['start']['line'] + 1}: {report['message']}")
    assert not told, "\n".join(told)
