# SPDX-License-Identifier: MIT
"""Which processes began after a moment, by their numbers: a look at each process of the machine costs milliseconds, and the kernel lets
the parent of one that ends wait as long as its folder in /proc is looked at."""
import os
import pathlib
import re

MOST = int(pathlib.Path("/proc/sys/kernel/pid_max").read_text()) // 2


def given():
    """The last number that was given to a process, and how many were given so far."""
    return (int(pathlib.Path("/proc/loadavg").read_text().split()[-1]),
            int(re.search(r"^processes (\d+)", pathlib.Path("/proc/stat").read_text(), re.M)[1]))


class Younger:
    """The processes that began after this object. Numbers begin again behind the highest; when too many were given, all are named."""

    def __init__(self):
        self.last, self.count = given()

    def __iter__(self):
        names = os.listdir("/proc")
        last, count = given()  # later: those between are among them
        for name in names:
            if name.isdigit() and int(name) != os.getpid():
                pid = int(name)
                if count - self.count > MOST or (self.last < pid <= last if self.last <= last else pid > self.last or pid <= last):
                    yield pid
