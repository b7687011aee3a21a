#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`cadre sessions`, titles, and what is sent in headers."""
import http.server
import json
import os
import pathlib
import re
import threading
import time

from lab import main


def said(lab, text, *flags):
    """Runs one prompt and returns the id of its session."""
    done = lab.cadre("-p", "--output-format", "json", *flags, text)
    assert done.code == 0, done
    return json.loads(done.out)["session_id"]


def listed(lab, *words):
    done = lab.cadre("sessions", *words, "--json")
    assert done.code == 0, done
    return json.loads(done.out)


def age(lab, session, days):
    """Makes the file of a session as old as that."""
    path = next(pathlib.Path(lab.home, ".claude").glob(f"projects/*/{session}.jsonl"))
    then = time.time() - days * 86400
    os.utime(path, (then, then))
    return path


def sessions_are_listed_newest_first_with_title_or_prompt(lab):
    lab.model("rule\n  text an answer")
    old = said(lab, "What is a lemma?")
    age(lab, old, 2)
    new = said(lab, "And a theorem?", "--name", "On theorems")
    sessions = listed(lab)
    assert [s["sessionId"] for s in sessions] == [new, old], sessions
    assert sessions[0]["title"] == "On theorems" and sessions[0]["firstPrompt"] == "And a theorem?", sessions
    assert sessions[1]["title"] is None and sessions[1]["firstPrompt"] == "What is a lemma?", sessions
    assert [s["messages"] for s in sessions] == [2, 2], "what the program adds was not said by anybody"
    table = lab.cadre("sessions").out.splitlines()
    assert len(table) == 3 and "On theorems" in table[1] and "What is a lemma?" in table[2], table


def a_title_of_the_user_goes_before_one_of_a_program(lab):
    lab.model("rule\n  text an answer")
    session = said(lab, "hi", "-n", "Mine")
    path = next(pathlib.Path(lab.home, ".claude").glob(f"projects/*/{session}.jsonl"))
    with path.open("a") as f:
        f.write(json.dumps({"type": "ai-title", "aiTitle": "Guessed", "sessionId": session}, separators=(",", ":")) + "\n")
    assert listed(lab)[0]["title"] == "Mine"
    assert lab.cadre("-p", "--resume", session, "again").code == 0


def a_search_finds_what_user_and_model_said(lab):
    lab.model('rule\n  prompt contains "bird"\n  text The "wren" sings.\nrule\n  text nothing')
    birds = said(lab, "which bird?")
    said(lab, "something else")
    assert [s["sessionId"] for s in listed(lab, "search", "WREN")] == [birds]
    assert listed(lab, "search", "system-reminder") == []  # the environment, which nobody said
    assert [s["sessionId"] for s in listed(lab, "search", 'the "wren" SINGS')] == [birds]


def a_search_does_not_find_the_form_of_the_file(lab):
    """Each word stands in every transcript, and nobody said it. Texts are found however JSON writes them."""
    lab.model('rule\n  turn 1\n  call Glob {"pattern": "*.kestrel"}\nrule\n  text Ja: gr\u00fc\u00df dich.')
    session = said(lab, "line one\nline two")
    for word in ("assistant", "external", "uuid", "parentUuid", "tool_use", "toolu_", "sessionId", "message", str(lab.work)):
        assert listed(lab, "search", word) == [], word
    for word in ("one\nline", "GRüß DICH", "*.kestrel"):
        assert [s["sessionId"] for s in listed(lab, "search", word)] == [session], word


def a_session_is_shown_and_exported(lab):
    lab.model('rule\n  turn 1\n  call Glob {"pattern": "*.none"}\nrule\n  text Nothing there.')
    session = said(lab, "Look around")
    shown = lab.cadre("sessions", "show", session[:8]).out
    assert "Look around" in shown and re.search(r"^\* \d\d:\d\d:\d\d Glob", shown, re.M) and "Nothing there." in shown, shown
    text = lab.cadre("sessions", "export", session).out
    assert text.startswith("# Look around\n\n## User\n\nLook around\n"), text
    assert '**Glob**\n\n```json\n{"pattern":' in text and "## Assistant\n\nNothing there.\n" in text, text
    lines = json.loads(lab.cadre("sessions", "export", session, "--format", "json").out)
    path = next(pathlib.Path(lab.home, ".claude").glob(f"projects/*/{session}.jsonl"))
    assert lines == [json.loads(line) for line in path.read_text().splitlines()]
    missing = lab.cadre("sessions", "show", "nobody")
    assert missing.code == 1 and "no session of this project has the id or title 'nobody'" in missing.err, missing


def only_old_sessions_are_pruned_and_a_dry_run_removes_nothing(lab):
    lab.model("rule\n  text an answer")
    old, new = said(lab, "old"), said(lab, "new")
    path = age(lab, old, 40)
    (path.parent / old / "subagents").mkdir(parents=True)
    dry = json.loads(lab.cadre("sessions", "prune", "--older-than", "30d", "--dry-run", "--json").out)
    assert [(s["sessionId"], s["removed"]) for s in dry] == [(old, False)] and path.exists(), dry
    done = lab.cadre("sessions", "prune", "--older-than", "30d")
    assert done.code == 0 and old in done.out, done
    assert not path.exists() and not (path.parent / old).exists()
    assert [s["sessionId"] for s in listed(lab)] == [new]


def kept(lab, session):
    """What belongs to a session besides its transcript, made as a run would leave it."""
    config = pathlib.Path(lab.home, ".claude")
    paths = [config / "file-history" / session / "history.jsonl", config / "tasks" / session / "1.json",
             config / "todos" / f"{session}-agent-{session}.json"]
    for path in paths:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x" * 1000)
    return paths


def make_old(paths, days):
    then = time.time() - days * 86400
    for path in paths:
        os.utime(path, (then, then))
        os.utime(path.parent, (then, then))


def files_and_lists_of_a_pruned_session_go_with_it_and_their_size_is_told(lab):
    lab.model("rule\n  text an answer")
    old, new = said(lab, "old"), said(lab, "new")
    path = age(lab, old, 40)
    going, staying = kept(lab, old), kept(lab, new)
    size = path.stat().st_size + 3000
    dry = json.loads(lab.cadre("sessions", "prune", "--dry-run", "--json").out)  # cleanupPeriodDays is 30
    assert [(s["sessionId"], s["bytes"], s["removed"]) for s in dry] == [(old, size, False)], (dry, size)
    assert all(p.exists() for p in going)
    done = lab.cadre("sessions", "prune")
    assert done.code == 0 and done.out.splitlines()[-1] == f"{size / 1024:.1f}KB in all", done
    assert not any(p.exists() for p in going) and all(p.exists() for p in staying)
    assert not going[0].parent.exists() and not going[1].parent.exists()


def what_is_left_of_a_session_that_is_gone_is_pruned_once_it_is_old(lab):
    lab.model("rule\n  text an answer")
    session = said(lab, "here")
    gone, young = "11111111-1111-4111-8111-111111111111", "22222222-2222-4222-8222-222222222222"
    old, recent = kept(lab, gone), kept(lab, young) + kept(lab, session)
    named = pathlib.Path(lab.home, ".claude/tasks/our-list/1.json")  # no session has that id
    named.parent.mkdir()
    named.write_text("{}")
    make_old([*old, named], 40)
    make_old(recent[3:], 40)  # of a session that is still there
    dry = json.loads(lab.cadre("sessions", "prune", "--dry-run", "--json").out)
    assert sorted(pathlib.Path(s["orphan"]).parent.name for s in dry) == ["file-history", "tasks", "todos"], dry
    assert {(s["sessionId"], s["bytes"]) for s in dry} == {(gone, 1000)}, dry
    assert lab.cadre("sessions", "prune").code == 0
    assert not any(p.exists() for p in old) and all(p.exists() for p in [*recent, named])
    assert lab.cadre("sessions", "prune").out == "no session of this project is that old\n"


def files_of_a_team_that_a_pruned_session_led_go_with_it(lab):
    lab.model("rule\n  text an answer")
    old, new = said(lab, "old"), said(lab, "new")
    age(lab, old, 40)
    config, paths = pathlib.Path(lab.home, ".claude"), {}
    for name, session in (("alpha", old), ("beta", new), ("gamma", "11111111-1111-4111-8111-111111111111")):
        paths[name] = [config / "teams" / name / "config.json", config / "tasks" / name / "1.json"]
        for path in paths[name]:
            path.parent.mkdir(parents=True)
            path.write_text(json.dumps({"leadSessionId": session}))
    make_old([p for both in paths.values() for p in both], 40)
    assert lab.cadre("sessions", "prune").code == 0
    there = {name: [p.parent.exists() for p in both] for name, both in paths.items()}
    assert there == {"alpha": [False, False], "beta": [True, True], "gamma": [False, False]}, there


def the_setting_says_how_old_is_old(lab):
    lab.model("rule\n  text an answer")
    age(lab, said(lab, "hi"), 5)
    assert json.loads(lab.cadre("sessions", "prune", "--dry-run", "--json").out) == []
    pathlib.Path(lab.home, ".claude/settings.json").write_text('{"cleanupPeriodDays": 4}')
    assert len(json.loads(lab.cadre("sessions", "prune", "--dry-run", "--json").out)) == 1


def runs_without_an_answer_are_left_out_of_the_list_but_not_of_everything(lab):
    lab.model('rule\n  prompt contains "fail"\n  status 400 invalid_request_error "no"\nrule\n  text an answer')
    assert lab.cadre("-p", "please fail").code == 1
    good = said(lab, "hi")
    assert [s["sessionId"] for s in listed(lab)] == [good]
    text = lab.cadre("sessions").out
    assert "please fail" not in text and "1 session without an answer is not shown; --all shows it" in text, text
    every = listed(lab, "--all")
    assert [s["firstPrompt"] for s in every] == ["hi", "please fail"], every
    assert lab.cadre("sessions", "show", every[1]["sessionId"]).code == 0


def an_age_that_is_larger_than_time_prunes_nothing(lab):
    lab.model("rule\n  text an answer")
    age(lab, said(lab, "hi"), 400)
    settings = pathlib.Path(lab.home, ".claude/settings.json")
    settings.write_text('{"cleanupPeriodDays": 100000000}')
    assert json.loads(lab.cadre("sessions", "prune", "--dry-run", "--json").out) == []
    settings.write_text('{"cleanupPeriodDays": 150000000000}')
    assert lab.cadre("sessions", "prune", "--dry-run", "--json").code == 2
    settings.unlink()
    assert json.loads(lab.cadre("sessions", "prune", "--older-than", "1000000w", "--dry-run", "--json").out) == []


def a_title_that_two_sessions_have_is_answered_with_both_ids(lab):
    lab.model("rule\n  text an answer")
    one, two = said(lab, "a", "--name", "twins"), said(lab, "b", "--name", "Twins")
    done = lab.cadre("sessions", "show", "twins")
    assert done.code == 2 and done.out == "", done
    assert "2 sessions match 'twins'" in done.err and one[:8] in done.err and two[:8] in done.err, done
    ids = lab.cadre("sessions", "ids").out.splitlines()
    assert sorted(ids) == sorted([f"{one}\ttwins", f"{two}\tTwins"]), ids


class Echo(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        self.rfile.read(int(self.headers["content-length"]))  # or closing the connection resets it
        self.server.betas.append(self.headers.get("anthropic-beta"))
        self.send_response(401)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


def betas_of_the_command_line_are_sent_in_a_header(lab):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Echo)
    server.betas = []
    threading.Thread(target=server.serve_forever, daemon=True).start()
    env = {"ANTHROPIC_BASE_URL": f"http://127.0.0.1:{server.server_port}", "ANTHROPIC_API_KEY": "k", "ANTHROPIC_BETAS": "from-env"}
    assert lab.cadre("-p", "--betas", "one,two", "three", "--", "hi", env=env).code == 1
    assert lab.cadre("-p", "hi", env=env).code == 1
    server.shutdown()
    assert list(dict.fromkeys(server.betas)) == ["one,two,three", "from-env"], server.betas  # whatever is tried again


if __name__ == "__main__":
    main(files_of_a_team_that_a_pruned_session_led_go_with_it,
         sessions_are_listed_newest_first_with_title_or_prompt, a_title_of_the_user_goes_before_one_of_a_program,
         a_search_finds_what_user_and_model_said, a_search_does_not_find_the_form_of_the_file,
         a_session_is_shown_and_exported,
         only_old_sessions_are_pruned_and_a_dry_run_removes_nothing,
         files_and_lists_of_a_pruned_session_go_with_it_and_their_size_is_told,
         what_is_left_of_a_session_that_is_gone_is_pruned_once_it_is_old, the_setting_says_how_old_is_old, runs_without_an_answer_are_left_out_of_the_list_but_not_of_everything, an_age_that_is_larger_than_time_prunes_nothing,
         a_title_that_two_sessions_have_is_answered_with_both_ids, betas_of_the_command_line_are_sent_in_a_header)
