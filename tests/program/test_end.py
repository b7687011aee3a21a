#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How a run ends when somebody ends it: signals, kill -9, a reader that goes away, a second process."""
import os
import pathlib
import signal
import socket

from lab import is_locked, main

AGAIN = 'rule again\n  last contains "again"\n  text went on\n'  # the prompt may share its message with results
STREAM = AGAIN + "rule\n  text I begin and never end\n  chunk 4\n  stall after event 4\n"
TOOL = AGAIN + """
rule work
  turn 1
  text I work.
  call Bash {"command": "%s"}
rule end
  text done
"""
BACKOFF = AGAIN + 'rule\n  status 503\n'
SIGNALS = {signal.SIGINT: 130, signal.SIGTERM: 143}


def check_resumable(lab, session):
    """The transcript is whole, the lock is free, and the conversation goes on."""
    transcript = lab.transcript(session)
    transcript.check_complete()
    assert not is_locked(transcript.path)
    done = lab.cadre("-p", "--resume", session, "again")
    assert done.code == 0 and done.out == "went on\n", done


def is_alive(pid):
    try:
        return pathlib.Path("/proc/%d/stat" % pid).read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def interrupted(done, number):
    result = done.frames()[-1]
    assert done.code == SIGNALS[number], done
    assert result["type"] == "result" and result["is_error"], result


def a_signal_in_a_stream_completes_the_transcript(lab):
    lab.model(STREAM)
    for number in SIGNALS:
        run = lab.stream("--include-partial-messages", "go")
        session = run.frame("system")["session_id"]
        run.frame("stream_event")
        run.kill(number)
        interrupted(run.wait(), number)
        check_resumable(lab, session)


def a_signal_in_a_tool_ends_its_processes(lab):
    fifo = lab.fifo("running")
    lab.model(TOOL % "sleep 1000 & echo $! > running; wait")
    for number in SIGNALS:
        run = lab.stream("--allowedTools=Bash", "go")
        session = run.frame("system")["session_id"]
        child = int(fifo.line())
        assert is_alive(child)
        run.kill(number)
        interrupted(run.wait(), number)
        lab.wait_for_nobody()
        assert not is_alive(child)
        check_resumable(lab, session)


def a_signal_in_a_back_off_does_not_wait_for_its_end(lab):
    lab.model(BACKOFF)
    for number in SIGNALS:
        run = lab.stream("go")
        session = run.frame("system", "init")["session_id"]
        for _ in range(2):
            run.frame("system", "api_retry")
        run.kill(number)
        interrupted(run.wait(), number)
        check_resumable(lab, session)


def a_second_signal_does_not_wait_for_a_stubborn_tool(lab):
    fifo = lab.fifo("running")
    lab.model(TOOL % "trap 'echo told > running' TERM; echo on > running; while :; do sleep 1000 & wait; done")
    run = lab.stream("--allowedTools=Bash", "go")
    session = run.frame("system")["session_id"]
    assert fifo.line() == "on"
    run.kill(signal.SIGINT)
    assert fifo.line() == "told"  # the first one has arrived, and the tool does not care
    run.kill(signal.SIGINT)
    done = run.wait()
    assert done.code == 130, done
    assert done.frames()[-1]["type"] != "result", done  # it did not wait
    lab.wait_for_nobody()
    done = lab.cadre("-p", "--resume", session, "again")
    assert done.code == 0 and done.out == "went on\n", done
    lab.transcript(session).check_complete()


def a_kill_leaves_no_process_in_other_sessions(lab):
    fifo = lab.fifo("running")
    lab.model(TOOL % ("setsid sleep 1001 & setsid sh -c 'sleep 1002 & sleep 1003' & (sleep 1004 &); "
                      "echo on > running; wait"))
    run = lab.stream("--allowedTools=Bash", "go")
    session = run.frame("system")["session_id"]
    fifo.line()
    run.kill()
    assert run.wait().code == -signal.SIGKILL
    lab.wait_for_nobody()
    done = lab.cadre("-p", "--resume", session, "again")
    assert done.code == 0 and done.out == "went on\n", done


def a_closed_standard_output_is_an_error_and_the_session_goes_on(lab):
    lab.model(AGAIN + "rule\n  filler 4MB\n  chunk 1024\n  stall after event 3000\n")  # so nothing else ends it
    run = lab.stream("--include-partial-messages", "go")
    session = run.frame("system")["session_id"]
    done = run.hang_up()
    assert done.code == 1 and "Broken pipe" in done.err, done
    check_resumable(lab, session)


def a_server_that_comes_up_later_is_found(lab):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    lab.env["ANTHROPIC_BASE_URL"] = "http://127.0.0.1:%d" % port
    run = lab.stream("go")
    retry = run.frame("system", "api_retry")
    assert retry["attempt"] == 1, retry
    lab.model("rule\n  text here I am\n", port)
    done = run.wait()
    assert done.code == 0 and done.frames()[-1]["result"] == "here I am", done


def a_retry_deadline_ends_the_run_with_an_error(lab):
    lab.model(BACKOFF)
    done = lab.cadre("-p", "--output-format", "json", "--retry-deadline", "1", "go")
    assert done.code == 1 and "503" in done.out, done


def a_second_process_on_a_session_is_refused_or_forks(lab):
    fifo = lab.fifo("running")
    gate = lab.fifo("gate")
    lab.model(TOOL % "echo on > running; read line < gate")
    first = lab.stream("--allowedTools=Bash", "go")
    session = first.frame("system")["session_id"]
    fifo.line()

    assert is_locked(lab.transcripts()[0])
    refused = lab.cadre("-p", "--resume", session, "again")
    assert refused.code == 1 and refused.out == "", refused
    assert "another process" in refused.err and "--fork-session" in refused.err, refused

    forked = lab.cadre("-p", "--output-format", "json", "--resume", session, "--fork-session", "again")
    assert forked.code == 0 and '"result":"went on"' in forked.out, forked
    assert session not in forked.out and len(lab.transcripts()) == 2

    os.write(gate.keep, b"go\n")
    done = first.wait()
    assert done.code == 0 and done.frames()[-1]["result"] == "done", done
    check_resumable(lab, session)


if __name__ == "__main__":
    main(a_signal_in_a_stream_completes_the_transcript,
         a_signal_in_a_tool_ends_its_processes,
         a_signal_in_a_back_off_does_not_wait_for_its_end,
         a_second_signal_does_not_wait_for_a_stubborn_tool,
         a_kill_leaves_no_process_in_other_sessions,
         a_closed_standard_output_is_an_error_and_the_session_goes_on,
         a_server_that_comes_up_later_is_found,
         a_retry_deadline_ends_the_run_with_an_error,
         a_second_process_on_a_session_is_refused_or_forks)
