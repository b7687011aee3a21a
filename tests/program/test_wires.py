#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""One conversation of twenty turns over every wire: parallel calls, an image, forked children, a summary, a resumed session.
The transcripts are the same but for ids, names of models and seals, and no request changes a byte that was sent before."""
import hashlib
import json
import pathlib
import re

from lab import Lab, Modeld, content, main
from mock import SSE, Mock, chunks, delta, picture

SCENARIO = """require reasoning
chunk 9
cache min 1

rule summary
  last contains "Write that summary now"
  text The first part is over.

rule child looks
  last contains "FORK_DIRECTIVE"
  thinking I look for myself.
  call Read {"file_path": "b.txt"}

rule child answers
  prompt contains "Continue"
  last_result contains "berry"
  text Scope: done, {{lines:last_result}} lines

rule first
  prompt contains "Begin"
  turn 1
  thinking I begin with what is "there", für alle.
  text I read both.
  call Read {"file_path": "a.txt"}
  call Read {"file_path": "b.txt"}
rule image
  prompt contains "Begin"
  turn 2
  thinking Now the picture.
  call Read {"file_path": "dot.png"}
  call Grep {"pattern": "o"}
rule writes
  prompt contains "Begin"
  turn 3
  call Write {"file_path": "c.txt", "content": "one\\ntwo\\n"}
rule edits
  prompt contains "Begin"
  turn 4
  thinking Half of it is wrong.
  call Edit {"file_path": "c.txt", "old_string": "two", "new_string": "three"}
rule fails
  prompt contains "Begin"
  turn 5
  text A call that fails.
  call Read {"file_path": "missing.txt"}
rule many
  prompt contains "Begin"
  turn 6
  repeat 6 call Glob {"pattern": "*.txt", "path": "."}
rule long
  prompt contains "Begin"
  turn 7
  thinking A long one.
  call Read {"file_path": "large.txt"}
rule full
  prompt contains "Begin"
  turn 8
  call Read {"file_path": "a.txt", "limit": 1}
  usage input=150000 output=10

rule goes on
  prompt contains "The first part is over."
  turn 1
  thinking Where was I?
  call Read {"file_path": "c.txt"}
rule goes on more
  prompt contains "The first part is over."
  turn 2-4
  thinking Once more, {{turn}}.
  call Grep {"pattern": "t{{turn}}"}
rule first end
  prompt contains "The first part is over."
  turn 5
  text The first part took 13 turns.

rule forks
  prompt contains "Continue"
  turn 1
  thinking Two of me are better.
  call Agent {"description": "First", "prompt": "Do the first part", "subagent_type": "fork"}
  call Agent {"description": "Second", "prompt": "Do the second part", "subagent_type": "fork"}
rule looks again
  prompt contains "Continue"
  turn 2-6
  thinking Look again, {{turn}}.
  text Again.
  call Read {"file_path": "a.txt", "limit": {{turn}}}
rule end
  prompt contains "Continue"
  turn 7
  thinking That is all.
  text All twenty turns are done.
"""


def place(wire, base):
    """A place of the settings for a wire that needs one."""
    def settings(url):
        return ["--settings", json.dumps({"providers": {"lab": {"wire": wire, "baseUrl": url + base}}})]

    return settings


def cloud(**env):
    def settings(url):
        return {name: value.replace("URL", url) for name, value in env.items()}

    return settings


# name: (arguments or environment by the address of modeld, model, path of its requests, what ends the messages)
WIRES = {
    "messages": (cloud(), "claude-sonnet-5-5", "/v1/messages", b"]}]}"),
    "invoke": (cloud(CLAUDE_CODE_USE_BEDROCK="1", ANTHROPIC_BEDROCK_BASE_URL="URL", CLAUDE_CODE_SKIP_BEDROCK_AUTH="1"),
               "claude-sonnet-5-5", "/model/us.anthropic.claude-sonnet-5-5/invoke-with-response-stream", b"]}]}"),
    "rawpredict": (cloud(CLAUDE_CODE_USE_VERTEX="1", ANTHROPIC_VERTEX_BASE_URL="URL/v1", CLAUDE_CODE_SKIP_VERTEX_AUTH="1",
                         ANTHROPIC_VERTEX_PROJECT_ID="p1"), "claude-sonnet-5-5",
                   "/v1/projects/p1/locations/us-east5/publishers/anthropic/models/claude-sonnet-5-5:streamRawPredict", b"]}]}"),
    "foundry": (cloud(CLAUDE_CODE_USE_FOUNDRY="1", ANTHROPIC_FOUNDRY_BASE_URL="URL/anthropic", ANTHROPIC_FOUNDRY_API_KEY="k"),
                "claude-sonnet-5-5", "/anthropic/v1/messages", b"]}]}"),
    "chat": (place("chat", "/v1"), "some-model", "/v1/chat/completions", b'],"stream":true'),
    "responses": (place("responses", "/v1"), "gpt-6", "/v1/responses", b'],"stream":true'),
    "gemini 3": (place("gemini", "/v1beta"), "gemini-3-pro", "/v1beta/models/gemini-3-pro:streamGenerateContent?alt=sse",
                 b'],"generationConfig"'),
    "gemini 2": (place("gemini", "/v1beta"), "gemini-2.5-pro", "/v1beta/models/gemini-2.5-pro:streamGenerateContent?alt=sse",
                 b'],"generationConfig"'),
}


def run_wire(lab, name):
    """Plays the conversation; gives modeld and the session."""
    settings, model, _, _ = WIRES[name]
    work = pathlib.Path(lab.work)
    for file, text in (("a.txt", "apple\nbanana\n"), ("b.txt", "berry\n"), ("large.txt", "line\n" * 4000)):
        (work / file).write_text(text)
    (work / "dot.png").write_bytes(picture())
    modeld = Modeld(lab.folder, SCENARIO, log=True)
    lab.models.append(modeld)
    lab.env["ANTHROPIC_BASE_URL"] = modeld.url
    given = settings(modeld.url)
    args = given if isinstance(given, list) else []
    lab.env.update(given if isinstance(given, dict) else {}, CLAUDE_CODE_MAX_CONTEXT_TOKENS="160000",
                   CLAUDE_CODE_AUTO_COMPACT_WINDOW="120000")
    args = ["-p", "--output-format", "json", "--model", "lab/" + model if args else model, "--allowedTools=Write,Edit,Read,Agent", *args]
    first = lab.cadre(*args, "Begin.")
    assert first.code == 0, (name, first)
    result = json.loads(first.out)
    assert result["result"] == "The first part took 13 turns.", (name, first)
    second = lab.cadre(*args, "--resume", result["session_id"], "Continue.")
    assert second.code == 0 and json.loads(second.out)["result"] == "All twenty turns are done.", (name, second)
    return modeld, result["session_id"]


def requests(modeld):
    """(agent, path, status, raw body) of each request."""
    with open(modeld.log, "rb") as lines:
        for line in lines:
            head, _, body = line.partition(b',"body":')
            facts = json.loads(head + b"}")
            yield facts["agent"], facts["path"], facts["status"], body.rstrip()[:-1]


def plain(lab, session):
    """The transcript without what may differ: ids become numbers, thinking and its seals go."""
    ids, lines, answers = {}, [], set()
    for line in lab.transcript(session).lines:
        if line["type"] not in ("user", "assistant"):
            continue
        for block in content(line):
            if block["type"] in ("thinking", "redacted_thinking"):
                continue
            text = json.dumps(block, sort_keys=True)
            for id in re.findall(r'"(?:id|tool_use_id)": "([^"]+)"', text):
                text = text.replace(id, "id %02d" % ids.setdefault(id, len(ids)))
            text = re.sub(r"Model: \S+?\\n|agentId: \w+|<usage>.*</usage>|\b[0-9a-f]{8,}\b", "", text.replace(lab.work, "WORK"))
            number = re.search(r'"tool_use_id": "id (\d+)"', text)
            if number:  # results are recorded as they come: in the order of their calls
                at = len(lines)
                while at and lines[at - 1][0] == "result" and lines[at - 1][1] > number.group(1):
                    at -= 1
                lines.insert(at, ("result", number.group(1), text))
            else:  # the result of a call may be there before the answer is over
                at = len(lines)
                while at and lines[at - 1][0] == "result" and line["message"].get("id") in answers:
                    at -= 1
                lines.insert(at, (line["type"], "", text))
                answers.add(line["message"].get("id", ""))
    return lines


REFERENCE = []


def reference():
    """The transcript over the Messages API, played once."""
    if not REFERENCE:
        lab = Lab()
        try:
            _, session = run_wire(lab, "messages")
            REFERENCE.append(plain(lab, session))
            lab.wait_for_nobody()
        finally:
            lab.close()
    return REFERENCE[0]


def check_prefixes(name, all_requests):
    """Each request of an agent begins with the bytes of the one before, up to the end of its messages."""
    marker = WIRES[name][3]
    last, compared = {}, 0
    for agent, _, _, body in all_requests:
        body = body.replace(b',"cache_control":{"type":"ephemeral"}', b"")  # marks move
        if b"Write that summary now" in body or b"FORK_DIRECTIVE" in body:
            continue  # the one is a question beside the conversation, the others are two conversations
        before = last.get(agent)
        last[agent] = body[:body.rindex(marker)]
        if before is None or (b"The first part is over." in body) != (b"The first part is over." in before):
            continue
        digest = hashlib.sha256(before).hexdigest()
        if digest != hashlib.sha256(body[:len(before)]).hexdigest():
            at = next(i for i in range(len(before)) if before[i] != body[i])
            raise AssertionError("%s: byte %d changed: %r, now %r" % (name, at, before[at - 80:at + 80], body[at - 80:at + 80]))
        compared += 1
    return compared


def over(name):
    def test(lab):
        modeld, session = run_wire(lab, name)
        asked = list(requests(modeld))
        bad = [(path, status, body[-400:]) for _, path, status, body in asked if status != 200]
        assert not bad, bad
        assert {path for _, path, _, _ in asked} == {WIRES[name][2]}, {path for _, path, _, _ in asked}
        assert len(asked) == 20 + 1 + 4, [agent for agent, _, _, _ in asked]
        assert check_prefixes(name, asked) >= 16
        seen = plain(lab, session)
        expected = reference()
        for here, there in zip(seen, expected):
            assert here == there, (here, there)
        assert len(seen) == len(expected)
        if name in ("responses", "gemini 3"):
            forks = [body for agent, _, _, body in asked if b"FORK_DIRECTIVE" in body]
            seal = rb'"encrypted_content":"enc\.' if name == "responses" else rb'"thoughtSignature":"Z2Vt'
            assert len(forks) == 4 and all(re.search(seal, body) for body in forks), len(forks)

    test.__name__ = "twenty_turns_pass_over_%s" % name.replace(" ", "_")
    return test


# ---- vendors of chat completions, each as strict as it is known to be


def must(condition, what):
    if not condition:
        raise ValueError(what)


def check_deepseek(body):
    for message in body["messages"]:
        must(message["role"] != "assistant" or isinstance(message.get("reasoning_content"), str), "reasoning_content is missing")


def check_mistral(body):
    roles = [m["role"] for m in body["messages"]]
    must(not any(a == "tool" and b == "user" for a, b in zip(roles, roles[1:])), "Unexpected role 'user' after role 'tool'")
    for message in body["messages"]:
        ids = [c["id"] for c in message.get("tool_calls", [])] + ([message["tool_call_id"]] if message["role"] == "tool" else [])
        must(all(re.fullmatch(r"[a-zA-Z0-9]{9}", id) for id in ids), "ids have a length of 9: %s" % ids)
    must("$schema" not in json.dumps(body["tools"]), "$schema")


def check_gemini(body):
    for message in body["messages"]:
        for call in message.get("tool_calls", [])[:1]:
            given = call.get("extra_content", {}).get("google", {}).get("thought_signature")
            own = "sig-%s" % json.loads(call["function"]["arguments"]).get("limit")
            must(given == (own if own != "sig-None" else "skip_thought_signature_validator"),
                 "Function call is missing a thought_signature: %s" % call)


def check_groq(body):
    """It takes no reasoning back, no null but an empty content, no keyword that its checker does not know, and a limit of its own."""
    for message in body["messages"]:
        must(not {"reasoning", "reasoning_content", "reasoning_details"} & set(message), "property 'reasoning' is unsupported")
        must(all(v is not None for k, v in message.items() if k != "content"), "null")
    must(body.get("max_completion_tokens", body.get("max_tokens", 0)) <= 8192, "`max_completion_tokens` must be less than or equal to `8192`")
    must(not re.search(r'"(\$schema|exclusiveMinimum|pattern)": [^{]', json.dumps(body["tools"])), "schema")


def check_xai(body):
    """Hidden reasoning, and no tools above 128."""
    must("reasoning_content" not in json.dumps(body["messages"]) and len(body["tools"]) <= 128, "reasoning_content")


def check_openrouter(body):
    for message in body["messages"]:
        if message.get("tool_calls") and "Read" in json.dumps(message):
            kinds = [d["type"] for d in message.get("reasoning_details", [])]
            must(kinds == ["reasoning.text", "reasoning.encrypted"] or not message["tool_calls"][0]["id"].startswith("call_"), kinds)


# name: (quirks as for its host, check, id of the n-th call, members of the first delta, members of the call, finish reasons on the way)
VENDORS = {
    "deepseek": (["echo"], check_deepseek, "call_%d_x", {"reasoning_content": "I look."}, {}, None),
    "kimi": (["echo"], check_deepseek, "functions.Read:%d", {"reasoning_content": "I look."}, {}, None),
    "mistral": (["shortIds", "answerBetween"], check_mistral, "abcdef%03d", {}, {}, None),
    "gemini": (["signed"], check_gemini, "", {}, {"extra_content": {"google": {"thought_signature": "sig-%d"}}}, None),
    "xai": ([], check_xai, "call_%d", {}, {}, ""),
    "groq": ([], check_groq, "call_%d", {"reasoning": "I look."}, {}, None),
    "openrouter": ([], check_openrouter, "call_%d",
                   {"reasoning_details": [{"type": "reasoning.text", "text": "I ", "index": 0}, {"type": "reasoning.text", "text": "look", "index": 0},
                                          {"type": "reasoning.encrypted", "data": "x"}]}, {}, None),
    "template": ([], lambda body: must("<think>" not in json.dumps(body["messages"][-4:]), "<think>"), "call_%d",
                 {"content": "<think>I look.</think>"}, {}, None),
}


def vendor(name, refused):
    """Ten calls of Read, then an answer; the same again after each prompt."""
    _, check, id, first, extra, on_the_way = VENDORS[name]

    def reply(n, request):
        status, headers, text = answer(request)
        return status, headers, text.replace("chatcmpl-0123456789abcdef", "chatcmpl-0123456789%06d" % n)  # every answer has its own

    def answer(request):
        body = request["body"]
        try:
            check(body)
        except ValueError as why:
            refused.append(str(why))
            return 400, {}, json.dumps({"error": {"message": str(why), "type": "invalid_request_error"}})
        last = max(i for i, m in enumerate(body["messages"]) if m["role"] == "user" and "[An image" not in json.dumps(m))
        step = sum(m["role"] == "tool" for m in body["messages"][last:])
        number = sum(len(m.get("tool_calls", [])) for m in body["messages"]) + 1
        if step == 10:
            return 200, SSE, chunks(delta(on_the_way, content="ten"), delta("stop"))
        more = json.loads(json.dumps(extra).replace("%d", str(number)))
        call = {"index": 0, "id": id % number if id else None, "type": "function", **more,
                "function": {"name": "Read", "arguments": json.dumps({"file_path": "a.txt", "limit": number})}}
        return 200, SSE, chunks(delta(on_the_way, **first), delta(on_the_way, tool_calls=[call]), delta("tool_calls"))

    return reply


def vendors_take_a_tool_loop_and_a_change_of_model_without_a_refusal(lab):
    pathlib.Path(lab.work, "a.txt").write_text("apple\n")
    lab.model("require reasoning\nrule\n  turn 1\n  thinking hm\n  call Read {\"file_path\": \"a.txt\"}\nrule\n  text Claude was here.")
    for name, (quirks, *_) in VENDORS.items():
        refused = []
        mock = Mock(vendor(name, refused))
        place = {"wire": "chat", "baseUrl": mock.url + "/v1", "quirks": quirks, "models": {"m1": {"maxOutput": 8192}}}
        at_vendor = ["-p", "--output-format", "json", "--settings", json.dumps({"providers": {"lab": place}}), "--model", "lab/m1"]
        first = lab.cadre(*at_vendor, "Read it ten times.")
        assert not refused and json.loads(first.out)["result"] == "ten", (name, refused, first)
        session = json.loads(first.out)["session_id"]
        claude = lab.cadre("-p", "--output-format", "json", "--model", "claude-sonnet-5-5", "--resume", session, "And you?")
        assert json.loads(claude.out)["result"] == "Claude was here.", (name, claude)
        back = lab.cadre(*at_vendor, "--resume", session, "Once more.")
        assert not refused and json.loads(back.out)["result"] == "ten", (name, refused, back)
        assert len(mock.seen) == 22, (name, len(mock.seen))


if __name__ == "__main__":
    main(*[over(name) for name in WIRES], vendors_take_a_tool_loop_and_a_change_of_model_without_a_refusal)
