# SPDX-License-Identifier: MIT
"""What the benchmarks share: figures with their bars, the scripted model server, and one run of the program."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent


def option(name, fallback=None):
    """The value of --name=VALUE."""
    return next((a.split("=", 1)[1] for a in sys.argv if a.startswith(f"--{name}=")), fallback)


def times(n):
    """How often a run is repeated: once with --once, where what is counted is the same each time."""
    return range(1 if "--once" in sys.argv else n)


BUILD = ROOT / option("build", "build-bench")
FIGURES = []
DIRECTORIES = []


def figure(name, value, unit, bar=None, at_least=False):
    ok = None if bar is None else (value >= bar if at_least else value <= bar)
    FIGURES.append({"name": name, "value": round(value, 3), "unit": unit, "bar": bar, "at_least": at_least, "ok": ok})
    word = {None: "", True: "ok", False: "MISSED"}[ok]
    limit = "" if bar is None else f"{'>=' if at_least else '<='} {bar:g}"
    print(f"  {name:<52} {value:>10.3f} {unit:<10} {limit:<10} {word}", flush=True)


class Run:
    """One run of a program from its start to its end: wall and CPU seconds, peak resident kilobytes."""

    def __init__(self, command, cwd, env, timeout=600, stdin=subprocess.DEVNULL):
        started = time.perf_counter()
        process = subprocess.Popen(command, cwd=cwd, env=env, stdin=stdin, stdout=subprocess.DEVNULL)
        self.peak_kb = 0
        # The kernel's figure for an ended child counts the memory of the one that started it too, so the high-water
        # mark is read while it lives.
        while (ended := os.wait4(process.pid, os.WNOHANG))[0] == 0:
            self.peak_kb = max(self.peak_kb, high_water_kb(process.pid))
            if time.perf_counter() - started > timeout:
                process.kill()
            time.sleep(0.01)
        self.wall_s = time.perf_counter() - started
        self.cpu_s = ended[2].ru_utime + ended[2].ru_stime
        process.returncode = ended[1]
        if ended[1]:
            sys.exit(f"{' '.join(map(str, command))} ended with status {ended[1]}")


def file_system():
    """Of the build folder, where every run has its files: /tmp may be memory, which makes files many times as fast."""
    return subprocess.run(["df", "--output=fstype", BUILD], capture_output=True, text=True, check=True).stdout.split()[-1]


def high_water_kb(pid):
    try:
        lines = pathlib.Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("VmHWM:")), 0)


class Modeld:
    """A scripted model server on loopback, and an environment that points at it."""

    def __init__(self, scenario, tls=None, log=False):
        self.dir = tempfile.TemporaryDirectory(prefix="cadre-bench-", dir=BUILD)
        self.path = pathlib.Path(self.dir.name)
        self.log = self.path / "requests.jsonl"
        (self.path / "scenario.txt").write_text(scenario)
        (self.path / "small.txt").write_text("".join(f"line {i} of a small file\n" for i in range(20)))
        command = [BUILD / "modeld" / "modeld", self.path / "scenario.txt", "--port", "0", "--die-with-parent"]
        if tls:
            command += ["--tls", *tls]
        if log:
            command += ["--log", self.log]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        self.url = self.process.stdout.readline().split()[-1].strip()
        if tls:
            self.url = self.url.replace("127.0.0.1", "localhost")
        self.env = {k: v for k, v in os.environ.items() if not k.startswith(("ANTHROPIC_", "CLAUDE", "CADRE_"))
                    and not k.lower().endswith("_proxy")}
        self.env |= {"ANTHROPIC_BASE_URL": self.url, "ANTHROPIC_API_KEY": "test", "HOME": self.dir.name}
        self.cwd = self.dir.name

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()
        # Removed when all is over: ext4 is slow to make new files for seconds after many were deleted.
        DIRECTORIES.append(self.dir)

    def stats(self):
        done = subprocess.run(["curl", "-sk", self.url + "/stats"], capture_output=True, text=True, check=True, env=self.env)
        return json.loads(done.stdout)

    def run(self, program, *arguments, timeout=3000 if "--once" in sys.argv else 300):
        done = subprocess.run([BUILD / program, *arguments], cwd=self.cwd, env=self.env, stdout=subprocess.PIPE,
                              stdin=subprocess.DEVNULL, text=True, timeout=timeout)
        if done.returncode:
            sys.exit(f"{program} {' '.join(arguments)} ended with {done.returncode}: {done.stdout}")
        return done.stdout

    def cadre(self, prompt, *options, timeout=600):
        return Run([BUILD / "cadre", "-p", *options, prompt], self.cwd, self.env, timeout)
