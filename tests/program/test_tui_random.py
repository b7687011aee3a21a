#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Random keys, pastes, answers, resizes and signals. Whatever happens: what is finished is on the terminal once, in its order; what stood
there before is untouched; the text that was typed is in the input row, with the cursor behind it.

    CADRE_TUI_SEED=7 CADRE_TUI_STEPS=10000 python3 tests/program/test_tui_random.py
"""
import concurrent.futures
import os
import random
import re
import signal
import time

from lab import main
from vterm import Screen

STEPS = int(os.environ.get("CADRE_TUI_STEPS", "150"))
SEEDS = [int(os.environ["CADRE_TUI_SEED"])] if "CADRE_TUI_SEED" in os.environ else [1, 2, 3, 19]  # 19: a resize while a view is open
SCENARIO = """
rule slow
  prompt contains "slow"
  chunk 9
  delay 3
  text <<END
q{{request}}a.

q{{request}}b and **more** of it.

- q{{request}}c.

| q{{request}}d | x |
|---|---|
| 1 | 2 |

```c
q{{request}}e;
```

q{{request}}f.
END
rule quick
  text <<END
q{{request}}a.

q{{request}}b.
END
"""
BEFORE = 30
LETTERS = "abcdefghijklmnop qrstuvwxyz.,-_;:#+*"


class Walk:
    def __init__(self, screen, seed):
        self.s, self.random, self.draft, self.trail = screen, random.Random(seed), "", []
        self.escaped = 0.0
        self.cut = set()  # answers and rows of before that libvterm may have cut
        self.s.quiet()
        self.waits = self.system_call()  # what it does while nothing happens

    def system_call(self):
        try:
            return open("/proc/%d/syscall" % self.s.pid).read().split()[0]
        except PermissionError:
            return "unknown"

    def type(self):
        text = "".join(self.random.choice(LETTERS) for _ in range(self.random.randint(1, 6)))
        if not self.draft:
            text = "w" + text  # no command, no menu
        if len(self.draft) < 40:
            self.s.send(text)
            self.draft += text

    def wide(self):
        if len(self.draft) < 40 and self.draft:
            text = self.random.choice(("日本語", "é", "😀", "👍🏽", "❤️"))
            self.s.send(text)
            self.draft += text

    def backspace(self):
        if self.draft and self.draft[-1].isascii() and self.draft[-1] != "\t":
            self.s.send("\x7f")
            self.draft = self.draft[:-1]

    def clear(self):
        self.s.send("\x05\x15")
        self.draft = ""

    def undo(self):
        if self.draft:
            self.s.send("\x05\x15\x1f")  # cut and taken back

    def paste(self):
        text = self.random.choice(("p", "one two", "ü", "x.y", "a\tb", "家族"))
        if self.draft and len(self.draft) < 40:
            self.s.paste(text)
            self.draft += text

    def burst(self):
        """A long paste is one mark, and is deleted as one."""
        self.s.paste("line\r" * self.random.randint(5, 400))
        self.s.send("\x7f")

    def enter(self, text):
        """Enter by itself: in one rush with other keys it would be a paste."""
        self.s.send(text)
        self.s.until(lambda rows: rows[self.s.cursor()[0]] == "❯ " + text)
        self.s.send("\r")
        self.s.until(lambda rows: rows[self.s.cursor()[0]] == "❯")

    def submit(self):
        words = self.random.choice(("slow", "quick"))
        self.clear()
        self.enter("say " + words)
        if self.random.random() < 0.5:
            self.s.quiet()

    def interrupt(self):
        """Only a turn: at the prompt two of them clear the line, or open a view."""
        if time.monotonic() - self.escaped < 2.5:
            return
        self.clear()
        self.enter("say slow")
        self.s.press("esc")
        self.escaped = time.monotonic()
        self.s.quiet()

    def move(self):
        self.s.send(self.random.choice(("\x1b[D\x05", "\x01\x05", "\x1bb\x05", "\x1b[H\x1b[F", "\x1b[1;5D\x05")))

    def page(self):
        self.s.quiet()
        below = "\n".join(self.s.rows())
        self.s.send("\x18t")
        self.s.until("Agents: ")
        if self.random.random() < 0.5:
            self.resize()
            self.cut.update(map(int, re.findall(r"q(\d+)[a-f]", below)))  # libvterm cuts rows of the screen below a view
            self.cut.update(re.findall(r"shell-\d\d", below))
        self.s.send("q")
        self.s.until("Agents: ", gone=True)

    def redraw(self):
        self.s.send("\x0c")

    def reports(self):
        self.s.send(self.random.choice(("\x1b[I", "\x1b[O", "\x1b[5;5R", "\x1b[?1u", "\x1b]11;rgb:0/0/0\a", "\x1b[?62;4c")))

    def change_size(self, columns, rows):
        """No frame is in flight while the size changes, none is half done: one of the old size may leave a stale row."""
        for _ in range(100):
            os.kill(self.s.pid, signal.SIGSTOP)
            self.s.quiet()
            if self.system_call() == self.waits:
                break
            os.kill(self.s.pid, signal.SIGCONT)
            self.s.quiet()
        began = len(self.s.raw)
        self.s.resize(columns, rows)
        row, pushed = self.s.cursor()[0], len(self.s.above)
        os.kill(self.s.pid, signal.SIGCONT)
        self.s.quiet()
        # A window with fewer rows than the live region: the terminal itself pushed the region's first rows into its scrollback, where
        # nothing reaches them. They are as many as the region's first row is above the screen.
        up = re.search(rb"\r(?:\x1b\[(\d+)A)?\x1b\[K", self.s.raw[began:])
        if up and int(up[1] or 0) > row:
            del self.s.above[pushed - (int(up[1]) - row):pushed]

    def resize(self):
        self.change_size(*self.random.choice(((20, 5), (30, 12), (40, 10), (60, 20), (80, 24), (110, 40), (200, 60))))

    def settle(self):
        self.s.quiet()
        self.change_size(*self.random.choice(((30, 12), (80, 24), (110, 40))))

    def signal(self):
        os.kill(self.s.pid, self.random.choice((signal.SIGWINCH, signal.SIGTSTP, signal.SIGCONT)))
        self.s.quiet()

    def step(self):
        kinds = ((self.type, 30), (self.wide, 3), (self.backspace, 10), (self.clear, 3), (self.undo, 3), (self.paste, 5), (self.burst, 2),
                 (self.submit, 6), (self.interrupt, 2), (self.move, 8), (self.page, 1), (self.redraw, 2), (self.reports, 3),
                 (self.resize, 2), (self.settle, 1), (self.signal, 1))
        kind = self.random.choices([k for k, _ in kinds], [w for _, w in kinds])[0]
        self.trail.append(kind.__name__)
        kind()
        while self.s._pump(0):
            pass

    def check(self):
        s = self.s
        self.s.quiet()
        if (s.columns, s.height) != (110, 40):
            self.change_size(110, 40)
        s.until("? keys")
        self.s.quiet()
        rows = s.all()
        finished = "\n".join(rows)
        for i in range(BEFORE):
            name = "shell-%02d" % i
            assert rows.count(name) == 1 or (name in self.cut and not rows.count(name)), "%s: %d" % (name, rows.count(name))
        tokens = re.findall(r"q\d+[a-f]\b", finished)
        assert len(tokens) == len(set(tokens)), "twice: %s" % [t for t in tokens if tokens.count(t) > 1]
        order = [(int(t[1:-1]), t[-1]) for t in tokens]
        assert order == sorted(order), order
        for number in {n for n, _ in order} - self.cut:  # also of one that was interrupted: none is missing before another
            letters = "".join(letter for n, letter in order if n == number)
            assert "abcdef".startswith(letters), (number, letters)
        row, column = s.cursor()
        shown = "❯ " + self.draft.replace("\t", " ") if self.draft else "❯"
        drawn = s.rows()[row]
        assert drawn.startswith("❯"), (drawn, self.draft)
        assert drawn == shown.rstrip(), (drawn, shown)
        assert column >= 2 and not "".join(chr(c) for cell in s.cells(row)[column:] for c in cell.chars if c and c < 0x110000).strip(), (drawn, column)


def walk_once(lab, seed):
    before = "".join("shell-%02d\n" % i for i in range(BEFORE))
    with Screen(lab, size=(80, 24), env={"NO_COLOR": "1", "NVIM": "a terminal that cuts"}, before=before) as s:
        s.until("? keys")
        walk = Walk(s, seed)
        try:
            for i in range(STEPS):
                walk.step()
                if i % 25 == 24:
                    walk.check()
            walk.check()
        except AssertionError as e:
            raise AssertionError("seed %d, step %d, %s: %s\n%s" % (seed, len(walk.trail), " ".join(walk.trail[-30:]), e, "\n".join(s.all()[-60:])))
        s.send("\x05\x15")
        s.press("C-d", "C-d")
        assert s.wait() == 0


def whatever_happens_finished_rows_are_there_once(lab):
    lab.model(SCENARIO, log=True)
    with concurrent.futures.ThreadPoolExecutor(len(SEEDS)) as pool:  # they wait, for the most part
        list(pool.map(lambda seed: walk_once(lab, seed), SEEDS))
    answers = sum(1 for b in lab.models[0].bodies())
    assert answers > len(SEEDS), answers


def a_view_that_is_resized_gives_the_conversation_back(lab):
    lab.model(SCENARIO, log=True)
    for size, cuts in (((30, 12), "1"), ((20, 5), "1"), ((200, 60), ""), ((60, 20), "1"), ((60, 20), "")):
        with Screen(lab, size=(110, 40), env={"NO_COLOR": "1", **({"NVIM": cuts} if cuts else {})}, before="shell\n" * 20) as s:
            s.until("? keys")
            walk = Walk(s, 1)
            for _ in range(4):
                walk.enter("say quick")
                s.until("? keys")
            s.send("wxs#\x18t")
            s.until("Agents: ")
            walk.change_size(*size)
            s.send("q")
            s.until("Agents: ", gone=True)
            s.send("\x05\x15")
            s.send("say quick")
            s.until(lambda rows: rows[s.cursor()[0]] == "❯ say quick")
            if size[1] > 40:  # libvterm cuts rows of the screen below a view
                assert sum(row.startswith("✔ 0.") for row in s.all()) == 4, s.all()


if __name__ == "__main__":
    main(whatever_happens_finished_rows_are_there_once, a_view_that_is_resized_gives_the_conversation_back)
