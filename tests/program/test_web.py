#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""WebFetch in front of hostile servers: each page ends in a clear answer, in bounded time and memory."""
import gzip
import json
import os
import re
import socket
import threading
import time
import zlib

from lab import Late, main

MB = 1 << 20
LIMIT_MS = 10000         # of a fetch, by the environment
SHORT_LIMIT_MS = 1000    # where each page takes as long
SLOWEST_S = 20           # of a page: time of the processor
LARGEST_KB = 400 * 1024  # resident, under a sanitizer


def ok(body, headers=b"content-type: text/html\r\n"):
    return b"HTTP/1.1 200 OK\r\n" + headers + b"content-length: %d\r\n\r\n" % len(body) + body


def page(text):
    """A whole answer, closed behind it."""
    return lambda peer: peer.sendall(ok(text))


def raw(text):
    return lambda peer: peer.sendall(text)


def typed(kind, body):
    return lambda peer: peer.sendall(ok(body, b"content-type: " + kind + b"\r\n"))


def packed(coding, body):
    return lambda peer: peer.sendall(ok(body, b"content-type: text/html\r\ncontent-encoding: " + coding + b"\r\n"))


def moved(where):
    return lambda peer: peer.sendall(b"HTTP/1.1 302 Found\r\nlocation: " + where + b"\r\ncontent-length: 0\r\n\r\n")


def endless(first, piece, pause=0.0):
    def serve(peer):
        peer.sendall(first)
        while True:
            peer.sendall(piece)
            time.sleep(pause)
    return serve


def silent(peer):
    while peer.recv(4096):
        pass


def bomb():
    squeeze = zlib.compressobj(9, zlib.DEFLATED, 31)
    zeros = bytes(MB)
    return b"".join(squeeze.compress(zeros) for _ in range(200)) + squeeze.flush()


ANSWERED = r"^the small model read it"
DEEP = LONG = ANSWERED
HOSTILE = [
    # deep and wide
    ("deep div", page(b"<div>" * 1500000), DEEP),
    ("deep elements that nobody knows", page(b"<x-y>" * 1500000 + b"end"), ANSWERED),
    ("deep formatting", page(b"<b><i><u><font>x" * 400000), DEEP),
    ("deep lists", page(b"<ul><li>x" * 400000), DEEP),
    ("deep tables", page(b"<table><tr><td>x" * 400000), DEEP),
    ("deep quotes", page(b"<blockquote>x" * 400000), DEEP),
    ("deep forms and frames", page(b"<form><fieldset><iframe>" * 300000), r"^The page has no text"),
    ("tags that close each other", page(b"<b><i><table><p></b></i>" * 300000), DEEP),
    ("wrong ends", page(b"<b>" * 1900 + b"</zz></i>" * 700000 + b"tail"), ANSWERED),
    ("ends without beginnings", page(b"</div></p></b>" * 600000 + b"tail"), ANSWERED),
    ("a huge attribute", page(b'<a href="' + b"x" * (9 * MB) + b'">t</a>'), ANSWERED),
    ("an attribute without an end", page(b"<a href='" + b"x<b>" * 2000000), r"^The page has no text"),
    ("very many attributes", page(b"<a " + b" ".join(b"a%d=1" % i for i in range(700000)) + b">t</a>"), ANSWERED),
    ("quotes that swallow tags", page(b"<a %=\"> <b x='\">" + b" ".join(b"a%d" % i for i in range(700000)) + b"'>t"),
     ANSWERED),
    ("very many links", page(b"<a href=a>b</a>" * 500000), LONG),
    ("links with a long base", page(b"<base href='http://h/" + b"y" * 1800 + b"/'>" + b"<a href=a>b</a>" * 400000), LONG),
    ("very many cells", page(b"<table><tr>" + b"<td>x" * 1400000), LONG),
    ("very many paragraphs", page(b"<p>" * 2500000), r""),
    ("entities", page(b"&amp;&bogus;&#x110000;&#0;" * 300000), LONG),
    ("brackets", page(b"<" * (8 * MB)), LONG),
    ("comments without an end", page(b"<!--" * 2000000), r"^The page has no text"),
    ("a script without an end", page(b"<script>" + b"</scrip" * 1000000), r"^The page has no text"),
    ("long words in a list of definitions", page(b"<dl><dt>x<dd>" + b"y" * (8 * MB)), LONG),
    # encodings
    ("latin1 that says it is utf-8", typed(b"text/html; charset=utf-8", b"caf\xe9 \xff\xfe"), ANSWERED),
    ("an encoding that nobody knows", typed(b"text/html; charset=x-none", b"\xe9"), ANSWERED),
    ("utf-7", typed(b"text/html; charset=utf-7", b"+ADw-script+AD4-"), ANSWERED),
    ("an encoding that is a path", typed(b"text/html; charset=../../x//TRANSLIT", b"\xe9"), ANSWERED),
    ("half of a utf-16 page", typed(b"text/html; charset=utf-16le", b"<\0p\0>\0a\0\xd8"), ANSWERED),
    ("a cut character", typed(b"text/plain; charset=shift_jis", b"a\x82"), ANSWERED),
    ("surrogates and overlong forms", typed(b"text/html", b"a\xed\xa0\x80\xc0\x80\xf5\x80"), ANSWERED),
    ("zeros in a page", page(b"a\0b" * 1000000), LONG),
    ("control characters", page(b"a\x01\x02\x7f" * 1000000), LONG),
    ("random bytes", typed(b"text/html", os.urandom(3 * MB)), LONG),
    # packing
    ("a gzip bomb", packed(b"gzip", bomb()), r"more than 10485760 bytes"),
    ("a bomb in a bomb", packed(b"gzip, gzip", gzip.compress(bomb())), r"more than 10485760 bytes"),
    ("gzip that is none", packed(b"gzip", b"no gzip at all"), r"cannot be fetched"),
    ("gzip that is cut", packed(b"gzip", gzip.compress(b"<p>" + os.urandom(5000))[:3000]), r"."),
    ("a packing that nobody asked for", packed(b"zstd", b"x" * 100), r"."),
    # HTTP
    ("a length that is too long", raw(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n<p>x"), r"cannot be fetched"),
    ("a length that is too short", raw(b"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: 4\r\n\r\n<p>xyz"), ANSWERED),
    ("a length below nothing", raw(b"HTTP/1.1 200 OK\r\ncontent-length: -5\r\n\r\nxyz"), r"."),
    ("chunks that are none", raw(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\nxx"), r"cannot be fetched"),
    ("a chunk of exabytes", raw(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nfffffffffffffff0\r\nxx"), r"cannot be fetched"),
    ("headers without an end", endless(b"HTTP/1.1 200 OK\r\n", b"x-more: yes\r\n" * 200), r"headers of the answer"),
    ("one header without an end", endless(b"HTTP/1.1 200 OK\r\nx: ", b"y" * 65536), r"a header of the answer is too long"),
    ("interim answers without an end", endless(b"", b"HTTP/1.1 103 Hints\r\nlink: x\r\n\r\n" * 50), r"cannot be fetched"),
    ("a body without an end", endless(b"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\n\r\n", b"<p>x" * 16384), r"more than 10485760 bytes"),
    ("an end at once", lambda peer: None, r"cannot be fetched"),
    ("no HTTP", raw(b"SSH-2.0-server\r\n"), r"cannot be fetched"),
    ("no page", raw(b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n"), r"the server answered 404 Not Found"),
    ("nothing", raw(b"HTTP/1.1 204 No Content\r\n\r\n"), r"^The page has no text"),
    ("an image", typed(b"image/png", b"\x89PNG\0" * 1000), r"saved to /.*\.png"),
    ("bytes that say they are text", typed(b"text/plain", b"\0\1\2" * 1000), r"saved to /.*\.bin"),
    # redirects
    ("a redirect to itself", moved(b"/{self}"), r"without an end"),
    ("a redirect to this machine by another name", moved(b"http://localhost:1/"), r"leads to another host"),
    ("a redirect to another port", moved(b"http://127.0.0.1:1/"), r"leads to another host"),
    ("a redirect to metadata", moved(b"http://169.254.169.254/latest"), r"leads to another host"),
    ("a redirect to a denied host", moved(b"http://denied.example/"), r"denied by the rule"),
    ("a redirect to a file", moved(b"file:///etc/passwd"), r"cannot be fetched"),
    ("a redirect with a password", moved(b"http://a:b@127.0.0.1/"), r"cannot be fetched"),
    ("a redirect to nowhere", moved(b""), r"cannot be fetched"),
    ("a redirect that is very long", moved(b"/" + b"x" * 90000), r"cannot be fetched"),
]
SLOW = [
    ("silence", silent, r"(took too long|no byte)"),
    ("a slow drip", endless(b"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\n\r\n", b"x", 0.05), r"it took too long"),
    ("a slow drip of headers", endless(b"HTTP/1.1 200 OK\r\n", b"a: b\r\n", 0.05), r"it took too long"),
]


class Server:
    """One thread for each connection; the number in the path says which page is wanted."""

    def __init__(self, pages=()):
        self.pages = pages
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port = self.listener.getsockname()[1]
        self.asked = []
        self.heard = threading.Event()
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                peer, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(peer,), daemon=True).start()

    def serve(self, peer):
        with peer:
            try:
                head = b""
                while b"\r\n\r\n" not in head:
                    head += peer.recv(65536)
                path = head.split()[1].decode()
                self.asked.append((path, head))
                self.heard.set()
                self.answer(peer, path)
                peer.shutdown(socket.SHUT_WR)
                while peer.recv(4096):
                    pass
            except OSError:
                pass  # the client has gone, as it should

    def answer(self, peer, path):
        if path == "/0":
            peer.sendall(ok(b"<title>T</title><h1>Head</h1><p>Some <b>text</b>.", b"content-type: text/html\r\n"))
        elif path == "/near":
            peer.sendall(b"HTTP/1.1 301 Moved\r\nlocation: 0\r\ncontent-length: 0\r\n\r\n")
        elif self.pages[int(path[1:]) - 1][0] == "a redirect to itself":
            peer.sendall(b"HTTP/1.1 302 Found\r\nlocation: " + path.encode() + b"\r\ncontent-length: 0\r\n\r\n")
        else:
            self.pages[int(path[1:]) - 1][1](peer)


def result_of(frame):
    if frame["type"] != "user":
        return None
    for block in frame["message"]["content"]:
        if isinstance(block, dict) and block["type"] == "tool_result":
            return block["content"] if isinstance(block["content"], str) else block["content"][0]["text"]
    return None


def peak_kb(pid):
    with open("/proc/%d/status" % pid, encoding="utf-8") as status:
        return int(re.search(r"VmHWM:\s+(\d+)", status.read()).group(1))


def busy_s(pid):
    """Time of the processor that a process has used."""
    with open("/proc/%d/stat" % pid, encoding="utf-8") as stat:
        return sum(map(int, stat.read().rsplit(")", 1)[1].split()[11:13])) / os.sysconf("SC_CLK_TCK")


def next_line(run):
    """On a busy machine a page takes minutes: late is a program that does nothing."""
    while True:
        busy = busy_s(run.pid)
        try:
            return run.line()
        except Late:
            if busy_s(run.pid) - busy < 1:
                raise


def fetch_each(lab, pages, limit_ms):
    server = Server(pages)
    lab.env["ASAN_OPTIONS"] = lab.env.get("ASAN_OPTIONS", "") + ":quarantine_size_mb=16"
    lab.env["CADRE_WEBFETCH_TIMEOUT_MS"] = str(limit_ms)
    lab.model("""
rule small
  agent web_fetch
  text the small model read it
rule fetch
  turn 1-%d
  call WebFetch {"url": "http://127.0.0.1:%d/{{turn}}", "prompt": "x"}
rule end
  text done
""" % (len(pages), server.port))
    run = lab.stream("hi", "--max-turns", "200", "--disallowedTools", "WebFetch(domain:denied.example)",
                     "--allowedTools", "WebFetch(domain:127.0.0.1)")
    slowest, peak, seen = (0.0, ""), 0, 0
    began = busy_s(run.pid)
    while seen < len(pages):
        result = result_of(json.loads(next_line(run)))
        if result is None:
            continue
        name, _, expected = pages[seen]
        took, began = busy_s(run.pid) - began, busy_s(run.pid)
        assert re.search(expected, result), "%s: %r is not %r" % (name, result[:500], expected)
        assert len(result) < 2000, "%s: %d bytes" % (name, len(result))
        slowest = max(slowest, (took, name))
        peak = max(peak, peak_kb(run.pid))
        seen += 1
    done = run.wait()
    server.listener.close()
    assert done.code == 0, done
    print("# %d pages, the slowest %.1f s (%s), at most %d MB resident" % (seen, *slowest, peak // 1024))
    assert slowest[0] < SLOWEST_S, slowest
    assert peak < LARGEST_KB, peak


def hostile_pages_end_in_a_clear_answer_in_bounded_time_and_memory(lab):
    fetch_each(lab, HOSTILE, LIMIT_MS)


def pages_that_never_end_are_given_up(lab):
    fetch_each(lab, SLOW, SHORT_LIMIT_MS)


def a_page_is_fetched_once_and_followed_on_its_own_host(lab):
    server = Server()
    lab.model("""
rule small
  agent web_fetch
  text {{last}}
rule
  turn 1-2
  call WebFetch {"url": "http://127.0.0.1:%d/near", "prompt": "What is it?"}
rule end
  text done
""" % server.port)
    frames = lab.cadre("-p", "hi", "--output-format", "stream-json", "--verbose", "--allowedTools",
                       "WebFetch(domain:127.0.0.1)").frames()
    results = [result_of(f) for f in frames if result_of(f)]
    whole = [f["tool_use_result"] for f in frames if result_of(f)]
    server.listener.close()
    assert results[0] == results[1] and "Title: T\n\n# Head\n\nSome **text**." in results[0], results
    assert results[0].endswith("What is it?"), results
    assert [path for path, _ in server.asked] == ["/near", "/0"], server.asked
    assert b"User-Agent: cadre/" in server.asked[0][1], server.asked
    assert whole[0]["code"] == 200 and whole[0]["codeText"] == "OK" and whole[0]["bytes"] == 49, whole
    assert whole[0]["url"] == "http://127.0.0.1:%d/0" % server.port, whole


def a_fetch_that_hangs_ends_with_its_run(lab):
    server = Server(SLOW)
    lab.model("""
rule
  turn 1
  call WebFetch {"url": "http://127.0.0.1:%d/1", "prompt": "x"}
rule end
  text done
""" % server.port)
    run = lab.stream("hi", "--allowedTools", "WebFetch(domain:127.0.0.1)")
    assert server.heard.wait(60)
    run.process.terminate()
    done = run.wait()
    server.listener.close()
    assert done.code == 143, done


if __name__ == "__main__":
    main(a_page_is_fetched_once_and_followed_on_its_own_host,
         a_fetch_that_hangs_ends_with_its_run,
         hostile_pages_end_in_a_clear_answer_in_bounded_time_and_memory,
         pages_that_never_end_are_given_up)
