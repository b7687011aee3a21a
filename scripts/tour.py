#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tour.py [FOLDER]: records a conversation on the terminal with a scripted model: docs/tour.cast (asciicast 2, for players of
terminal recordings) and pictures of its screens, docs/tour-*.png; without rsvg-convert they stay SVG. Needs `make dev`."""
import html
import json
import os
import pathlib
import shutil
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
os.environ.setdefault("TEST_BUILD", "build-dev")
sys.path.insert(0, str(ROOT / "tests" / "program"))
from lab import Lab  # noqa: E402
from vterm import Screen  # noqa: E402

SCENARIO = r"""
latency 400..900
rule delegates
  agent main
  prompt contains "three agents"
  turn 1
  text I ask three agents, each about one part.
  call Agent {"description": "Map the sources", "prompt": "map it", "subagent_type": "Explore"}
  call Agent {"description": "Read the tests", "prompt": "read the tests", "subagent_type": "Explore"}
  call Agent {"description": "Plan the fix", "prompt": "plan it", "subagent_type": "Plan"}
rule child
  prompt lacks "three agents"
  prompt lacks "fix"
  latency 1200..2500
  turn 1-3
  call Read {"file_path": "parse.c"}
rule child ends
  prompt lacks "three agents"
  prompt lacks "fix"
  text The loop in parse.c stops one line early.
rule summary
  agent main
  prompt contains "three agents"
  chunk 12
  delay 25
  text <<END
All three agree. The counter misses the **last line** when the file has no line end:

| file | line | what |
|---|---|---|
| `parse.c` | 3 | `<` should be `<=` |
| `test.sh` | 1 | has no case for it |

```c
while (p <= end)
        n += *p++ == '\n';
```
END
rule runs
  agent main
  prompt contains "fix"
  turn 1
  call Read {"file_path": "parse.c"}
  call Bash {"command": "sh test.sh", "description": "tests"}
rule edits
  agent main
  prompt contains "fix"
  turn 2
  call Edit {"file_path": "parse.c", "old_string": "while (p < end)", "new_string": "while (p <= end)"}
rule done
  text Fixed: the loop now reaches the last line.
"""


class Recorder(Screen):
    """What the terminal got, with the time of each piece."""

    def _feed(self, data):
        self.pieces = getattr(self, "pieces", [])
        self.began = getattr(self, "began", time.monotonic())
        self.pieces.append((time.monotonic() - self.began, data))
        super()._feed(data)

    def type(self, text):
        for letter in text:
            self.press(letter)
            self.pause(0.04)

    def pause(self, seconds):
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            self._pump(until)


def picture(s, path):
    """The screen as SVG, down to its last row with text: one text for each run of cells that look alike."""
    wide, high = 8.4, 17
    rows = max(i + 1 for i, row in enumerate(s.rows()) if row.strip())
    colours = {1: "#cc6666", 2: "#8fb573", 3: "#d9a441", 4: "#6a9fd8", 5: "#b48ead", 6: "#5fb3b3"}
    out = ['<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" font-family="DejaVu Sans Mono, monospace" font-size="14">'
           % (s.columns * wide + 20, rows * high + 20), '<rect width="100%" height="100%" rx="8" fill="#1d2128"/>']
    for row in range(rows):
        column = 0
        cells = s.cells(row)
        while column < s.columns:
            end, text = column, ""
            while end < s.columns and cells[end].attrs == cells[column].attrs and cells[end].fg == cells[column].fg:
                text += "".join(chr(c) for c in cells[end].chars if c and c != 0xffffffff) or " "
                end += 1
            if text.strip():
                kind, index = cells[column].fg & 0xff, cells[column].fg >> 8 & 0xff
                fill = colours.get(index, "#d8dee9") if kind & 1 else "#d8dee9"
                if cells[column].attrs & 1 << 5:  # reverse
                    out.append('<rect x="%.1f" y="%d" width="%.1f" height="%d" fill="%s"/>' % (
                        10 + column * wide, 10 + row * high, len(text) * wide, high, fill))
                    fill = "#1d2128"
                out.append('<text x="%.1f" y="%d" fill="%s"%s xml:space="preserve">%s</text>' % (
                    10 + column * wide, 10 + row * high + 13, fill, ' font-weight="bold"' if cells[column].attrs & 1 else "",
                    html.escape(text.rstrip())))
            column = end
    out.append("</svg>")
    path.write_text("\n".join(out) + "\n")
    if shutil.which("rsvg-convert"):
        subprocess.run(["rsvg-convert", str(path), "-o", str(path.with_suffix(".png"))], check=True)
        path.unlink()


def main():
    folder = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs"
    lab = Lab()
    lab.work = "/tmp/parser"  # is seen in the rule of a question
    os.mkdir(lab.work)
    try:
        work = pathlib.Path(lab.work)
        (work / "parse.c").write_text("size_t n = 0;\nconst char *end = p + size;\nwhile (p < end)\n        n += *p++ == '\\n';\n")
        (work / "test.sh").write_text("echo 'parse: expected 3, got 2'; exit 1\n")
        subprocess.run(["git", "init", "-q", lab.work], check=True)
        lab.model(SCENARIO)
        with Recorder(lab, size=(96, 30), env={"NO_COLOR": ""}) as s:
            s.until("? keys")
            s.type("let three agents look why the test fails")
            s.press("enter")
            s.until("3 agents: 3 run")
            s.pause(3)
            picture(s, folder / "tour-agents.svg")
            s.seen("n += *p++")
            s.until("? keys")
            s.pause(1)
            s.type("fix it")
            s.press("enter")
            s.until("wants to use Bash")
            s.until("in a moment", gone=True)
            s.pause(1)
            s.press("1", "enter")
            s.until("wants to use Edit")
            s.until("in a moment", gone=True)
            s.pause(1)
            picture(s, folder / "tour-question.svg")
            s.press("1", "enter")
            s.seen("Fixed: the loop")
            s.until("? keys")
            s.pause(1)
            picture(s, folder / "tour-diff.svg")
            s.type("/rewind")
            s.press("enter")
            s.until("would change")
            s.pause(1)
            picture(s, folder / "tour-rewind.svg")
            s.press("esc")
            s.until("? keys")
            s.press("C-d", "C-d")
            s.wait()
            with open(folder / "tour.cast", "w") as f:
                f.write(json.dumps({"version": 2, "width": 96, "height": 30, "title": "cadre on a terminal"}) + "\n")
                for at, data in s.pieces:
                    f.write(json.dumps([round(at, 3), "o", data.decode("utf-8", "replace").replace(lab.folder, "/tmp/tour")]) + "\n")
    finally:
        shutil.rmtree(lab.work)
        lab.close()


main()
