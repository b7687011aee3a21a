# SPDX-License-Identifier: MIT
"""scenario_lines.py: one short line for each thing a scenario test sees, what a frame must have, how lines are compared.

    frames of stream-json     assistant tool_use Read        user tool_result error "..."      result success "Hello"
                              > assistant tool_use Read      (of a child)
    requests                  200 system* | user text text* | assistant tool_use | user tool_result*      (* is a cache mark)
    lines of a transcript     user meta text "..."           assistant partial text "..."      assistant text "..." (end_turn)"""
import difflib
import json
import re

SHOWN = 300  # characters of a line in a report
SHOWN_LINES = 30

USAGE = {"input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"}
RESULT = {"is_error", "duration_ms", "duration_api_ms", "num_turns", "stop_reason", "total_cost_usd", "usage", "modelUsage",
          "permission_denials"}
TASK = {"task_id", "run_id", "tool_use_id"}
FIELDS = {  # that a frame must have besides type, uuid and session_id
    "system init": {"cwd", "tools", "mcp_servers", "model", "permissionMode", "slash_commands", "apiKeySource",
                    "claude_code_version", "output_style", "agents", "skills", "plugins"},
    "system status": {"status"},
    "system compact_boundary": {"compact_metadata"},
    "system api_retry": {"attempt", "max_retries", "retry_delay_ms", "error_status", "error"},
    "system informational": {"level", "content"},
    "system hook_started": {"hook_id", "hook_name", "hook_event"},
    "system hook_response": {"hook_id", "hook_name", "hook_event", "output", "stdout", "stderr", "outcome"},
    "system informational": {"content", "level"},
    "system sandbox_violation": {"tool_use_id", "kind", "what", "rule"},
    "system permission_denied": {"tool_name", "tool_use_id", "message"},
    "assistant": {"message", "parent_tool_use_id"},
    "user": {"message", "parent_tool_use_id"},
    "stream_event": {"event", "parent_tool_use_id"},
    "system task_started": TASK | {"description", "subagent_type", "is_backgrounded", "spawn_depth", "task_type", "prompt"},
    "system task_progress": TASK | {"description", "usage"},
    "system task_updated": TASK | {"patch"},
    "system task_notification": TASK | {"status", "output_file", "summary", "usage"},
    "system background_tasks_changed": {"tasks"},
    "result success": RESULT | {"result"},
    "result error_max_turns": RESULT | {"errors"},
    "result error_max_budget_usd": RESULT | {"errors"},
    "result error_during_execution": RESULT | {"errors"},
}


def lines_of(text):
    return text.removesuffix("\n").split("\n") if text else []


def quoted(value):
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def block_line(block):
    """text "...", thinking "...", tool_use NAME, tool_result ["error"] "..." """
    kind = block.get("type", "?")
    if kind == "tool_use":
        return f"tool_use {block['name']}"
    if kind == "tool_result":
        return f"tool_result {'error ' if block.get('is_error') else ''}{quoted(block['content'])}"
    return f"{kind} {quoted(block[kind])}" if kind in block else kind


def blocks_line(content):
    return f"text {quoted(content)}" if isinstance(content, str) else ", ".join(block_line(b) for b in content)


def task_line(frame, subtype):
    """task_started TYPE "DESCRIPTION" [background], task_progress TOOL, task_updated END, task_notification END "TEXT" """
    if subtype == "task_started":
        return f"{frame['subagent_type']} {quoted(frame['description'])}{' background' * frame['is_backgrounded']}"
    if subtype == "task_updated":
        return frame["patch"].get("end_state", frame["patch"]["status"])
    if subtype == "task_notification":
        return f"{frame['status']} {quoted(frame['summary'])}"
    return frame.get("last_tool_name", "")


def event_line(frame):
    """A frame that belongs to a child begins with "> "."""
    kind, subtype = frame.get("type"), frame.get("subtype")
    if frame.get("parent_tool_use_id"):
        return "> " + event_line(frame | {"parent_tool_use_id": None})
    if str(subtype).startswith("task_"):
        return f"system {subtype} {task_line(frame, subtype)}"
    if subtype == "background_tasks_changed":
        return f"system {subtype} {len(frame['tasks'])}"
    if kind in ("assistant", "user"):
        marks = " supersedes" * bool(frame.get("supersedes"))
        return f"{kind} {blocks_line(frame['message']['content'])}{marks}"
    if kind == "stream_event":
        event = frame["event"]
        return f"stream_event {event['type']} {event.get('delta', {}).get('type', '')}".rstrip()
    if kind == "result":
        text = frame["result"] if "result" in frame else frame["errors"][0]
        return f"result {subtype} {'error ' if frame['is_error'] else ''}{quoted(text)}"
    if subtype == "api_retry":
        return f"system api_retry {frame['attempt']} {quoted(frame['error_status'])} {frame['error']}"
    if subtype == "permission_denied":
        return f"system permission_denied {frame['tool_name']}"
    if subtype == "informational":
        return f"system informational {quoted(frame['content'])}"
    if subtype == "status":
        return f"system status {frame['status'] or frame['compact_result']}"
    if subtype == "compact_boundary":
        return f"system compact_boundary {frame['compact_metadata']['trigger']}"
    return f"{kind} {subtype}"


def frame_faults(frames):
    """What the readers of stream-json would miss."""
    faults = []
    for frame in frames:
        kind = " ".join(filter(None, (frame.get("type"), frame.get("subtype"))))
        missing = (FIELDS.get(kind, {"a known type"}) | {"uuid", "session_id"}) - frame.keys()
        if frame["type"] == "assistant":
            missing |= {"id", "role", "model", "content", "usage", "stop_reason"} - frame["message"].keys()
        if frame["type"] == "result":
            missing |= USAGE - frame["usage"].keys()
        faults += [f"a frame '{kind}' lacks {', '.join(sorted(missing))}"] if missing else []
    faults += ["two frames have the same uuid"] if len({f.get("uuid") for f in frames}) < len(frames) else []
    faults += ["the frames name two sessions"] if len({f.get("session_id") for f in frames}) > 1 else []
    results = [i for i, f in enumerate(frames, 1) if f["type"] == "result"]
    last = list(range(len(frames) - len(results) + 1, len(frames) + 1))
    faults += ["the results are not at the end, or there is none"] if not results or results != last else []
    return faults


def request_line(logged):
    """STATUS system* | user text text* | assistant tool_use | user tool_result*, where * is a cache mark."""
    body = logged["body"]
    if isinstance(body, str):
        return f"{logged['status']} not JSON"

    def kinds(message):  # chat completions have strings, nulls and calls beside the content
        content = message["content"] or []
        blocks = [{"type": "text"}] if isinstance(content, str) else content
        return " ".join([b["type"] + "*" * ("cache_control" in b) for b in blocks] + ["call"] * len(message.get("tool_calls", [])))
    head = ["system" + "*" * any("cache_control" in b for b in body["system"])] if body.get("system") else []
    return f"{logged['status']} " + " | ".join(head + [f"{m['role']} {kinds(m)}" for m in body["messages"]])


def transcript_line(text):
    """TYPE [meta] [partial] BLOCKS; the last line of an answer ends with its stop reason in brackets."""
    try:
        line = json.loads(text)
    except ValueError:
        return "not JSON"
    message = line.get("message")
    words = [line["type"]] + ["meta"] * bool(line.get("isMeta")) + ["partial"] * bool(line.get("partial"))
    if not message:
        return " ".join(words)
    words += ["empty"] * (not message["content"]) + ["summary"] * (line["type"] == "assistant" and bool(line.get("isCompactSummary")))
    end = [f"({message['stop_reason']})"] if message.get("stop_reason") else []
    return " ".join(words + [blocks_line(message["content"])] + end)


def look_up(value, path):
    """The value at a.0.b as JSON text, or None."""
    for i, step in enumerate(path):
        if step == "*":
            return quoted([json.loads(found) for item in value if (found := look_up(item, path[i + 1:])) is not None])
        if step == "#":
            return str(len(value))
        try:
            value = value[int(step)] if isinstance(value, list) else value[step]
        except (KeyError, IndexError, ValueError, TypeError):
            return None
    return quoted(value)


def pattern(text):
    return ".*".join(re.escape(part) for part in text.split("..."))


def matches(expected, actual):
    """Both are lists of lines."""
    parts = (r"(?:.*\n)*" if line.strip() == "..." else pattern(line) + r"\n" for line in expected)
    return re.fullmatch("".join(parts), "".join(line + "\n" for line in actual)) is not None


def difference(expected, actual):
    known = [next((e for e in expected if e.strip() != "..." and re.fullmatch(pattern(e), a)), a) for a in actual]
    lines = difflib.unified_diff(expected, known, "expected", "seen", lineterm="", n=2)
    return list(lines) or ["the lines are there, in another order or number:", *actual]
