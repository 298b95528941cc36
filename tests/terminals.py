"""What a program writes to a terminal."""

import os
import struct
import subprocess
import sys

import pytest


def seen_in_a_terminal(*program, ci=""):
    """What a real terminal is sent on standard error."""
    pty = pytest.importorskip("pty")
    from fcntl import ioctl
    from termios import TIOCSWINSZ

    try:
        ours, theirs = pty.openpty()
    except OSError:  # as where no devices are mounted
        pytest.skip("no terminal can be had here")
    ioctl(theirs, TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))  # 24 lines of 80 letters
    environment = {key: value for key, value in os.environ.items() if key != "CI"} | ({"CI": ci} if ci else {})
    with subprocess.Popen([sys.executable, "-c", "\n".join(program)], stderr=theirs, env=environment) as process:
        os.close(theirs)
        parts = []
        while True:
            try:
                part = os.read(ours, 4096)
            except OSError:  # Linux says so when the other end is closed
                break
            if not part:
                break
            parts.append(part)
        process.wait()
    os.close(ours)
    return b"".join(parts).decode()
