#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Too much of it: a reader that does not read, hundreds of megabytes, long lines; and no event stream at all."""
import json
import os
import re
import urllib.request

from lab import main

MB = 1024 * 1024
AGAIN = 'rule again\n  last contains "again"\n  text went on\n'
# The sanitizer keeps freed memory for a while; without that its program is as large as the other one.
NO_QUARANTINE = ":quarantine_size_mb=0:thread_local_quarantine_size_kb=0"
LEAN = {"ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + NO_QUARANTINE}


def memory_mb(pid, field):
    with open("/proc/%d/status" % pid) as f:
        return int(re.search(field + r":\s+(\d+) kB", f.read()).group(1)) / 1024


def bytes_sent(model):
    with urllib.request.urlopen(model.url + "/stats") as answer:
        return json.load(answer)["bytes_out"]


def wait_until_nothing_is_sent(model, run):
    """Until the server has sent nothing more for many questions in a row: it is held back, or has sent all."""
    same, last = 0, -1
    while same < 300:
        assert run.process.poll() is None, run.err
        now = bytes_sent(model)
        same, last = (same + 1 if now == last and now > MB else 0), now
    return last


def a_reader_that_stops_holds_the_answer_back(lab):
    blocks, size = 14, 4 * MB
    model = lab.model("rule\n  repeat %d filler 4MB\n  chunk 4096\n" % blocks)
    run = lab.stream("--include-partial-messages", "go", env=LEAN)
    session = run.frame("system")["session_id"]
    sent = wait_until_nothing_is_sent(model, run)
    assert sent < 40 * MB, "%d MB were sent to a program whose reader sleeps" % (sent // MB)
    resident = memory_mb(run.pid, "VmHWM")
    assert resident < 100, "%d MB resident with a reader that sleeps" % resident

    done = run.wait()
    assert done.code == 0, done
    frames = done.frames()
    events = [f["event"] for f in frames if f["type"] == "stream_event"]
    deltas = [e["delta"]["text"] for e in events if e["type"] == "content_block_delta"]
    assert sum(map(len, deltas)) == blocks * size
    assert sum(f["type"] == "assistant" for f in frames) == blocks
    assert frames[-1]["type"] == "result" and len(frames[-1]["result"]) == blocks * size
    assert len(lab.transcript(session).blocks("text")) >= blocks


def an_answer_of_300_megabytes_is_refused_and_the_session_goes_on(lab):
    lab.model(AGAIN + "rule\n  filler 300MB\n  chunk 262144\n")
    done = lab.cadre("-p", "--output-format", "json", "go", env=LEAN)
    result = json.loads(done.out)
    assert done.code == 1 and result["is_error"] and "the answer has more than" in result["result"], done
    again = lab.cadre("-p", "--resume", result["session_id"], "again")
    assert again.code == 0 and again.out == "went on\n", again


def a_line_of_ten_megabytes_is_an_answer(lab):
    lab.model("rule\n  line 10MB\n")
    done = lab.cadre("-p", "go")
    assert done.code == 0 and len(done.raw) == 10 * MB + 1, (done.code, len(done.raw), done.err)


def an_answer_that_is_no_event_stream_is_said_after_three_tries(lab):
    model = lab.model(AGAIN + "rule\n  body <html>Sign in to the hotel</html>\n  content-type text/html\n")
    done = lab.cadre("-p", "--output-format", "json", "go")
    result = json.loads(done.out)
    assert done.code == 1 and result["is_error"] and "not an event stream" in result["result"], done
    with urllib.request.urlopen(model.url + "/stats") as answer:
        assert json.load(answer)["requests"] == 3
    again = lab.cadre("-p", "--resume", result["session_id"], "again")
    assert again.code == 0 and again.out == "went on\n", again


if __name__ == "__main__":
    main(a_reader_that_stops_holds_the_answer_back,
         an_answer_of_300_megabytes_is_refused_and_the_session_goes_on,
         a_line_of_ten_megabytes_is_an_answer,
         an_answer_that_is_no_event_stream_is_said_after_three_tries)
