#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Plugins from outside: what they bring to a run, how they are installed, and what waits for consent."""
import contextlib
import hashlib
import http.server
import io
import json
import os
import pathlib
import shutil
import subprocess
import tarfile
import threading
import zipfile

from lab import ROOT, Skip, below, main

PLUGINS = (ROOT / "tests" / "plugins").resolve()
BASH = 'rule\n  turn 1\n  call Bash {"command": "%s"}\nrule\n  text done\n'
CHILD = """
rule
  agent main
  turn 1
  call Agent {"description": "look", "prompt": "Look.", "subagent_type": "p:one"}
rule
  text done
"""


def put(path, text):
    path = pathlib.Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text if isinstance(text, str) else json.dumps(text))
    return str(path)


def make_plugin(root, name, **manifest):
    """A plugin with one agent; returns its directory."""
    directory = pathlib.Path(root) / name
    put(directory / ".claude-plugin" / "plugin.json", {"name": name, **manifest})
    put(directory / "agents" / "one.md", "---\nname: one\ndescription: one\n---\nLook.\n")
    return str(directory)


def ask(lab, *words, code=0):
    done = lab.cadre(*words, "--json")
    assert done.code == code and done.err == "", done
    return json.loads(done.out)


def states(lab, *words):
    return {p["id"]: p["state"] for p in ask(lab, "plugin", "list", *words)}


def init_frame(lab, *words):
    lab.model("rule\n  text done\n")
    run = lab.stream(*words, "--", "go")
    frame = run.frame("system", "init")
    assert run.wait().code == 0
    return frame


def every_test_plugin_has_the_verdict_that_its_name_says(lab):
    for path in sorted(PLUGINS.iterdir()):
        sound = path.name.startswith("sound-")
        done = lab.cadre("plugin", "validate", str(path))
        assert done.code == (0 if sound else 1) and done.err == "", done
        assert ("is valid." if sound else "is not valid: 1 error.") in done.out, done


def a_path_to_validate_is_seen_from_the_working_directory(lab):
    make_plugin(lab.work, "mine", hooks={"MessageDisplay": [{"hooks": [{"type": "command", "command": "true"}]}]})
    for word in ("./mine", "mine", "../" + os.path.basename(lab.work) + "/mine"):
        done = lab.cadre("plugin", "validate", word)
        assert done.code == 0 and "mine is valid." in done.out, done
    put(os.path.join(lab.work, "other/main.c"), "int main;")
    done = lab.cadre("plugin", "validate", "other")
    assert done.code == 1 and f"{lab.work}/other: not a plugin: it has no .claude-plugin/plugin.json" in done.out, done


def a_verdict_is_given_for_a_manifest_and_a_marketplace_by_their_files_too(lab):
    shop = os.path.join(lab.folder, "shop 1")
    put(os.path.join(shop, "skills/one/SKILL.md"), "---\nname: one\ndescription: d\n---\nDo.\n")
    market = put(os.path.join(shop, ".claude-plugin/marketplace.json"), {"name": "shop", "owner": {"name": "o"}, "plugins": [
        {"name": "tool", "source": "./", "strict": False, "skills": ["./skills/one"]}]})
    for path in (shop, market):
        done = lab.cadre("plugin", "validate", path)
        assert done.code == 0 and "tool is valid." in done.out and "shop offers 1 plugin." in done.out, done
    for text, reason in (("{}", "name: expected letters"), ("[", "expected a value"),
                         ({"name": "shop", "plugins": [{"name": "tool", "source": "./gone"}]}, "source: does not exist")):
        put(market, text)
        for words in ([], ["--json"]):
            done = lab.cadre("plugin", "validate", market, *words)
            assert done.code == 1 and done.err == "" and reason in done.out, done
        assert any(reason in e["message"] for p in json.loads(done.out) for e in p["errors"]), done
    manifest = str(PLUGINS / "sound-untidy/.claude-plugin/plugin.json")
    done = lab.cadre("plugin", "validate", manifest)
    assert done.code == 0 and "sound-untidy is valid." in done.out, done
    assert "note: agents/analyst.md:3: not YAML" in done.out, done


def the_init_frame_tells_of_plugins_and_their_errors(lab):
    frame = init_frame(lab, "--plugin-dir", str(PLUGINS / "sound-agents"), "--plugin-dir", str(PLUGINS / "bad-json"))
    assert frame["plugins"] == [{"name": "sound-agents", "path": str(PLUGINS / "sound-agents"), "version": "1.0.0"}], frame
    assert [(e["plugin"], e["type"]) for e in frame["plugin_errors"]] == [("bad-json@inline", "manifest-parse-error")], frame
    assert "plugin.json:4: expected a value" in frame["plugin_errors"][0]["message"], frame
    assert {"sound-agents:watcher", "sound-agents:deep:diver"} <= set(frame["agents"]), frame
    assert "plugin_errors" not in init_frame(lab)


def skills_are_named_by_their_directories_and_listed_without_commands(lab):
    words = ("--plugin-dir", str(PLUGINS / "sound-skill-names"))
    frame = init_frame(lab, *words)
    assert frame["skills"] == ["sound-skill-names:dive", "sound-skill-names:plan"], frame["skills"]
    typed = [name for name in frame["slash_commands"] if name.startswith("sound-")]
    assert typed == frame["skills"] + ["sound-skill-names:start"], typed
    done = lab.cadre("plugin", "list", *words)
    assert "2 paths of skills, 1 path of commands" in done.out, done


def the_list_of_agents_shows_the_problems_about_agents_alone(lab):
    plugin = make_plugin(lab.folder, "p", agents=["./gone.md"], commands=["./lost.md"], hooks="./none.json")
    for command, wanted in (("plugin", {"gone.md", "lost.md", "none.json"}), ("agents", {"gone.md"})):
        out = lab.cadre(command, "list", "--plugin-dir", plugin).out
        assert {name for name in ("gone.md", "lost.md", "none.json") if name in out} == wanted, out


def hooks_of_a_plugin_run_and_know_its_places_and_options(lab):
    plugin = make_plugin(lab.folder, "p", userConfig={"KEY": {"type": "string", "required": True}}, hooks={"PreToolUse": [
        {"matcher": "Bash", "hooks": [{"type": "command", "command":
            'printf "%s\\n" "${CLAUDE_PLUGIN_ROOT}" "$CLAUDE_PLUGIN_DATA" "$CLAUDE_PLUGIN_OPTION_KEY" > seen'}]}]})
    put(pathlib.Path(lab.home) / ".claude/settings.json", {"pluginConfigs": {"p@inline": {"options": {"KEY": "k 1"}}}})
    lab.model(BASH % "true")
    done = lab.cadre("-p", "--plugin-dir", plugin, "--allowed-tools", "Bash", "--", "go")
    assert done.code == 0, done
    data = os.path.join(lab.home, ".claude/plugins/data/p-inline")
    assert pathlib.Path(lab.work, "seen").read_text().splitlines() == [plugin, data, "k 1"]
    assert os.path.isdir(data)


def programs_of_a_plugin_are_found_but_never_before_others(lab):
    plugin = make_plugin(lab.folder, "p")
    for name in ("plugin-says", "ls"):
        os.chmod(put(pathlib.Path(plugin) / "bin" / name, "#!/bin/sh\necho from the plugin\n"), 0o755)
    lab.model(BASH % "plugin-says > seen; ls seen >> seen")
    assert lab.cadre("-p", "--plugin-dir", plugin, "--allowed-tools", "Bash", "--", "go").code == 0
    assert pathlib.Path(lab.work, "seen").read_text() == "from the plugin\nseen\n"


def hooks_of_a_plugins_agent_wait_for_consent(lab):
    plugin = make_plugin(lab.folder, "p")
    put(pathlib.Path(plugin) / "agents/one.md", "---\nname: one\ndescription: d\nhooks:\n  SubagentStart:\n    - hooks:\n"
        "        - type: command\n          command: touch seen\n---\nLook.\n")
    seen = pathlib.Path(lab.work, "seen")
    for trusted in (False, True, False):
        if trusted:
            assert ask(lab, "plugin", "trust", "p", "--plugin-dir", plugin)["did"] == "trusted"
        elif seen.exists():
            assert ask(lab, "plugin", "trust", "p", "--forget", "--plugin-dir", plugin)["did"] == "forgotten"
            seen.unlink()
        lab.model(CHILD)
        assert lab.cadre("-p", "--plugin-dir", plugin, "--allowed-tools", "Agent", "--", "go").code == 0
        assert seen.exists() == trusted, trusted


def an_agent_has_skills_of_its_own_plugin_without_the_plugins_name(lab):
    lab.model(CHILD.replace("p:one", "sound-crew:scout").replace("text done", "agent main\n  text {{last_result}}")
              + 'rule\n  prompt contains "Look twice."\n  text Looked twice.\n')
    done = lab.cadre("-p", "--plugin-dir", str(PLUGINS / "sound-crew"), "--allowed-tools", "Agent", "--", "go")
    assert done.code == 0 and "Looked twice." in done.out and "not available" not in done.out, done


def a_stop_hook_that_reads_the_transcript_keeps_a_loop_running(lab):
    model = lab.model('rule\n  last contains "Round 2"\n  text All is FINISHED now.\nrule\n  text More is left.\n', log=True)
    done = lab.cadre("-p", "--plugin-dir", str(PLUGINS / "sound-loop"), "/sound-loop:loop the tests")
    assert done.code == 0 and done.out == "All is FINISHED now.\n", done
    assert pathlib.Path(lab.work, "rounds").read_text() == "2" and pathlib.Path(lab.work, "task").read_text() == "the tests\n"
    assert "The loop is on." in json.dumps(model.bodies()[0]["messages"]), model.bodies()[0]
    assert len(model.bodies()) == 3, model.bodies()


def rules_of_a_project_hold_through_the_hooks_of_a_plugin(lab):
    put(os.path.join(lab.work, ".claude/rule.rm.local.md"), "---\nevent: bash\npattern: rm\\s+-rf\naction: block\n---\nNo rm here.\n")
    put(os.path.join(lab.work, ".claude/rule.end.local.md"), "---\nevent: stop\npattern: tests[ ]passed\naction: block\n---\nTest it.\n")
    put(os.path.join(lab.work, ".claude/rule.say.local.md"), "---\nevent: prompt\npattern: go\naction: warn\n---\nGoing.\n")
    put(os.path.join(lab.work, "kept/file"), "x")
    model = lab.model('rule\n  last contains "Test it."\n  text The tests passed.\n'
                      'rule\n  prompt contains "go"\n  turn 1\n  call Bash {"command": "rm -rf kept"}\n'
                      'rule\n  prompt contains "go"\n  turn 2\n  call Bash {"command": "touch made"}\n'
                      'rule\n  text Ready.\n', log=True)
    done = lab.cadre("-p", "--plugin-dir", str(PLUGINS / "sound-rules"), "--allowed-tools", "Bash", "--", "go")
    assert done.code == 0 and done.out == "The tests passed.\n", done
    assert all(text in done.err for text in ("No rm here.", "Test it.", "Going.")), done
    assert os.path.exists(os.path.join(lab.work, "kept/file")) and os.path.exists(os.path.join(lab.work, "made"))
    assert len(model.bodies()) == 4, model.bodies()


def a_plugin_begins_each_conversation_with_a_skill_of_its_own_and_again_after_compaction(lab):
    words = ("--plugin-dir", str(PLUGINS / "sound-briefing"))
    model = lab.model("rule\n  text done\n", log=True)

    def briefed(body):
        return json.dumps(body["messages"]).count("Look for a skill before you answer.")

    first = lab.stream(*words, "--", "go")
    session = first.frame("system", "init")["session_id"]
    assert first.wait().code == 0 and briefed(model.bodies()[0]) == 1, model.bodies()
    assert "sound-briefing:using-briefing" in json.dumps(model.bodies()[0]), model.bodies()
    assert lab.cadre("-p", *words, "--resume", session, "more").code == 0
    assert briefed(model.bodies()[1]) == 1, model.bodies()[1]  # no other one: a resume has it in its history
    assert lab.cadre("-p", *words, "--resume", session, "/compact").code == 0
    assert lab.cadre("-p", *words, "--resume", session, "and now").code == 0
    assert briefed(model.bodies()[-1]) == 1, model.bodies()[-1]


def hooks_that_review_in_the_background_reach_the_model(lab):
    model = lab.model('rule\n  last contains "the file has no test"\n  text Now it has.\n'
                      'rule\n  last contains "write fewer lines"\n  text Shorter.\n'
                      'rule\n  turn 1\n  call Write {"file_path": "new.txt", "content": "x"}\n', log=True)
    done = lab.cadre("-p", "--plugin-dir", str(PLUGINS / "sound-watch"), "--permission-mode", "acceptEdits", "write it")
    assert done.code == 0 and done.out == "Now it has.\n", done
    assert pathlib.Path(lab.work, "prepared").exists() and len(model.bodies()) == 3, model.bodies()
    assert "async" not in json.dumps(model.bodies()[0]["messages"]), model.bodies()[0]


def a_zip_file_is_used_like_a_directory_and_a_hostile_one_is_not(lab):
    good, evil = os.path.join(lab.folder, "good.zip"), os.path.join(lab.folder, "evil.zip")
    with zipfile.ZipFile(good, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in (PLUGINS / "sound-agents").rglob("*"):
            archive.write(path, path.relative_to(PLUGINS))
    with zipfile.ZipFile(evil, "w") as archive:
        archive.writestr("plugin.json", '{"name": "evil"}')
        archive.writestr("../../evil", "x")
    found = ask(lab, "plugin", "list", "--plugin-dir", good, "--plugin-dir", evil)
    assert [(p["id"], p["state"]) for p in found] == [("sound-agents@inline", "enabled"), ("evil.zip@inline", "failed")], found
    assert "leads elsewhere" in found[1]["errors"][0]["message"], found
    assert "sound-agents:watcher" in lab.cadre("agents", "--plugin-dir", good).out
    assert not below(lab.folder, "evil"), "something was unpacked"


def a_marketplace_in_a_directory_offers_plugins(lab):
    shop = os.path.join(lab.folder, "shop")
    make_plugin(shop, "tool", version="1.0.0")
    put(os.path.join(shop, ".claude-plugin/marketplace.json"), {"name": "shop", "owner": {"name": "o"}, "plugins": [
        {"name": "tool", "source": "./tool", "description": "a tool"}]})
    assert ask(lab, "plugin", "marketplace", "add", shop) == {"name": "shop", "did": "added"}
    assert [p["name"] for p in ask(lab, "plugin", "marketplace", "list")[0]["plugins"]] == ["tool"]
    done = ask(lab, "plugin", "install", "tool@shop")
    cache = os.path.join(lab.home, ".claude/plugins/cache/shop/tool")
    assert done == {"id": "tool@shop", "did": "installed", "enabled": True, "path": os.path.join(cache, "1.0.0")}, done
    assert init_frame(lab)["plugins"][0]["name"] == "tool"
    elsewhere = lab.cadre("plugin", "marketplace", "list", "--json", env={"CLAUDE_CODE_PLUGIN_CACHE_DIR": os.path.join(lab.folder, "elsewhere")})
    assert json.loads(elsewhere.out) == [], elsewhere
    assert ask(lab, "plugin", "disable", "tool", "--scope", "project")["enabled"] is True  # a project cannot switch off a guard
    assert lab.cadre("trust").code == 0
    assert states(lab) == {"tool@shop": "disabled"} and init_frame(lab)["plugins"] == []
    assert json.loads(pathlib.Path(lab.work, ".claude/settings.json").read_text())["enabledPlugins"] == {"tool@shop": False}
    os.unlink(os.path.join(lab.work, ".claude/settings.json"))
    make_plugin(shop, "tool", version="2.0.0")
    assert ask(lab, "plugin", "install", "tool@shop")["path"] == os.path.join(cache, "2.0.0")
    assert ask(lab, "plugin", "uninstall", "tool")["enabled"] is False
    assert states(lab) == {} and not os.path.exists(cache)
    assert ask(lab, "plugin", "marketplace", "remove", "shop")["did"] == "removed"
    assert os.path.exists(shop) and ask(lab, "plugin", "marketplace") == []


def a_plugin_that_is_the_whole_marketplace_has_the_skills_that_its_entry_lists(lab):
    shop = os.path.join(lab.folder, "shop")
    for name in ("one", "two"):
        put(os.path.join(shop, "skills", name, "SKILL.md"), f"---\nname: {name}\ndescription: d\n---\nDo.\n")
    put(os.path.join(shop, "commands", "start.md"), "Start.\n")
    put(os.path.join(shop, ".claude-plugin/marketplace.json"), {"name": "shop", "plugins": [
        {"name": "first", "source": "./", "strict": False, "skills": ["./skills/one"]},
        {"name": "second", "source": "./", "skills": "./skills/two"},
        {"name": "whole", "source": "./", "strict": False}]})
    assert lab.cadre("plugin", "marketplace", "add", shop).code == 0
    for name, skills in (("first", ["one"]), ("second", ["two"]), ("whole", ["one", "two"])):
        assert ask(lab, "plugin", "install", name + "@shop")["enabled"]
        frame = init_frame(lab)
        assert frame["skills"] == [f"{name}:{skill}" for skill in skills], frame["skills"]
        assert f"{name}:start" in frame["slash_commands"], frame
        assert "plugin_errors" not in frame, frame
        assert lab.cadre("plugin", "uninstall", name).code == 0


def a_copy_without_a_manifest_is_called_as_it_was_installed(lab):
    place = os.path.join(lab.home, ".claude/plugins")
    copy = os.path.join(place, "cache/shop/tool/unknown")
    put(os.path.join(copy, "skills/one/SKILL.md"), "One.\n")
    put(os.path.join(place, "installed_plugins.json"), {"version": 2, "plugins": {"tool@shop": [
        {"scope": "user", "installPath": copy, "version": "unknown"}]}})
    put(os.path.join(lab.home, ".claude/settings.json"), {"enabledPlugins": {"tool@shop": True}})
    frame = init_frame(lab)
    assert frame["skills"] == ["tool:one"] and "plugin_errors" not in frame, frame


def git(directory, *words):
    subprocess.run(["git", "-C", directory, "-c", "user.name=t", "-c", "user.email=t@example.invalid", *words], check=True,
                   stdout=subprocess.DEVNULL)


def a_marketplace_in_a_repository_is_fetched_and_updated(lab):
    shop, own = os.path.join(lab.folder, "shop"), os.path.join(lab.folder, "own")
    make_plugin(shop, "tool", version="1.0.0")
    make_plugin(own, "sub", version="0.1.0")
    offers = [{"name": "tool", "source": "./tool"},
              {"name": "sub", "source": {"source": "url", "url": "file://" + own, "path": "sub"}},
              {"name": "far", "source": {"source": "url", "url": "ext::sh -c 'touch %s/evil'" % lab.folder}}]
    put(os.path.join(shop, ".claude-plugin/marketplace.json"), {"name": "shop", "plugins": offers})
    for directory in (shop, own):
        git(lab.folder, "init", "-q", directory)
        git(directory, "add", ".")
        git(directory, "commit", "-qm", "x")
    assert ask(lab, "plugin", "marketplace", "add", "file://" + shop)["name"] == "shop"
    assert ask(lab, "plugin", "install", "tool@shop")["enabled"] and ask(lab, "plugin", "install", "sub@shop")["enabled"]
    done = lab.cadre("plugin", "install", "far@shop")
    assert done.code == 2 and "not a repository" in done.err and not os.path.exists(os.path.join(lab.folder, "evil")), done
    make_plugin(shop, "tool", version="1.1.0")
    git(shop, "commit", "-qam", "y")
    assert ask(lab, "plugin", "marketplace", "update") == [{"name": "shop", "error": None}]
    assert ask(lab, "plugin", "install", "tool@shop")["path"].endswith("/shop/tool/1.1.0")
    shutil.rmtree(shop)
    done = lab.cadre("plugin", "marketplace", "update", "shop")
    assert done.code == 1 and "git clone" in done.out, done
    assert states(lab) == {"tool@shop": "enabled", "sub@shop": "enabled"}, "a failed update changed something"
    left = [p.name for p in below(pathlib.Path(lab.home, ".claude/plugins"), ".cadre-*")]
    assert left == [], left
    lab.wait_for_nobody()


@contextlib.contextmanager
def served(files):
    """An HTTP server on loopback: path -> bytes, or (status, address) of a redirect. Yields its address and what was asked for."""
    asked = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):  # noqa: N802
            asked.append(self.path)
            found = files.get(self.path.split("?")[0])
            self.send_response(404 if found is None else found[0] if isinstance(found, tuple) else 200)
            body = found if isinstance(found, bytes) else b""
            if isinstance(found, tuple):
                self.send_header("Location", found[1])
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield "http://127.0.0.1:%d" % server.server_port, asked
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def a_plugin_comes_from_an_address_but_only_from_a_safe_one(lab):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("far/.claude-plugin/plugin.json", '{"name": "far"}')
        archive.writestr("far/agents/one.md", "---\nname: one\ndescription: one\n---\nLook.\n")
    files = {"/far.zip": packed.getvalue(), "/moved.zip": (302, "/far.zip"), "/away.zip": (302, "http://example.invalid/x.zip"),
             "/broken.zip": packed.getvalue()[:100], "/round.zip": (301, "/round.zip")}
    with served(files) as (url, asked):
        for name in ("far", "moved"):
            frame = init_frame(lab, "--plugin-url", "%s/%s.zip?x=1#y" % (url, name) if name == "far" else url + "/moved.zip")
            assert [p["name"] for p in frame["plugins"]] == ["far"] and "far:one" in frame["agents"], frame
        for name, expected in (("away", "not an https URL"), ("broken", "is not a zip file"), ("none", "answered with status 404"),
                               ("round", "answered with status 301")):
            found = ask(lab, "plugin", "list", "--plugin-url", "%s/%s.zip" % (url, name))
            assert found[0]["state"] == "failed" and expected in found[0]["errors"][0]["message"], found
        before = len(asked)
    found = ask(lab, "plugin", "list", "--plugin-url", "http://example.invalid/x.zip")
    assert "not an https URL" in found[0]["errors"][0]["message"] and len(asked) == before, found


def tarball(files):
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz", format=tarfile.PAX_FORMAT) as archive:
        for name, text in files.items():
            entry = tarfile.TarInfo("package/" + name)
            entry.size = len(text)
            archive.addfile(entry, io.BytesIO(text.encode()))
    return packed.getvalue()


def packument(url, name, versions):
    return json.dumps({"name": name, "dist-tags": {"latest": max(versions)}, "versions": {
        version: {"name": name, "version": version, "scripts": {"install": "touch evil", "prepack": "touch evil"}, "dist": {
            "tarball": "%s/%s-%s.tgz" % (url, name, version), "shasum": hashlib.sha1(packed).hexdigest()}}
        for version, packed in versions.items()}}).encode()


def plugins_come_as_packages_pinned_commits_but_not_from_commands(lab):
    if not shutil.which("npm"):
        raise Skip("npm is not here")
    shop, own = os.path.join(lab.folder, "shop"), os.path.join(lab.folder, "own")
    make_plugin(own, "sub", version="0.1.0")
    git(lab.folder, "init", "-q", own)
    git(own, "add", ".")
    git(own, "commit", "-qm", "x")
    first = subprocess.run(["git", "-C", own, "rev-parse", "HEAD"], check=True, capture_output=True, text=True).stdout.strip()
    make_plugin(own, "sub", version="0.2.0")
    git(own, "commit", "-qam", "y")
    pinned = {"source": "url", "url": "file://" + own, "path": "sub", "sha": first}
    manifest = {".claude-plugin/plugin.json": '{"name": "pack"}', "skills/%s/SKILL.md" % ("x" * 90): "Long.",
                "package.json": "{}"}
    versions = {version: tarball({**manifest, "version.txt": version}) for version in ("1.0.0", "2.0.0")}
    files = {}
    with served(files) as (url, _):
        files["/pack"] = packument(url, "pack", versions)
        files.update({"/pack-%s.tgz" % version: packed for version, packed in versions.items()})
        npm = {"source": "npm", "package": "pack", "version": "^1.0.0", "registry": url}
        offers = [{"name": "pack", "version": "9", "source": npm}, {"name": "sub", "source": pinned},
                  {"name": "gone", "source": {**pinned, "sha": "0" * 40}}, {"name": "short", "source": {**pinned, "sha": "abc"}},
                  {"name": "none", "source": {**npm, "package": "none"}},
                  {"name": "path", "source": {**npm, "package": "../own"}},
                  {"name": "version", "source": {**npm, "version": "file:../own"}},
                  {"name": "command", "source": {"source": "command", "command": "touch %s/evil" % lab.folder}}]
        put(os.path.join(shop, ".claude-plugin/marketplace.json"), {"name": "shop", "plugins": offers})
        assert ask(lab, "plugin", "marketplace", "add", shop)["name"] == "shop"
        home = ask(lab, "plugin", "install", "pack@shop")["path"]
        assert pathlib.Path(home, "version.txt").read_text() == "1.0.0", home
        assert pathlib.Path(home, "skills", "x" * 90, "SKILL.md").read_text() == "Long.", home
        assert ask(lab, "plugin", "install", "sub@shop")["path"].endswith("/shop/sub/0.1.0")
        for name, expected in (("gone", "git checkout"), ("short", "hexadecimal"), ("none", "npm pack none"),
                               ("path", "name of an npm package"), ("version", "a version, a range or a tag"),
                               ("command", "program of the marketplace's choice")):
            done = lab.cadre("plugin", "install", name + "@shop")
            assert done.code in (1, 2) and expected in done.err, (name, done)
    assert not below(lab.folder, "evil"), "a script ran"
    assert [p.name for p in below(pathlib.Path(lab.home, ".claude/plugins"), ".cadre-*")] == []


def what_is_uninstalled_leaves_no_word_in_the_settings(lab):
    directory = make_plugin(lab.folder, "tool")
    assert ask(lab, "plugin", "install", directory)["enabled"]
    path = pathlib.Path(lab.home, ".claude/settings.json")
    assert json.loads(path.read_text())["enabledPlugins"] == {"tool@local": True}
    assert ask(lab, "plugin", "uninstall", "tool")["did"] == "uninstalled"
    assert json.loads(path.read_text())["enabledPlugins"] == {}


def output_styles_of_a_plugin_are_offered(lab):
    directory = make_plugin(lab.folder, "tool", outputStyles=["./styles", "./one.md"])
    put(os.path.join(directory, "styles", "short.md"), "Be short.")
    put(os.path.join(directory, "one.md"), "---\nname: Other\n---\nBe another.")
    put(os.path.join(directory, "output-styles", "hidden.md"), "Not this one.")
    model = lab.model("rule\n  text done\n", log=True)
    done = lab.cadre("-p", "--plugin-dir", directory, "--settings", '{"outputStyle": "tool:Other"}', "go")
    assert done.code == 0 and done.err == "", done
    assert "Be another." in json.dumps(model.bodies()[0]["system"])
    done = lab.cadre("-p", "--plugin-dir", directory, "--settings", '{"outputStyle": "tool:hidden"}', "go")
    assert "no such output style" in done.err, done


def a_client_names_plugins_with_its_first_word(lab):
    with_server = make_plugin(lab.folder, "one", mcpServers={"s": {"command": "true"}})
    without = make_plugin(lab.folder, "two", mcpServers={"s": {"command": "true"}})
    lab.model("rule\n  text done\n")
    run = lab.stream("--input-format", "stream-json", stdin=subprocess.PIPE)

    def say(**line):
        run.process.stdin.write(json.dumps(line).encode() + b"\n")
        run.process.stdin.flush()

    say(type="control_request", request_id="1", request={"subtype": "initialize", "plugins": [
        {"type": "local", "path": with_server}, {"type": "local", "path": without, "skipMcpDiscovery": True}]})
    answer = run.frame("control_response")["response"]
    assert answer["subtype"] == "success" and {"one:one", "two:one"} <= {a["name"] for a in answer["response"]["agents"]}, answer
    say(type="user", message={"role": "user", "content": "go"})
    frame = run.frame("system", "init")
    assert [p["name"] for p in frame["plugins"]] == ["one", "two"], frame
    assert [s["name"] for s in frame["mcp_servers"]] == ["plugin:one:s"], frame
    assert run.frame("result")["is_error"] is False
    run.process.stdin.close()
    assert run.wait().code == 0


def a_declared_marketplace_is_added_when_it_is_needed_but_not_for_a_project_that_is_not_trusted(lab):
    shop = os.path.join(lab.folder, "shop")
    make_plugin(shop, "tool")
    put(os.path.join(shop, ".claude-plugin/marketplace.json"), {"name": "shop", "plugins": [{"name": "tool", "source": "./tool"}]})
    settings = {"extraKnownMarketplaces": {"shop": {"source": {"source": "directory", "path": shop}}}}
    put(os.path.join(lab.work, ".claude/settings.json"), settings)
    done = lab.cadre("plugin", "install", "tool@shop")
    assert done.code == 1 and "no such marketplace: shop" in done.err, done
    assert lab.cadre("trust").code == 0
    assert ask(lab, "plugin", "install", "tool@shop")["enabled"]


def what_is_wrong_is_said_with_its_reason(lab):
    for words, code, expected in (
            (("install", "nowhere"), 1, "neither a path nor NAME@MARKETPLACE"),
            (("install", "x@nowhere"), 1, "no such marketplace: nowhere"),
            (("install", str(PLUGINS / "bad-no-name")), 2, "plugin.json:1: name: is missing"),
            (("enable", "nobody"), 1, "no such plugin: nobody"),
            (("uninstall", "nobody"), 1, "no such plugin: nobody"),
            (("marketplace", "add", "nowhere"), 1, "neither a directory"),
            (("marketplace", "add", lab.work), 1, "marketplace.json is missing"),
            (("marketplace", "remove", "x"), 1, "no such marketplace: x")):
        done = lab.cadre("plugin", *words)
        assert done.code == code and expected in done.err, (words, done)


if __name__ == "__main__":
    main(every_test_plugin_has_the_verdict_that_its_name_says,
         a_path_to_validate_is_seen_from_the_working_directory,
         a_verdict_is_given_for_a_manifest_and_a_marketplace_by_their_files_too,
         the_init_frame_tells_of_plugins_and_their_errors,
         skills_are_named_by_their_directories_and_listed_without_commands,
         the_list_of_agents_shows_the_problems_about_agents_alone, hooks_of_a_plugin_run_and_know_its_places_and_options,
         programs_of_a_plugin_are_found_but_never_before_others,
         hooks_of_a_plugins_agent_wait_for_consent,
         an_agent_has_skills_of_its_own_plugin_without_the_plugins_name,
         a_stop_hook_that_reads_the_transcript_keeps_a_loop_running,
         rules_of_a_project_hold_through_the_hooks_of_a_plugin,
         a_plugin_begins_each_conversation_with_a_skill_of_its_own_and_again_after_compaction,
         hooks_that_review_in_the_background_reach_the_model,
         a_zip_file_is_used_like_a_directory_and_a_hostile_one_is_not,
         a_marketplace_in_a_directory_offers_plugins,
         a_plugin_that_is_the_whole_marketplace_has_the_skills_that_its_entry_lists,
         a_copy_without_a_manifest_is_called_as_it_was_installed,
         a_marketplace_in_a_repository_is_fetched_and_updated,
         a_declared_marketplace_is_added_when_it_is_needed_but_not_for_a_project_that_is_not_trusted,
         a_plugin_comes_from_an_address_but_only_from_a_safe_one,
         plugins_come_as_packages_pinned_commits_but_not_from_commands,
         a_client_names_plugins_with_its_first_word,
         what_is_uninstalled_leaves_no_word_in_the_settings,
         output_styles_of_a_plugin_are_offered,
         what_is_wrong_is_said_with_its_reason)
