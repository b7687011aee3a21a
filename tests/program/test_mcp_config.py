#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`cadre mcp` from outside: which servers count, errors with file and line, files that change in one place and nowhere else."""
import json
import os
import pathlib
import re
import stat

from lab import main


def put(root, name, text):
    path = pathlib.Path(root) / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode() if isinstance(text, str) else json.dumps(text).encode())
    return str(path)


def read(path):
    return pathlib.Path(path).read_bytes().decode()


def ask(lab, *words, code=0, **more):
    done = lab.cadre("mcp", "--json", *words, **more)
    assert done.code == code and done.err == "", done
    return json.loads(done.out)


def standing(lab, *words, **more):
    return [(s["name"], s["scope"], s["state"]) for s in ask(lab, "list", *words, **more)["servers"]]


def servers_of_all_places_are_listed_with_what_shadows_them(lab):
    work = os.path.realpath(lab.work)
    project = put(lab.work, ".mcp.json", '{"mcpServers": {\n  "s": {"command": "p"},\n  "bad": {"url": "https://h"}}}')
    state = put(lab.home, ".claude.json", {"mcpServers": {"s": {"command": "u"}},
                                           "projects": {work: {"mcpServers": {"s": {"type": "http", "url": "https://h"}}}}})
    put(lab.home, ".claude/settings.json", {"enableAllProjectMcpServers": True})
    found = ask(lab, "list", "--mcp-config", '{"mcpServers": {"f": {"command": "${NO_SUCH}"}}}')
    assert [(s["name"], s["scope"], s["state"], s["type"], s["file"], s["line"]) for s in found["servers"]] == [
        ("f", "flag", "counts", "stdio", "--mcp-config", 1), ("s", "local", "counts", "http", state, 1),
        ("s", "project", "shadowed", "stdio", project, 2), ("bad", "project", "refused", None, project, 3),
        ("s", "user", "shadowed", "stdio", state, 1)], found
    assert found["servers"][2]["shadowedBy"] == {"name": "s", "scope": "local", "file": state, "line": 1}, found
    assert found["servers"][3]["error"] == "url_missing_type" and found["servers"][2]["config"] == {"command": "p"}, found
    assert "${NO_SUCH} is not set" in found["notes"][0], found
    done = lab.cadre("mcp")
    assert done.code == 0 and re.search(r"^s +project +stdio +shadowed by local \S+\.claude\.json:1 ", done.out, re.M), done
    assert f"{project}:3: server 'bad': it has a url and no type" in done.out, done
    assert standing(lab, "--strict-mcp-config") == [] and standing(lab, "--setting-sources", "user") == [("s", "user", "counts")]


def a_server_of_a_project_is_pending_until_it_is_approved(lab):
    put(lab.work, ".mcp.json", {"mcpServers": {"s": {"command": "p"}}})
    assert standing(lab) == [("s", "project", "pending approval")]
    assert "enabledMcpjsonServers" in lab.cadre("mcp", "get", "s").out
    put(lab.work, ".claude/settings.json", {"enabledMcpjsonServers": ["s"]})
    assert standing(lab) == [("s", "project", "pending approval")], "a project approved itself"
    put(lab.home, ".claude/settings.json", {"enabledMcpjsonServers": ["s"]})
    assert standing(lab) == [("s", "project", "counts")]
    put(lab.work, ".claude/settings.json", {"disabledMcpjsonServers": ["s"]})
    assert standing(lab) == [("s", "project", "refused")]


def get_shows_names_but_no_secrets_and_tells_a_refusal(lab):
    put(lab.home, ".claude.json", {"mcpServers": {
        "s": {"command": "x", "args": ["a", "b c"], "env": {"KEY": "hidden-value"}},
        "h": {"type": "http", "url": "https://h/mcp", "headers": {"X-Key": "hidden-value"}}, "bad": {}}})
    done = lab.cadre("mcp", "get", "s")
    assert done.code == 0 and re.search(r"^command +x a b c$", done.out, re.M) and re.search(r"^env +KEY$", done.out, re.M), done
    assert "hidden-value" not in done.out + lab.cadre("mcp", "get", "h").out
    done = lab.cadre("mcp", "get", "bad")
    assert done.code == 1 and "command: expected" in done.out and done.err == "", done
    done = lab.cadre("mcp", "get", "nobody")
    assert done.code == 1 and done.out == "" and "no such MCP server: nobody" in done.err, done


def an_entry_is_added_to_each_scope_and_all_other_bytes_stay(lab):
    work = os.path.realpath(lab.work)
    before = '{ "numStartups" : 7,\n\t"projects": { "%s": {"history": [ 1.50 ]} },\n\t"z":"\\u00e9" }\n' % work
    state = put(lab.home, ".claude.json", before)
    os.chmod(state, 0o640)
    done = ask(lab, "add", "loc", "--env", "A=1=2", "B=", "--", "npx", "-y", "--flag")
    assert done == {"name": "loc", "scope": "local", "file": state, "folder": work, "done": "added"}, done
    entry = '{"loc": {"type":"stdio","command":"npx","args":["-y","--flag"],"env":{"A":"1=2","B":""}}}'
    expected = before.replace("[ 1.50 ]", '[ 1.50 ], "mcpServers": ' + entry)
    assert read(state) == expected, read(state)
    assert stat.S_IMODE(os.stat(state).st_mode) == 0o640
    assert ask(lab, "remove", "loc")["scope"] == "local"
    assert read(state) == before.replace("[ 1.50 ]", '[ 1.50 ], "mcpServers": {}'), read(state)

    project = put(lab.work, ".mcp.json", '{\n  "mcpServers": {\n    "a": { "command": "a" }\n  },\n  "x": 1\n}\n')
    old = read(project)
    ask(lab, "add", "b", "--scope", "project", "--transport", "http", "https://h/mcp", "--header", "X-A: b: c")
    assert read(project) == old.replace('{ "command": "a" }\n', '{ "command": "a" },\n    "b": {"type":"http","url":"https://h/mcp",'
                                        '"headers":{"X-A":"b: c"}}\n'), read(project)
    ask(lab, "remove", "b")
    assert read(project) == old, read(project)

    ask(lab, "add-json", "u", '{"command": "x",\n "timeout": 5000}', "--scope", "user")
    assert json.loads(read(state))["mcpServers"] == {"u": {"command": "x", "timeout": 5000}}
    assert standing(lab) == [("a", "project", "pending approval"), ("u", "user", "counts")]


def new_files_are_made_as_they_should_be(lab):
    ask(lab, "add", "s", "x")
    state = os.path.join(lab.home, ".claude.json")
    assert stat.S_IMODE(os.stat(state).st_mode) == 0o600
    ask(lab, "add", "p", "x", "-s", "project")
    assert read(os.path.join(lab.work, ".mcp.json")) == (
        '{\n  "mcpServers": {\n    "p": {"type":"stdio","command":"x","args":[]}\n  }\n}\n')
    assert sorted(os.listdir(lab.work)) == [".mcp.json"], os.listdir(lab.work)
    config = os.path.join(lab.folder, "config")
    ask(lab, "add", "u", "x", "--scope", "user", env={"CLAUDE_CONFIG_DIR": config})
    assert json.loads(read(os.path.join(config, ".claude.json")))["mcpServers"] == {"u": {"type": "stdio", "command": "x", "args": []}}


def what_was_added_but_does_not_count_is_said(lab):
    put(lab.home, ".claude/settings.json", {"deniedMcpServers": [{"serverName": "s"}]})
    done = lab.cadre("mcp", "add", "s", "x")
    assert done.code == 0 and "It does not count yet (refused): denied by deniedMcpServers in " in done.out, done


def wrong_commands_end_with_2_and_change_nothing(lab):
    state = put(lab.home, ".claude.json", '{"mcpServers": {"s": {"command": "x"}}}')
    put(lab.work, ".mcp.json", '{"mcpServers": {"s": {"command": "x"}, "p": {"command": "x"}}}')
    before = read(state)
    for words, code, expected in (
            (("add", "s", "x", "--scope", "user"), 2, "has a server 's' already (scope user); remove it first"),
            (("add", "a b", "x"), 2, "'a b' cannot be the name of a server"),
            (("add", "workspace", "x"), 2, "this name is reserved"),
            (("add", "a", "https://h"), 2, "https://h is an address: add --transport http"),
            (("add", "a", "--transport", "http", "ftp://h"), 2, "expected http:// or https://"),
            (("add", "a", "--transport", "http", "https://h", "more"), 2, "expected one address"),
            (("add", "a", "x", "--env", "A"), 2, "env: expected NAME=value, not 'A'"),
            (("add", "a", "x", "--header", "A: b"), 2, "has no headers"),
            (("add", "a", "-t", "sse", "https://h", "--header", "A"), 2, "header: expected 'Name: value', not 'A'"),
            (("add", "a", "-t", "sse", "https://h", "--env", "A=1"), 2, "has no env"),
            (("add-json", "a", "{"), 2, "not JSON: line 1, column 2"),
            (("add-json", "a", '{"url": "https://h"}'), 2, "it has a url and no type"),
            (("add-json", "a", '{"type": "sdk"}'), 2, "by a host only"),
            (("remove", "s"), 2, "with scope project and scope user: choose one with --scope"),
            (("remove", "nobody"), 1, "no such server: nobody; `cadre mcp list` lists them"),
            (("remove", "p", "--scope", "user"), 1, "no such server: p with scope user"),
            (("nothing",), 2, "unknown subcommand 'nothing'; expected list, add, add-json, get, login, remove, serve or test")):
        done = lab.cadre("mcp", *words)
        assert done.code == code and done.out == "" and expected in done.err, (words, done)
    assert read(state) == before


def a_bad_file_is_an_error_with_its_place_and_is_left_alone(lab):
    project = put(lab.work, ".mcp.json", '{\n  "mcpServers": []\n}')
    done = lab.cadre("mcp", "list")
    assert done.code == 0 and f"{project}:2:17: mcpServers: expected an object; none of its servers runs" in done.out, done
    for words, code in ((("get", "s"), 1), (("add", "s", "x", "--scope", "project"), 2), (("remove", "s"), 2)):
        done = lab.cadre("mcp", *words)
        assert done.code == code and (code == 1 or f"{project}:2:17: mcpServers: expected an object" in done.err), (words, done)
    assert read(project) == '{\n  "mcpServers": []\n}'
    done = lab.cadre("mcp", "list", "--strict-mcp-config", "--mcp-config", "gone.json")
    assert done.code == 2 and "MCP config file not found: " in done.err and "gone.json" in done.err, done


def writers_at_once_lose_nothing(lab):
    state = put(lab.home, ".claude.json", '{"kept": [1, 2, 3]}')
    names = ["s%d" % i for i in range(8)]
    writers = [lab.start("mcp", "add", name, "--scope", "user", "--", "x") for name in names] + [lab.start("trust")]
    assert [w.wait().code for w in writers] == [0] * 9
    found = json.loads(read(state))
    assert found["kept"] == [1, 2, 3] and sorted(found["mcpServers"]) == names and len(found["projects"]) == 1, found


def a_state_file_of_many_megabytes_is_read_and_changed(lab):
    history = json.dumps([{"display": "x" * 1000}] * 12000)
    state = put(lab.home, ".claude.json", '{"history": %s}' % history)
    ask(lab, "add", "s", "x", "--scope", "user")
    assert standing(lab) == [("s", "user", "counts")]
    ask(lab, "remove", "s")
    assert read(state) == '{"history": %s, "mcpServers": {}}' % history


if __name__ == "__main__":
    main(servers_of_all_places_are_listed_with_what_shadows_them, a_server_of_a_project_is_pending_until_it_is_approved,
         get_shows_names_but_no_secrets_and_tells_a_refusal, an_entry_is_added_to_each_scope_and_all_other_bytes_stay,
         new_files_are_made_as_they_should_be, what_was_added_but_does_not_count_is_said,
         wrong_commands_end_with_2_and_change_nothing, a_bad_file_is_an_error_with_its_place_and_is_left_alone,
         writers_at_once_lose_nothing, a_state_file_of_many_megabytes_is_read_and_changed)
