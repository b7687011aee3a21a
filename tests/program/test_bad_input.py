#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Bad input and a bad machine: a clear message, the right exit code, and nothing is lost."""
import json
import os
import pathlib
import shutil
import subprocess
import uuid

from lab import CADRE, Skip, main

HELLO = "rule\n  text hello\n"
NOT_ALLOWED = 77  # of a script that may not mount


def refused(done, *words):
    """A usage or configuration error: code 2, one line, nothing on standard output."""
    assert done.code == 2 and done.out == "", done
    assert done.err.startswith("error: ") and done.err.count("\n") == 1, done
    for word in words:
        assert word in done.err, (word, done)


# ---- the command line and standard input


def without_a_key_the_variables_are_named(lab):
    lab.model(HELLO)
    del lab.env["ANTHROPIC_API_KEY"]
    refused(lab.cadre("-p", "hi"), "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN")
    assert not lab.transcripts()


def a_misspelt_command_is_not_sent_to_the_model(lab):
    lab.model(HELLO)
    for word, meant in (("agnts", "agents"), ("session", "sessions"), ("plugins", "plugin"), ("confg", "config")):
        refused(lab.cadre(word), f"'{word}' is not a command (did you mean {meant}?)", f"cadre -p {word}")
    assert not lab.transcripts()
    for words in (("hello",), ("-p", "agnts"), ("agnts and more",), ("--", "agnts")):
        assert lab.cadre(*words).out == "hello\n", words


def the_word_help_is_not_sent_to_the_model(lab):
    lab.model(HELLO)
    assert lab.cadre("help").out == lab.cadre("--help").out
    assert lab.cadre("help", "agents").out == lab.cadre("agents", "--help").out
    refused(lab.cadre("help", "agnts"), "'agnts' is not a command (did you mean agents?)")
    assert not lab.transcripts()


def a_resume_without_a_session_names_those_that_there_are(lab):
    lab.model(HELLO)
    refused(lab.cadre("-p", "--resume"), "--resume needs a session")
    for i in range(7):
        assert lab.cadre("-p", f"prompt {i}").code == 0
    done = lab.cadre("-p", "--resume")
    lines = done.err.splitlines()
    assert done.code == 2 and done.out == "" and lines[0].startswith("error: --resume needs a session"), done
    assert len(lines) == 6 and "prompt 6" in lines[1] and "prompt 2" in lines[5], done
    assert lab.cadre("-p", "--resume", lines[1].split()[0], "more").out == "hello\n"


def an_unknown_model_alias_says_what_was_expected(lab):
    lab.model(HELLO)
    refused(lab.cadre("-p", "hi", "--model", "sonet"), "sonet", "sonnet", "opus")
    assert not lab.transcripts()


def an_unknown_flag_gets_a_suggestion(lab):
    refused(lab.cadre("-p", "hi", "--modle", "x"), "--modle", "--model")
    refused(lab.cadre("-p", "hi", "--output-format", "yaml"), "text", "json", "stream-json")
    refused(lab.cadre("-p", "hi", "--max-turns", "many"), "--max-turns", "number")


def a_flag_that_can_have_no_effect_is_refused(lab):
    lab.model(HELLO)
    refused(lab.cadre("-p", "hi", "--project-config-root", "nowhere"), "--project-config-root nowhere: not a directory")
    for flag in ("--agent-name", "--team-name", "--lead-process"):
        refused(lab.cadre("-p", "hi", flag, "x"), "--agent-id, ", flag, "need each other")
    refused(lab.cadre("-p", "hi", "--permission-prompt-tool", "ask"), "--permission-prompt-tool expects stdio or mcp__SERVER__TOOL, not 'ask'")
    refused(lab.cadre("-p", "hi", "--permission-prompt-tool", "stdio"), "--permission-prompt-tool stdio needs --input-format stream-json")
    for command in ("doctor", "manual"):
        refused(lab.cadre(command, "x"), f"expected: cadre {command}\n")
    assert not lab.transcripts()


def what_is_not_known_by_its_name_comes_with_the_command_that_lists_it(lab):
    for words, lister in ((("agents", "show"), "agents"), (("permissions", "test", "Bash(ls)"), "agents"), (("skills", "show"), "skills"),
                          (("sessions", "show"), "sessions"), (("rewind",), "sessions"), (("tasks",), "tasks --all"),
                          (("mcp", "get"), "mcp list"), (("mcp", "remove"), "mcp list"), (("plugin", "enable"), "plugin list"),
                          (("plugin", "marketplace", "remove"), "plugin marketplace"), (("plugin", "marketplace", "update"), "plugin marketplace")):
        done = lab.cadre(*words, "nowhere")
        assert done.code == 1 and f"`cadre {lister}` lists " in done.out + done.err, (words, done)


def an_empty_prompt_is_refused(lab):
    lab.model(HELLO)
    refused(lab.cadre("-p", ""), "no prompt")
    refused(lab.cadre("-p", " \n\t"), "no prompt")
    refused(lab.cadre("-p"), "no prompt")
    assert not lab.transcripts()


def more_than_ten_megabytes_of_input_are_refused(lab):
    lab.model(HELLO)
    path = os.path.join(lab.folder, "large")
    with open(path, "wb") as f:
        f.write(b"words " * (11 * 1024 * 1024 // 6))
    with open(path, "rb") as f:
        refused(lab.cadre("-p", "what is this?", stdin=f), "10 MB")
    with open("/dev/zero", "rb") as f:
        refused(lab.cadre("-p", "what is this?", stdin=f), "10 MB")
    assert not lab.transcripts()


def input_that_never_comes_is_not_waited_for(lab):
    lab.model(HELLO)
    reader, writer = os.pipe()
    try:
        done = lab.cadre("-p", "hi", stdin=reader)
    finally:
        os.close(reader)
        os.close(writer)
    assert done.code == 0 and done.out == "hello\n", done
    assert "nothing came on standard input" in done.err, done


def piped_input_is_added_to_the_prompt(lab):
    lab.model('rule both\n  prompt contains "look at this"\n  prompt contains "the piped text"\n  text both\n')
    path = pathlib.Path(lab.folder) / "piped"
    path.write_text("the piped text")
    with open(path, "rb") as f:
        done = lab.cadre("-p", "look at this", stdin=f)
    assert done.code == 0 and done.out == "both\n", done


def a_session_that_is_not_there_is_said(lab):
    lab.model(HELLO)
    missing = str(uuid.uuid4())
    refused(lab.cadre("-p", "--resume", missing, "go on"), "No conversation found", missing)
    refused(lab.cadre("-p", "--resume", "../../etc/passwd", "go on"), "no session of this project has the id or title '../../etc/passwd'")
    refused(lab.cadre("-p", "--continue", "go on"), "no conversation to continue")


# ---- the machine


def a_config_directory_that_cannot_be_written_is_said(lab):
    lab.model(HELLO)
    blocked = os.path.join(lab.folder, "file")
    pathlib.Path(blocked).write_text("")
    env = {"CLAUDE_CONFIG_DIR": blocked + "/below"}
    done = lab.cadre("-p", "hi", env=env)
    assert done.code == 1 and done.out == "", done
    assert "--no-session-persistence" in done.err and blocked in done.err, done
    done = lab.cadre("-p", "hi", "--no-session-persistence", env=env)
    assert done.code == 0 and done.out == "hello\n", done


def in_a_mount(lab, script, *words, **env):
    """Runs a shell script where it may mount; $1 ... are the words."""
    space = ["unshare", "-m"] if os.geteuid() == 0 else ["unshare", "-rm"]
    if not shutil.which("unshare") or subprocess.run([*space, "true"], capture_output=True).returncode != 0:
        raise Skip("no mount namespace")
    done = lab.cadre(*space[1:], "sh", "-c", script, "sh", *words, program="unshare", env=env)
    if done.code == NOT_ALLOWED:
        raise Skip("no mount: " + done.err.strip())
    return done


def a_read_only_config_directory_is_said(lab):
    lab.model(HELLO)
    config = os.path.join(lab.folder, "config")
    os.makedirs(config)
    done = in_a_mount(lab, 'mount -t tmpfs -o ro tmpfs "$CLAUDE_CONFIG_DIR" || exit 77; exec "$1" -p hi', CADRE,
                      CLAUDE_CONFIG_DIR=config)
    assert done.code == 1 and done.out == "", done
    assert "Read-only file system" in done.err and config in done.err, done


FULL = """
mount -t tmpfs -o size=256k tmpfs "$CLAUDE_CONFIG_DIR" || exit 77
"$1" -p --output-format json --allowedTools=Bash --session-id "$2" 'fill it' > first.out 2> first.err
echo $? > first.code
cat "$CLAUDE_CONFIG_DIR"/projects/*/*.jsonl > middle.jsonl
rm "$CLAUDE_CONFIG_DIR/fill"
"$1" -p --output-format json --allowedTools=Bash --resume "$2" > second.out 2> second.err
echo $? > second.code
cat "$CLAUDE_CONFIG_DIR"/projects/*/*.jsonl > after.jsonl
"""


def a_full_disk_ends_the_turn_and_the_session_goes_on_later(lab):
    lab.model("""
rule fill
  turn 1
  call Bash {"command": "echo once >> ran; cat /dev/zero > $CLAUDE_CONFIG_DIR/fill 2>&-; seq 1 2000"}
rule end
  text went on
""")
    config = os.path.join(lab.folder, "config")
    os.makedirs(config)
    done = in_a_mount(lab, FULL, CADRE, str(uuid.uuid4()), CLAUDE_CONFIG_DIR=config)
    assert done.code == 0, done
    work = pathlib.Path(lab.work)
    first = json.loads((work / "first.out").read_text())
    assert (work / "first.code").read_text() == "1\n", first
    assert first["is_error"] and "No space left on device" in str(first["errors"]), first
    middle = (work / "middle.jsonl").read_text()
    assert middle.endswith("\n") and [json.loads(line) for line in middle.splitlines()], middle
    second = json.loads((work / "second.out").read_text())
    assert (work / "second.code").read_text() == "0\n" and second["result"] == "went on", second
    after = (work / "after.jsonl").read_text()
    assert after.startswith(middle) and "may or may not have run" in after, after
    assert (work / "ran").read_text() == "once\n"


def too_few_descriptors_are_said_and_the_session_goes_on(lab):
    lab.model('rule\n  turn 1\n  call Bash {"command": "echo ran"}\nrule\n  text done\n')
    ends = {}
    for limit in list(range(4, 40)) + [64]:
        session = str(uuid.uuid4())
        done = lab.cadre("-c", 'ulimit -n %d; exec "$0" "$@"' % limit, CADRE, "-p", "--allowedTools=Bash",
                         "--session-id", session, "go", program="sh")
        assert done.code in (0, 1), (limit, done)
        if done.code == 0:
            assert done.out == "done\n", (limit, done)
        else:
            assert "Too many open files" in done.err + done.out, (limit, done)
        ends[limit] = done.code
        go_on(lab, session)
    assert ends[64] == 0 and 1 in ends.values(), ends


def go_on(lab, session):
    transcript = lab.transcript(session)
    if transcript is None or not transcript.has_prompt("go"):
        return
    done = lab.cadre("-p", "--allowedTools=Bash", "--resume", session, "go")
    assert done.code == 0 and done.out == "done\n", done
    lab.transcript(session).check_complete()


def a_working_directory_that_disappears_is_an_error_result(lab):
    lab.model("""
rule remove
  turn 1
  call Bash {"command": "rm -r \\"$PWD\\""}
rule look
  turn 2
  call Read {"file_path": "a.txt"}
  call Glob {"pattern": "*"}
  call Grep {"pattern": "x"}
  call Bash {"command": "echo still here"}
rule end
  text survived
""")
    gone = os.path.join(lab.folder, "gone")
    os.makedirs(gone)
    done = lab.stream("--allowedTools=Bash", "go", cwd=gone).wait()
    assert done.code == 0 and done.frames()[-1]["result"] == "survived", done
    assert not os.path.exists(gone)
    transcript = lab.transcript(done.frames()[0]["session_id"])
    transcript.check_complete()
    assert any(block.get("is_error") for block in transcript.results().values()), transcript.results()


def starting_in_a_directory_that_is_gone_is_said(lab):
    lab.model(HELLO)
    done = lab.cadre("-c", 'mkdir gone; cd gone; rmdir ../gone; exec "$0" -p hi', CADRE, program="sh")
    assert done.code == 1 and "working directory" in done.err, done


def bytes_that_are_not_text_never_make_an_invalid_request(lab):
    lab.model("""
rule bytes
  turn 1
  call Bash {"command": "printf 'a\\\\377\\\\000\\\\355\\\\240\\\\200b'"}
  call Read {"file_path": "odd.txt"}
  call Grep {"pattern": "odd", "output_mode": "content"}
rule end
  text sent
""")
    (pathlib.Path(lab.work) / "odd.txt").write_bytes(b"odd \xff \xed\xa0\x80 \xf5 end\n")
    done = lab.cadre("-p", "--allowedTools=Bash", os.fsdecode(b"go \xff \xed\xa0\x80"))
    assert done.code == 0 and done.out == "sent\n", done


if __name__ == "__main__":
    main(without_a_key_the_variables_are_named,
         a_misspelt_command_is_not_sent_to_the_model,
         the_word_help_is_not_sent_to_the_model,
         a_resume_without_a_session_names_those_that_there_are,
         an_unknown_model_alias_says_what_was_expected,
         an_unknown_flag_gets_a_suggestion,
         a_flag_that_can_have_no_effect_is_refused, what_is_not_known_by_its_name_comes_with_the_command_that_lists_it,
         an_empty_prompt_is_refused,
         more_than_ten_megabytes_of_input_are_refused,
         input_that_never_comes_is_not_waited_for,
         piped_input_is_added_to_the_prompt,
         a_session_that_is_not_there_is_said,
         a_config_directory_that_cannot_be_written_is_said,
         a_read_only_config_directory_is_said,
         a_full_disk_ends_the_turn_and_the_session_goes_on_later,
         too_few_descriptors_are_said_and_the_session_goes_on,
         a_working_directory_that_disappears_is_an_error_result,
         starting_in_a_directory_that_is_gone_is_said,
         bytes_that_are_not_text_never_make_an_invalid_request)
