# SPDX-License-Identifier: MIT
"""The terminal of VS Code in place of libvterm: xterm.js from npm, in a process of its own. The same calls as vterm.Screen."""
import base64
import json
import subprocess

from lab import ROOT, Skip
from vterm import Screen


class Xterm(Screen):
    def _open(self):
        self.node = subprocess.Popen(["sh", str(ROOT / "tests/peers/run.sh"), "xterm_screen.mjs"], stdin=subprocess.PIPE,
                                     stdout=subprocess.PIPE, text=True)
        first = self.node.stdout.readline()
        if '"ready"' not in first:
            self.node.kill()
            self.node.wait()
            raise Skip("npm cannot be reached")
        self._ask(size=[self.columns, self.height])

    def _ask(self, **what):
        self.node.stdin.write(json.dumps(what) + "\n")
        self.node.stdin.flush()
        return json.loads(self.node.stdout.readline())

    def _close(self):
        self.node.stdin.close()
        self.node.stdout.close()
        self.node.wait()

    def _show(self, data):
        return self._ask(write=base64.b64encode(data).decode())["answers"].encode()

    def _resize(self, height, columns):
        self._ask(size=[columns, height])

    def _all_rows(self):
        """Rows as they were written: those that the terminal wrapped are one."""
        joined = []
        for row in self._ask(rows=True)["rows"]:
            if row["wrapped"] and joined:
                joined[-1] += row["text"]
            else:
                joined.append(row["text"])
        return [row.rstrip() for row in joined]

    def rows(self):
        seen = self._ask(rows=True)
        return [row["text"].rstrip() for row in seen["rows"][-seen["height"]:]]

    def all(self):
        rows = self._all_rows()
        while rows and not rows[-1]:
            rows.pop()
        return rows

    @property
    def above(self):
        return self.all()

    @above.setter
    def above(self, _):
        pass

    def cursor(self):
        seen = self._ask(rows=True)
        row, column = seen["cursor"]
        return row - (len(seen["rows"]) - seen["height"]), column
