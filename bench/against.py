# SPDX-License-Identifier: MIT
"""bench/run --against=DIR: each row with this build and with that of another commit, in turns, and the ratio of every figure.
DIR is a build directory of the other commit, made with -Dbench=true; the rows are those of this tree. Rows that the other build
cannot run are left out, and named.

--rounds=N      how often each side runs (3); medians are compared
--instructions  counts the instructions of cadre and of the benchmark programs with callgrind in place of times: once for each
                side, without repetitions inside of a row, and independent of what else the machine does"""
import json
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile

from measure import BUILD, option

LIMIT = 1.05
PROGRAM = pathlib.Path(__file__).with_name("run")


class Counted:
    """A build directory whose programs run below callgrind."""

    def __init__(self, build):
        self.dir = tempfile.TemporaryDirectory(prefix="cadre-count-", dir=build)
        self.path = pathlib.Path(self.dir.name)
        (self.path / "logs").mkdir()
        (self.path / "bench").mkdir()
        (self.path / "modeld").symlink_to(build / "modeld")
        for program in [build / "cadre", *(p for p in (build / "bench").iterdir() if p.is_file())]:
            wrapper = self.path / program.relative_to(build)
            if program.name in ("floor", "peak", "first_line"):
                wrapper.symlink_to(program)
                continue
            wrapper.write_text(f'#!/bin/sh\nexec valgrind --tool=callgrind --callgrind-out-file=/dev/null '
                               f'--log-file={self.path}/logs/%p {program} "$@"\n')
            wrapper.chmod(0o755)

    def take(self):
        """Millions of instructions since the last time."""
        total = 0
        for log in (self.path / "logs").iterdir():
            total += sum(int(n) for n in re.findall(r"Collected : (\d+)", log.read_text()))
            log.unlink()
        return total / 1e6


def run_row(name, build, words):
    """The figures of a row by name, and the CPU seconds of all its programs; or (None, why)."""
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as errors:
        process = subprocess.Popen([PROGRAM, "--json", f"--build={build}", *words, name], stdout=out, stderr=errors)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = status
        out.seek(0)
        errors.seek(0)
        try:
            figures = json.load(out)
        except ValueError:
            return None, (errors.read().strip().splitlines() or [f"status {status}"])[-1]
    found = {f["name"]: (1 / f["value"] if f["at_least"] and f["value"] else f["value"]) for f in figures}
    return found, usage.ru_utime + usage.ru_stime


def sides(name, builds, rounds, words):
    """For each build the figures of all rounds; None if one of them cannot run the row."""
    runs = {side: [] for side in builds}
    for _ in range(rounds):
        for side, build in builds.items():
            counted = build if isinstance(build, Counted) else None
            found, more = run_row(name, counted.path if counted else build, words)
            if found is None:
                print(f"{name}: left out, {side} cannot run it: {more[:150]}", flush=True)
                return None
            instructions = counted.take() if counted else None
            if instructions == 0:
                print(f"{name}: left out, none of its programs of {side} reported instructions", flush=True)
                return None
            runs[side].append({"instructions, millions": instructions} if counted else {**found, "CPU of all programs, s": more})
    return runs


def against(names):
    other = pathlib.Path(option("against")).resolve()
    builds = {"before": other, "now": BUILD}
    words = ["--once"] if "--instructions" in sys.argv else []
    rounds = 1 if words else int(option("rounds", "3"))
    if words:
        if not shutil.which("valgrind"):
            sys.exit("run: --instructions needs valgrind")
        builds = {side: Counted(build) for side, build in builds.items()}
    worse, missing = [], []
    for name in names:
        runs = sides(name, builds, rounds, words)
        if not runs:
            missing.append(name)
            continue
        for figure in runs["now"][0]:
            if not all(figure in run for run in runs["before"]):
                print(f"  {name}: {figure:<62} not before")
                continue
            before, now = (statistics.median(run[figure] for run in runs[side]) for side in builds)
            ratio = now / before if before else 1 if now == before else float("inf")
            mark = f"more than {LIMIT:g}" if ratio > LIMIT else ""
            print(f"  {name}: {figure:<62} {before:>11.3f} {now:>11.3f} {ratio:>7.3f} x {mark}", flush=True)
            worse += [f"{name}: {figure} {ratio:.3f} x"] if mark else []
    print(f"{len(names) - len(missing)} rows compared, {len(missing)} left out{': ' if missing else ''}{', '.join(missing)}; "
          f"{len(worse)} figures are worse by more than 5 %")
    for line in worse:
        print("  " + line)
    sys.exit(1 if worse else 0)
