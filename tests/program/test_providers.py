# SPDX-License-Identifier: MIT
"""What servers of models do differently: a small server with a script stands for each."""
import base64
import contextlib
import hashlib
import hmac
import http.server
import json
import os
import pathlib
import re
import struct
import subprocess
import threading
import urllib.error
import urllib.parse
import urllib.request
import zlib

from lab import main


class Mock:
    """reply(n, request) gives (status, headers, body); n counts from 1. request has path, headers, body. context: of TLS."""

    def __init__(self, reply, context=None):
        self.seen = []
        self.sent = []  # paths of requests whose answer is written
        self.news = threading.Condition()
        mock = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                raw = self.rfile.read(int(self.headers.get("content-length", 0)))
                request = {"path": self.path, "headers": {k.lower(): v for k, v in self.headers.items()}, "raw": raw,
                           "body": json.loads(raw) if raw[:1] == b"{" else None}
                mock.seen.append(request)
                status, headers, body = reply(len(mock.seen), request)
                body = body.encode() if isinstance(body, str) else body
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                    if name == "date":  # in place of its own
                        self._headers_buffer = [h for h in self._headers_buffer if not h.startswith(b"Date:")]
                self.send_header("content-length", str(len(body)))
                with contextlib.suppress(ConnectionError):  # it did not wait
                    self.end_headers()
                    self.wfile.write(body)
                with mock.news:
                    mock.sent.append(self.path)
                    mock.news.notify_all()

            do_GET = do_PUT = do_POST

            def log_message(self, *_):
                pass

        class Server(http.server.ThreadingHTTPServer):
            request_queue_size = 1024  # hundreds of children come at once

        self.server = Server(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.server.handle_error = lambda *_: None  # a client that went away
        self.url = "http%s://127.0.0.1:%d" % ("s" if context else "", self.server.server_port)
        if context:
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def wait_for_answer(self, path):
        """Until the answer to a request for this path is written."""
        with self.news:
            assert self.news.wait_for(lambda: path in self.sent, 60), path

    def bodies(self):
        return [r["body"] for r in self.seen]


SSE = {"content-type": "text/event-stream"}


def chunks(*list_of, done=True):
    return "".join("data: %s\n\n" % json.dumps(c) for c in list_of) + ("data: [DONE]\n\n" if done else "")


def delta(finish=None, usage=None, **members):
    chunk = {"id": "chatcmpl-0123456789abcdef", "model": "m1",
             "choices": [{"index": 0, "delta": members, "finish_reason": finish}]}
    return {**chunk, **({"usage": usage} if usage else {})}


def said(text, finish="stop", usage=None):
    return 200, SSE, chunks(delta(content=text), delta(finish, usage))


def call(name, arguments, id="call_1", finish="tool_calls", **more):
    function = {"name": name, "arguments": json.dumps(arguments)}
    return 200, SSE, chunks(delta(tool_calls=[{"index": 0, "id": id, "type": "function", "function": function, **more}]),
                            delta(finish))


def message(text, **more):
    """An answer of the Messages API."""
    events = [{"type": "message_start", "message": {"id": "msg_1", "model": "m", "usage": {"input_tokens": 1}}},
              {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
              {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}},
              {"type": "content_block_stop", "index": 0},
              {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 1}},
              {"type": "message_stop"}]
    return 200, {**SSE, **more}, "".join("event: %s\ndata: %s\n\n" % (e["type"], json.dumps(e)) for e in events)


def chat(lab, reply, *args, **env):
    mock = Mock(reply)
    lab.env.update(OPENAI_BASE_URL=mock.url + "/v1", **env)
    done = lab.cadre("-p", "--provider", "openai", "--model", "m1", "--output-format", "json", *(args or ("hi",)))
    return mock, done


def picture():
    """A PNG of one black pixel."""
    def part(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    return (b"\x89PNG\r\n\x1a\n" + part(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0)) +
            part(b"IDAT", zlib.compress(b"\0\0")) + part(b"IEND", b""))


def result(done):
    return json.loads(done.out)


# ---- chat completions


def an_empty_finish_reason_does_not_end_an_answer(lab):
    _, done = chat(lab, lambda n, r: (200, SSE, chunks(delta("", content="one "), delta("", content="two "),
                                                      delta("", content="three"), delta("stop"))))
    assert result(done)["result"] == "one two three", done


def a_torn_answer_is_tried_again(lab):
    for reason in ("insufficient_system_resource", "error", "network_error", "abort"):
        _, done = chat(lab, lambda n, r: said("torn", reason) if n == 1 else said("whole"))
        assert result(done)["result"] == "whole", (reason, done)


def tools_that_want_no_reasoning_get_none(lab):
    text = ("Function tools with reasoning_effort are not supported for m1 in /v1/chat/completions. To use function "
            "tools, use /v1/responses or set reasoning_effort to 'none'.")

    def reply(n, request):
        if request["path"].endswith("/responses"):
            return 404, {}, "404 page not found"
        if request["body"].get("reasoning_effort") != "none":
            return 400, {}, json.dumps({"error": {"message": text, "type": "invalid_request_error"}})
        return said("fine")

    mock, done = chat(lab, reply)
    assert result(done)["result"] == "fine", done
    assert [r["path"] for r in mock.seen] == ["/v1/chat/completions", "/v1/responses"] + 2 * ["/v1/chat/completions"], mock.seen


def events(*list_of, end="completed", output=(), **response):
    """A stream of the Responses API."""
    whole = {"id": "resp_0123456789abcdef01", "object": "response", "model": "m1", "output": list(output), **response}
    all_events = [{"type": "response.created", "response": {**whole, "status": "in_progress", "output": []}}, *list_of]
    if end:
        all_events.append({"type": "response." + end, "response": {"status": end, **whole}})
    return 200, SSE, "".join("event: %s\ndata: %s\n\n" % (e["type"], json.dumps(e)) for e in all_events)


def item(index, **members):
    return {"type": "response.output_item.done", "output_index": index, "item": members}


def reasoning(index, sealed, text="hm"):
    return item(index, type="reasoning", id="rs_%d" % index, summary=[{"type": "summary_text", "text": text}],
                **({"encrypted_content": sealed} if sealed else {}))


def function_call(index, id="call_1", **arguments):
    return item(index, type="function_call", id="fc_%d" % index, call_id=id, name="Read", status="completed",
                arguments=json.dumps(arguments))


def message_item(index, text):
    return item(index, type="message", id="msg_%d" % index, role="assistant", status="completed",
                content=[{"type": "output_text", "text": text, "annotations": []}])


def responses(lab, reply, *args, model="m1"):
    mock = Mock(reply)
    settings = {"providers": {"lab": {"wire": "responses", "baseUrl": mock.url + "/v1"}}}
    done = lab.cadre("-p", "--settings", json.dumps(settings), "--model", "lab/" + model, "--output-format", "json",
                     *(args or ("hi",)))
    return mock, done


def a_model_that_chat_refuses_is_reached_by_the_responses_api(lab):
    pathlib.Path(lab.work, "a.txt").write_text("apple\n")
    for status, text in ((400, "Function tools with reasoning_effort are not supported for m1 in /v1/chat/completions. To use "
                               "function tools, use /v1/responses or set reasoning_effort to 'none'."),
                         (404, "This model is only supported in v1/responses and not in v1/chat/completions.")):
        def reply(n, request):
            if request["path"] == "/v1/chat/completions":
                return status, {}, json.dumps({"error": {"message": text, "type": "invalid_request_error"}})
            if len(request["body"]["input"]) == 1:
                return events(reasoning(0, "sealed-1"), function_call(1, file_path="a.txt"))
            return events(message_item(0, "fine"))

        mock, done = chat(lab, reply)
        assert result(done)["result"] == "fine", done
        # What was learned holds for the next request, and reasoning comes back without its id.
        assert [r["path"] for r in mock.seen] == ["/v1/chat/completions", "/v1/responses", "/v1/responses"], mock.seen
        back = mock.bodies()[2]["input"][1]
        assert back == {"type": "reasoning", "summary": [{"type": "summary_text", "text": "hm"}],
                        "encrypted_content": "sealed-1"}, back


def what_the_responses_api_refuses_is_left_out(lab):
    refusals = (("Unsupported parameter: 'reasoning.summary' is not supported with this model.", lambda b: "summary" not in b["reasoning"]),
                ("Your organization must be verified to generate reasoning summaries.", lambda b: "summary" not in b["reasoning"]),
                ("Encrypted content is not supported with this model.", lambda b: "include" not in b and "reasoning" not in b),
                ("Unsupported parameter: 'prompt_cache_key'", lambda b: "prompt_cache_key" not in b),
                ("Unsupported parameter: 'max_output_tokens' is not supported", lambda b: "max_output_tokens" not in b),
                ("Unsupported parameter: 'parallel_tool_calls'", lambda b: "parallel_tool_calls" not in b))
    for text, heeded in refusals:
        def reply(n, request):
            if not heeded(request["body"]):
                return 400, {}, json.dumps({"error": {"message": text, "type": "invalid_request_error", "code": None}})
            return events(message_item(0, "fine"))

        mock, done = responses(lab, reply)
        assert result(done)["result"] == "fine" and len(mock.seen) == 2, (text, done)


def reasoning_that_the_server_cannot_read_is_left_out(lab):
    pathlib.Path(lab.work, "a.txt").write_text("apple\n")

    def reply(n, request):
        sealed = [i["encrypted_content"] for i in request["body"]["input"] if i.get("type") == "reasoning"]
        if n == 1:
            return events(reasoning(0, "old"), function_call(1, file_path="a.txt"))
        if "old" in sealed:
            return 400, {}, json.dumps({"error": {"code": "invalid_encrypted_content", "type": "invalid_request_error",
                                                  "message": "The encrypted content could not be verified."}})
        if n == 3:
            return events(reasoning(0, "new"), function_call(1, "call_2", file_path="a.txt"))
        assert sealed == ["new"], sealed
        return events(message_item(0, "fine"))

    mock, done = responses(lab, reply)
    assert result(done)["result"] == "fine" and len(mock.seen) == 4, done


def reasoning_that_is_encrypted_only_at_the_end_comes_back(lab):
    pathlib.Path(lab.work, "a.txt").write_text("apple\n")

    def reply(n, request):
        if n == 1:
            return events(reasoning(0, ""), function_call(1, file_path="a.txt"), output=[
                {"type": "reasoning", "id": "rs_0", "summary": [], "encrypted_content": "late"}])
        return events(message_item(0, "fine"))

    mock, done = responses(lab, reply)
    assert result(done)["result"] == "fine", done
    assert [i.get("encrypted_content") for i in mock.bodies()[1]["input"] if i.get("type") == "reasoning"] == ["late"], mock.bodies()[1]


def a_response_without_its_end_is_never_an_answer(lab):
    whole = events(message_item(0, "whole"))
    torn = (events(message_item(0, "torn"), end=None),                         # no completed
            events(message_item(0, "torn"), {"type": "response.output_item.added"}, end=None),
            (200, SSE, whole[2][:whole[2].rindex("event:")]),                  # cut at the last event
            (200, SSE, whole[2][:-4]))                                         # inside it
    for bad in torn:
        mock, done = responses(lab, lambda n, r, bad=bad: bad if n == 1 else whole)
        assert result(done)["result"] == "whole" and len(mock.seen) == 2, (bad, done)


def an_output_limit_is_read_from_the_refusal(lab):
    for text, limit in (("Invalid max_tokens value, the valid range of max_tokens is [1, 8192]", 8192),
                        ("`max_completion_tokens` must be less than or equal to `8192`", 8192),
                        ("max_completion_tokens is too large: 32000. This model supports at most 16384 completion "
                         "tokens, whereas you provided 32000.", 16384)):
        def reply(n, request):
            body = request["body"]
            asked = body.get("max_tokens", body.get("max_completion_tokens"))
            if asked is None or asked > limit:
                return 400, {}, json.dumps({"error": {"message": text}})
            return said("fits")

        mock, done = chat(lab, reply)
        body = mock.bodies()[-1]
        assert result(done)["result"] == "fits" and body.get("max_tokens", body.get("max_completion_tokens")) == limit, done


def what_one_model_refuses_another_still_gets(lab):
    agent = os.path.join(lab.work, ".claude", "agents")
    os.makedirs(agent)
    with open(os.path.join(agent, "plain.md"), "w", encoding="utf-8") as f:
        f.write("---\nname: plain\ndescription: d\nmodel: openai/m2\n---\nWork.\n")

    def reply(n, request):
        body = request["body"]
        if body["model"] == "m2":
            if "stream_options" in body:
                return 400, {}, json.dumps({"error": {"message": "extra: stream_options"}})
            return said("child")
        if any(m["role"] == "tool" for m in body["messages"]):
            return said("parent")
        return call("Agent", {"description": "d", "prompt": "p", "subagent_type": "plain", "run_in_background": False})

    mock, done = chat(lab, reply)
    last = mock.bodies()[-1]
    assert result(done)["result"] == "parent" and last["model"] == "m1" and "stream_options" in last, done


def an_id_that_other_servers_refuse_is_not_kept(lab):
    mock, done = chat(lab, lambda n, r: call("Bash", {"command": "true"}, id="functions.Bash:0") if n == 1 else said("done"))
    ids = [b["id"] for t in lab.transcripts() for line in map(json.loads, open(t, encoding="utf-8"))
           for b in (line.get("message", {}).get("content") or []) if isinstance(b, dict) and b.get("type") == "tool_use"]
    assert len(ids) == 1 and all(c.isalnum() or c in "_-" for c in ids[0]), ids
    messages = mock.bodies()[1]["messages"]
    assert [m["tool_call_id"] for m in messages if m["role"] == "tool"] == ids, messages


def mistral_gets_short_ids_and_no_user_behind_a_tool(lab):
    def reply(n, request):
        messages = request["body"]["messages"]
        for before, now in zip(messages, messages[1:]):
            if before["role"] == "tool" and now["role"] == "user":
                return 400, {}, json.dumps({"object": "error", "type": "invalid_request_message_order",
                                            "message": "Unexpected role 'user' after role 'tool'"})
        for m in messages:
            if m["role"] == "tool" and len(m["tool_call_id"]) != 9:
                return 400, {}, json.dumps({"object": "error", "message": "Tool call id was %s but must be a-z, A-Z, 0-9, "
                                                                          "with a length of 9." % m["tool_call_id"]})
        if not any(m["role"] == "tool" for m in messages):
            return call("Read", {"file_path": os.path.join(lab.work, "p.png")})
        return said("seen")

    with open(os.path.join(lab.work, "p.png"), "wb") as f:
        f.write(picture())
    mock, done = chat(lab, reply)
    messages = mock.bodies()[-1]["messages"]
    ids = [m["tool_calls"][0]["id"] for m in messages if m.get("tool_calls")]
    assert result(done)["result"] == "seen" and len(ids[0]) == 9, (done, messages)
    assert [m["tool_call_id"] for m in messages if m["role"] == "tool"] == ids, messages
    assert [m["role"] for m in messages[-3:]] == ["tool", "assistant", "user"], messages


def reasoning_goes_back_to_a_server_that_wants_it(lab):
    """As DeepSeek: every answer of a tool loop has its reasoning_content, an empty one if there was none."""
    def reply(n, request):
        answers = [m for m in request["body"]["messages"] if m["role"] == "assistant"]
        if any("reasoning_content" not in m for m in answers):
            return 400, {}, json.dumps({"error": {"message": "The `reasoning_content` in the thinking mode must be passed "
                                                             "back to the API.", "type": "invalid_request_error"}})
        if len(answers) == 2:
            return said("done")
        function = {"name": "Bash", "arguments": json.dumps({"command": "echo %d" % len(answers)})}
        pieces = [delta(reasoning_content="I \"think\"\n"), delta(reasoning_content="hard")] if not answers else []
        return 200, SSE, chunks(*pieces, delta(tool_calls=[{"index": 0, "id": "call_%d" % len(answers), "type": "function",
                                                            "function": function}]), delta("tool_calls"))

    mock, done = chat(lab, reply)
    answers = [m for m in mock.bodies()[-1]["messages"] if m["role"] == "assistant"]
    assert result(done)["result"] == "done" and len(mock.seen) == 4, done
    assert [m["reasoning_content"] for m in answers] == ["I \"think\"\nhard", ""], answers
    done = lab.cadre("-p", "--provider", "openai", "--model", "m1", "--continue", "again")
    answers = [m for m in mock.bodies()[-1]["messages"] if m["role"] == "assistant"]
    assert answers[0]["reasoning_content"] == "I \"think\"\nhard", answers


def usage_is_read_in_every_dialect(lab):
    for usage, expected in (({"prompt_tokens": 10, "completion_tokens": 2, "prompt_cache_hit_tokens": 8}, (2, 8, 2)),
                            ({"prompt_tokens": 10, "completion_tokens": 2, "cached_tokens": 4}, (6, 4, 2)),
                            ({"prompt_tokens": 10, "completion_tokens": 2, "total_tokens": 40}, (10, 0, 30))):
        _, done = chat(lab, lambda n, r: said("x", usage=usage))
        found = result(done)["usage"]
        assert (found["input_tokens"], found["cache_read_input_tokens"], found["output_tokens"]) == expected, (usage, found)


def a_query_of_the_base_address_stays_a_query(lab):
    mock = Mock(lambda n, r: said("x"))
    lab.env["OPENAI_BASE_URL"] = mock.url + "/openai/v1/?api-version=2024-10-21"
    done = lab.cadre("-p", "--provider", "openai", "--model", "m1", "hi")
    assert done.out == "x\n" and mock.seen[0]["path"] == "/openai/v1/chat/completions?api-version=2024-10-21", mock.seen


def schemas_have_only_words_that_every_server_takes(lab):
    mock, done = chat(lab, lambda n, r: said("x"))
    banned = {"$schema", "format", "minLength", "maxLength", "exclusiveMinimum", "minimum", "maximum", "minItems",
              "maxItems", "default", "const", "propertyNames"}

    def walk(schema, path):
        assert not banned & set(schema), (path, schema)
        assert "pattern" not in schema or path.endswith("properties"), path
        for name, value in schema.get("properties", {}).items():
            walk(value, path + "." + name)
        if isinstance(schema.get("items"), dict):
            walk(schema["items"], path + "[]")

    tools = mock.bodies()[0]["tools"]
    for tool in tools:
        walk(tool["function"]["parameters"], tool["function"]["name"])
        assert tool["function"]["parameters"]["type"] == "object"
    grep = [t for t in tools if t["function"]["name"] == "Grep"]
    assert done.code == 0 and (not grep or "pattern" in grep[0]["function"]["parameters"]["properties"])


def a_stream_of_any_spelling_is_read(lab):
    for kind in ("Text/Event-Stream", "text/plain; charset=utf-8", "application/octet-stream"):
        _, done = chat(lab, lambda n, r: (200, {"content-type": kind}, said("x")[2]))
        assert done.code == 0 and result(done)["result"] == "x", (kind, done)


def a_name_of_another_provider_without_a_key_names_the_trap(lab):
    mock = Mock(lambda n, r: said("x"))
    lab.env.update(OPENAI_BASE_URL=mock.url, ANTHROPIC_API_KEY="")
    done = lab.cadre("-p", "--provider", "openai", "--model", "anthropic/claude-sonnet-5", "hi")
    assert done.code == 2 and "openai/anthropic/claude-sonnet-5" in done.err, done


# ---- failures of every server


def the_time_that_a_server_names_is_waited(lab):
    quota = json.dumps([{"error": {"code": 429, "message": "slow", "status": "RESOURCE_EXHAUSTED", "details": [
        {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "2s"}]}}])
    for headers, body in (({"retry-after-ms": "2100"}, "{}"), ({}, quota),
                          ({}, json.dumps({"error": {"message": "Please try again in 2.054s."}}))):
        mock = Mock(lambda n, r: (429, headers, body) if n == 1 else said("x"))
        lab.env["OPENAI_BASE_URL"] = mock.url
        done = lab.stream("--provider", "openai", "--model", "m1", "hi").wait()
        retries = [f for f in done.frames() if f.get("subtype") == "api_retry"]
        assert len(retries) == 1 and 2000 <= retries[0]["retry_delay_ms"] <= 2400, (headers, body, retries)


def an_empty_account_is_not_asked_again(lab):
    body = json.dumps({"error": {"message": "You exceeded your current quota", "type": "insufficient_quota"}})
    mock, done = chat(lab, lambda n, r: (429, {"retry-after": "1"}, body))
    assert len(mock.seen) == 1 and done.code == 1, (len(mock.seen), done)


# ---- the Messages API at gateways


def gateway(lab, reply, *args, **env):
    mock = Mock(reply)
    lab.env.update(ANTHROPIC_BASE_URL=mock.url, **env)
    return mock, lab.cadre("-p", *(args or ("hi",)))


def a_gateway_has_names_of_its_own(lab):
    mock, done = gateway(lab, lambda n, r: message("x"), "--model", "kimi", "hi")
    assert done.out == "x\n" and mock.bodies()[0]["model"] == "kimi", done


def a_token_keeps_the_key_at_home(lab):
    mock, done = gateway(lab, lambda n, r: message("x"), ANTHROPIC_AUTH_TOKEN="token", ANTHROPIC_API_KEY="private")
    headers = mock.seen[0]["headers"]
    assert done.out == "x\n" and headers["authorization"] == "Bearer token" and "x-api-key" not in headers, headers


def forty_headers_arrive(lab):
    lines = "\n".join("X-Custom-%d: value %d" % (i, i) for i in range(40))
    mock, done = gateway(lab, lambda n, r: message("x"), ANTHROPIC_CUSTOM_HEADERS=lines)
    headers = mock.seen[0]["headers"]
    assert done.out == "x\n" and all(headers["x-custom-%d" % i] == "value %d" % i for i in range(40)), headers
    assert headers["x-api-key"] == "test" and headers["anthropic-version"], headers


def a_line_that_is_no_header_is_refused_with_its_number(lab):
    for line in ("no colon", "X-A: \x01", "X-A: \u4e2d", "a b: c"):
        mock, done = gateway(lab, lambda n, r: message("x"), ANTHROPIC_CUSTOM_HEADERS="X-Good: 1\n" + line)
        assert done.code == 2 and "line 2 of ANTHROPIC_CUSTOM_HEADERS" in done.err and not mock.seen, (line, done)


def a_silent_server_is_given_the_time_of_the_variable(lab):
    held = threading.Event()

    def reply(n, _):
        if n == 1:
            held.wait(20)
        return message("x")

    mock, done = gateway(lab, reply, API_TIMEOUT_MS="300")
    held.set()
    assert done.out == "x\n" and len(mock.seen) == 2, done


# ---- clouds


def pinned(lab, variable, **env):
    """All other places are a server that must not be asked."""
    other = Mock(lambda n, r: message("wrong"))
    for name in ("ANTHROPIC_BASE_URL", "OPENAI_BASE_URL", "ANTHROPIC_BEDROCK_BASE_URL", "ANTHROPIC_BEDROCK_MANTLE_BASE_URL",
                 "ANTHROPIC_AWS_BASE_URL", "ANTHROPIC_VERTEX_BASE_URL", "ANTHROPIC_FOUNDRY_BASE_URL"):
        lab.env[name] = other.url
    lab.env.update({variable: "1", "OPENAI_API_KEY": "k", "AWS_EC2_METADATA_DISABLED": "true", **env})
    return other


AWS_KEYS = {"AWS_ACCESS_KEY_ID": "AKIDEXAMPLE", "AWS_SECRET_ACCESS_KEY": "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY",
            "AWS_REGION": "us-west-2"}
SCENARIO = """rule
  turn 1
  thinking I look first.
  text I look.
  call Bash {"command": "echo one"}
  call Bash {"command": "echo two"}
rule
  text Done after {{last_result}}.
"""


def front(target, kept, check=lambda request: None, names=()):
    """A server in front of modeld that keeps requests; check gives an answer of its own, or None. names: headers that pass."""
    def reply(n, request):
        own = check(request)
        if own:
            return own
        kept.append(request)
        passed = {name: request["headers"][name] for name in names if name in request["headers"]}
        ask = urllib.request.Request(target + request["path"], request["raw"], {"content-type": "application/json", **passed})
        try:
            with urllib.request.urlopen(ask) as answer:
                return answer.status, {"content-type": answer.headers["content-type"]}, answer.read()
        except urllib.error.HTTPError as error:
            return error.code, {"content-type": error.headers["content-type"]}, error.read()

    return Mock(reply)


def signature_of(request, secret, region, service, host):
    """What AWS computes from a request that it received."""
    found = re.search(r"Credential=([^/]+)/(\d+)/([^/]+)/([^/]+)/aws4_request, SignedHeaders=([^,]+), Signature=(\w+)",
                      request["headers"]["authorization"])
    _, date, region_, service_, names, given = found.groups()
    assert (region_, service_) == (region, service), found.groups()
    path, _, query = request["path"].partition("?")
    encoded = "/".join(urllib.parse.quote(part, safe="-._~") for part in path.split("/"))
    headers = "".join("%s:%s\n" % (n, " ".join(request["headers"][n].split())) for n in names.split(";"))
    digest = hashlib.sha256(request["raw"]).hexdigest()
    assert request["headers"]["x-amz-content-sha256"] == digest and request["headers"]["host"] == host
    canonical = "\n".join(["POST", encoded, query, headers, names, digest])
    text = "\n".join(["AWS4-HMAC-SHA256", request["headers"]["x-amz-date"], "%s/%s/%s/aws4_request" % (date, region, service),
                      hashlib.sha256(canonical.encode()).hexdigest()])
    key = ("AWS4" + secret).encode()
    for part in (date, region, service, "aws4_request"):
        key = hmac.new(key, part.encode(), hashlib.sha256).digest()
    return hmac.new(key, text.encode(), hashlib.sha256).hexdigest(), given


def bedrock_is_asked_with_a_signature_and_answers_in_frames(lab):
    model = lab.model(SCENARIO)
    other, kept = pinned(lab, "CLAUDE_CODE_USE_BEDROCK", **AWS_KEYS, AWS_SESSION_TOKEN="to+ken/=="), []
    cloud = front(model.url, kept)
    lab.env["ANTHROPIC_BEDROCK_BASE_URL"] = cloud.url
    done = lab.cadre("-p", "--model", "claude-sonnet-4-5-20250929", "hi")
    assert done.out == "Done after two.\n" and not other.seen, done
    for request in kept:
        assert request["path"] == "/model/us.anthropic.claude-sonnet-4-5-20250929-v1:0/invoke-with-response-stream"
        assert request["headers"]["x-amz-security-token"] == "to+ken/==", request["headers"]
        assert "x-api-key" not in request["headers"], request["headers"]
        ours, given = signature_of(request, AWS_KEYS["AWS_SECRET_ACCESS_KEY"], "us-west-2", "bedrock", cloud.url[7:])
        assert ours == given, request
    assert kept[0]["body"]["anthropic_version"] == "bedrock-2023-05-31" and "model" not in kept[0]["body"]


def an_arn_and_a_bearer_token_reach_bedrock(lab):
    model = lab.model("rule\n  text yes")
    other, kept = pinned(lab, "CLAUDE_CODE_USE_BEDROCK", AWS_BEARER_TOKEN_BEDROCK="bearer"), []
    lab.env["ANTHROPIC_BEDROCK_BASE_URL"] = front(model.url, kept).url
    arn = "arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/abc"
    done = lab.cadre("-p", "--model", arn, "hi")
    assert done.out == "yes\n" and not other.seen, done
    assert kept[0]["path"] == "/model/%s/invoke-with-response-stream" % arn.replace("/", "%2F"), kept[0]["path"]
    assert kept[0]["headers"]["authorization"] == "Bearer bearer", kept[0]["headers"]


def an_exception_in_the_frames_is_tried_again(lab):
    lab.env.update(CLAUDE_CODE_USE_BEDROCK="1", AWS_BEARER_TOKEN_BEDROCK="b")
    model = lab.model("rule\n  nth 1\n  text I begin.\n  error rate_limit_error \"slow\" after event 2\nrule\n  text Whole.")
    lab.env["ANTHROPIC_BEDROCK_BASE_URL"] = model.url
    done = lab.stream("hi").wait()
    retries = [f for f in done.frames() if f.get("subtype") == "api_retry"]
    assert done.frames()[-1]["result"] == "Whole." and [r["error_status"] for r in retries] == [429], done


def a_damaged_frame_is_a_cut_answer(lab):
    model = lab.model("rule\n  text Whole answer.")
    kept = []
    inner = front(model.url, kept)

    def flip(n, request):
        ask = urllib.request.Request(inner.url + request["path"], request["raw"])
        with urllib.request.urlopen(ask) as answer:
            body = bytearray(answer.read())
        if n == 1:
            body[len(body) // 2] ^= 4
        if n == 2:
            del body[len(body) // 2:]
        return 200, {"content-type": "application/vnd.amazon.eventstream"}, bytes(body)

    lab.env.update(CLAUDE_CODE_USE_BEDROCK="1", AWS_BEARER_TOKEN_BEDROCK="b", ANTHROPIC_BEDROCK_BASE_URL=Mock(flip).url)
    done = lab.stream("hi").wait()
    assert done.frames()[-1]["result"] == "Whole answer." and len(kept) == 3, done


def commands_of_the_settings_give_and_renew_aws_credentials(lab):
    model = lab.model("rule\n  text yes")
    counter = os.path.join(lab.folder, "count")
    keys = json.dumps({"Credentials": {"AccessKeyId": "AK2", "SecretAccessKey": "secret-value", "SessionToken": "t"}})
    settings = json.dumps({"awsCredentialExport": "echo x >> %s; echo '%s'" % (counter, keys)})
    pinned(lab, "CLAUDE_CODE_USE_BEDROCK")
    kept = []

    def check(request):
        if len(kept) == 0 and not getattr(check, "refused", False):
            check.refused = True
            return 403, {}, json.dumps({"message": "The security token included in the request is expired"})
        return None

    lab.env["ANTHROPIC_BEDROCK_BASE_URL"] = front(model.url, kept, check).url
    done = lab.cadre("-p", "--settings", settings, "--debug", "hi")
    with open(counter, encoding="utf-8") as f:
        assert f.read() == "x\nx\n" and done.out == "yes\n", done
    assert "Credential=AK2/" in kept[0]["headers"]["authorization"], kept[0]["headers"]
    assert "secret-value" not in done.err, done.err


def mantle_and_the_platform_take_plain_messages(lab):
    model = lab.model("rule\n  text yes")
    other, kept = pinned(lab, "CLAUDE_CODE_USE_MANTLE", **AWS_KEYS), []
    cloud = front(model.url, kept)
    lab.env["ANTHROPIC_BEDROCK_MANTLE_BASE_URL"] = cloud.url + "/anthropic"
    done = lab.cadre("-p", "--model", "claude-opus-5-5", "hi")
    assert done.out == "yes\n" and kept[-1]["path"] == "/anthropic/v1/messages", (done, kept)
    assert kept[-1]["body"]["model"] == "anthropic.claude-opus-5-5", kept[-1]["body"]["model"]
    ours, given = signature_of(kept[-1], AWS_KEYS["AWS_SECRET_ACCESS_KEY"], "us-west-2", "bedrock-mantle", cloud.url[7:])
    assert ours == given
    del lab.env["CLAUDE_CODE_USE_MANTLE"]
    lab.env.update(CLAUDE_CODE_USE_ANTHROPIC_AWS="1", ANTHROPIC_AWS_BASE_URL=cloud.url)
    done = lab.cadre("-p", "hi")
    assert done.code == 2 and "ANTHROPIC_AWS_WORKSPACE_ID" in done.err, done
    lab.env["ANTHROPIC_AWS_WORKSPACE_ID"] = "ws-1"
    done = lab.cadre("-p", "hi")
    assert done.out == "yes\n" and kept[-1]["headers"]["anthropic-workspace-id"] == "ws-1", done
    ours, given = signature_of(kept[-1], AWS_KEYS["AWS_SECRET_ACCESS_KEY"], "us-west-2", "aws-external-anthropic", cloud.url[7:])
    assert ours == given and not other.seen


def vertex_takes_a_service_account_and_a_user(lab):
    model = lab.model("rule\n  text yes")
    other, kept, forms = pinned(lab, "CLAUDE_CODE_USE_VERTEX", ANTHROPIC_VERTEX_PROJECT_ID="proj", CLOUD_ML_REGION="eu"), [], []

    def token(n, request):
        forms.append(dict(urllib.parse.parse_qsl(request["raw"].decode())))
        return 200, {}, json.dumps({"access_token": "ya29.%d" % n, "expires_in": 3600, "token_type": "Bearer"})

    uri = Mock(token).url + "/token"
    key = subprocess.run(["openssl", "genrsa", "2048"], capture_output=True, check=True, text=True).stdout
    path = os.path.join(lab.folder, "account.json")
    lab.env.update(ANTHROPIC_VERTEX_BASE_URL=front(model.url, kept).url + "/v1", GOOGLE_APPLICATION_CREDENTIALS=path)
    for account in ({"type": "service_account", "client_email": "a@b", "private_key": key, "private_key_id": "kid1"},
                    {"type": "authorized_user", "client_id": "id", "client_secret": "s", "refresh_token": "r",
                     "quota_project_id": "quota"}):
        with open(path, "w", encoding="utf-8") as f:
            json.dump({**account, "token_uri": uri}, f)
        done = lab.cadre("-p", "--model", "claude-sonnet-4-5-20250929", "hi")
        assert done.out == "yes\n" and not other.seen, done
        request = kept[-1]
        assert request["path"] == ("/v1/projects/proj/locations/eu/publishers/anthropic/models/"
                                   "claude-sonnet-4-5@20250929:streamRawPredict"), request["path"]
        assert request["headers"]["authorization"] == "Bearer ya29.%d" % len(forms), request["headers"]
        assert request["body"]["anthropic_version"] == "vertex-2023-10-16" and request["body"]["stream"] is True
    assert kept[-1]["headers"]["x-goog-user-project"] == "quota", kept[-1]["headers"]
    head, claims, _ = forms[0]["assertion"].split(".")
    claims = json.loads(base64.urlsafe_b64decode(claims + "=="))
    assert claims["iss"] == "a@b" and claims["aud"] == uri and "sub" not in claims and claims["exp"] - claims["iat"] == 3600
    assert json.loads(base64.urlsafe_b64decode(head + "=="))["kid"] == "kid1"
    assert forms[1] == {"grant_type": "refresh_token", "client_id": "id", "client_secret": "s", "refresh_token": "r"}, forms[1]


def vertex_takes_the_token_of_the_machine(lab):
    model = lab.model("rule\n  text yes")
    kept = []
    pinned(lab, "CLAUDE_CODE_USE_VERTEX", ANTHROPIC_VERTEX_PROJECT_ID="proj")
    machine = Mock(lambda n, r: (200, {}, json.dumps({"access_token": "machine", "expires_in": 3600})))
    lab.env.update(ANTHROPIC_VERTEX_BASE_URL=front(model.url, kept).url + "/v1", GCE_METADATA_HOST=machine.url[7:])
    done = lab.cadre("-p", "--model", "claude-opus-5-5", "hi")
    assert done.out == "yes\n" and kept[0]["headers"]["authorization"] == "Bearer machine", done
    assert machine.seen[0]["headers"]["metadata-flavor"] == "Google", machine.seen


def foundry_takes_a_key_or_entra(lab):
    model = lab.model("rule\n  text yes")
    other, kept, forms = pinned(lab, "CLAUDE_CODE_USE_FOUNDRY", ANTHROPIC_FOUNDRY_API_KEY="key"), [], []
    lab.env["ANTHROPIC_FOUNDRY_BASE_URL"] = front(model.url, kept).url + "/anthropic"
    done = lab.cadre("-p", "--model", "deployment", "hi")
    assert done.out == "yes\n" and kept[-1]["headers"]["x-api-key"] == "key", done
    assert kept[-1]["path"] == "/anthropic/v1/messages" and kept[-1]["body"]["model"] == "deployment", kept[-1]

    def token(n, request):
        forms.append((request["path"], dict(urllib.parse.parse_qsl(request["raw"].decode()))))
        return 200, {}, json.dumps({"access_token": "entra", "expires_in": 3600})

    del lab.env["ANTHROPIC_FOUNDRY_API_KEY"]
    lab.env.update(AZURE_CLIENT_ID="c", AZURE_TENANT_ID="t", AZURE_CLIENT_SECRET="s", AZURE_AUTHORITY_HOST=Mock(token).url)
    done = lab.cadre("-p", "--model", "deployment", "hi")
    assert done.out == "yes\n" and kept[-1]["headers"]["authorization"] == "Bearer entra", done
    assert forms[0][0] == "/t/oauth2/v2.0/token" and forms[0][1]["scope"] == "https://ai.azure.com/.default", forms
    assert not other.seen


def a_helper_gives_the_key_and_is_asked_again_when_it_is_refused(lab):
    counter = os.path.join(lab.folder, "count")
    lab.env["ANTHROPIC_API_KEY"] = ""

    def reply(n, request):
        if request["headers"].get("x-api-key") != "key2":
            return 401, {}, json.dumps({"error": {"type": "authentication_error", "message": "no"}})
        return message("yes")

    settings = json.dumps({"apiKeyHelper": "echo x >> %s; echo key$(wc -l < %s)" % (counter, counter)})
    mock, done = gateway(lab, reply, "--settings", settings, "hi")
    assert done.out == "yes\n" and len(mock.seen) == 2, done
    assert mock.seen[1]["headers"]["authorization"] == "Bearer key2", mock.seen[1]["headers"]


def a_helper_that_fails_is_named_without_its_output(lab):
    lab.env["ANTHROPIC_API_KEY"] = ""
    for command, words in (("echo secret; echo broken >&2; exit 3", ("exit code 3", "broken")),
                           ("echo secret one; echo two", ("one key", "printed")),
                           ("head -c 20000 /dev/zero | tr '\\0' a", ("one key", "20000"))):
        mock, done = gateway(lab, lambda n, r: message("x"), "--settings", json.dumps({"apiKeyHelper": command}), "hi")
        assert done.code == 1 and all(w in done.out for w in ("apiKeyHelper", *words)) and not mock.seen, (command, done)
        assert "secret" not in done.out + done.err, done


def a_switch_and_its_variables_may_stand_in_the_settings(lab):
    model = lab.model("rule\n  text yes")
    other, kept = pinned(lab, "X"), []
    env = {"CLAUDE_CODE_USE_BEDROCK": "1", "AWS_REGION": "eu-west-1", "AWS_PROFILE": "work",
           "ANTHROPIC_BEDROCK_BASE_URL": front(model.url, kept).url}
    os.makedirs(os.path.join(lab.home, ".aws"))
    with open(os.path.join(lab.home, ".aws", "config"), "w", encoding="utf-8") as f:
        f.write("[default]\naws_access_key_id = wrong\n[profile work]\ncredential_process = printf "
                "'{\"Version\":1,\"AccessKeyId\":\"AK-%s\",\"SecretAccessKey\":\"s\"}' $AWS_PROFILE\n")
    done = lab.cadre("-p", "--model", "claude-opus-5-5", "--settings", json.dumps({"env": env}), "hi")
    assert done.out == "yes\n" and not other.seen, done
    assert kept[0]["path"].startswith("/model/eu.anthropic.claude-opus-5-5/"), kept[0]["path"]
    assert "Credential=AK-work/" in kept[0]["headers"]["authorization"], kept[0]["headers"]


def two_pins_contradict_each_other(lab):
    other = pinned(lab, "CLAUDE_CODE_USE_BEDROCK", CLAUDE_CODE_USE_VERTEX="1")
    done = lab.cadre("-p", "hi")
    assert done.code == 2 and "CLAUDE_CODE_USE_BEDROCK and CLAUDE_CODE_USE_VERTEX" in done.err and not other.seen, done


def no_pin_lets_a_prompt_go_elsewhere(lab):
    """Without any credential for the cloud the run fails; no other place hears of it."""
    for variable in ("CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_MANTLE", "CLAUDE_CODE_USE_ANTHROPIC_AWS",
                     "CLAUDE_CODE_USE_VERTEX", "CLAUDE_CODE_USE_FOUNDRY"):
        other = pinned(lab, variable)
        nowhere = "http://127.0.0.1:9"
        for name in ("ANTHROPIC_BEDROCK_BASE_URL", "ANTHROPIC_BEDROCK_MANTLE_BASE_URL", "ANTHROPIC_AWS_BASE_URL",
                     "ANTHROPIC_VERTEX_BASE_URL", "ANTHROPIC_FOUNDRY_BASE_URL"):
            lab.env[name] = nowhere
        lab.env.update(GCE_METADATA_HOST="127.0.0.1:9", CLAUDE_CODE_MAX_RETRIES="1")
        done = lab.cadre("-p", "hi")
        assert done.code != 0 and not other.seen, (variable, done)
        done = lab.cadre("-p", "--model", "openai/m1", "hi")
        assert done.code != 0 and not other.seen, (variable, done)
        del lab.env[variable]


if __name__ == "__main__":
    main(*(v for k, v in list(globals().items()) if callable(v) and getattr(v, "__module__", "") == "__main__"
           and getattr(v, "__code__", None) and v.__code__.co_varnames[:1] == ("lab",)
           and v.__code__.co_argcount == 1))
