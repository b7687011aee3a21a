# SPDX-License-Identifier: MIT
"""A session of 5,000 tool turns that sums itself up again and again: its memory, and how fast it is resumed."""
import json
import pathlib
import uuid

from measure import BUILD, Modeld, Run, figure

TURNS = 5000
WINDOW = 100000  # tokens; four bytes each by modeld's count
SCENARIO = f"""rule summary
  last contains "Write that summary now"
  text All lines were as they should be.
rule asked
  last contains "Hello again"
  text Hello.
rule read
  nth 1-{TURNS}
  call Read {{"file_path": "turn-{{{{n}}}}.txt"}}
rule done
  text Done.
"""


def prepare(m):
    config = pathlib.Path(m.cwd) / ".claude"
    config.mkdir()
    (config / "settings.json").write_text(json.dumps({"autoCompactWindow": WINDOW}))
    for i in range(1, TURNS + 1):
        (pathlib.Path(m.cwd) / f"turn-{i}.txt").write_text("".join(f"line {k} of file {i}\n" for k in range(450)))


def bench_compact():
    print(f"compact: one session of {TURNS} Read turns that is summed up at {WINDOW} tokens")
    with Modeld(SCENARIO) as m:
        prepare(m)
        session = str(uuid.uuid4())
        cadre = [str(BUILD / "cadre"), "-p"]
        long = Run([*cadre, "--session-id", session, "Go."], m.cwd, m.env)
        file = next(pathlib.Path(m.cwd).glob(f".claude/projects/*/{session}.jsonl"))
        with open(file, "rb") as lines:
            count = sum(b'"compact_boundary"' in line for line in lines)
        megabytes = file.stat().st_size / 1e6
        fresh = [Run([*cadre, "Hello again"], m.cwd, m.env) for _ in range(5)]
        again = [Run([*cadre, "--resume", session, "Hello again"], m.cwd, m.env) for _ in range(5)]
    above_s = {key: min(getattr(r, key) for r in again) - min(getattr(r, key) for r in fresh) for key in ("wall_s", "cpu_s")}
    figure("compactions", count, "", 10, at_least=True)
    figure("transcript", megabytes, "MB")
    figure("CPU of a turn", long.cpu_s * 1000 / TURNS, "ms")
    figure("resident at most, above the live context", long.peak_kb / 1024 - WINDOW * 4 / 1e6, "MB", 20)
    figure("resume above a new session, per 100 MB, best of 5", above_s["wall_s"] * 100 / megabytes, "s", 1.0)
    figure("  its CPU", above_s["cpu_s"] * 100 / megabytes, "s")
    figure("resume, resident at most, above the live context", max(r.peak_kb for r in again) / 1024 - WINDOW * 4 / 1e6, "MB", 20)
