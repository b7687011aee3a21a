#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A host that no list of the sandbox names: a person is asked once, at a terminal or through the callback of a client. Names are
led to a proxy of the user's on this machine, so that none is looked up."""
import json
import pathlib
import sys

from lab import CADRE, ROOT, main
from test_sandbox_checks import Server, Upstream
from test_wire import Client
from twenty import call

sys.path.insert(0, str(ROOT / "scripts"))
from pty_test import Terminal  # noqa: E402

MANY = "for i in $(seq 20); do curl -s http://far.test/ & done; wait"
ONCE = "curl -s http://far.test/; curl -s http://other.test/"


def prepare(lab, *commands, **network):
    """Commands of turns of their own, in a sandbox that needs no question for them. Returns the proxy of the user's."""
    upstream = Upstream(Server().port, False)
    text = "".join("rule\n  turn %d\n%s\n" % (n, call("Bash", command=c)) for n, c in enumerate(commands, 1))
    lab.model(text + "rule\n  text ok\n")
    path = pathlib.Path(lab.home, ".claude", "settings.json")
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps({"sandbox": {"enabled": True, "autoAllowBashIfSandboxed": True,
                                            "network": {"httpProxyPort": upstream.port, "deniedDomains": ["bad.test"], **network}}}))
    return upstream


def results(frames):
    return [b["content"] if isinstance(b["content"], str) else json.dumps(b["content"]) for f in frames if f.get("type") == "user"
            for b in f["message"]["content"] if isinstance(b, dict) and b.get("type") == "tool_result"]


def a_client_is_asked_once_for_a_host_and_its_answer_holds(lab):                                                         # check 56
    upstream = prepare(lab, MANY, ONCE, "curl -s http://bad.test/; curl -s http://localhost:1/; curl -s http://127.0.0.1:1/")
    client = Client(lab, "--permission-prompt-tool", "stdio")
    client.say("go")
    first = client.asked("can_use_tool")
    assert first["request"]["tool_name"] == "SandboxNetworkAccess", first
    assert first["request"]["input"] == {"host": "far.test", "port": 80}, first
    client.answer(first, {"behavior": "allow", "updatedInput": first["request"]["input"]})
    second = client.asked("can_use_tool")
    assert second["request"]["input"]["host"] == "other.test", second
    client.answer(second, {"behavior": "deny", "message": "no"})
    done = client.over()
    frames = done.frames()
    texts = results(frames)
    assert len(texts) == 3 and texts[0].count("hello") == 20, texts
    assert texts[1].startswith("hello") and "no user allowed it" in texts[1], texts
    assert "hello" not in texts[2] and "deniedDomains" in texts[2], texts
    assert set(upstream.asked) == {"far.test:80"}, upstream.asked
    assert len([f for f in frames if f.get("type") == "control_request"]) == 2, frames


def without_a_user_and_under_a_strict_list_it_is_refused(lab):
    for network, mode in (({}, "default"), ({}, "dontAsk"), ({"strictAllowlist": True}, "bypassPermissions")):
        upstream = prepare(lab, ONCE, **network)
        done = lab.cadre("-p", "--output-format", "stream-json", "--verbose", "--permission-mode", mode, "--", "hi", env={"IS_SANDBOX": "1"})
        (text,) = results(done.frames())
        assert "hello" not in text and "blocked: network far.test:80 (not among" in text and not upstream.asked, (network, mode, text)
    upstream = prepare(lab, ONCE)
    done = lab.cadre("-p", "--output-format", "stream-json", "--verbose", "--permission-mode", "bypassPermissions", "--", "hi", env={"IS_SANDBOX": "1"})
    assert results(done.frames())[0].count("hello") == 2, done


NUMBERS = ("134744072", "0x8.8.8.8", "010.8.8.8", "8.8.2056", "0x7f000001", "0177.1", "127.1", "2130706433")
RAW = """import os, re, socket
port = int(re.search(r":([0-9]+)", os.environ["http_proxy"]).group(1))
for host in %r:
    name, answers = host.encode(), []
    for text in (b"CONNECT %%b:80 HTTP/1.1\\r\\nHost: %%b:80\\r\\n\\r\\n" %% (name, name), b"GET http://%%b/ HTTP/1.1\\r\\nHost: %%b\\r\\n\\r\\n" %% (name, name),
                 bytes([5, 1, 0, 5, 1, 0, 3, len(name)]) + name + bytes([0, 80])):
        s = socket.create_connection(("127.0.0.1", port))
        s.sendall(text)
        got = s.recv(12, socket.MSG_WAITALL)
        answers.append(got[3] if got[0] == 5 else int(got[9:]))
    print(host, *answers)
"""


def an_address_that_is_written_as_a_number_is_no_way_around_a_list(lab):
    """In bypass, where other hosts pass: a resolver takes these for an address that is denied, or for this machine. curl would send the address."""
    upstream = prepare(lab, "python3 raw.py", deniedDomains=["8.8.8.8"])
    pathlib.Path(lab.work, "raw.py").write_text(RAW % (NUMBERS + ("far.test",),))
    done = lab.cadre("-p", "--output-format", "stream-json", "--verbose", "--permission-mode", "bypassPermissions", "--", "hi", env={"IS_SANDBOX": "1"})
    lines = results(done.frames())[0].splitlines()
    assert lines[:len(NUMBERS) + 1] == [host + " 403 403 2" for host in NUMBERS] + ["far.test 200 200 0"], lines
    assert set(upstream.asked) == {"far.test:80"}, upstream.asked


def web_pages_of_a_host_that_is_written_as_a_number_are_not_fetched(lab):
    """A proxy of the user's gets all that WebFetch asks for: the control, which no rule forbids, and nothing else."""
    upstream = Upstream(Server().port, False)
    hosts = (*NUMBERS, "8.8.8.8", "8.8.4.4")
    lab.model("rule\n  turn 1\n%s\nrule\n  text ok\n" % "\n".join(call("WebFetch", url="http://%s/" % host, prompt="x") for host in hosts))
    proxy = "http://127.0.0.1:%d" % upstream.port
    done = lab.cadre("-p", "--output-format", "stream-json", "--verbose", "--permission-mode", "bypassPermissions", "--disallowedTools",
                     "WebFetch(domain:8.8.8.8)", "--", "hi", env={"IS_SANDBOX": "1", "https_proxy": proxy, "http_proxy": proxy, "no_proxy": "127.0.0.1"})
    texts = results(done.frames())
    assert done.code == 0 and len(texts) == len(hosts) and sum("write the host as" in text for text in texts) == len(NUMBERS), texts
    assert set(upstream.asked) == {"8.8.4.4:443"}, (upstream.asked, texts)


def a_user_at_a_terminal_is_asked_and_a_session_ends_with_a_question_open(lab):
    prepare(lab, MANY)
    env = {**lab.env, "TERM": "xterm", "LANG": "C.UTF-8", "NO_COLOR": "1"}
    with Terminal([CADRE, "--plain"], env, lab.work) as t:
        t.expect("> ")
        t.type("go")
        t.expect("SandboxNetworkAccess")
        t.expect("far.test")
        t.expect("say why: ")
        t.type("yes")
        t.expect("ok")
        t.expect("> ")
        t.key("C-d")
        assert t.wait() == 0
        assert t.text.count("wants to use SandboxNetworkAccess") == 1, t.text
    prepare(lab, ONCE)
    client = Client(lab, "--permission-prompt-tool", "stdio")
    client.say("go")
    client.asked("can_use_tool")
    done = client.over()
    assert done.code == 0, done


if __name__ == "__main__":
    main(a_client_is_asked_once_for_a_host_and_its_answer_holds, without_a_user_and_under_a_strict_list_it_is_refused,
         an_address_that_is_written_as_a_number_is_no_way_around_a_list, web_pages_of_a_host_that_is_written_as_a_number_are_not_fetched,
         a_user_at_a_terminal_is_asked_and_a_session_ends_with_a_question_open,
         without_cell=(web_pages_of_a_host_that_is_written_as_a_number_are_not_fetched,))
