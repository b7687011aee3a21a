#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What a newcomer meets first: --help, --version, the demonstration; and the README promises only what is there."""
import json
import os
import pathlib
import re
import signal
import subprocess

from lab import CADRE, ROOT, main

PROMISED = """-p --output-format --include-partial-messages --verbose --model --max-turns --system-prompt
--system-prompt-file --append-system-prompt --append-system-prompt-file --tools --allowed-tools --disallowed-tools
--dangerously-skip-permissions -c -r --session-id --fork-session --no-session-persistence --add-dir --version --help
--retry-deadline --provider --resume --continue""".split()
FLAG = re.compile(r"(?<![\w-])--?[a-zA-Z][\w-]*")


def help_text(lab):
    done = lab.cadre("--help")
    assert done.code == 0 and done.err == "", done
    return done.out


def readme():
    return (ROOT / "README.md").read_text()


def commands_of(text):
    """The lines of its code blocks, and what stands between backquotes."""
    blocks = re.findall(r"^```.*?\n(.*?)^```|^((?:    [^\n]+\n)+)", text, re.M | re.S)
    lines = [line.strip() for fenced, indented in blocks for line in (fenced or indented).splitlines()]
    return lines + re.findall(r"`([^`\n]+)`", text)


def help_mentions_every_option_of_the_table(lab):
    table = (ROOT / "src" / "face" / "cli" / "flag.c").read_text()
    options = re.findall(r'^\t[A-Z]+\("([\w-]+)"(?:, (?:NULL, )?\'(\w)\')?', table, re.M)
    shown = set(FLAG.findall(help_text(lab)))
    assert len(options) == table.count(", GROUP_") and len(options) > 20, options
    for name, letter in options:
        assert "--" + name in shown, name
        assert not letter or "-" + letter in shown, letter


def help_mentions_every_option_that_was_promised(lab):
    shown = set(FLAG.findall(help_text(lab)))
    assert not set(PROMISED) - shown, set(PROMISED) - shown


def help_fits_a_terminal_of_a_hundred_columns(lab):
    commands = re.findall(r"^  cadre (\w+)  ", help_text(lab), re.M)
    assert len(commands) > 15, commands
    for text in (help_text(lab), *(lab.cadre(command, "--help").out for command in commands)):
        long = [line for line in text.splitlines() if len(line) > 100]
        assert text.startswith(("cadre - ", "Usage: cadre ")) and not long, long


def the_help_of_each_command_has_examples_which_exist(lab):
    usual, bad = help_text(lab), []
    for name in re.findall(r"^  cadre (\w+)  ", usual, re.M):
        shown = lab.cadre(name, "--help").out
        examples = re.search(r"^Examples?:\n((?:  .+\n)+)", shown, re.M)
        lines = examples.group(1).splitlines() if examples else []
        verbs = set(re.findall(rf"cadre {name} \[?([a-z][a-z-]*)", shown[:examples.start()] if examples else ""))
        bad += [name] if not lines else []
        for line in lines:
            flags, words = set(FLAG.findall(line.split(" | ")[0].split(" -- ")[0])), line.split(f"cadre {name}")[-1].split()
            named = words and re.fullmatch("[a-z]+", words[0]) and verbs and words[0] not in verbs
            if f"cadre {name}" not in line or flags - set(FLAG.findall(shown + usual)) - {"-c"} or named and len(verbs) > 1:
                bad.append(line)
    assert not bad, bad


def only_a_command_whose_report_is_json_offers_json(lab):
    for words in (["completion", "bash"], ["manual"]):
        refused = lab.cadre(*words, "--json")
        assert "--json" not in lab.cadre(words[0], "--help").out and refused.code == 2 and "unknown option '--json'" in refused.err, refused
    json.loads(lab.cadre("doctor", "--json").out)


def the_header_names_every_option_of_a_runtime(lab):
    table = re.findall(r'^\t\{ "([\w-]+)", ', (ROOT / "src" / "defs" / "policy" / "options.c").read_text(), re.M)
    header = (ROOT / "include" / "cadre.h").read_text().split("CADRE_API int cadre_set(")[0].rsplit("/*", 1)[1]
    assert len(table) > 80 and not set(table) - set(re.findall(r"[\w-]+", header)), set(table) - set(re.findall(r"[\w-]+", header))


def what_is_only_shown_ends_quietly_when_nobody_reads_on(lab):
    for words in (["--help"], ["--version"], ["agents"], ["agents", "--json"], ["config", "keys"], ["skills", "--help"],
                  ["completion", "bash"], ["permissions", "list"], ["plugin", "list", "--json"], ["mcp", "list"]):
        reader, writer = os.pipe()
        os.close(reader)
        done = subprocess.run([CADRE, *words], env=lab.env, cwd=lab.work, stdin=subprocess.DEVNULL, stdout=writer,
                              stderr=subprocess.PIPE, check=False)
        os.close(writer)
        assert done.returncode == 128 + signal.SIGPIPE and done.stderr == b"", (words, done)


def the_version_begins_with_three_numbers(lab):
    for flag in ("--version", "-v"):
        done = lab.cadre(flag)
        assert done.code == 0 and re.match(r"\d+\.\d+\.\d+\b", done.out), done


def a_value_may_follow_its_flag_in_both_ways(lab):
    lab.model("rule\n  model claude-x-9\n  text that one\n")
    for words in (["--model", "claude-x-9"], ["--model=claude-x-9"]):
        done = lab.cadre("-p", "hi", *words)
        assert done.code == 0 and done.out == "that one\n", done


def git(*words):
    return subprocess.run(["git", "-C", str(ROOT), *words], capture_output=True, text=True, check=False).stdout


def checkout():
    """Changes, branches and worktrees, without their commits: others may commit meanwhile."""
    trees = [line for line in git("worktree", "list", "--porcelain").splitlines() if line.startswith("worktree ")]
    return git("status", "--short"), git("branch", "-a", "--format=%(refname)"), trees


def the_demonstration_needs_no_key_and_no_network_and_leaves_the_checkout_alone(lab):
    del lab.env["ANTHROPIC_API_KEY"]
    before = checkout()
    demo = pathlib.Path(lab.folder) / "demo"
    done = lab.start(CADRE, str(demo), program=str(ROOT / "scripts" / "demo.sh")).wait()
    assert done.code == 0 and "Its verdict: PASS." in done.out, done
    assert re.search(r"^Write the tour +a\w+ +general-purpose +completed +4 ", done.out, re.M), done
    assert "agent: Agent \"Map the sources\" finished (3 turns, " in done.err, done
    assert "The team has done its work: two tasks, the second after the first." in done.out, done
    assert re.search(r"^#2 +completed +writer +- +Write the summary$", done.out, re.M), done
    assert "TaskUpdate: 2, addBlockedBy [\"1\"]" in done.err, done
    (number,) = re.findall(r'"counter" \(general-purpose\): SendMessage: writer: There are (\d+) files below src\.', done.err)
    assert "The tree below src has %s files, as counter found." % number in done.out, done
    # who does what is said by the names that the text before it uses
    for line in ('Agent "counter" begins (general-purpose)', 'agent "counter" (general-purpose): SendMessage: writer: There are %s files' % number,
                 'agent "writer" (general-purpose): TaskUpdate: 2, status completed', 'Agent "writer" finished'):
        assert line in done.err, (line, done.err)
    assert done.out.index("My task waits for task 1.") < done.out.index("There are %s files" % number), done
    assert not (demo / "config" / "teams" / "demo").exists()
    (tour,) = (demo / "repository").glob(".claude/worktrees/*/TOUR.md")
    assert str(tour.parent) in done.out and (demo / "trace.json").exists()
    assert checkout() == before
    assert not lab.transcripts()


def the_scripted_model_answers_where_there_is_no_repository(lab):
    del lab.env["ANTHROPIC_API_KEY"]
    done = lab.cadre("-p", "--provider", "scripted", "--no-session-persistence", "What is this?")
    assert done.code == 0 and done.out.startswith("The tour was not written"), done


def the_readme_names_only_targets_that_exist(lab):
    makefile = (ROOT / "Makefile").read_text()
    targets = set(re.findall(r"^([\w-]+)(?: [\w -]+)?:", makefile, re.M))
    named = {word for line in commands_of(readme()) for word in re.findall(r"(?:^|[;&] *)make ([\w-]+)", line)}
    assert named and not named - targets, named - targets


def pages():
    return {page.relative_to(ROOT): page.read_text() for page in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))}


def the_documents_name_only_commands_and_flags_that_exist(lab):
    usual, bad = help_text(lab), []
    known, verbs = {None: set(FLAG.findall(usual))}, {}
    for page, text in pages().items():
        for line in commands_of(text):
            for command in re.findall(r"(?:^|[|;&] +)(?:\S*/)?cadre((?: [^|;&#]*)?)$", re.sub(r"""(["']).*?\1""", "", re.split(r"  #| {3,}", line)[0])):
                words = command.split(" -- ")[0].split()
                name = words[0] if words and re.fullmatch("[a-z]+", words[0]) else None
                if name not in known:
                    shown = lab.cadre(name, "--help").out
                    known[name] = set(FLAG.findall(shown)) if shown != usual else set()  # a word that is not a command would be a prompt
                    verbs[name] = set(re.findall(rf"cadre {name} \[?([a-z][a-z-]*)", shown))
                flags = set(FLAG.findall(" ".join(words)))
                verb = words[1] if name and len(words) > 1 and re.fullmatch("[a-z][a-z-]*", words[1]) else None
                bad += [f"{page}: {line}"] if not known[name] or flags - known[name] - known[None] or \
                    verb and verbs[name] and verb not in verbs[name] else []
    assert len(known) > 10 and not bad, "\n".join(bad)


SUBJECTS = "ANTHROPIC|API_TIMEOUT|AWS|AZURE|BASH|CADRE|CLAUDE|CLOUD|CLOUDSDK|DISABLE|ENABLE|FORCE_PROMPT|GCE|GEMINI|GOOGLE|IDENTITY|IS_SANDBOX|" \
    "MAX_MCP|MAX_THINKING|MCP|NODE_EXTRA|OPENAI|SSL|USER_TYPE"
# Set by cadre for its own processes; a beginning of names; for its tests
INNER = {"CADRE_SPAWN", "CLAUDE_PLUGIN", "CADRE_CRASH", "CADRE_CRASH_AT", "CADRE_CRASH_LOG", "CADRE_TEST_WITHOUT_WALL"}


def every_variable_that_is_read_is_in_the_documents_for_users_and_the_other_way_round(lab):
    code = "\n".join(path.read_text() for path in (ROOT / "src").rglob("*.[ch]"))
    read = set(re.findall(rf'"((?:{SUBJECTS})_[A-Z0-9_]*[A-Z0-9])"', code)) - INNER
    named = " ".join((ROOT / page).read_text() for page in pages() if page.parent.name in ("", "docs"))
    assert len(read) > 150
    missing = sorted(name for name in read if not re.search(rf"\b{name}\b", named))
    assert not missing, missing
    page = set(re.findall(r"`([A-Z][A-Z0-9]*_[A-Z0-9_]+)`", (ROOT / "docs/variables.md").read_text()))
    page -= {"NO_PROXY", "OPENAI_MODEL"}  # libcurl reads it; made of the name of the vendor
    unread = sorted(name for name in page if f'"{name}"' not in code)
    assert len(page) > 60 and not unread, unread


def the_documents_link_to_files_and_headings_that_exist(lab):
    lost = []
    for page, text in pages().items():
        for link in re.findall(r"\]\(([^)\s]+)\)", text):
            path, _, heading = link.partition("#")
            target = (ROOT / page).parent / path if path else ROOT / page
            if "://" not in link and not target.exists():
                lost.append(f"{page}: {link}")
            elif "://" not in link and heading:
                titles = [re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in re.findall(r"^#+ (.*)$", target.read_text(), re.M)]
                lost += [f"{page}: {link}"] if heading not in titles else []
    assert not lost, "\n".join(lost)


def the_readme_links_to_every_page_for_users(lab):
    lost = [page.name for page in (ROOT / "docs").glob("*.md") if f"](docs/{page.name})" not in readme()]
    assert not lost, lost


def the_documents_name_only_files_and_functions_that_exist(lab):
    """A file by the end of its path, a function with ()."""
    sources = [path for folder in ("src", "include", "modeld", "tests", "scripts", "bench", "fuzz") for path in (ROOT / folder).rglob("*.[ch]")]
    files = ["/" + str(path.relative_to(ROOT)) for path in sources]
    words = {word for path in sources for word in re.findall(r"\w+", path.read_text())}
    lost = []
    for page, text in pages().items():
        quoted = " ".join(re.findall(r"`([^`\n]+)`", text))
        lost += [f"{page}: {name}" for name in re.findall(r"(?<![\w/.*~<>-])((?:[a-z_]+/)*[a-z0-9_]+\.[ch])\b", quoted)
                 if not any(path.endswith("/" + name) for path in files)]
        lost += [f"{page}: {name}()" for name in re.findall(r"\b([a-z]\w+)\(\)", quoted) if name not in words]
    assert not lost, "\n".join(lost)


def the_walks_are_short_and_each_function_is_where_they_say(lab):
    for walk in (ROOT / "docs/internals/walk.md").read_text().split("\n## ")[1:]:
        hops = re.findall(r"^\| \d+ \| (\S+) \| `(\w+)`", walk, re.M)
        assert 20 < len(hops) <= 45 and len({path for path, _ in hops}) <= 18, (len(hops), len({path for path, _ in hops}))
        lost = [(path, name) for path, name in hops
                if not re.search(r"^[a-z][^;{}=]*\b%s\([^;{}]*\)\n\{" % name, (ROOT / path).read_text(), re.M)]
        assert not lost, lost


if __name__ == "__main__":
    main(help_mentions_every_option_of_the_table,
         help_mentions_every_option_that_was_promised,
         help_fits_a_terminal_of_a_hundred_columns, the_help_of_each_command_has_examples_which_exist,
         only_a_command_whose_report_is_json_offers_json, the_header_names_every_option_of_a_runtime,
         what_is_only_shown_ends_quietly_when_nobody_reads_on,
         the_version_begins_with_three_numbers,
         a_value_may_follow_its_flag_in_both_ways,
         the_demonstration_needs_no_key_and_no_network_and_leaves_the_checkout_alone,
         the_scripted_model_answers_where_there_is_no_repository,
         the_readme_names_only_targets_that_exist,
         the_readme_links_to_every_page_for_users,
         the_documents_name_only_commands_and_flags_that_exist,
         every_variable_that_is_read_is_in_the_documents_for_users_and_the_other_way_round,
         the_documents_link_to_files_and_headings_that_exist,
         the_documents_name_only_files_and_functions_that_exist,
         the_walks_are_short_and_each_function_is_where_they_say)
