# SPDX-License-Identifier: MIT
"""A terminal that can be looked at: libvterm behind a pty. Rows that leave the screen at its top are kept.

    with Screen(lab, "--model", "sonnet") as s:
        s.until("? keys")
        s.press("hello", "enter")
        s.until("I hear you.")
        assert s.rows()[-1] == "..."

Every wait is for a text on the screen, with a deadline."""
import ctypes
import fcntl
import os
import pty
import select
import signal
import struct
import termios
import time

from lab import CADRE, DEADLINE_S, Late

TIOCGPTPEER = 0x5441  # opens the other side; Python has no name for it

KEYS = {"enter": "\r", "esc": "\x1b", "tab": "\t", "up": "\x1b[A", "down": "\x1b[B", "left": "\x1b[D", "right": "\x1b[C",
        "home": "\x1b[H", "end": "\x1b[F", "pgup": "\x1b[5~", "pgdn": "\x1b[6~", "backspace": "\x7f", "delete": "\x1b[3~",
        "shift-tab": "\x1b[Z", "alt-enter": "\x1b\r", **{"C-" + c: chr(ord(c) - 96) for c in "abcdefghijklmnopqrstuvwxyz"},
        "C-_": "\x1f"}


class Rect(ctypes.Structure):
    _fields_ = [(name, ctypes.c_int) for name in ("start_row", "end_row", "start_col", "end_col")]


class Position(ctypes.Structure):
    _fields_ = [("row", ctypes.c_int), ("col", ctypes.c_int)]


class Cell(ctypes.Structure):
    _fields_ = [("chars", ctypes.c_uint32 * 6), ("width", ctypes.c_char), ("attrs", ctypes.c_uint32),
                ("fg", ctypes.c_uint32), ("bg", ctypes.c_uint32)]


PUSH = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.POINTER(Cell), ctypes.c_void_p)


class Callbacks(ctypes.Structure):
    _fields_ = [(name, ctypes.c_void_p) for name in ("damage", "moverect", "movecursor", "settermprop", "bell", "resize")] + [
        ("sb_pushline", PUSH), ("sb_popline", ctypes.c_void_p)]


def library():
    v = ctypes.CDLL("libvterm.so.0")
    v.vterm_output_read.restype = v.vterm_screen_get_text.restype = ctypes.c_size_t
    for name in ("vterm_new", "vterm_obtain_screen", "vterm_obtain_state"):
        getattr(v, name).restype = ctypes.c_void_p
    return v


def text_of(cells):
    out = ""
    for cell in cells:
        chars = [c for c in cell.chars if c]
        if chars and chars[0] != 0xffffffff:
            out += "".join(map(chr, chars))
        elif not chars:
            out += " "
    return out.rstrip()


class Screen:
    def __init__(self, lab, *args, size=(80, 24), env=None, program=CADRE, before="", answers=True, kitty=False, alternate=True):
        self.columns, self.height = size
        self.raw = b""
        self.kitty = kitty  # True: it has kitty's keys
        self.alternate = alternate  # False: it has no alternate screen
        self.answers = answers  # False: a terminal that says nothing about itself
        self.above = []  # rows that left the screen
        self._open()
        if before:
            self._feed(before.replace("\n", "\r\n").encode())
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            try:
                fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", self.height, self.columns, 0, 0))
                os.chdir(lab.work)
                os.execvpe(program, [program, *args], {**lab.env, "TERM": "xterm", "LANG": "C.UTF-8", **(env or {})})
            finally:
                os._exit(127)

    def _open(self):
        self.v = library()
        self.vt = ctypes.c_void_p(self.v.vterm_new(self.height, self.columns))
        self.v.vterm_set_utf8(self.vt, 1)
        self.screen = ctypes.c_void_p(self.v.vterm_obtain_screen(self.vt))
        self.state = ctypes.c_void_p(self.v.vterm_obtain_state(self.vt))
        self.callbacks = Callbacks(sb_pushline=PUSH(self._pushed))
        self.v.vterm_screen_set_callbacks(self.screen, ctypes.byref(self.callbacks), None)
        self.v.vterm_screen_enable_altscreen(self.screen, int(self.alternate))
        self.v.vterm_screen_reset(self.screen, 1)

    def _close(self):
        self.v.vterm_free(self.vt)

    def _show(self, data):
        """Shows bytes; returns what the terminal answers to them."""
        self.v.vterm_input_write(self.vt, data, ctypes.c_size_t(len(data)))
        answer = ctypes.create_string_buffer(4096)
        n = self.v.vterm_output_read(self.vt, answer, ctypes.c_size_t(4096))
        return answer.raw[:n]

    def _resize(self, height, columns):
        self.v.vterm_set_size(self.vt, height, columns)
        if self.cursor()[0] < 0:  # rows below the cursor pushed it off the screen: the library would write outside of its own
            self._show(b"\x1b[H")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.pid:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        os.close(self.fd)
        self._close()

    def _pushed(self, columns, cells, _):
        self.above.append(text_of(cells[i] for i in range(columns)))
        return 1

    def _feed(self, data):
        self.raw += data
        answer = self._show(data)
        if self.kitty and b"\x1b[?u" in data:
            os.write(self.fd, b"\x1b[?0u")
        if answer and self.answers:
            os.write(self.fd, answer)

    def _pump(self, until):
        ready, _, _ = select.select([self.fd], [], [], max(0, until - time.monotonic()))
        if not ready:
            return False
        try:
            data = os.read(self.fd, 65536)
        except OSError:
            data = b""
        if not data:
            return False
        self._feed(data)
        return True

    def stop(self):
        """The program stands still, and all that it wrote is shown. SIGCONT lets it continue."""
        os.kill(self.pid, signal.SIGSTOP)
        os.waitpid(self.pid, os.WUNTRACED)
        while self._pump(0):
            pass

    def cells(self, row):
        found = []
        for column in range(self.columns):
            cell = Cell()
            self.v.vterm_screen_get_cell(self.screen, Position(row, column), ctypes.byref(cell))
            found.append(cell)
        return found

    def rows(self):
        """In one call: cell by cell it would be most of the CPU of a test that waits for a text."""
        room = self.height * self.columns * 24  # six characters a cell
        text = ctypes.create_string_buffer(room)
        n = self.v.vterm_screen_get_text(self.screen, text, ctypes.c_size_t(room), Rect(0, self.height, 0, self.columns))
        return [row.rstrip() for row in ctypes.string_at(text, n).decode().split("\n")]

    def all(self):
        """Scrollback and screen, without empty rows at the end."""
        rows = self.above + self.rows()
        while rows and not rows[-1]:
            rows.pop()
        return rows

    def cursor(self):
        at = Position()
        self.v.vterm_state_get_cursorpos(self.state, ctypes.byref(at))
        return at.row, at.col

    def _torn(self):
        """A frame is on its way: on the screen is half of it. One that is never ended is that of a program that was killed."""
        return self.raw.rfind(b"\x1b[?2026h") > max(self.raw.rfind(b"\x1b[?2026l"), self.raw.rfind(b"\x1b[?2004l"))

    def until(self, text, gone=False):
        """Waits for a text on the screen (a function: for what it says about the rows), or for its end. Looks at whole frames."""
        wanted = text if callable(text) else lambda rows: any(text in row for row in rows)
        until = time.monotonic() + DEADLINE_S
        while self._torn() or bool(wanted(self.rows())) == gone:
            if not self._pump(until) and (time.monotonic() > until or self.ended()):
                raise Late("%s %r:\n%s" % ("still there" if gone else "not seen", text, "\n".join(self.all())))
        return self

    def seen(self, text):
        """The same over scrollback and screen."""
        return self.until(lambda rows: any(text in row for row in self.above + rows))

    def send(self, data):
        data = data if isinstance(data, bytes) else data.encode()
        while data:
            _, writable, _ = select.select([], [self.fd], [], 0.05)
            if writable:
                data = data[os.write(self.fd, data[:4096]):]
            while self._pump(0):  # the program may wait for us to read
                pass

    def _unread(self):
        """Bytes that were sent and that the program has not read."""
        fd = fcntl.ioctl(self.fd, TIOCGPTPEER, os.O_RDONLY | os.O_NOCTTY)
        try:
            select.select([fd], [], [], 0)  # what the kernel has still to hand over is there then: until now it was not counted
            return struct.unpack("i", fcntl.ioctl(fd, termios.FIONREAD, b"\0" * 4))[0]
        finally:
            os.close(fd)

    def _busy(self):
        """It works, or has not read what was sent. One that is stopped does neither."""
        try:
            with open("/proc/%d/stat" % self.pid) as f:
                state = f.read().rsplit(")", 1)[1].split()[0]
        except FileNotFoundError:
            return False
        return state not in "TZ" and (state != "S" or self._unread() > 0)

    def quiet(self, seconds=0.1):
        """Waits until the program sleeps, has read all that was sent, and has written nothing for so long: longer than it waits for the
        rest of a key, of a rush of keys or of a resize, and for the next frame."""
        until = time.monotonic() + DEADLINE_S
        while self._pump(time.monotonic() + seconds) or self._busy():
            if time.monotonic() > until:
                raise Late("it is never quiet:\n" + "\n".join(self.all()))

    def press(self, *keys):
        """Each key by itself, as a person types: many in one read would be a paste."""
        for key in keys:
            self.send(KEYS.get(key, key))
            until = time.monotonic() + DEADLINE_S
            while self._unread() and not self.ended() and time.monotonic() < until:
                self._pump(time.monotonic() + 0.005)
            self._pump(time.monotonic() + (0.1 if key == "esc" else 0.005))  # behind Esc a letter would be Alt

    def paste(self, text):
        self.send("\x1b[200~" + text + "\x1b[201~")

    def resize(self, columns, height):
        self.columns, self.height = columns, height
        self._resize(height, columns)
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", height, columns, 0, 0))

    def ended(self):
        if self.pid:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.pid, self.code = 0, os.waitstatus_to_exitcode(status)
        return not self.pid

    def until_raw(self, done):
        """Waits for what a function says about all bytes that came."""
        until = time.monotonic() + DEADLINE_S
        while not done(self.raw):
            if not self._pump(until) and time.monotonic() > until:
                raise Late(repr(self.raw[-500:]))
        return self

    def wait(self):
        until = time.monotonic() + DEADLINE_S
        while self._pump(until):
            pass
        while not self.ended():
            if time.monotonic() > until:
                raise Late("it does not end:\n" + "\n".join(self.all()))
            select.select([], [], [], 0.01)
        return self.code
