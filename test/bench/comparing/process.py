"""Running other programs, and saying why one failed."""
import os
import re
import subprocess
import sys
import tempfile
import time
from typing import NamedTuple


class Failure(Exception):
    """Something could not be built, run or read; the text says what and why."""


class Done(NamedTuple):
    out: str
    err: str
    wall: float  # seconds
    rss: int  # peak resident bytes


def say(text):
    print(text, file=sys.stderr, flush=True)


def last_words(text, lines=3):
    """The end of an error output, short enough for one cell of a table; of paths their last name."""
    text = re.sub(r"(?<![\w.])/(?:[^\s/:'\"]+/)+", "", text)
    words = [line.strip() for line in text.strip().split("\n") if line.strip(" ^~\t")]
    return " / ".join(words[-lines:])[-300:]


def run(command, environment=None, limit=None):
    """Runs to the end. Failure on an exit status other than 0, on a signal, and after `limit` seconds."""
    command = [str(word) for word in command]
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        start = time.monotonic()
        try:
            process = subprocess.Popen(command, stdout=out, stderr=err, stdin=subprocess.DEVNULL,
                                       env={**os.environ, **(environment or {})})
        except OSError as error:
            raise Failure(f"{command[0]}: {error.strerror}") from error
        try:
            if limit is not None:
                # The usage must come from wait4 below, so the process is watched without collecting it.
                while os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
                    if time.monotonic() - start > limit:
                        raise Failure(f"{os.path.basename(command[0])}: not done after {limit} s")
                    time.sleep(0.02)
            _, status, usage = os.wait4(process.pid, 0)
        except BaseException:
            process.kill()
            process.wait()
            raise
        wall = time.monotonic() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0), err.seek(0)
        text, errors = out.read().decode(errors="replace"), err.read().decode(errors="replace")
    if process.returncode:
        raise Failure(f"{os.path.basename(command[0])} ended with {process.returncode}: "
                      f"{last_words(errors or text)}")
    return Done(text, errors, wall, usage.ru_maxrss * 1024)


def environment(work, name, imports, packages, what):
    """The Python of a virtual environment that has the packages; made on the first call."""
    python = os.path.join(work, name, "bin", "python")
    if not os.path.exists(python):
        run([sys.executable, "-m", "venv", os.path.join(work, name)])
    if subprocess.run([python, "-c", f"import {imports}"], stderr=subprocess.DEVNULL).returncode:
        say(f"installing {what}")
        run([python, "-m", "pip", "install", "-q", "--disable-pip-version-check", *packages])
    return python
