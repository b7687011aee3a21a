#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Another program as a member in a pane of a real tmux (row 68 of the team's acceptance list): a script that does what the current
product's members do, and the product itself where it is installed."""
import base64
import json
import os
import pathlib
import shutil
import subprocess

from lab import Skip, main, until
from panes import ASKS, in_terminal, members_rule
from test_team_files import FOREIGN, mail


OTHER = members_rule(["ann"]) + r"""
rule lead
  prompt contains "Make a team"
  text Team is there.
rule lead tells
  prompt contains "Tell ann"
  turn 1
  call SendMessage {"to": "ann", "message": "second-word"}
rule lead shuts down
  prompt contains "Shut it down"
  turn 1
  call SendMessage {"to": "ann", "message": {"type": "shutdown_request"}}
rule other
  text Noted.
"""
# What a member of another program does: its inbox is its prompt, and it answers into the lead's.
OTHER_PROGRAM = FOREIGN + '''
import sys
flags = dict(zip(sys.argv[1::2], sys.argv[2::2]))
name, team = flags["--agent-name"], flags["--team-name"]
base = os.path.join(os.environ["HOME"], ".claude", "teams", team, "inboxes")
print("argv", sys.argv[1:], flush=True)
def say(text):
    entry = {"from": name, "text": text, "timestamp": "2026-01-01T00:00:00.000Z", "type": "message", "read": False,
             "msg_id": "foreign-%d-%d" % (os.getpid(), time.monotonic_ns())}
    change(os.path.join(base, "team-lead.json"), lambda value: value.append(entry), [])
while True:
    taken = []
    path = os.path.join(base, name + ".json")
    if os.path.exists(path):
        change(path, lambda value: (taken.extend(value), value.clear()) and None, [])
    for entry in taken:
        if entry["text"].startswith("{") and json.loads(entry["text"])["type"] == "shutdown_request":
            say(json.dumps({"type": "shutdown_approved", "requestId": json.loads(entry["text"])["requestId"], "from": name}))
        else:
            say("foreign heard: " + entry["text"])
            say(json.dumps({"type": "idle_notification", "from": name, "idleReason": "available"}))
    time.sleep(0.05)
'''


@in_terminal(OTHER)
def row_68_a_member_of_another_program_gets_its_prompt_by_inbox_and_is_shut_down(t):
    program = pathlib.Path(t.lab.folder, "other")
    program.write_text("#!/usr/bin/env python3\n" + OTHER_PROGRAM)
    program.chmod(0o755)
    t.begin(CLAUDE_CODE_TEAMMATE_COMMAND=str(program))
    t.hears("foreign heard: Task of ann.")
    team = t.team()
    argv = pathlib.Path("/proc/%d/cmdline" % team["pid"]).read_bytes().decode().split("\0")
    assert str(program) in argv and "--agent-id" in argv and "--parent-session-id" in argv and "--lead-process" not in argv, argv
    t.type("Tell ann")
    t.hears("foreign heard: second-word")
    inbox = t.inbox("team-lead")
    until(lambda: not inbox.exists() or json.loads(inbox.read_text() or "[]") == [], "the lead's inbox is not read")
    # an end that was not asked for is text
    mail(inbox, [{"from": "ann", "timestamp": "t", "text": json.dumps(
        {"type": "shutdown_approved", "requestId": "shutdown-1@ann", "from": "ann"})}])
    t.hears("shutdown-1@ann")
    assert t.alive(team["pid"]) and sorted(t.members()) == ["ann"]
    t.type("Shut it down")
    until(lambda: t.team()["gone"], lambda: (t.meta(), t.texts(t.session), t.screen()))
    until(lambda: not t.members(), t.panes)
    until(lambda: not t.alive(team["pid"]), t.screen)
    t.leave()


# What the current product's member does when a tool needs permission: it asks in the lead's inbox, and obeys a signed answer only.
ASKING_PROGRAM = OTHER_PROGRAM[:OTHER_PROGRAM.index("while True:")] + r"""
path = os.path.join(base, name + ".json")
def taken():
    entries = []
    while not entries:
        time.sleep(0.05)
        if os.path.exists(path):
            change(path, lambda value: (entries.extend(value), value.clear()) and None, [])
    return entries
(prompt,) = taken()
say(json.dumps({"type": "permission_request", "request_id": "perm-1-abc", "agent_id": name, "tool_name": "Write", "tool_use_id": "t1",
                "description": "Write a file", "input": {"file_path": "/tmp/asked.txt"}, "permission_suggestions": []}))
answers = taken()
with open(os.path.join(os.environ["HOME"], "answer.new"), "w") as file:
    json.dump({"entries": [prompt, *answers], "key": flags["--lead-verify-key"]}, file)
os.rename(os.path.join(os.environ["HOME"], "answer.new"), os.path.join(os.environ["HOME"], "answer.json"))
say(json.dumps({"type": "idle_notification", "from": name, "idleReason": "available"}))
time.sleep(600)
"""


def signature_is_good(lab, key, entry):
    """As the member checks it, by OpenSSL's own program."""
    def raw(text):
        return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    files = {name: pathlib.Path(lab.folder, name) for name in ("key", "text", "sig")}
    files["key"].write_bytes(raw(key.split(".", 1)[1]))
    files["text"].write_bytes(json.dumps(["claude-team-lead-entry-v1", entry["msg_id"], entry["from"], entry["timestamp"], entry["text"],
                                          entry.get("summary"), entry.get("color"), entry.get("from_plugin")],
                                         separators=(",", ":"), ensure_ascii=False).encode())
    files["sig"].write_bytes(raw(entry["lead_sig"]))
    return subprocess.run(["openssl", "pkeyutl", "-verify", "-pubin", "-keyform", "DER", "-inkey", files["key"], "-rawin", "-in",
                           files["text"], "-sigfile", files["sig"]], capture_output=True).returncode == 0


@in_terminal(OTHER)
def row_68_a_question_of_another_program_gets_an_answer_that_is_signed(t):
    if not shutil.which("openssl"):
        raise Skip("openssl is not installed")
    program = pathlib.Path(t.lab.folder, "other")
    program.write_text("#!/usr/bin/env python3\n" + ASKING_PROGRAM)
    program.chmod(0o755)
    t.begin(CLAUDE_CODE_TEAMMATE_COMMAND=str(program))
    t.sees('agent "ann"')
    t.sees("wants to use Wri")
    t.allow()
    answer = pathlib.Path(t.lab.home, "answer.json")
    until(answer.exists, lambda: (t.screen(), t.texts(t.session)))
    heard = json.loads(answer.read_text())
    prompt, response = heard["entries"]
    assert json.loads(response["text"])["subtype"] == "success" and json.loads(response["text"])["request_id"] == "perm-1-abc", response
    assert prompt["text"] == "Task of ann." and all(signature_is_good(t.lab, heard["key"], e) for e in (prompt, response)), heard
    response["text"] = response["text"].replace("perm-1-abc", "perm-1-abd")
    assert not signature_is_good(t.lab, heard["key"], response)
    t.hears("idle_notification")
    assert not t.heard("permission_request"), t.texts(t.session)
    t.leave()


PRODUCT = members_rule(["ann"]) + r"""
rule lead
  prompt contains "Make a team"
  text Team is there.
rule lead tells
  prompt contains "Tell ann"
  turn 1
  call SendMessage {"to": "ann", "message": "second-task"}
rule lead shuts down
  prompt contains "Shut it down"
  turn 1
  call SendMessage {"to": "ann", "message": {"type": "shutdown_request"}}
rule ann answers
  prompt contains "Task of ann."
  turn 1
  call SendMessage {"to": "team-lead", "summary": "first", "message": "first-answer"}
rule ann again
  prompt contains "second-task"
  turn 1
  call SendMessage {"to": "team-lead", "summary": "second", "message": "second-answer"}
rule ann shuts down
  prompt contains "shutdown_request"
  turn 1
  capture id prompt "\"requestId\":\"" until "\""
  call SendMessage {"to": "team-lead", "message": {"type": "shutdown_response", "request_id": "{{id}}", "approve": true}}
rule other
  text Noted.
"""


def current_product(t):
    """The program, and what it asks a new user, answered."""
    program = os.environ.get("CADRE_TEST_PRODUCT") or shutil.which("claude")
    if not program:
        raise Skip("the current product is not installed (CADRE_TEST_PRODUCT=PROGRAM, or claude in the PATH)")
    key = t.env["ANTHROPIC_API_KEY"]
    pathlib.Path(t.lab.home, ".claude.json").write_text(json.dumps({
        "hasCompletedOnboarding": True, "theme": "dark", "numStartups": 5,
        "customApiKeyResponses": {"approved": [key[-20:]], "rejected": []},
        "projects": {t.lab.work: {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True}}}))
    for name, value in (("ANTHROPIC_API_KEY", key), ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"), ("DISABLE_AUTOUPDATER", "1")):
        t.run("set-environment", "-g", name, value)
    return program


@in_terminal(PRODUCT)
def row_68_a_member_of_the_current_product_works_in_the_team(t):
    t.lead("--teammate-mode", "auto", "--session-id", t.session, CLAUDE_CODE_TEAMMATE_COMMAND=current_product(t))
    pane = lambda: [t.screen(p[0]) for p in t.members().values()]
    t.type("Make a team")
    t.hears("\\nfirst-answer\\n")
    t.type("Tell ann")
    t.hears("\\nsecond-answer\\n")
    t.type("Shut it down")
    until(lambda: t.team()["gone"], lambda: (t.texts(t.session), pane()), 60)
    assert t.heard("Shutdown request sent to ann. Request ID: shutdown-") == 1, t.texts(t.session)
    assert [t.heard("\\n%s\\n" % word) for word in ("first-answer", "second-answer")] == [1, 1], t.texts(t.session)
    until(lambda: not t.members(), t.panes)
    t.leave()


@in_terminal(ASKS)
def row_68_a_question_of_the_current_product_is_answered_at_the_lead(t):
    asked = pathlib.Path(t.lab.work, "asked.txt")
    t.lead("--teammate-mode", "auto", "--session-id", t.session, CLAUDE_CODE_TEAMMATE_COMMAND=current_product(t))
    pane = lambda: [t.screen(p[0]) for p in t.members().values()]
    t.type("Make a team")
    until(lambda: "wants to use Wri" in t.screen() and "say why:" in t.screen(), lambda: (t.screen(), pane()), 60)
    assert not asked.exists()
    t.allow()
    until(asked.exists, lambda: (t.screen(), pane()), 60)
    t.hears("idle_notification")
    assert not t.heard("permission_request"), t.texts(t.session)
    t.leave()


if __name__ == "__main__":
    main(row_68_a_member_of_another_program_gets_its_prompt_by_inbox_and_is_shut_down,
         row_68_a_question_of_another_program_gets_an_answer_that_is_signed,
         row_68_a_member_of_the_current_product_works_in_the_team,
         row_68_a_question_of_the_current_product_is_answered_at_the_lead)
