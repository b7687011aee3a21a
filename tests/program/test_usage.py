#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tokens and money add up on every wire: what the servers counted, request by request, is what each figure says, with parallel
children of another model, forks, a summary and a session that is resumed. The numbers are random; USAGE_SEED repeats them."""
import json
import os
import random

from lab import main
from mock import SSE, Mock, chunks, delta, events, function_call, item, message_item
from mock import frame as aws_frame
from test_wire import Client

SEED = int(os.environ.get("USAGE_SEED", random.randrange(1 << 30)))
PRICES = {"main": {"input": 3, "output": 15, "cacheRead": 0.3, "cacheWrite": 3.75,
                   "tiers": [{"above": 50000, "input": 6, "output": 22.5, "cacheRead": 0.6, "cacheWrite": 7.5}]},
          "kid": {"input": 1, "output": 5}}


def messages(blocks, u, model):
    """The events of an answer of the Messages API."""
    counted = {"input_tokens": u["input"], "cache_read_input_tokens": u["read"], "cache_creation_input_tokens": u["write"], "output_tokens": 1}
    yield {"type": "message_start", "message": {"id": "msg_1", "model": model, "usage": counted}}
    for index, (kind, value) in enumerate(blocks):
        block = {"type": "text", "text": ""} if kind == "text" else {"type": "tool_use", "id": "toolu_%d_%d" % (u["output"], index), "name": "Agent", "input": {}}
        piece = {"type": "text_delta", "text": value} if kind == "text" else {"type": "input_json_delta", "partial_json": json.dumps(value)}
        yield {"type": "content_block_start", "index": index, "content_block": block}
        yield {"type": "content_block_delta", "index": index, "delta": piece}
        yield {"type": "content_block_stop", "index": index}
    yield {"type": "message_delta", "delta": {"stop_reason": "tool_use" if blocks[-1][0] == "call" else "end_turn"}, "usage": {"output_tokens": u["output"]}}
    yield {"type": "message_stop"}


def over_messages(blocks, u, model):
    return 200, SSE, "".join("data: %s\n\n" % json.dumps(e) for e in messages(blocks, u, model))


def over_invoke(blocks, u, model):
    return 200, {"content-type": "application/vnd.amazon.eventstream"}, b"".join(map(aws_frame, messages(blocks, u, model)))


def over_chat(blocks, u, model):
    pieces = [delta(content=value) if kind == "text" else delta(tool_calls=[{"index": i, "id": "call_%d_%d" % (u["output"], i), "type": "function", "function": {
        "name": "Agent", "arguments": json.dumps(value)}}]) for i, (kind, value) in enumerate(blocks)]
    return 200, SSE, chunks(*pieces, delta("stop", {
        "prompt_tokens": u["input"] + u["read"] + u["write"], "completion_tokens": u["output"], "total_tokens": sum(u.values()),
        "prompt_tokens_details": {"cached_tokens": u["read"], "cache_write_tokens": u["write"]}}))


def over_responses(blocks, u, model):
    items = []
    for i, (kind, value) in enumerate(blocks):
        call = function_call(i, id="call_%d_%d" % (u["output"], i), **(value if kind == "call" else {}))
        items.append(message_item(i, value) if kind == "text" else item(i, **{**call["item"], "name": "Agent"}))
    return events(*items, usage={"input_tokens": u["input"] + u["read"] + u["write"], "output_tokens": u["output"],
                                 "input_tokens_details": {"cached_tokens": u["read"], "cache_write_tokens": u["write"]},
                                 "output_tokens_details": {"reasoning_tokens": u["output"] // 2}})


def over_gemini(blocks, u, model):
    parts = [{"text": value} if kind == "text" else {"functionCall": {"name": "Agent", "args": value}} for kind, value in blocks]
    chunk = {"candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": "STOP"}], "modelVersion": model, "responseId": "r",
             "usageMetadata": {"promptTokenCount": u["input"] + u["read"] + u["write"], "cachedContentTokenCount": u["read"],
                               "candidatesTokenCount": u["output"] - u["output"] // 2, "thoughtsTokenCount": u["output"] // 2}}
    return 200, SSE, "data: %s\n\n" % json.dumps(chunk)


def cost(model, u):
    """In USD, from the prices of the settings; each request by itself."""
    price = PRICES[model]
    for tier in price.get("tiers", []):
        price = tier if u["input"] + u["read"] + u["write"] > tier["above"] else price
    return (u["input"] * price["input"] + u["output"] * price["output"] + u["read"] * price.get("cacheRead", price["input"]) +
            u["write"] * price.get("cacheWrite", price["input"])) / 1e6


class Server:
    """Answers with random counts, and adds them up by model and agent."""

    def __init__(self, answer, writes):
        self.answer, self.writes, self.counted = answer, writes, []
        self.random = random.Random(SEED)
        self.mock = Mock(self.reply)

    def reply(self, n, request):
        text = request["raw"].decode()
        model = "kid" if "kid-model" in text[:200] + request["path"] else "main"
        most = self.random.choice((10, 4000, 80000))
        u = {"input": self.random.randrange(most), "read": self.random.randrange(most), "write": self.random.randrange(most), "output": 1 + self.random.randrange(999)}
        u["input"] += 50001 if n == 1 else 0  # at least one of them costs more
        if not self.writes:
            u["input"], u["write"] = u["input"] + u["write"], 0
        forks = [("call", {"description": "d", "prompt": "Do it", "subagent_type": kind}) for kind in ("fork", "fork", "kid", "kid")]
        agent = "summary" if "Write that summary" in text else "child" if model == "kid" or "FORK_DIRECTIVE" in text else "main"
        self.counted.append((model, agent, u))
        return self.answer(forks if agent == "main" and "Do it" not in text else [("text", "done %d" % n)], u, model + "-model")

    def total(self, model):
        return {key: sum(u[key] for m, _, u in self.counted if m == model) for key in ("input", "read", "write", "output")}

    def usd(self, model=None):
        return sum(cost(m, u) for m, _, u in self.counted if model in (None, m))


def close(a, b):
    return abs(a - b) <= 1e-5 * max(abs(a), abs(b), 1e-3)  # printed with six digits


def check_result(server, result, wire):
    """The figures of a result against what the server counted."""
    names = {"inputTokens": "input", "cacheReadInputTokens": "read", "cacheCreationInputTokens": "write", "outputTokens": "output"}
    told = {model.rpartition("/")[2].partition("-")[0]: figures for model, figures in result["modelUsage"].items()}
    context = (wire, SEED, result["modelUsage"], server.counted)
    for model, figures in told.items():
        assert {names[k]: figures[k] for k in names} == server.total(model), (model, *context)
        assert close(figures["costUSD"], server.usd(model)) and "unknownPrice" not in figures, (model, server.usd(model), *context)
    assert set(told) == {model for model, _, _ in server.counted}, context
    assert close(result["total_cost_usd"], server.usd()), (result["total_cost_usd"], server.usd(), *context)
    assert close(result["total_cost_usd"], sum(f["costUSD"] for f in told.values())), context


def adds_up_over(wire, answer, base="", model="main-model", writes=True):
    def test(lab):
        server = Server(answer, writes)
        own = {"lab": {"wire": wire, "baseUrl": server.mock.url + base, "credential": "none", "models": {
            model: {"context": 900000, "price": PRICES["main"]}, "kid-model": {"context": 900000, "price": PRICES["kid"]}}}}
        agents = {"kid": {"description": "d", "prompt": "p", "model": "lab/kid-model"}}
        args = ("-p", "--settings", json.dumps({"providers": own}), "--model", "lab/" + model, "--agents", json.dumps(agents))
        client = Client(lab, *args)
        for prompt in ("Begin", "/compact", "Go on"):
            client.say(prompt)
            result = client.run.frame("result")
            assert not result["is_error"], result
            check_result(server, result, wire)
        client.request("c", "get_session_cost")
        assert close(client.reply("c")["response"]["total_cost_usd"], server.usd()), SEED
        assert client.over().code == 0
        agents_of = [agent for _, agent, _ in server.counted]
        assert agents_of.count("summary") == 1 and agents_of.count("child") >= 4 and agents_of.count("main") >= 3, server.counted
        # A resumed session counts its own requests.
        server.counted.clear()
        done = lab.cadre(*args, "--output-format", "json", "--resume", result["session_id"], "Do it now")
        check_result(server, json.loads(done.out), wire)

    test.__name__ = "tokens_and_money_add_up_over_%s" % wire
    return test


if __name__ == "__main__":
    main(adds_up_over("messages", over_messages), adds_up_over("invoke", over_invoke), adds_up_over("chat", over_chat),
         adds_up_over("responses", over_responses), adds_up_over("gemini", over_gemini, writes=False))
