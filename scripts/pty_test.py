#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Drives a program that talks to a terminal: start it in a pty, wait for text, type, look at its exit code.

    with Terminal(["cadre"], env) as t:
        t.expect("> ")
        t.type("hello")
        t.expect("answer")
        t.key("C-d")
        assert t.wait() == 0

Every wait ends with the text, or with the deadline and everything seen so far; there are no sleeps."""
import fcntl
import os
import pty
import re
import select
import signal
import struct
import termios
import time

KEYS = {"C-c": b"\x03", "C-d": b"\x04", "up": b"\x1b[A", "enter": b"\r"}
CONTROL = re.compile(rb"\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b[()][A-Z0-9]|\x1b[=>]|[\x00-\x08\x0e-\x1a]")


class Missing(AssertionError):
    """What was waited for did not come."""


class Terminal:
    """A child in a pty of its own. `text` is what it wrote, without the sequences that only move or paint."""

    def __init__(self, argv, env=None, cwd=None, deadline_s=60, columns=100):
        self.deadline_s = deadline_s
        self.raw = b""
        self.read_to = 0
        self.code = None
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            try:
                fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
                if cwd:
                    os.chdir(cwd)
                os.execvpe(argv[0], argv, env or os.environ)
            finally:
                os._exit(127)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    @property
    def text(self):
        return CONTROL.sub(b"", self.raw).replace(b"\r", b"").decode("utf-8", "replace")

    def _pump(self, until):
        """Reads what is there, waiting for it at most until then; False at the end of the output."""
        ready, _, _ = select.select([self.fd], [], [], max(0, until - time.monotonic()))
        if not ready:
            raise Missing("deadline passed")
        try:
            piece = os.read(self.fd, 65536)
        except OSError:  # EIO: the other side is closed
            piece = b""
        self.raw += piece
        return bool(piece)

    def expect(self, wanted):
        """Waits for the text, behind what an earlier expect() found. Returns what was skipped."""
        until = time.monotonic() + self.deadline_s
        while True:
            at = self.text.find(wanted, self.read_to)
            if at >= 0:
                skipped = self.text[self.read_to:at]
                self.read_to = at + len(wanted)
                return skipped
            try:
                alive = self._pump(until)
            except Missing:
                alive = False
            if not alive:
                raise Missing("no %r in %r" % (wanted, self.text[self.read_to:]))

    def send(self, data):
        os.write(self.fd, data)

    def type(self, line):
        self.send(line.encode() + KEYS["enter"])

    def key(self, name):
        self.send(KEYS[name])

    def signal(self, number):
        os.kill(self.pid, number)

    def wait(self):
        """The exit code, negative for a signal; what is still written meanwhile is read."""
        until = time.monotonic() + self.deadline_s
        try:
            while self._pump(until):
                pass
        except Missing:
            raise Missing("still running; last words %r" % self.text[-300:]) from None
        return self._reap(0)

    def _reap(self, flags):
        if self.code is None:
            pid, status = os.waitpid(self.pid, flags)
            if pid:
                self.code = os.waitstatus_to_exitcode(status)
        return self.code

    def close(self):
        if self._reap(os.WNOHANG) is None:
            os.kill(self.pid, signal.SIGKILL)
            self._reap(0)
        os.close(self.fd)
