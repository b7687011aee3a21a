# SPDX-License-Identifier: MIT
"""A rule is a file with event, pattern and action in its frontmatter; the text below is what is said. An empty object is no word."""
import glob
import json
import re
import sys

EVENTS = {"PreToolUse": "bash", "UserPromptSubmit": "prompt", "Stop": "stop"}

event = json.load(sys.stdin)
name = event["hook_event_name"]
answer = {}
for path in sorted(glob.glob(".claude/rule.*.local.md")):
    with open(path, encoding="utf-8") as file:
        _, head, text = file.read().split("---\n", 2)
    rule = dict(line.split(": ", 1) for line in head.splitlines())
    if rule["event"] != EVENTS[name]:
        continue
    if name == "Stop":
        with open(event["transcript_path"], encoding="utf-8") as file:
            hit = not re.search(rule["pattern"], file.read())
    else:
        hit = re.search(rule["pattern"], event.get("tool_input", {}).get("command", "") or event.get("prompt", ""))
    if not hit:
        continue
    answer["systemMessage"] = text.strip()
    if rule["action"] == "block" and name == "Stop":
        answer.update(decision="block", reason=text.strip())
    elif rule["action"] == "block":
        answer["hookSpecificOutput"] = {"hookEventName": name, "permissionDecision": "deny"}
json.dump(answer, sys.stdout)
