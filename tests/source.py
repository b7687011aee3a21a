#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""source.py rooms|form TESTS: checks of the source itself, as TAP. TESTS is the list of tests that meson wrote (intro-tests.json)."""
import contextlib
import hashlib
import importlib.machinery
import importlib.util
import io
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent


def check_rooms(folder):
    return subprocess.run([sys.executable, ROOT / "scripts" / "check-rooms.py", folder, ROOT / "src" / "rooms.txt"],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def every_include_is_allowed_by_the_table_of_rooms():
    done = check_rooms(ROOT / "src")
    assert done.returncode == 0, done.stdout


def a_forbidden_include_fails():
    with tempfile.TemporaryDirectory() as folder:
        room = pathlib.Path(folder) / "lib" / "json"
        room.mkdir(parents=True)
        (room / "bad.c").write_text('#include "agents/query/query.h"\n')
        done = check_rooms(folder)
    assert done.returncode == 1 and "must not include" in done.stdout, done.stdout


def the_source_is_formatted():
    """By clang-format 14, the version of Debian 12; `make format` does it. A file that was clean is looked at again when it changed."""
    tool = shutil.which("clang-format")
    version = subprocess.run([tool, "--version"], stdout=subprocess.PIPE, text=True).stdout if tool else ""
    if "version 14." not in version:
        return "clang-format 14 is not installed"
    listed = subprocess.run(["git", "ls-files", "*.c", "*.h"], cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True)
    files = listed.stdout.split()
    assert len(files) > 100, files
    rules = (version + (ROOT / ".clang-format").read_text()).encode()
    digests = {name: hashlib.sha256(rules + (ROOT / name).read_bytes()).hexdigest() for name in files}
    clean = pathlib.Path(sys.argv[2]).with_name("clean.txt")
    known = set(clean.read_text().split()) if clean.exists() else set()
    changed = [name for name in files if digests[name] not in known]
    done = subprocess.run([tool, "--dry-run", "-Werror", *changed], cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True)
    assert done.returncode == 0, done.stdout[:2000]
    clean.write_text("\n".join(digests.values()))


def no_comment_is_a_banner():
    bad = subprocess.run(["git", "grep", "-nE", r"^\s*/[*/] ?[-=*#]{3,}", "--", "*.c", "*.h"], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert not bad.stdout, bad.stdout[:2000]


def no_header_is_included_twice():
    listed = subprocess.run(["git", "ls-files", "*.c", "*.h"], cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True)
    twice = []
    for name in listed.stdout.split():
        headers = re.findall(r"^#include (\S+)", (ROOT / name).read_text(), re.M)
        twice += [f"{name}: {header}" for header in set(headers) if headers.count(header) > 1]
    assert not twice, "\n".join(twice)


def named_in_vain(path, text, files, words):
    """What comments of a file name and what does not exist. A file without a path is of the same room, or of include/; one with a path is
    named from the root or from src/. What has capital letters stands for a name."""
    comments = " ".join(re.findall(r"/\*.*?\*/", text, re.S))
    made = set(re.findall(r"#include <(.*?)>", text)) | {"core/tool/tool_list.h"}  # by others, and by the build
    room = pathlib.PurePath(path).parent

    def exists(name):
        return name in made or any(f"{folder}{name}" in files for folder in (("src/", "") if "/" in name else (f"{room}/", "include/")))

    gone = [name for name in re.findall(r"(?<![\w/.*])[a-z][a-z0-9_/]*\.[ch]\b", comments) if not exists(name)]
    return gone + [name for name in re.findall(r"\b([a-z][a-z0-9_]+)\(\)", comments) if name not in words]


def every_file_and_function_that_a_comment_names_exists():
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True)
    files = set(listed.stdout.split())
    sources = {file: (ROOT / file).read_text() for file in files if re.match(r"(src|include|modeld)/.*\.[ch]$", file)}
    words = {word for text in sources.values() for word in re.findall(r"\w+", re.sub(r"/\*.*?\*/", " ", text, flags=re.S))}
    wrong = "/* str.h, lib/io/loop.h and str_cut(), but str.c, loop.h and str_cut_off() */"
    assert named_in_vain("src/lib/base/str.h", wrong, files - {"src/lib/base/str.c"}, words) == ["str.c", "loop.h", "str_cut_off"], words
    bad = [f"{file}: {name}" for file, text in sorted(sources.items()) for name in named_in_vain(file, text, files, words)]
    assert not bad, "\n".join(bad)


def every_test_is_registered():
    """A test that no meson.build names would never be run."""
    registered = {test["name"] for test in json.loads(pathlib.Path(sys.argv[2]).read_text())}
    found = {f"{suite}/{name}" for suite, names in {
        "unit": [p.parent.name for p in ROOT.glob("tests/unit/*/meson.build")],
        "scenario": [p.parent.name for p in ROOT.glob("tests/scenarios/*/*.test")],
        "program": [p.stem[len("test_"):] for p in ROOT.glob("tests/program/test_*.py")],
        "peers": [p.stem for p in ROOT.glob("tests/peers/*.mjs") if re.search("^await play", p.read_text(), re.M)],
        "fuzz": [p.name for p in ROOT.glob("fuzz/corpus/*")] + [p.stem[len("fuzz_"):] for p in ROOT.glob("fuzz/fuzz_*.c")],
    }.items() for name in names}
    assert len(found) > 100 and found <= registered, f"not registered: {sorted(found - registered)}"


def every_test_that_a_table_names_exists():
    """`unit/ROOM CASE`, `program/NAME CASE` and `scenario/FOLDER/NAME`"""
    sources = {f"unit/{p.name}": "".join(map(pathlib.Path.read_text, p.glob("*.c"))) for p in ROOT.glob("tests/unit/*") if p.is_dir()}
    sources.update({f"program/{p.stem[len('test_'):]}": p.read_text() for p in ROOT.glob("tests/program/test_*.py")})
    gone = []
    for page in ("tests/mutations.md", "tests/hostile/README.md"):
        text = (ROOT / page).read_text()
        found = re.findall(r"`((?:unit|program)/\w+) (\w+)`", text)
        scenarios = re.findall(r"`scenario/(\S+/\S+)`", text)
        assert found and scenarios, page
        gone += [f"{page}: {test} {case}" for test, case in found if not re.search(rf"(TEST\(|^def ){case}\b", sources.get(test, ""), re.M)]
        gone += [f"{page}: scenario/{name}" for name in scenarios if not (ROOT / "tests" / "scenarios" / f"{name}.test").exists()]
    assert not gone, "\n".join(gone)


def the_runner_counts_cases_and_every_bad_end():
    loader = importlib.machinery.SourceFileLoader("run", str(ROOT / "tests" / "run"))
    runner = importlib.util.module_from_spec(importlib.util.spec_from_loader("run", loader))
    loader.exec_module(runner)
    for out, code, result, expected in (
            ("1..2\nok 1 - a\nok 2 - b # SKIP why\n", 0, "OK", (1, 0, 1)),
            ("1..2\nok 1 - a\nnot ok 2 - b\n# why\n", 1, "ERROR", (1, 1, 0)),
            ("1..2\nok 1 - a\n", 0, "ERROR", (1, 1, 0)),       # a case is missing
            ("1..1\nok 1 - a\n", 99, "ERROR", (1, 1, 0)),      # a leak was found at the end
            ("1..2\nok 1 - a\n", -9, "TIMEOUT", (1, 1, 0)),
            ("1..1\nok 1 - a # SKIP why\n", 0, "SKIP", (0, 0, 1)),
            ("", 0, "SKIP", (0, 1, 0)),                         # what says nothing has checked nothing
            (None, -11, "ERROR", (0, 1, 0))):
        with contextlib.redirect_stdout(io.StringIO()) as shown:
            counted = runner.count_cases({"name": "p / t", "stdout": out, "returncode": code, "result": result})
        assert counted == expected, (out, code, result, counted)
        assert ("FAIL t: " in shown.getvalue()) == bool(expected[1]), shown.getvalue()


def calls_of(name, text):
    """The text between the brackets of each call."""
    for call in re.finditer(rf"\b{name}\(", text):
        depth, at = 1, call.end()
        while depth:
            depth += {"(": 1, ")": -1}.get(text[at], 0)
            at += 1
        yield text[call.end():at - 1]


def characters_are_looked_for_in_a_set_by_char_in():
    """strchr(set, c) finds the end of the set if c is 0, and texts from files and servers have such bytes."""
    bad = []
    for path in (ROOT / "src").rglob("*.[ch]"):
        text = re.sub(r"/\*.*?\*/|\"(?:\\.|[^\"\\])*\"", "", path.read_text(), flags=re.S)
        text = re.sub(r"'[()]'", "'x'", text)
        bad += [f"{path.relative_to(ROOT)}: strchr({call})" for call in calls_of("strchr", text) if not re.search(r", '(?:\\.|.)'$", call)]
    assert bad == ["src/lib/base/str.h: strchr(set, c)"], "\n".join(bad)


STILTED = r"\b(nobody|somebody|whoever|anew|goes on|is told|are told|(?<!there )is no (?:word|file|list|message|error|answer))\b"


def texts_are_in_plain_english():
    """Words that were translated word by word, in what users, models and readers of the code see."""
    listed = subprocess.run(["git", "ls-files", "src", "include", "modeld", "docs", "scripts", "README.md", "CONTRIBUTING.md", "Makefile"],
                            cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True)
    bad = []
    for name in listed.stdout.splitlines():
        text = re.sub(r"`[^`\n]*`", "", (ROOT / name).read_text(errors="replace"))  # names of tests and commands
        bad += [f"{name}:{number}: {line.strip()[:120]}" for number, line in enumerate(text.splitlines(), 1)
                if re.search(STILTED, line, re.I)]
    assert not bad, f"{len(bad)} lines\n" + "\n".join(bad)


def no_static_function_is_a_bare_verb():
    """A backtrace says run, add, on_kick: of what?"""
    verbs = "run go ask keep tell fire say hear start begin finish find add fail do step take make show read write".split()
    bad = []
    for path in (ROOT / "src").rglob("*.[ch]"):
        bad += [f"{path.relative_to(ROOT)}: {name}" for name in re.findall(r"^static [^=;{}()]*?\b(\w+)\(", path.read_text(), re.M) if name in verbs]
    assert not bad, "\n".join(bad)


def variables_that_settings_may_set_are_not_read_from_the_process():
    """services_variable() knows `env` of the settings and what clients have set; getenv() is for what a process is born with."""
    own = set("""HOME PATH TMPDIR TMUX TMUX_PANE XDG_RUNTIME_DIR IS_SANDBOX USER_TYPE CLAUDE_CONFIG_DIR CLAUDE_CODE_SIMPLE
        CLAUDE_CODE_ENTRYPOINT CLAUDE_CODE_PLUGIN_CACHE_DIR CLAUDE_CODE_SDK_READS_SESSION_STATE CLAUDE_CODE_PLAN_MODE_REQUIRED
        CLAUDE_CODE_TEAMMATE_COMMAND CURL_CA_BUNDLE SSL_CERT_FILE NODE_EXTRA_CA_CERTS""".split())
    read = [(path, name) for path in ROOT.glob("src/*/**/*.c") if path.relative_to(ROOT / "src").parts[0] != "face"
            for name in re.findall(r'\bgetenv\("(\w+)"', path.read_text())]
    assert own <= {name for _, name in read}, own - {name for _, name in read}
    bad = [f"{path.relative_to(ROOT)}: {name}" for path, name in read if name not in own and not name.startswith(("CADRE_", "T_"))]
    assert not bad, "\n".join(bad)


def every_variable_that_the_program_reads_is_in_a_test():
    """By its name; mutations.md has those that were seen to matter. Without a test are the limit for a pane that hangs at
    its end, what is part of an address that no test may reach, what other terminals set, and what cadre sets for itself."""
    listed = subprocess.run(["git", "ls-files", "tests/*.[ch]", "tests/*.py", "tests/*.test", "tests/*.mjs"], cwd=ROOT, check=True,
                            stdout=subprocess.PIPE, text=True)
    tests = "".join((ROOT / name).read_text(errors="replace") for name in listed.stdout.split())
    tests = tests.replace(pathlib.Path(__file__).read_text(), "")
    readers = r"\b(?:getenv|env_get|tool_env_get|services_variable|policy_variable|agent_tree_variable|credential_env|env|find_variable|env_number" \
              r"|mcp_env_number|variables_get)\((?:[^()]|\([^()]*\))*?\"([A-Z][A-Z0-9_]{5,})\""
    read = {name for path in (ROOT / "src").rglob("*.c") for name in re.findall(readers, path.read_text())}
    known = set("""CLAUDE_CODE_TEAM_TEARDOWN_PARK_TIMEOUT_MS CADRE_CRASH_AT CADRE_CRASH_LOG
        ANTHROPIC_GOOGLE_CLOUD_LOCATION AWS_CONTAINER_CREDENTIALS_RELATIVE_URI AZURE_OPENAI_API_VERSION AZURE_OPENAI_RESOURCE_NAME
        INSIDE_EMACS VIM_TERMINAL WT_SESSION XTERM_VERSION T_ABSTRACT T_MEMORY T_SOCKET T_VICTIM""".split())
    lost = sorted(name for name in read - known if not re.search(rf"\b{name}\b", tests))
    assert len(read) > 60 and not lost, lost


SUITES = {"rooms": [every_include_is_allowed_by_the_table_of_rooms, a_forbidden_include_fails],
          "form": [the_source_is_formatted, no_comment_is_a_banner, no_header_is_included_twice,
                   every_file_and_function_that_a_comment_names_exists, every_test_is_registered, every_test_that_a_table_names_exists,
                   the_runner_counts_cases_and_every_bad_end,
                   characters_are_looked_for_in_a_set_by_char_in, texts_are_in_plain_english, no_static_function_is_a_bare_verb,
                   variables_that_settings_may_set_are_not_read_from_the_process,
                   every_variable_that_the_program_reads_is_in_a_test]}


def main():
    tests, failed = SUITES[sys.argv[1]], False
    print(f"1..{len(tests)}")
    for number, test in enumerate(tests, 1):
        name = test.__name__.replace("_", " ")
        try:
            skip = test()
            print(f"ok {number} - {name}{f' # SKIP {skip}' if skip else ''}", flush=True)
        except AssertionError as error:
            failed = True
            print(f"not ok {number} - {name}\n# " + str(error).strip().replace("\n", "\n# "), flush=True)
    sys.exit(failed)


main()
