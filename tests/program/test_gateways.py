# SPDX-License-Identifier: MIT
"""What gateways and models behind them do not take, or send in another form than the API: learned, and sent again."""
import json
import os
import pathlib

from lab import main
from mock import SSE, Mock, cases, chunks, events, function_call, gateway, message, message_item, picture, refusal, result, said
from test_places import place
from test_providers import chat


def read_picture():
    block = {"type": "tool_use", "id": "toolu_1", "name": "Read", "input": {"file_path": "p.png"}}
    whole = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m1", "content": [block], "stop_reason": "tool_use",
             "usage": {"input_tokens": 1, "output_tokens": 1}}
    return 200, {"content-type": "application/json"}, json.dumps(whole)


def a_gateway_to_a_text_model_gets_a_line_in_place_of_images(lab):
    """Over the Messages API: the refusal is learned for that model, and the session keeps the picture."""
    pathlib.Path(lab.work, "p.png").write_bytes(picture())
    serde = "messages[3]: unknown variant `image_url`, expected `text` at line 1 column 5"
    pydantic = [{"loc": ["body", "messages", 0, "content", 4, "TextContentBlock", "type"], "msg": "Input should be 'text'", "input": "image"}]
    refusals = ((400, refusal("this model does not support image input")),
                (500, refusal("image input is not supported - hint: if this is unexpected, you may need to provide the mmproj")),
                (400, refusal("m1 is not a multimodal model")), (404, refusal("No endpoints found that support image input")), (400, refusal(serde)),
                (400, refusal("User message image blocks are not supported for OpenAI chat conversion; use a vision-capable provider.")),
                (400, refusal("Only text tool_result blocks are supported when tool_result.content is an array.")),
                (400, refusal("messages[66].content: unknown variant `image`, expected one of `text`, `tool_use`, `tool_result`, `thinking`")),
                (400, {"error": {"code": "1214", "message": "messages[4].content[0].type\u7c7b\u578b\u9519\u8bef"}}),
                (422, {"detail": pydantic}))
    for status, body in refusals:
        def reply(n, request):
            if '"type": "image"' in json.dumps(request["body"]["messages"]):
                return status, {}, json.dumps(body)
            return read_picture() if n == 1 else message("fine")

        mock, done = gateway(lab, reply, "--output-format", "json", "--model", "m1", "hi")
        assert result(done)["result"] == "fine" and len(mock.seen) == 3, (body, done)
        sent = json.dumps(mock.bodies()[2]["messages"])
        assert sent.count("[An image was left out: this server takes none.]") == 1 and "cache_control" in sent, sent
        mock, done = gateway(lab, lambda n, r: message("seen"), "--resume", result(done)["session_id"], "--model", "m2", "more")
        assert done.out == "seen\n" and '"type": "image"' in json.dumps(mock.bodies()[0]["messages"]), done


def a_server_whose_results_take_no_images_gets_texts_over_responses(lab):
    pathlib.Path(lab.work, "p.png").write_bytes(picture())
    words = json.dumps(refusal("Output of tool call should be 'Input text'"))  # llama.cpp

    def reply(n, request):
        if "input_image" in json.dumps(request["body"]["input"]):
            return 400, {}, words
        return events(function_call(0, file_path="p.png")) if n == 1 else events(message_item(0, "fine"))

    mock = Mock(reply)
    own = {"providers": {"lab": {"wire": "responses", "baseUrl": mock.url, "credential": "none"}}}
    done = lab.cadre("-p", "--settings", json.dumps(own), "--model", "lab/m1", "hi")
    assert done.out == "fine\n" and len(mock.seen) == 3 and "An image was left out" in json.dumps(mock.bodies()[2]), (done, len(mock.seen))


def what_the_settings_say_of_images_holds_over_the_messages_api(lab):
    pathlib.Path(lab.work, "p.png").write_bytes(picture())
    mock = Mock(lambda n, r: read_picture() if n == 1 else message("fine"))
    own = {"providers": {"lab": {"baseUrl": mock.url, "credential": "none", "models": {"m1": {"images": False}}}}}
    done = lab.cadre("-p", "--settings", json.dumps(own), "--model", "lab/m1", "hi")
    assert done.out == "fine\n" and '"type": "image"' not in json.dumps(mock.bodies()[1]["messages"]), (done, mock.bodies()[1])


def schemas_and_marks_that_a_gateway_refuses_are_left_out(lab):
    """Over the Messages API: keywords of a tool's schema from which a local server makes a grammar, and cache marks."""
    schema = {"type": "object", "properties": {"a": {"type": "string", "pattern": "^x+$", "minLength": 2}, "input_schema": {"type": "string"}}, "required": ["a"]}
    server = ("import sys, json\nfor line in sys.stdin:\n    m = json.loads(line)\n    if 'id' not in m: continue\n"
              "    r = {'protocolVersion': '2025-06-18', 'capabilities': {'tools': {}}, 'serverInfo': {'name': 's', 'version': '1'}} if m['method'] == 'initialize' else "
              "{'tools': [{'name': 't', 'description': 'd', 'inputSchema': json.loads(%r)}]}\n"
              "    print(json.dumps({'jsonrpc': '2.0', 'id': m['id'], 'result': r}), flush=True)\n") % json.dumps(schema)
    pathlib.Path(lab.work, "s.py").write_text(server)
    mcp = json.dumps({"mcpServers": {"s": {"command": "python3", "args": [os.path.join(lab.work, "s.py")]}}})
    rows = ((500, 'Engine protocol predict request returned 400: {"error":{"message":"Failed to initialize samplers: failed to parse grammar"}}', '"pattern": "^x+$"'),
            (400, "tools.0.input_schema: JSON schema is invalid", '"pattern": "^x+$"'),
            (400, "Invalid schema for function 'mcp__s__t'", '"pattern": "^x+$"'),
            (400, "messages.0.content.0.text.cache_control: Extra inputs are not permitted", '"cache_control"'),
            (400, 'json: unknown field "cache_control"', '"cache_control"'))
    for status, words, gone in rows:
        mock, done = gateway(lab, lambda n, r: (status, {}, json.dumps(refusal(words))) if gone in json.dumps(r["body"]) else message("fine"),
                             "--mcp-config", mcp, "--strict-mcp-config", "--", "hi")
        assert done.out == "fine\n" and len(mock.seen) == 2, (words, done, len(mock.seen))
        first, second = mock.bodies()
        tool = next(t for t in second["tools"] if t["name"] == "mcp__s__t")
        assert set(tool["input_schema"]["properties"]) == {"a", "input_schema"} and [t["name"] for t in first["tools"]] == [t["name"] for t in second["tools"]], tool
        assert ("pattern" in tool["input_schema"]["properties"]["a"]) == ("pattern" not in gone) and ("cache_control" in json.dumps(second)) == ("cache" not in gone), words
        assert second["system"][0]["text"] == first["system"][0]["text"], words


def an_answer_with_the_status_201_is_one(lab):
    _, done = chat(lab, lambda n, r: (201, *said("fine")[1:]))
    assert result(done)["result"] == "fine", done
    _, done = gateway(lab, lambda n, r: (201, *message("fine")[1:]))
    assert done.out == "fine\n", done


def a_model_that_may_not_be_streamed_is_asked_for_whole_answers(lab):
    """Learned from the refusal, on each wire; calls run, and usage is read, as from a stream."""
    pathlib.Path(lab.work, "a.txt").write_text("apple\n")
    use = {"id": "toolu_1", "name": "Read", "input": {"file_path": "a.txt"}}
    function = {"id": "call_1", "type": "function", "function": {"name": "Read", "arguments": json.dumps(use["input"])}}

    def whole(wire, n):
        if wire == "chat":
            message_ = {"role": "assistant", "content": None, "tool_calls": [function]} if n == 2 else {"role": "assistant", "content": "fine"}
            answer = {"id": "chatcmpl-1", "object": "chat.completion", "model": "m1", "choices": [{"index": 0, "message": message_, "finish_reason": "stop"}],
                      "usage": {"prompt_tokens": 7, "completion_tokens": 2}}
        elif wire == "responses":
            output = function_call(0, file_path="a.txt") if n == 2 else message_item(0, "fine")
            answer = {"id": "resp_1", "object": "response", "status": "completed", "model": "m1", "output": [output["item"]],
                      "usage": {"input_tokens": 7, "output_tokens": 2}}
        else:
            answer = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m1", "usage": {"input_tokens": 7, "output_tokens": 2},
                      "content": [{"type": "tool_use", **use} if n == 2 else {"type": "text", "text": "fine"}], "stop_reason": "tool_use" if n == 2 else "end_turn"}
        return 200, {"content-type": "application/json"}, json.dumps(answer)

    for wire in ("chat", "responses", "messages"):
        for status, words in ((400, "Your organization must be verified to stream this model. Please go to: https://platform.openai.com/settings"),
                              (400, "Unsupported value: 'stream' does not support true with this model. Supported values are: false."),
                              (500, "This model doesn't support tool use in streaming mode."), (400, "The model is unsupported for streaming.")):
            def reply(n, request):
                if request["body"].get("stream") or "stream_options" in request["body"]:
                    return status, {}, json.dumps(refusal(words))
                return whole(wire, n)

            mock = Mock(reply)
            own = {"providers": {"lab": {"wire": wire, "baseUrl": mock.url, "credential": "none"}}}
            done = lab.cadre("-p", "--output-format", "json", "--settings", json.dumps(own), "--model", "lab/m1", "hi")
            assert result(done)["result"] == "fine" and len(mock.seen) == 3, (wire, words, done, len(mock.seen))
            (figures,) = result(done)["modelUsage"].values()
            assert (figures["inputTokens"], figures["outputTokens"]) == (14, 4) and "apple" in json.dumps(mock.bodies()[2]), (wire, figures)


def a_name_of_a_model_stays_one_part_of_an_address(lab):
    for name, path in (("gemini-3-pro", "gemini-3-pro"), ("a?b#c", "a%3Fb%23c"), ("../x y", "..%2Fx%20y")):
        mock = Mock(lambda n, r: (200, SSE, chunks({"candidates": [{"content": {"parts": [{"text": "yes"}]}, "finishReason": "STOP"}]}, done=False)))
        done = place(lab, {"work": {"wire": "gemini", "baseUrl": mock.url + "/v1"}}, "--model", name, "hi")
        assert result(done)["result"] == "yes" and mock.seen[0]["path"] == "/v1/models/%s:streamGenerateContent?alt=sse" % path, (done, mock.seen)


def a_model_whose_calls_groq_never_reads_ends_with_its_words(lab):
    for more, name in (({}, "Read"), ({"failed_generation": 'Read{"file_path": 1}</function>'}, "Read"), ({"failed_generation": "?"}, "Read")):
        error = {"error": {"message": "tool call validation failed: parameters for tool Read did not match schema", "type": "invalid_request_error",
                           "code": "tool_use_failed", **more}}
        mock = Mock(lambda n, r: (400, {}, json.dumps(error)) if n < 20 else said("too late"))
        settings = {"providers": {"lab": {"wire": "chat", "baseUrl": mock.url + "/v1"}}}
        done = lab.cadre("-p", "--settings", json.dumps(settings), "--model", "lab/m1", "hi")
        assert done.code == 1 and "tool call validation failed" in done.out and len(mock.seen) == 5, (done, len(mock.seen))
        names = [c["function"]["name"] for m in mock.bodies()[4]["messages"] for c in m.get("tool_calls", ())]
        assert names == 4 * [name], names


if __name__ == "__main__":
    main(*cases(globals()))
