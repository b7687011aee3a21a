#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Servers that a project brings: the user is asked at the terminal, and the answer is kept. Driven through a pty."""
import json
import os
import pathlib
import sys

from lab import CADRE, ROOT, main
from mcp_server import entry

sys.path.insert(0, str(ROOT / "scripts"))
from pty_test import Terminal  # noqa: E402

SCENARIO = r"""
allow unknown-tools
rule squares
  prompt contains "square of"
  turn 1
  call mcp__one__square {"number": "12"}
rule tells
  prompt contains "square of"
  text "The tool said: {{last_result}}"
rule answers
  text I am here.
"""
ASK = "A number, or your own words: "


def bring(lab, *names):
    """A project with these servers, and where it keeps the user's answers."""
    servers = {name: entry(pathlib.Path(lab.folder, name), name) for name in names}
    pathlib.Path(lab.work, ".mcp.json").write_text(json.dumps({"mcpServers": servers}))
    return pathlib.Path(lab.work, ".claude", "settings.local.json")


def start(lab, *args):
    if not lab.models:
        lab.model(SCENARIO)
    return Terminal([CADRE, "--plain", *args], {**lab.env, "TERM": "xterm", "LANG": "C.UTF-8", "NO_COLOR": "1"}, lab.work)


def leave(t):
    t.key("C-d")
    code = t.wait()
    assert code == 0, (code, t.text[-300:])


def was_started(lab, name):
    return os.path.exists(os.path.join(lab.folder, name))


def standing(lab):
    return {s["name"]: s["state"] for s in json.loads(lab.cadre("mcp", "--json", "list").out)["servers"]}


def what_a_server_wants_in_the_sandbox_is_approved_with_its_words(lab):
    kept = bring(lab, "one")
    file = pathlib.Path(lab.work, ".mcp.json")
    servers = json.loads(file.read_text())
    for host in (None, "a.test", "b.test"):  # changes after the first approval
        if host:
            servers["mcpServers"]["one"]["sandbox"] = {"allowedDomains": [host]}
            file.write_text(json.dumps(servers))
        with start(lab) as t:
            t.expect("This project brings the MCP server one (")
            t.expect('"allowedDomains": ["%s"]' % host if host else '"command"')
            t.expect(ASK)
            t.type("1")
            t.expect("> ")
            leave(t)
        with start(lab) as t:
            t.expect("> ")
            leave(t)
            assert "brings the MCP server" not in t.text, t.text
    names = json.loads(kept.read_text())["enabledMcpjsonServers"]
    assert sorted(n.split(":")[0] for n in set(names)) == ["one"] + ["one sha256"] * 3, names


def an_approval_is_for_the_entry_that_was_shown(lab):
    """A command, an argument, a variable or an address that changes later is asked about again; without a terminal it is not used."""
    bring(lab, "one")
    file = pathlib.Path(lab.work, ".mcp.json")
    servers = json.loads(file.read_text())
    one = servers["mcpServers"]["one"]
    with start(lab) as t:
        t.expect(ASK)
        t.type("1")
        t.expect("> ")
        leave(t)
    assert standing(lab) == {"one": "counts"}
    marker = pathlib.Path(lab.folder, "PWNED")
    for change in ({"command": "touch", "args": [str(marker)]}, {"args": ["-c", "open(%r, 'w')" % str(marker)]}, {"env": {"PYTHONSTARTUP": "x"}},
                   {"type": "http", "url": "http://127.0.0.1:9/"}):
        file.write_text(json.dumps({"mcpServers": {"one": {**one, **change}}}))
        lab.model(SCENARIO)
        assert standing(lab) == {"one": "pending approval"}, change
        assert lab.cadre("-p", "--", "hi").code == 0
        with start(lab) as t:
            t.expect("This project brings the MCP server one (")
            t.expect(ASK)
            t.type("no such answer")
            t.expect("> ")
            leave(t)
        assert not marker.exists(), change
    file.write_text(json.dumps(servers))
    assert standing(lab) == {"one": "counts"}
    for name in ("one", "one sha256:" + "0" * 64):  # written by hand, or by another program: the name is enough; a name is never a seal
        pathlib.Path(lab.work, ".claude/settings.local.json").write_text(json.dumps({"enabledMcpjsonServers": [name]}))
        file.write_text(json.dumps({"mcpServers": {name: one}}))
        assert standing(lab) == {name: "counts" if name == "one" else "refused"}, standing(lab)


def a_server_is_shown_and_used_once_it_is_approved_and_not_asked_about_again(lab):
    kept = bring(lab, "one")
    with start(lab, "--allowed-tools", "mcp__one") as t:
        t.expect("This project brings the MCP server one (")
        t.expect('"command": "python3"')
        t.expect("3. no")
        t.expect(ASK)
        assert not was_started(lab, "one")
        t.type("1")
        t.expect("> ")
        t.type("the square of 12")
        t.expect("The tool said: one says 144")
        t.expect("> ")
        leave(t)
    names = json.loads(kept.read_text())["enabledMcpjsonServers"]
    assert names[0] == "one" and len(names) == 2 and names[1].startswith("one sha256:"), kept.read_text()
    assert standing(lab) == {"one": "counts"}
    with start(lab) as t:
        t.expect("> ")
        leave(t)
        assert "This project brings" not in t.text


def a_prompt_of_the_command_line_waits_for_the_answer(lab):
    bring(lab, "one")
    with start(lab, "--allowed-tools", "mcp__one", "--", "the square of 12") as t:
        t.expect("This project brings the MCP server one (")
        t.expect(ASK)
        t.type("yes")
        t.expect("The tool said: one says 144")
        t.expect("> ")
        leave(t)


def a_refusal_is_kept_and_each_server_is_asked_about(lab):
    kept = bring(lab, "one", "two")
    with start(lab) as t:
        t.expect("This project brings the MCP server one (")
        t.expect(ASK)
        t.type("no")
        t.expect("This project brings the MCP server two (")
        t.expect(ASK)
        t.type("yes")
        t.expect("> ")
        t.type("hello")
        t.expect("I am here.")
        t.expect("> ")
        leave(t)
    answers = json.loads(kept.read_text())
    assert answers["disabledMcpjsonServers"] == ["one"] and answers["enabledMcpjsonServers"][0] == "two", answers
    assert standing(lab) == {"one": "refused", "two": "counts"}
    assert was_started(lab, "two") and not was_started(lab, "one")


def all_approves_the_others_too(lab):
    kept = bring(lab, "one", "two")
    with start(lab) as t:
        t.expect("This project brings the MCP server one (")
        t.expect(ASK)
        t.type("2")
        t.expect("> ")
        t.type("hello")
        t.expect("I am here.")
        t.expect("> ")
        leave(t)
        assert "MCP server two (" not in t.text
    assert json.loads(kept.read_text()) == {"enableAllProjectMcpServers": True}
    assert was_started(lab, "one") and was_started(lab, "two")


def no_answer_leaves_it_pending(lab):
    kept = bring(lab, "one")
    for answer in ("C-d", "C-c"):
        with start(lab) as t:
            t.expect(ASK)
            t.key(answer)
            t.expect("> ")
            t.type("hello")
            t.expect("I am here.")
            t.expect("> ")
            leave(t)
    assert not kept.exists() and standing(lab) == {"one": "pending approval"} and not was_started(lab, "one")


def without_a_terminal_nobody_is_asked_and_the_folder_must_be_trusted(lab):
    kept = bring(lab, "one")
    lab.model(SCENARIO)
    done = lab.cadre("-p", "--allowed-tools", "mcp__one", "--", "the square of 12")
    assert "one says" not in done.out and "these MCP servers do not run: one" in done.err, done
    assert standing(lab) == {"one": "pending approval"} and not was_started(lab, "one")
    assert lab.cadre("trust").code == 0
    done = lab.cadre("-p", "--allowed-tools", "mcp__one", "--", "the square of 12")
    assert done.code == 0 and "The tool said: one says 144" in done.out and not kept.exists(), done


if __name__ == "__main__":
    main(an_approval_is_for_the_entry_that_was_shown,
         what_a_server_wants_in_the_sandbox_is_approved_with_its_words, a_server_is_shown_and_used_once_it_is_approved_and_not_asked_about_again, a_prompt_of_the_command_line_waits_for_the_answer,
         a_refusal_is_kept_and_each_server_is_asked_about, all_approves_the_others_too, no_answer_leaves_it_pending,
         without_a_terminal_nobody_is_asked_and_the_folder_must_be_trusted)
