#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes C from the files NAME.json below src/tools, each of which says all that is known about a tool but its code:

    tools.py find FOLDER                             prints their paths
    tools.py facts OUT.c OTHERS.json NAME.json...    core/tool/tool_facts.h: the table of all known names of tools
    tools.py list OUT.h NAME.json...                 core/tool/tool_list.h: what tool_NAME.c includes
    tools.py table OUT.c NAME.json...                the table of built-in tools

The member "facts" is for the program, the rest is what the model sees:

    flags               of enum tool_flags, in small letters and without TOOL_
    former_names        earlier names of the tool, for calls and for rules
    aliases             other names, for calls alone
    summary             input member that tells people what a call is about
    detail              another one that they want to see behind it, or "*" for all
    rule                what permission rules look at: shell, read, edit, host, agent or skill (enum subject_kind)
    primary             input member that holds it
    former_parameters   that rules may name although the schema lacks them

OTHERS.json has the facts of tools that this program does not have, but that rules and definitions name; what the schema would say
stands in "parameters". A mistake stops the build."""
import json
import pathlib
import sys

KNOWN = {"flags", "former_names", "aliases", "summary", "detail", "rule", "primary", "former_parameters", "parameters"}
NAMED = {"agent", "skill"}  # their rules name the primary member like any other


class Tool:
    def __init__(self, path):
        text = json.loads(pathlib.Path(path).read_text())
        self.file = pathlib.Path(path).stem
        self.facts = text.pop("facts")
        self.name = text["name"]
        self.definition = json.dumps(text, ensure_ascii=False, separators=(",", ":"))
        members = text["input_schema"].get("properties", {})
        check(self.name, self.facts)
        for key in ("summary", "detail", "primary"):
            if self.facts.get(key, None) not in (None, *members, *(["*"] if key == "detail" else [])):
                sys.exit(f"{path}: {key}: the schema has no member {self.facts[key]}")
        if "rule" in self.facts:
            named = self.facts["rule"] in NAMED
            self.facts["parameters"] = [m for m in members if named or m != self.facts["primary"]]
            self.facts["parameters"] += self.facts.get("former_parameters", [])


def check(name, facts):
    if not KNOWN >= facts.keys() or ("rule" in facts) != ("primary" in facts):
        sys.exit(f"{name}: facts are {', '.join(sorted(KNOWN))}; rule and primary come together")


def quoted(text):
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"' if text is not None else "NULL"


def names(words):
    return f"(const char *const[]){{ {', '.join(map(quoted, words))}, NULL }}" if words else "NULL"


def flags(facts):
    return " | ".join("TOOL_" + f.upper() for f in facts.get("flags", [])) or "0"


def facts_row(name, facts, now=None):
    rule = "SUBJECT_" + facts.get("rule", "name").upper()
    return (f"\t{{ {quoted(name)}, {quoted(now)}, {flags(facts)}, {rule}, {quoted(facts.get('primary'))},\n"
            f"\t  {names(facts.get('parameters'))} }},\n")


def write_facts(target, others, *paths):
    rows = {}
    for tool in map(Tool, paths):
        rows[tool.name] = facts_row(tool.name, tool.facts)
        rows |= {former: facts_row(former, {}, tool.name) for former in tool.facts.get("former_names", [])}
        rows |= {alias: facts_row(alias, {}) for alias in tool.facts.get("aliases", [])}
    for name, facts in json.loads(pathlib.Path(others).read_text()).items():
        check(name, facts)
        if name in rows:
            sys.exit(f"{others}: {name} is a tool of this program")
        rows[name] = facts_row(name, facts)
    pathlib.Path(target).write_text(
        '#include "core/tool/tool_facts.h"\n\nconst struct tool_facts tool_facts_table[] = {\n'
        + "".join(row for _, row in sorted(rows.items()))
        + f"}};\nconst size_t tool_facts_count = {len(rows)};\n")


def c_bytes(text):
    data = text.encode() + b"\0"
    rows = [", ".join(str(b if b < 128 else b - 256) for b in data[i : i + 24]) for i in range(0, len(data), 24)]
    return ",\n\t".join(rows)


def write_list(target, *paths):
    head = '#pragma once\n#include "core/tool/tool.h"\n'
    for t in map(Tool, paths):
        head += (
            f"\nextern const char tool_{t.file}_json[];\nextern const struct tool tool_{t.file};\n"
            f"#define TOOL_{t.file.upper()}_FACTS \\\n\t.name = {quoted(t.name)}, .definition = tool_{t.file}_json, "
            f".flags = {flags(t.facts)}, \\\n\t.subject = {quoted(t.facts.get('summary'))}, "
            f".detail = {quoted(t.facts.get('detail'))}, "
            f".aliases = {names(t.facts.get('former_names', []) + t.facts.get('aliases', []))}\n")
    pathlib.Path(target).write_text(head)


def write_table(target, *paths):
    code, table = '#include "tools/tools.h"\n#include "core/tool/tool_list.h"\n', ""
    for t in sorted(map(Tool, paths), key=lambda t: t.name.encode()):
        code += f"\nconst char tool_{t.file}_json[] = {{\n\t{c_bytes(t.definition)}\n}};\n"
        table += f"\t&tool_{t.file},\n"
    pathlib.Path(target).write_text(f"{code}\nconst struct tool *const tool_table[] = {{\n{table}\tNULL,\n}};\n")


def find(folder):
    print(*sorted(map(str, pathlib.Path(folder).rglob("*.json"))), sep="\n")


if __name__ == "__main__":
    what, *args = sys.argv[1:] or [""]
    made = {"find": find, "facts": write_facts, "list": write_list, "table": write_table}.get(what)
    if not made or not args:
        sys.exit(__doc__)
    made(*args)
