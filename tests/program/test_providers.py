# SPDX-License-Identifier: MIT
"""What servers of models and gateways do differently."""
import json
import os
import pathlib
import threading
import time

from lab import main
from mock import SSE, Mock, call, cases, chunks, delta, events, function_call, gateway, message, message_item, picture, reasoning, refusal, result, said


def chat(lab, reply, *args, **env):
    mock = Mock(reply)
    lab.env.update(OPENAI_BASE_URL=mock.url + "/v1", **env)
    done = lab.cadre("-p", "--provider", "openai", "--model", "m1", "--output-format", "json", *(args or ("hi",)))
    return mock, done


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
                         (404, "This model is only supported in v1/responses and not in v1/chat/completions."),
                         (400, "The chatCompletion operation does not work with the specified model, m1. Please choose different "
                               "model and try again.")):
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
                ("Unsupported parameter: 'include' is not supported with this model.", lambda b: "include" not in b),
                ("Invalid value: 'reasoning.encrypted_content'. Supported values are: 'file_search_call.results'.", lambda b: "include" not in b),
                ("Unsupported parameter: 'prompt_cache_key'", lambda b: "prompt_cache_key" not in b),
                ("Unsupported parameter: 'max_output_tokens' is not supported", lambda b: "max_output_tokens" not in b),
                ("Unsupported parameter: 'parallel_tool_calls'", lambda b: "parallel_tool_calls" not in b))
    sentences = ("Unknown parameter: '%s'.", "Unsupported parameter: %s", "%s: Extra inputs are not permitted", "`%s` is not supported by this endpoint",
                 'json: unknown field "%s"', "Unrecognized request argument supplied: %s", "property '%s' is unsupported", "%s is not supported")
    refusals += tuple((sentence % name, lambda b, name=name: name not in b) for sentence in sentences for name in ("store", "include", "reasoning", "max_output_tokens"))
    refusals += (({"detail": [{"type": "extra_forbidden", "loc": ["body", "store"], "msg": "Extra inputs are not permitted", "input": False}]}, lambda b: "store" not in b),)
    for text, heeded in refusals:
        def reply(n, request):
            if not heeded(request["body"]):
                return 400, {}, json.dumps(text if isinstance(text, dict) else {"error": {"message": text, "type": "invalid_request_error", "code": None}})
            return events(message_item(0, "fine"))

        mock, done = responses(lab, reply)
        assert result(done)["result"] == "fine" and len(mock.seen) == 2, (text, done)


def an_effort_that_a_model_does_not_have_becomes_the_next_lower_one(lab):
    levels = ("low", "medium", "high", "xhigh")
    for asked, has, words in (
            ("max", levels[:3], "Unsupported value: 'reasoning_effort' does not support 'xhigh' with this model. Supported values are: 'none', 'low', 'medium', and 'high'."),
            ("xhigh", levels[:3], "Unsupported value: 'xhigh' is not supported with the 'm1' model. Supported values are: 'low', 'medium', and 'high'. (reasoning.effort)"),
            ("max", levels[:2], "Invalid value: 'xhigh'. Supported values for effort are: 'none', 'low' and 'medium'."),
            ("high", levels[:1], "`effort` must be one of `none` or `low`"),
            ("low", (None, "high"), "Unsupported value: 'low' is not supported. Supported values are: 'high'. (reasoning.effort)"),
            ("high", (None,), "Model m1 does not support parameter reasoningEffort.")):
        def reply(n, request):
            if request["body"].get("reasoning", {}).get("effort") not in has:
                return 400, {}, json.dumps({"error": {"message": words, "type": "invalid_request_error"}})
            return events(message_item(0, "fine"))

        mock, done = responses(lab, reply, "--effort", asked, "hi")
        assert result(done)["result"] == "fine" and len(mock.seen) == 2, (words, done)
        expected = None if None in has else has[-1]
        assert mock.bodies()[1]["reasoning"].get("effort") == expected, (words, mock.bodies()[1]["reasoning"])


def a_model_that_takes_no_images_gets_a_line_in_their_place(lab):
    pathlib.Path(lab.work, "p.png").write_bytes(picture())
    refusals = ("messages[3]: unknown variant `image_url`, expected `text` at line 1 column 5",
                "No endpoints found that support image input", "Image inputs are not supported by this model.",
                "Image content is not supported for this model", "Image input is not enabled for this model",
                "At most 0 image(s) may be provided in one prompt.", "Model does not support images. Please use a model that does.",
                "this model is missing data required for image input", "Content type 'image_url' not supported", "m1 is not a vision model",
                "'messages.3' : for 'role:user' the following must be satisfied[('messages.3.content' : value must be a string)]",
                "This model does not support vision", "The model is not a VLM (Vision Language Model). Please use text-only prompts.",
                "messages.content.type \u53c2\u6570\u975e\u6cd5\uff0c\u53d6\u503c\u8303\u56f4 ['text']",
                "messages.content.type is invalid, allowed values: ['text']", "This model does not support multimodal inputs.",
                "Invalid value for content part: image_url", "Failed to parse messages: Unsupported content part type: \"image_url\"",
                "Failed to deserialize the JSON body into the target type: messages[0].content: invalid type: sequence, expected a string at line 5")
    for words in refusals:
        def reply(n, request):
            if n == 1:
                return call("Read", {"file_path": "p.png"})
            if any(isinstance(m.get("content"), list) for m in request["body"]["messages"]):  # some take a text only
                return 404 if "endpoints" in words else 400, {}, json.dumps({"error": {"message": words}})
            return said("fine")

        mock, done = chat(lab, reply)
        assert result(done)["result"] == "fine" and len(mock.seen) == 3, (words, done)
        assert "this server takes none" in json.dumps(mock.bodies()[2]["messages"]), (words, mock.bodies()[2])


def a_model_without_tools_is_named_at_once(lab):
    for status, words in ((400, "Function calling is not enabled for this model"), (405, "deepinfra error: Tool calling is not supported for model: m1"),
                          (400, "Tool use has not been enabled, because it is unsupported by m1."), (400, "m1 is not supported for JSON mode/function calling"),
                          (400, "`tools` is not supported with this model"), (400, "m1 does not support Function Calling"),
                          (400, "`tool calling` is not supported with this model")):
        mock, done = chat(lab, lambda n, request, status=status, words=words: (status, {}, json.dumps({"error": {"message": words}})))
        assert "the model m1 cannot call tools at this server" in result(done)["result"] and len(mock.seen) == 1, (words, done)
        mock, done = gateway(lab, lambda n, r, status=status, words=words: (status, {}, json.dumps(refusal(words))), "--model", "m1", "hi")
        assert "the model m1 cannot call tools at this server" in done.out and len(mock.seen) == 1, (words, done)
    lab.env.update(GEMINI_API_KEY="k", GEMINI_BASE_URL=Mock(lambda n, r: (400, {}, json.dumps(
        {"error": {"code": 400, "message": "Function calling is not enabled for models/gemma-3-27b-it", "status": "INVALID_ARGUMENT"}}))).url)
    done = lab.cadre("-p", "--model", "gemini/gemma-3-27b-it", "hi")
    assert "the model gemma-3-27b-it cannot call tools at this server" in done.out, done


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


def a_phase_that_comes_behind_its_text_goes_back_with_it(lab):
    """In the next turn, and after a resume."""
    pathlib.Path(lab.work, "a.txt").write_text("apple\n")

    def text(index, words, phase):
        return ({"type": "response.output_text.delta", "output_index": index, "delta": words},
                {**message_item(index, words), "item": {**message_item(index, words)["item"], "phase": phase}})

    def reply(n, request):
        if n == 1:
            return events(reasoning(0, "sealed"), *text(1, "I look.", "commentary"), function_call(2, file_path="a.txt"))
        return events(*text(0, "fine", "final_answer"))

    mock, done = responses(lab, reply)
    session = result(done)["session_id"]
    settings = {"providers": {"lab": {"wire": "responses", "baseUrl": mock.url + "/v1"}}}
    done = lab.cadre("-p", "--settings", json.dumps(settings), "--model", "lab/m1", "--resume", session, "again")
    assert done.out == "fine\n", done
    for body, expected in zip(mock.bodies()[1:], ((("I look.", "commentary"),), (("I look.", "commentary"), ("fine", "final_answer")))):
        said_back = tuple((i["content"][0]["text"], i.get("phase")) for i in body["input"] if i.get("role") == "assistant")
        assert said_back == expected, body["input"]


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


def a_version_of_azure_that_does_not_know_the_name_of_the_limit_gets_the_other(lab):
    def reply(n, request):
        known = "max_completion_tokens" not in request["body"]
        return said("x") if known else (400, {}, '{"error":{"message":"Unrecognized request argument supplied: max_completion_tokens"}}')

    mock = Mock(reply)
    lab.env.update(AZURE_OPENAI_API_KEY="k", AZURE_OPENAI_BASE_URL=mock.url + "/.openai.azure.com/openai/v1?api-version=2024-02-01")
    done = lab.cadre("-p", "--provider", "azure", "--model", "d1", "hi")
    assert done.out == "x\n" and ["max_tokens" in b for b in mock.bodies()] == [False, True], (done, mock.bodies())


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


def a_model_that_misses_its_thinking_before_a_call_of_another_one_does_not_think(lab):
    """The Messages API of DeepSeek and Kimi: they think by default, and what another model thought is not theirs."""
    pathlib.Path(lab.work, "a.txt").write_text("apple\n")
    lab.model("rule\n  turn 1\n  call Read {\"file_path\": \"a.txt\"}\nrule\n  text An apple.")
    first = lab.cadre("-p", "--output-format", "json", "read it")
    for words in ("The `content[].thinking` in the thinking mode must be passed back to the API.",
                  "thinking is enabled but reasoning_content is missing in assistant tool call message at index 2"):
        def reply(n, request):
            calls = any(b["type"] == "tool_use" for m in request["body"]["messages"] for b in m["content"])
            off = request["body"].get("thinking") == {"type": "disabled"}
            return message("fine") if off or not calls else (400, {}, json.dumps({"error": {"message": words, "type": "invalid_request_error"}}))

        for model in ("deepseek-chat", "claude-opus-4-5"):  # the second one is asked to think
            mock = Mock(reply)
            own = json.dumps({"providers": {"lab": {"wire": "messages", "baseUrl": mock.url}}})
            done = lab.cadre("-p", "--output-format", "json", "--settings", own, "--model", "lab/" + model, "--resume",
                             result(first)["session_id"], "--fork-session", "and you?")
            assert result(done)["result"] == "fine" and len(mock.seen) == 2, (words, model, done, mock.bodies())
            assert mock.seen[1]["raw"].count(b'"thinking":{') == 1, mock.seen[1]["raw"][:300]


def a_template_that_wants_roles_to_alternate_gets_an_answer_between(lab):
    """Models of Mistral in llama.cpp: its template counts users and plain answers, not calls and results."""
    def reply(n, request):
        turns = [m["role"] for m in request["body"]["messages"] if m["role"] in ("user", "assistant") and not m.get("tool_calls")]
        if any(a == b for a, b in zip(turns, turns[1:])):
            return 500, {}, json.dumps({"error": {"code": 500, "type": "server_error", "message":
                "\n------------\nWhile executing CallExpression at line 189, column 32 in source:\n...== 0) %}\n^\nError: Jinja Exception: After "
                "the optional system message, conversation roles must alternate user and assistant roles except for tool calls and results."}})
        return call("Read", {"file_path": os.path.join(lab.work, "p.png")}) if n == 1 else said("seen")

    pathlib.Path(lab.work, "p.png").write_bytes(picture())
    mock, done = chat(lab, reply)
    assert result(done)["result"] == "seen", (done, mock.bodies())
    assert [m["role"] for m in mock.bodies()[-1]["messages"][-3:]] == ["tool", "assistant", "user"] and len(mock.seen) == 3, mock.bodies()


def reasoning_goes_back_to_a_server_that_wants_it(lab):
    """As DeepSeek: every answer of a tool loop has its reasoning_content, an empty one if there was none."""
    def reply(n, request):
        answers = [m for m in request["body"]["messages"] if m["role"] == "assistant"]
        if any("reasoning_content" not in m for m in answers):
            return 400, {}, json.dumps({"error": {"message": "The `reasoning_content` in the thinking mode must be passed "
                                                             "back to the API.", "type": "invalid_request_error"}})
        if len(answers) >= 2:
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


def reasoning_of_chat_goes_back_to_its_place_and_model_only(lab):
    """In the member that it came in, where a local server uses it; elsewhere an empty one at most. Also after a resume."""
    def reply(n, request):
        thinks = delta(reasoning="hm") if n == 1 else delta(content="")
        if n == 1:
            return 200, SSE, chunks(thinks, delta(tool_calls=[{"index": 0, "id": "call_1", "type": "function", "function": {
                "name": "Bash", "arguments": json.dumps({"command": "true"})}}]), delta("tool_calls"))
        return said("x") if request["body"] else (404, {}, "")

    def reasoning_in(mock):
        last = [body for body in mock.bodies() if body][-1]  # windows are asked for, too
        return [(m.get("reasoning"), m.get("reasoning_content")) for m in last["messages"] if m["role"] == "assistant"]

    home, other = Mock(lambda n, r: reply(sum(b is not None for b in home.bodies()), r) if r["body"] else (404, {}, "")), Mock(lambda n, r: said("y"))
    settings = json.dumps({"providers": {"other": {"wire": "chat", "baseUrl": other.url, "quirks": ["echo"]}}})
    lab.env["VLLM_BASE_URL"] = home.url
    first = result(lab.cadre("-p", "--model", "vllm/m1", "--allowedTools", "Bash", "--output-format", "json", "hi"))
    assert first["result"] == "x" and reasoning_in(home) == [("hm", None)], home.bodies()
    for model, mock, expected in (("vllm/m2", home, (None, None)), ("other/m1", other, (None, "")), ("vllm/m1", home, ("hm", None))):
        done = lab.cadre("-p", "--resume", first["session_id"], "--model", model, "--settings", settings, "more")
        assert done.code == 0 and reasoning_in(mock)[0] == expected, (model, done, reasoning_in(mock))


def reasoning_that_a_server_does_not_take_is_left_out(lab):
    """Where the settings or the catalog say that it goes back: a gateway may refuse it."""
    pathlib.Path(lab.work, "a.txt").write_text("apple\n")
    refused = "messages.2.assistant.%s: property '%s' is unsupported"
    for field, words in (("reasoning_content", refused % (("messages.2.assistant.reasoning_content",) * 2)), ("reasoning", refused % ("reasoning", "reasoning")),
                         ("reasoning_content", "Please remove the reasoning_content from your message"),
                         ("reasoning", {"detail": [{"type": "extra_forbidden", "loc": ["body", "messages", 1, "assistant", "reasoning"],
                                                    "msg": "Extra inputs are not permitted", "input": "The context window is full."}]})):
        def reply(n, request):
            if any(field in m for m in request["body"]["messages"]):
                return 422, {}, json.dumps({"object": "error", "message": words, "type": "invalid_request_error"})
            if n == 1:
                function = {"name": "Read", "arguments": json.dumps({"file_path": "a.txt"})}
                return 200, SSE, chunks(delta(reasoning_content="hm"), delta(tool_calls=[{"index": 0, "id": "call_1", "function": function}]), delta("tool_calls"))
            return said("fine")

        mock = Mock(reply)
        settings = {"providers": {"lab": {"wire": "chat", "baseUrl": mock.url + "/v1", "models": {"m1": {"reasoningField": field}}}}}
        done = lab.cadre("-p", "--settings", json.dumps(settings), "--model", "lab/m1", "hi")
        assert done.out == "fine\n" and len(mock.seen) == 3, (field, words, done, len(mock.seen))


def what_a_refusal_repeats_of_the_request_is_not_its_reason(lab):
    """One request, one line: no summary, no other limit, no other class."""
    text = "The context window is full; max_tokens is at most 300; insufficient_quota; model_not_found; image_url not supported"
    for wire, path in (("chat", "/v1"), ("messages", ""), ("responses", "/v1"), ("gemini", "")):
        mock = Mock(lambda n, r: (400, {}, json.dumps({"error": {"message": {"detail": [
            {"type": "extra_forbidden", "loc": ["body", "x"], "msg": "Extra inputs are not permitted", "input": text}]}, "type": "invalid_request_error"}})))
        settings = {"providers": {"lab": {"wire": wire, "baseUrl": mock.url + path}}}
        done = lab.cadre("-p", "--settings", json.dumps(settings), "--model", "lab/m1", "--output-format", "json", text)
        assert done.code == 1 and len(mock.seen) == 1 and result(done)["terminal_reason"] == "api_error", (wire, done, len(mock.seen))
        assert '"msg": "Extra inputs are not permitted", "input": null' in result(done)["result"], (wire, done)


def a_limit_of_one_model_holds_no_other_model_of_the_gateway(lab):
    """Two children at once. The server tells the model of one to wait; the other one's requests are not held."""
    times, refused = [], []

    def reply(n, request):
        body = request["body"]
        times.append((body["model"], time.monotonic()))
        if body["model"] == "m1" and not any(m["role"] == "tool" for m in body["messages"]):
            function = {"name": "Agent", "arguments": json.dumps({"description": "d", "prompt": "p", "subagent_type": "%s"})}
            return 200, SSE, chunks(*(delta(tool_calls=[{"index": i, "id": "call_%d" % i, "type": "function", "function": {
                **function, "arguments": function["arguments"] % name}}]) for i, name in enumerate(("slow", "fast"))), delta("tool_calls"))
        if body["model"] == "slow-model" and sum(m == "slow-model" for m, _ in times) == 1:
            refused.append(time.monotonic())
            return 429, {"retry-after": "10"}, json.dumps({"error": {"message": "slow down"}})
        if body["model"] == "fast-model" and not any(m["role"] == "tool" for m in body["messages"]):
            with mock.news:  # the refusal of the other one is on its way
                assert mock.news.wait_for(lambda: len(mock.sent) == 2, 30)
            return call("Bash", {"command": "true"})
        return said("x")

    agents = {name: {"description": "d", "prompt": "p", "model": "openai/%s-model" % name} for name in ("slow", "fast")}
    mock = Mock(reply)
    lab.env["OPENAI_BASE_URL"] = mock.url + "/v1"
    done = lab.cadre("-p", "--provider", "openai", "--model", "m1", "--output-format", "json", "--agents", json.dumps(agents), "hi", "--allowedTools", "Bash")
    fast = [t for m, t in times if m == "fast-model"]
    slow = [t for m, t in times if m == "slow-model"]
    assert result(done)["result"] == "x" and len(fast) == 2 and len(slow) == 2, (done, times)
    assert slow[1] - slow[0] >= 10 and fast[1] - refused[0] < 10, (times, refused)


def signed_blocks_of_claude_go_back_through_litellm(lab):
    """Also at a server that refuses thinking: it is not asked to keep it."""
    block = {"type": "thinking", "thinking": "hm", "signature": "c2ln"}

    def reply(n, request):
        if "thinking" in request["body"]:
            return 400, {}, json.dumps({"error": {"message": "unknown member: thinking"}})
        first = not any(m["role"] == "assistant" for m in request["body"]["messages"])
        return (200, SSE, chunks(delta(reasoning_content="hm", thinking_blocks=[{**block, "signature": ""}]), delta(thinking_blocks=[{**block, "thinking": ""}]),
                                 delta(tool_calls=[{"index": 0, "id": "call_1", "type": "function", "function": {
                                     "name": "Bash", "arguments": json.dumps({"command": "true"})}}]), delta("tool_calls"))) if first else said("x")

    mock = Mock(reply)
    settings = {"providers": {"lab": {"wire": "chat", "server": "litellm", "baseUrl": mock.url, "quirks": ["keepThinking"], "models": {"claude-1": {"context": 200000}}}}}
    done = lab.cadre("-p", "hi", "--provider", "lab", "--model", "claude-1", "--settings", json.dumps(settings), "--allowedTools", "Bash")
    (answer,) = [m for m in mock.bodies()[-1]["messages"] if m["role"] == "assistant"]
    assert done.out == "x\n" and answer["thinking_blocks"] == [block] and "reasoning_content" not in answer, (done, answer)
    assert mock.bodies()[0]["thinking"] == {"type": "enabled", "clear_thinking": False} and len(mock.seen) == 3, mock.seen


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
    banned = {"$schema", "not", "if", "patternProperties", "examples", "x-order", "format", "minLength", "maxLength", "exclusiveMinimum", "minimum", "maximum", "minItems",
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


def the_time_that_a_server_names_is_waited(lab):
    quota = json.dumps([{"error": {"code": 429, "message": "slow", "status": "RESOURCE_EXHAUSTED", "details": [
        {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "2s"}]}}])
    for headers, body in (({"retry-after-ms": "2100"}, "{}"), ({}, quota),
                          ({}, json.dumps({"error": {"message": "Please try again in 2.054s."}})),
                          ({}, json.dumps({"error": {"message": "Please wait 2 seconds before retrying."}})),
                          ({}, json.dumps({"error": {"message": "slow", "metadata": {"retry_after_seconds": 2}}})),
                          ({"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "2.1s"}, "{}")):
        mock = Mock(lambda n, r: (429, headers, body) if n == 1 else said("x"))
        lab.env["OPENAI_BASE_URL"] = mock.url
        done = lab.stream("--provider", "openai", "--model", "m1", "hi").wait()
        retries = [f for f in done.frames() if f.get("subtype") == "api_retry"]
        assert len(retries) == 1 and 2000 <= retries[0]["retry_delay_ms"] <= 2400, (headers, body, retries)
    # OpenRouter, GitHub: a moment, not a duration; on an answer that came it holds nothing
    for unit in (1000, 1):
        at = {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": str(int((time.time() + 3600) * unit))}
        mock = Mock(lambda n, r, at=at: (200, {**SSE, **at}, said("x")[2]) if n == 1 else (429, at, "{}"))
        lab.env["OPENAI_BASE_URL"] = mock.url
        done = lab.cadre("-p", "--provider", "openai", "--model", "m1", "hi")
        late = lab.cadre("-p", "--provider", "openai", "--model", "m1", "hi")
        assert done.out == "x\n" and len(mock.seen) == 2 and "the server may be asked again in 60 min" in late.out, (unit, done, late, len(mock.seen))


def what_no_retry_helps_is_asked_once(lab):
    for status, text in ((429, "You exceeded your current quota, type insufficient_quota"), (500, "insufficient balance (1008)"),
                         (500, "model requires more system memory (7.5 GiB) than is available (5.2 GiB)"),
                         (500, "unable to load model: /models/blobs/sha256-x"),
                         (500, "------------\nError: Jinja Exception: System message must be at the beginning.")):
        mock, done = chat(lab, lambda n, r, status=status, text=text: (status, {"retry-after": "1"}, json.dumps({"error": {"message": text}})))
        assert len(mock.seen) == 1 and done.code == 1, (text, len(mock.seen), done)
    # What the model wrote was no call: it may write another one, but not for half an hour.
    mock, done = chat(lab, lambda n, r: (500, {}, json.dumps({"error": {"message": "error parsing tool call: raw='{', err=unexpected end"}})))
    assert len(mock.seen) == 3 and done.code == 1, (len(mock.seen), done)


def a_gateway_has_names_of_its_own(lab):
    mock, done = gateway(lab, lambda n, r: message("x"), "--model", "kimi", "hi")
    assert done.out == "x\n" and mock.bodies()[0]["model"] == "kimi", done


def thought(text, signature, command=None):
    """An answer of the Messages API that thinks first."""
    last = ({"type": "text", "text": ""}, [{"type": "text_delta", "text": text}])
    if command:
        last = ({"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {}},
                [{"type": "input_json_delta", "partial_json": json.dumps({"command": command})}])
    blocks = [({"type": "thinking", "thinking": "", "signature": ""},
               [{"type": "thinking_delta", "thinking": "hm"}, {"type": "signature_delta", "signature": signature}]), last]
    list_of = [{"type": "message_start", "message": {"id": "msg_1", "model": "claude", "usage": {"input_tokens": 1}}}]
    for i, (block, deltas) in enumerate(blocks):
        list_of += [{"type": "content_block_start", "index": i, "content_block": block},
                    *({"type": "content_block_delta", "index": i, "delta": d} for d in deltas), {"type": "content_block_stop", "index": i}]
    list_of += [{"type": "message_delta", "delta": {"stop_reason": "tool_use" if command else "end_turn"}, "usage": {"output_tokens": 1}},
                {"type": "message_stop"}]
    return 200, SSE, "".join("event: %s\ndata: %s\n\n" % (e["type"], json.dumps(e)) for e in list_of)


def thinking_in(request):
    return [b["signature"] for m in request["body"]["messages"] for b in m["content"] if b["type"] == "thinking"]


def thinking_goes_back_to_its_place_and_model_only(lab):
    """Signed or not; also after a resume, and again when the conversation returns."""
    for signature in ("c2lnbmVk", ""):
        one = Mock(lambda n, r: thought("x", signature, "true" if n == 1 else None))
        two = Mock(lambda n, r: message("y"))
        lab.env["ANTHROPIC_BASE_URL"] = one.url
        first = result(lab.cadre("-p", "--model", "claude-opus-5-5", "--allowedTools", "Bash", "--output-format", "json", "hi"))
        assert [thinking_in(r) for r in one.seen] == [[], [signature]], one.seen
        for mock, model, expected in ((one, "claude-opus-5-5", 2), (two, "claude-opus-5-5", 0), (one, "claude-sonnet-5-5", 0),
                                      (one, "claude-opus-5-5", 3)):
            lab.env["ANTHROPIC_BASE_URL"] = mock.url
            done = lab.cadre("-p", "--resume", first["session_id"], "--model", model, "more")
            assert done.code == 0 and thinking_in(mock.seen[-1]) == [signature] * expected, (model, done, thinking_in(mock.seen[-1]))


def thinking_that_a_server_cannot_read_any_more_is_left_out(lab):
    def reply(n, request):
        if "b2xk" in thinking_in(request) and n > 2:
            return 400, {}, json.dumps({"error": {"type": "invalid_request_error",
                                                  "message": "messages.1.content.0: Invalid `signature` in `thinking` block"}})
        return thought("x", "bmV3" if n > 2 else "b2xk", "true" if n in (1, 4) else None)

    mock, done = gateway(lab, reply, "--allowedTools", "Bash", "--output-format", "json", "hi")
    done = lab.cadre("-p", "more", "--resume", result(done)["session_id"], "--allowedTools", "Bash")
    seen = [thinking_in(r) for r in mock.seen]
    assert done.out == "x\n" and seen == [[], ["b2xk"], ["b2xk", "b2xk"], [], ["bmV3"]], (done, seen)


def a_name_that_the_server_maps_is_told_once(lab):
    def reply(n, request):
        return 200, SSE, thought("x", "", "true" if n == 1 else None)[2].replace('"model": "claude"', '"model": "deepseek-v4"')

    _, done = gateway(lab, reply, "--model", "claude-opus-5-5", "--allowedTools", "Bash", "--output-format", "text", "hi")
    told = "the server answers claude-opus-5-5 with another model: deepseek-v4"
    assert done.out == "x\n" and done.err.count(told) == 1, done
    _, done = gateway(lab, lambda n, r: thought("x", ""), "--model", "claude-opus-5-5", "hi")
    assert done.out == "x\n" and not done.err, done


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
    for line in ("no colon", "X-A: \x01", "X-A: \u4e2d", "a b: c", "Content-Length: 3", "transfer-encoding : chunked"):
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
    assert done.out == "x\n" and len(mock.seen) > 1, done  # more than two if the mock was slow as well


if __name__ == "__main__":
    main(*cases(globals()))
