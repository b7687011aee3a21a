# SPDX-License-Identifier: MIT
"""What it costs that the kernel holds a command to what was believed of it."""
import json
import socket
import statistics
import subprocess
import tempfile
import threading

from measure import BUILD, Modeld, figure, times

ROUNDS = 300
CHILDREN = 1000
LEAK_COMMANDS = 10000
FAN_OUT = """latency 200ms
rule main asks
  agent main
  turn 1
  repeat {count} call Agent {{"description": "Child {{{{i}}}}", "prompt": "Part {{{{i}}}}", "subagent_type": "general-purpose"}}
rule main ends
  agent main
  text All done.
rule child reads
  turn 1
  call Bash {{"command": "cat small.txt"}}
rule child ends
  text My part is done.
"""


def run_children(*options):
    """options: a rule that allows the command makes it run free."""
    with Modeld(FAN_OUT.format(count=CHILDREN)) as m:
        return m.cadre("Ask them all", *options, timeout=900)


CLIENT = """
import socket, sys, time
def tunnel():
    s = socket.create_connection(("127.0.0.1", 61080))
    s.sendall(b"CONNECT localhost:%d HTTP/1.1\\r\\n\\r\\n")
    head = b""
    while b"\\r\\n\\r\\n" not in head:
        head += s.recv(1)
    return s
start = time.perf_counter()
for _ in range(1000):
    tunnel().close()
connects = 1000 / (time.perf_counter() - start)
start = time.perf_counter()
for _ in range(2000):
    a = socket.socket(); a.connect(("127.0.0.1", 61080)); a.close()
connect_ms = (time.perf_counter() - start) / 2
s, n, start = tunnel(), 0, time.perf_counter()
s.sendall(b"go")
while piece := s.recv(1 << 20):
    n += len(piece)
print(connects, connect_ms, n / 1e6 / (time.perf_counter() - start))
"""


class Source:
    """On loopback: closes at once, or sends 512 MB on request."""

    def __init__(self):
        self.socket = socket.create_server(("127.0.0.1", 0), backlog=512)
        self.port = self.socket.getsockname()[1]
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        block = bytes(1 << 20)
        while True:
            c = self.socket.accept()[0]
            try:
                for _ in range(512 if c.recv(2) else 0):
                    c.sendall(block)
            except OSError:
                pass
            c.close()


def bench_proxy():
    source = Source()
    with tempfile.TemporaryDirectory() as work:
        out = subprocess.run([BUILD / "cadre", "sandbox", "run", f"--host=localhost:{source.port}", "--", "python3", "-c", CLIENT % source.port],
                             cwd=work, capture_output=True, text=True, check=True).stdout.split()
    figure("proxy: CONNECTs", float(out[0]), "1/s", 1000, at_least=True)
    figure("a supervised connect", float(out[1]), "ms", 0.25)
    figure("proxy: a stream on loopback", float(out[2]), "MB/s", 300, at_least=True)


def bench_leaks():
    out = json.loads(subprocess.run([BUILD / "bench" / "bench_sandbox", "leaks", str(LEAK_COMMANDS)], capture_output=True, text=True, check=True).stdout)
    for what, before in out["before"].items():
        figure(f"{LEAK_COMMANDS} commands inside leave: {what}", out["after"][what] - before, "", 0)


def bench_sandbox():
    print(f"sandbox: bash that does nothing, the medians of {ROUNDS} starts each, alternating")
    out = subprocess.run([BUILD / "bench" / "bench_sandbox", str(ROUNDS)], capture_output=True, text=True, check=True).stdout
    ms = json.loads(out)
    figure("a plain command", ms["plain"], "ms")
    for name, what in (("reads", "held to reading"), ("hides", "held to reading, a file is hidden"),
                       ("edits", "held to the working directory"), ("inside", "in the sandbox of the settings")):
        figure(f"{what}: more than plain", ms[name] - ms["plain"], "ms", 1.5)
        figure(f"{what}: against plain", ms[name] / ms["plain"], "x")
    bench_proxy()
    bench_leaks()
    free, held = [], []
    for _ in times(5):
        free.append(run_children("--allowedTools=Bash"))
        held.append(run_children())
    wall = [min(r.wall_s for r in runs) for runs in (free, held)]
    cpu = [statistics.median(r.cpu_s for r in runs) for runs in (free, held)]
    figure(f"{CHILDREN} children with a Bash turn, free, the best of 5", wall[0], "s")
    figure("the same, held to reading: wall", wall[1] / wall[0], "x", 1.15)
    figure("the same, held to reading: CPU, commands included", cpu[1] / cpu[0], "x", 1.15)
