#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The files of a team beside other programs: config.json, inboxes and tasks under the locks that all take.

TEAM_FILES is the number of messages and of task changes that a foreign member exchanges with ours (1,000)."""
import collections
import contextlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import textwrap
import threading
import time
import uuid

from lab import DEADLINE_S, Transcript, main, read_json, replace, until

COUNT = int(os.environ.get("TEAM_FILES", "1000"))
TEAMS = {"CLAUDE_CODE_EXPERIMENTAL_AGENT_TEAMS": "1"}
PROMPT = "Make a team"
MAKES = '''
rule makes
  agent main
  prompt contains "Make a team"
  turn 1
  call TeamCreate {"team_name": "alpha"}
'''
# What a member of the current product does: mkdir FILE.lock, read, change, rename, rmdir.
FOREIGN = textwrap.dedent('''
    import json, os, sys, time
    def change(path, how, empty):
        for _ in range(40000):
            try:
                os.mkdir(path + ".lock")
                break
            except FileExistsError:
                time.sleep(0.005)
        else:
            sys.exit("locked for ever: " + path)
        try:
            value = json.load(open(path)) if os.path.exists(path) else empty
            if how(value) is not False:
                with open(path + ".tmp.%d" % os.getpid(), "w") as f:
                    json.dump(value, f, indent=2)
                os.rename(path + ".tmp.%d" % os.getpid(), path)
            return value
        finally:
            os.rmdir(path + ".lock")
    def until(what):
        while not what():
            time.sleep(0.01)
''')


def config(lab):
    return pathlib.Path(lab.home, ".claude")


def transcripts(lab, session, torn=False):
    """torn: they are being written."""
    members = config(lab).glob("projects/*/%s/subagents/agent-*.jsonl" % session)
    return [lab.transcript(session, torn=torn)] + [Transcript(path, torn) for path in members]


def names_in(path):
    """Members that a config.json has."""
    return [m.get("name") for m in (read_json(path) or {"members": []})["members"]]


@contextlib.contextmanager
def locked(path):
    """The lock of a file, as other programs take it: when it is free. It is touched, as they do: one that is not for 10 s is taken over."""
    lock, over = path.with_name(path.name + ".lock"), threading.Event()

    def taken():
        with contextlib.suppress(FileExistsError):
            lock.mkdir()
            return True

    def touch():
        while not over.wait(1):
            os.utime(lock)
    until(taken, "the lock is never free")
    toucher = threading.Thread(target=touch)
    toucher.start()
    try:
        yield
    finally:
        over.set()
        toucher.join()
        lock.rmdir()


def mail(inbox, entries):
    """Entries behind those that are there, as other programs write them."""
    with locked(inbox):
        replace(inbox, json.dumps((read_json(inbox) or []) + entries))


def delivered(lab, session):
    """How often the id of each message stands in a line that a model was given."""
    return collections.Counter(i for t in transcripts(lab, session) for line in t.lines
                               for i in (line.get("origin") or {}).get("ids", []))


def foreign_script(lab, body):
    path = pathlib.Path(lab.work, "foreign.py")
    path.write_text(FOREIGN + textwrap.dedent(body))
    return path


def hold(lab, name):
    """A member or the lead waits in a command until release()."""
    return "until [ -f %s/%s ]; do sleep 0.1; done" % (lab.work, name)


def release(lab, name):
    pathlib.Path(lab.work, name).touch()


# ---- spawning (rows 8, 9) -------------------------------------------------------------------------------------------

MANY = MAKES + '''
rule waits first
  agent main
  prompt contains "Make a team"
  turn 2
  call Bash {"command": "%s", "description": "wait"}
rule starts
  agent main
  prompt contains "Make a team"
  turn 3
  repeat 200 call Agent {"description": "A", "prompt": "Work", "name": "m{{i}}"}
rule waits
  agent main
  prompt contains "Make a team"
  turn 4
  call Bash {"command": "%s", "description": "wait"}
rule lead
  agent main
  text Done.
rule member
  text I am here.
'''


def spawned(run):
    count = 0
    while count < 200:
        text = json.dumps(run.frame("user")["message"]["content"])
        count += "Spawned successfully" in text
    return count


def two_hundred_calls_in_one_message_start_two_hundred_members_and_write_the_file_a_few_times(lab):
    model, log = lab.model(MANY % ("true", hold(lab, "go")), log=True), os.path.join(lab.folder, "points")
    run = lab.stream("--allowedTools=Bash", PROMPT, env={**TEAMS, "CADRE_CRASH_LOG": log})
    assert spawned(run) == 200
    path = config(lab) / "teams/alpha/config.json"
    until(lambda: len(names_in(path)) == 201, "config.json lacks members")
    assert len(set(names_in(path))) == 201
    written = pathlib.Path(log).read_text().split().count("config_written")
    assert written <= 20, written
    release(lab, "go")
    done = run.wait()
    assert done.code == 0, done
    asked = {name for name in (agent_of(line) for line in open(model.log, encoding="utf-8")) if name.endswith("@alpha")}
    assert len(asked) == 200, len(asked)


def agent_of(line):
    return json.loads(line).get("agent", "")


def a_lock_that_another_program_holds_delays_the_file_and_nothing_else(lab):
    path = config(lab) / "teams/alpha/config.json"
    lab.model(MANY % (hold(lab, "start"), hold(lab, "go")))
    run = lab.stream("--allowedTools=Bash", "--session-id", str(uuid.uuid4()), PROMPT, env=TEAMS)
    until(lambda: read_json(path), "no config.json")
    with locked(path):
        release(lab, "start")
        assert spawned(run) == 200
        for _ in range(12):  # a lock that is touched is not taken over, also when it is older than 10 s
            assert len(names_in(path)) < 201, names_in(path)
            time.sleep(1)
    until(lambda: len(names_in(path)) == 201, "the file stays wrong")
    release(lab, "go")
    assert run.wait().code == 0


def a_lock_at_the_end_of_a_session_delays_the_last_write_and_loses_it_not(lab):
    """The team is suspended: its file stays, and names no process of a lead."""
    lab.model(MAKES + '''
rule starts
  agent main
  prompt contains "Make a team"
  turn 2
  call Agent {"description": "A", "prompt": "Work", "name": "ann"}
rule waits
  agent main
  prompt contains "Make a team"
  turn 3
  call Bash {"command": "%s", "description": "wait"}
rule lead
  agent main
  text Done.
rule ann works
  agent ann@alpha
  call Bash {"command": "%s", "description": "work"}
''' % (hold(lab, "locked"), hold(lab, "never")))
    path = config(lab) / "teams/alpha/config.json"
    run = lab.stream("--allowedTools=Bash", PROMPT, env={**TEAMS, "CLAUDE_CODE_PRINT_BG_WAIT_CEILING_MS": "1000"})
    until(lambda: len(names_in(path)) == 2, "ann is not in the file")
    assert "leadProcess" in read_json(path)
    with locked(path):
        release(lab, "locked")
        while run.frame("result")["subtype"] == "success":
            pass
        with contextlib.suppress(subprocess.TimeoutExpired):  # a session that does not wait for the lock ends now
            run.process.wait(1)
    assert run.wait().code != 0
    assert "leadProcess" not in read_json(path), read_json(path)
    release(lab, "never")


# ---- files that others touch (rows 17, 19) ----------------------------------------------------------------------------

ONE = MAKES + '''
rule starts
  agent main
  prompt contains "Make a team"
  turn 2
  call Agent {"description": "A", "prompt": "Wait", "name": "ann"}
rule waits
  agent main
  prompt contains "Make a team"
  turn 3
  call Bash {"command": "%s", "description": "wait", "timeout": 120000}
rule lead
  agent main
  text Done.
rule ann
  agent ann@alpha
  text I am ann.
'''


def files_of_a_team_that_are_removed_are_written_again_and_what_others_add_is_kept(lab):
    lab.model(ONE % hold(lab, "go"))
    run = lab.stream("--allowedTools=Bash", "--session-id", str(uuid.uuid4()), PROMPT, env=TEAMS)
    path = config(lab) / "teams/alpha/config.json"

    def is_whole():
        value = read_json(path)
        return value and {"ann", "team-lead"} <= {m.get("name") for m in value["members"]} and value

    def remove_all():  # again if it has just made or removed its lock in there
        until(lambda: not shutil.rmtree(path.parent), "the directory cannot be removed")
    before, times = until(lambda: (value := is_whole()) and not value["members"][1].get("isActive") and value, "no config.json"), []
    for remove in (path.unlink, remove_all) * 3:
        removed = time.monotonic()
        remove()
        until(is_whole, "config.json does not come back")
        times.append(time.monotonic() - removed)
    assert min(times) < 1, times
    value = is_whole()
    assert value == before, (before, value)
    value["later"] = {"kept": True}
    value["members"][1]["subscriptions"] = ["x"]
    value["members"][1]["unknown"] = 7
    value["members"] = value["members"][:2] + [{"name": "zoe", "agentId": "zoe@alpha", "backendType": "tmux"}]
    del value["members"][0]["name"]
    with locked(path):
        replace(path, json.dumps(value))
    until(lambda: is_whole()["members"][0].get("name") == "team-lead", "the lead's name is not put back")
    value = is_whole()
    assert value["later"] == {"kept": True}, value
    assert [m["name"] for m in value["members"]] == ["team-lead", "ann", "zoe"], value
    assert value["members"][1]["unknown"] == 7, value
    release(lab, "go")
    assert run.wait().code == 0


def inbox_of_ann(lab):
    """Where others write to her, when the session has her in its files: it looks at inboxes that it watches."""
    until(lambda: "ann" in names_in(config(lab) / "teams/alpha/config.json"), "ann is not in the file")
    return config(lab) / "teams/alpha/inboxes/ann.json"


def a_large_inbox_that_others_add_to_is_delivered_once_and_in_order(lab):
    count = 10 * COUNT
    lab.model(ONE % hold(lab, "go"))
    session = str(uuid.uuid4())
    run = lab.stream("--allowedTools=Bash", "--session-id", session, PROMPT, env=TEAMS)
    inbox = inbox_of_ann(lab)
    script = foreign_script(lab, '''
        who, first, inbox = sys.argv[1], int(sys.argv[2]), sys.argv[3]
        def entry(i):
            return {"from": who, "text": "x" * 1000 + str(i), "timestamp": "2026-11-16T08:39:52.017Z", "msg_id": "%s-%06d" % (who, i)}
        if first:
            change(inbox, lambda value: value.extend(entry(i) for i in range(first)), [])
        for i in range(first, first + 50):
            change(inbox, lambda value: value.append(entry(i)), [])
            time.sleep(0.02)  # or nobody else ever has the lock
    ''')
    others = [subprocess.Popen([sys.executable, str(script), who, str(n), str(inbox)]) for who, n in
              (("big", count), ("one", 0), ("two", 0))]
    assert [o.wait(4 * DEADLINE_S) for o in others] == [0, 0, 0]  # 150 times ten megabytes
    until(lambda: read_json(inbox) == [], "the inbox is not emptied")
    release(lab, "go")
    done = run.wait()
    assert done.code == 0, done
    ids = [i for t in transcripts(lab, session) for line in t.lines for i in (line.get("origin") or {}).get("ids", [])]
    for who, n in (("big", count + 50), ("one", 50), ("two", 50)):
        assert [i for i in ids if i.startswith(who)] == ["%s-%06d" % (who, i) for i in range(n)], who


def an_inbox_that_another_program_keeps_locked_is_read_when_it_is_free(lab):
    """Longer than a job waits for a lock: the session does not end before, and nothing is lost."""
    lab.model(ONE % hold(lab, "go"))
    session = str(uuid.uuid4())
    run = lab.stream("--allowedTools=Bash", "--session-id", session, PROMPT, env=TEAMS)
    inbox = inbox_of_ann(lab)
    with locked(inbox):
        replace(inbox, json.dumps([{"from": "x", "text": "locked-word", "timestamp": "t", "msg_id": "l-1"}]))
        release(lab, "go")
        with contextlib.suppress(subprocess.TimeoutExpired):
            run.process.wait(7)
            raise AssertionError(run.wait())
    done = run.wait()
    assert done.code == 0, done
    assert delivered(lab, session)["l-1"] == 1, delivered(lab, session)


# ---- a member of another program (row 55) ---------------------------------------------------------------------------------

def a_foreign_member_and_ours_exchange_messages_and_task_changes_and_none_is_lost_or_doubled(lab):
    script = foreign_script(lab, '''
        root, count = sys.argv[1], int(sys.argv[2])
        team, task = root + "/teams/alpha", root + "/tasks/alpha/1.json"
        until(lambda: os.path.isfile(team + "/config.json") and os.path.isfile(task) and os.path.isdir(team + "/inboxes"))
        def join(value):
            if not any(m.get("name") == "zoe" for m in value["members"]):
                value["members"].append({"agentId": "zoe@alpha", "name": "zoe", "backendType": "tmux", "agentType": "claude"})
        change(team + "/config.json", join, None)
        got = []
        def take(value):
            got.extend(value)
            del value[:]
        for i in range(count):
            entry = {"from": "zoe", "text": "foreign %d" % i, "timestamp": "2026-11-16T08:39:52.017Z", "msg_id": "f-%d" % i}
            change(team + "/inboxes/ann.json", lambda value: value.append(entry), [])
            change(task, lambda value: value.setdefault("metadata", {}).update({"f%d" % i: 1}), None)
            if i % 10 == 0:
                change(team + "/inboxes/zoe.json", take, [])
        until(lambda: json.load(open(team + "/inboxes/ann.json")) == [])
        until(lambda: os.path.exists("sent"))
        change(team + "/inboxes/zoe.json", take, [])
        json.dump(got, open("got.json", "w"))
    ''')
    lab.model(MAKES + r'''
rule task
  agent main
  prompt contains "Make a team"
  turn 2
  call TaskCreate {"subject": "one", "description": "shared"}
rule starts
  agent main
  prompt contains "Make a team"
  turn 3
  call Agent {"description": "A", "prompt": "Change it", "name": "ann"}
rule runs
  agent main
  prompt contains "Make a team"
  turn 4
  call Bash {"command": "%s %s %s %d", "description": "foreign", "timeout": 300000}
rule lead
  agent main
  text Done.
rule ann waits for zoe
  agent ann@alpha
  prompt contains "Change it"
  turn 1
  call Bash {"command": "until grep -qs zoe %s/teams/alpha/config.json; do sleep 0.1; done; sleep 0.3", "description": "wait"}
rule ann changes
  agent ann@alpha
  prompt contains "Change it"
  turn 2-21
  repeat 5 call TaskUpdate {"taskId": "1", "metadata": {"o{{turn}}-{{i}}": 1}}
  repeat 5 call SendMessage {"to": "zoe", "message": "ours {{turn}}-{{i}}"}
rule ann says so
  agent ann@alpha
  prompt contains "Change it"
  turn 22
  call Bash {"command": "touch sent", "description": "say"}
rule ann
  agent ann@alpha
  text I am ann.
''' % (sys.executable, script, config(lab), COUNT, config(lab)))
    session = str(uuid.uuid4())
    # 2,000 rounds of locks of another process: 15 s on a quiet machine, more than a minute on a loaded one
    done = lab.stream("--allowedTools=Bash", "--session-id", session, PROMPT, env=TEAMS).wait(4 * DEADLINE_S)
    assert done.code == 0, done
    taken = collections.Counter({i: n for i, n in delivered(lab, session).items() if i.startswith("f-")})
    assert len(taken) == COUNT and set(taken.values()) == {1}, (len(taken), taken.most_common(3))
    got = json.loads(pathlib.Path(lab.work, "got.json").read_text())
    ours = [e["text"] for e in got]
    wanted = {"ours %d-%d" % (turn, i) for turn in range(2, 22) for i in range(1, 6)}
    assert len(ours) == len(wanted) and len(set(ours)) == len(ours), (len(ours), ours[:6])
    assert all(e["from"] == "ann" and e["msgV"] == 1 and e["read"] is False and e["msg_id"] for e in got), got[0]
    kept = json.loads((config(lab) / "tasks/alpha/1.json").read_text())["metadata"]
    assert all("f%d" % i in kept for i in range(COUNT)), len(kept)
    failed = [r for t in transcripts(lab, session) for r in t.results().values() if r.get("is_error")]
    assert sum(key.startswith("o") for key in kept) == 100 - len(failed), (len(kept), failed[:2])


def of_eight_processes_that_claim_a_task_one_wins(lab):
    session = str(uuid.uuid4())
    lab.model(MAKES + '''
rule task
  agent main
  prompt contains "Make a team"
  turn 2
  call TaskCreate {"subject": "one", "description": "shared"}
rule starts
  agent main
  prompt contains "Make a team"
  turn 3
  repeat 50 call Agent {"description": "A", "prompt": "Claim it", "name": "m{{i}}"}
rule waits
  agent main
  prompt contains "Make a team"
  turn 4
  call Bash {"command": "%s", "description": "wait"}
rule lead
  agent main
  text Done.
rule claims
  prompt contains "Claim it"
  turn 1
  call TaskUpdate {"taskId": "1", "owner": "{{agent}}"}
rule member
  text I am here.
'''.replace('"owner": "{{agent}}"', '"status": "in_progress"') % hold(lab, "go"))
    script = foreign_script(lab, '''
        task, who = sys.argv[1], sys.argv[2]
        until(lambda: os.path.isfile(task))
        def claim(value):
            if value.get("owner"):
                return False
            value["owner"] = who
        print(change(task, claim, None)["owner"])
    ''')
    task = config(lab) / "tasks/alpha/1.json"
    run = lab.stream("--allowedTools=Bash", "--session-id", session, PROMPT, env=TEAMS)
    others = [subprocess.Popen([sys.executable, str(script), str(task), "p%d" % i], stdout=subprocess.PIPE, text=True)
              for i in range(8)]
    owners = {o.communicate(timeout=DEADLINE_S)[0].strip() for o in others}
    owner = json.loads(task.read_text())["owner"]
    release(lab, "go")
    done = run.wait()
    assert done.code == 0, done
    won = [t for t in transcripts(lab, session)[1:] for r in t.results().values() if not r.get("is_error")]
    assert owners == {owner}, (owners, owner)
    assert len(won) == (0 if owner.startswith("p") else 1), (owner, len(won))
    refused = [json.dumps(r) for t in transcripts(lab, session)[1:] for r in t.results().values() if r.get("is_error")]
    assert len(refused) == 50 - len(won) and all(owner in r for r in refused), (owner, refused[:2])


def with_the_setting_messages_that_wait_are_shown_in_the_inbox_files_and_taken_by_nobody(lab):
    model = MAKES + """
rule starts
  agent main
  prompt contains "Make a team"
  turn 2
  call Agent {"description": "A", "prompt": "Work", "name": "ann"}
rule sends
  agent main
  prompt contains "Make a team"
  turn 3
  call SendMessage {"to": "ann", "summary": "a word", "message": "shown-word"}
rule waits
  agent main
  prompt contains "Make a team"
  turn 4
  call Bash {"command": "%s", "description": "wait"}
rule lead
  agent main
  text Done.
rule ann works
  agent ann@alpha
  prompt contains "Work"
  turn 1
  call Bash {"command": "%s", "description": "work"}
rule ann
  agent ann@alpha
  text I am ann.
""" % (hold(lab, "over"), hold(lab, "free"))
    lab.model(model)
    session = str(uuid.uuid4())
    run = lab.stream("--allowedTools=Bash", "--settings", '{"teams": {"mirrorInboxes": true}}', "--session-id", session, "Make a team",
                     env=TEAMS)
    inbox = config(lab) / "teams/alpha/inboxes/ann.json"
    (entry,) = until(lambda: read_json(inbox), "the message is not shown")
    assert (entry["from"], entry["text"], entry["summary"], entry["read"]) == ("team-lead", "shown-word", "a word", True), entry
    # what another program adds is taken, what is shown stays
    mail(inbox, [{"from": "x", "text": "foreign-word", "timestamp": "t", "msg_id": "m-1"}])
    until(lambda: {(e["text"], bool(e.get("read"))) for e in read_json(inbox)} == {("shown-word", True), ("foreign-word", True)},
          "the foreign entry is not taken")
    release(lab, "free")
    until(lambda: read_json(inbox) == [], "what was read is still shown")
    release(lab, "over")
    done = run.wait()
    assert done.code == 0, done
    heard = [line for t in transcripts(lab, session)[1:] for line in t.lines if line["type"] == "user"]
    assert [json.dumps(heard).count("\\n%s\\n" % word) for word in ("shown-word", "foreign-word")] == [1, 1], heard


if __name__ == "__main__":
    main(with_the_setting_messages_that_wait_are_shown_in_the_inbox_files_and_taken_by_nobody,
         two_hundred_calls_in_one_message_start_two_hundred_members_and_write_the_file_a_few_times,
         a_lock_at_the_end_of_a_session_delays_the_last_write_and_loses_it_not,
         files_of_a_team_that_are_removed_are_written_again_and_what_others_add_is_kept,
         a_large_inbox_that_others_add_to_is_delivered_once_and_in_order,
         a_foreign_member_and_ours_exchange_messages_and_task_changes_and_none_is_lost_or_doubled,
         of_eight_processes_that_claim_a_task_one_wins,
         beside=(a_lock_that_another_program_holds_delays_the_file_and_nothing_else,
                 an_inbox_that_another_program_keeps_locked_is_read_when_it_is_free))
