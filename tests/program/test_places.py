# SPDX-License-Identifier: MIT
"""Places of the settings, and what is known of models: a small server with a script stands for each place."""
import base64
import hashlib
import json
import os

from lab import below, main
from mock import AWS_KEYS, SSE, Mock, call, cases, chunks, delta, events, message, message_item, result, said
from test_wire import Client


def place(lab, providers, *args, name="work", **more):
    settings = {"provider": name, "providers": providers, **more}
    return lab.cadre("-p", "--output-format", "json", "--settings", json.dumps(settings), *(args or ("--model", "fast", "hi")))


# ---- places of the settings


def a_place_of_the_settings_has_address_headers_key_and_names(lab):
    mock = Mock(lambda n, r: message("yes"))
    lab.env.update(TENANT="blue", WORK_KEY="k-work", ANTHROPIC_API_KEY="k-private")
    own = {"wire": "messages", "baseUrl": mock.url + "/llm", "query": {"api-version": "1 2"}, "keyEnv": "WORK_KEY",
           "headers": {"X-Tenant": "${TENANT}"}, "extraBody": {"metadata": {"team": "a"}},
           "models": {"fast": {"like": "claude-haiku-5-5", "context": 200000}}, "aliases": {"sonnet": "fast"}}
    for model in ("fast", "sonnet", "work/fast", "work/sonnet"):
        done = place(lab, {"work": own}, "--model", model, "hi")
        assert result(done)["result"] == "yes", (model, done)
        request = mock.seen[-1]
        assert request["path"] == "/llm/v1/messages?api-version=1%202", request["path"]
        assert request["body"]["model"] == "fast" and request["body"]["metadata"] == {"team": "a"}, request["body"]
        headers = request["headers"]
        assert headers["x-tenant"] == "blue" and headers["x-api-key"] == "k-work", headers
        assert "authorization" not in headers and "k-private" not in str(headers), headers
        usage = result(done)["modelUsage"]
        (facts,) = usage.values()
        assert facts["contextWindow"] == 200000 and "unknownPrice" not in facts, usage


def each_wire_and_header_of_a_place_is_used(lab):
    rows = (("chat", {"key": "${K}"}, "/v1/chat/completions", {"authorization": "Bearer kk"}),
            ("chat", {"key": "${K}", "keyHeader": "api-key"}, "/v1/chat/completions", {"api-key": "kk"}),
            ("chat", {"keyHelper": "echo from-helper"}, "/v1/chat/completions", {"authorization": "Bearer from-helper"}),
            ("chat", {}, "/v1/chat/completions", {"authorization": None}),
            ("messages", {"keyHelper": "echo h", "keyHeader": "Authorization"}, "/v1/v1/messages", {"authorization": "Bearer h"}))
    for wire, own, path, headers in rows:
        mock = Mock(lambda n, r: said("yes") if wire == "chat" else message("yes"))
        lab.env.update(K="kk")
        done = place(lab, {"work": {"wire": wire, "baseUrl": mock.url + "/v1", **own}}, "--model", "claude-x-1", "hi")
        assert result(done)["result"] == "yes" and mock.seen[0]["path"] == path, (own, done)
        for name, value in headers.items():
            assert mock.seen[0]["headers"].get(name) == value, (own, mock.seen[0]["headers"])


def an_error_object_has_its_class_on_every_wire(lab):
    """Gateways put the error objects of chat completions into the streams and bodies of other APIs: asked once, in its own words."""
    error = {"error": {"message": "the prompt has a forbidden word", "type": "None", "param": "None", "code": "400"}}
    begun = {"messages": message("part")[2].partition("event: content_block_stop")[0], "chat": chunks(delta(content="part"), done=False),
             "responses": events(end=None)[2], "gemini": chunks({"candidates": [{"content": {"parts": [{"text": "part"}]}}]}, done=False)}
    for wire, beginning in begun.items():
        for headers, body in ((SSE, beginning + chunks(error, done=False)), (SSE, chunks(error, done=False)),
                              ({"content-type": "application/json"}, json.dumps(error)), ({"content-type": "application/json"}, json.dumps([error]))):
            mock = Mock(lambda n, r, answer=(200, headers, body): answer)
            done = place(lab, {"work": {"wire": wire, "baseUrl": mock.url}})
            assert done.code == 1 and "the prompt has a forbidden word" in done.out and len(mock.seen) == 1, (wire, body, done)


def a_server_that_repeats_a_secret_does_not_get_it_printed(lab):
    """In the result, the debug log and the session's file; whole, or where its words are cut. AWS repeats the headers that it was sent."""
    secret = "sk-ab/cd+" + "e1F2g3H4" * 4
    helper = json.dumps({"apiKeyHelper": "echo " + secret})
    rows = (({"ANTHROPIC_API_KEY": secret}, ()), ({"ANTHROPIC_AUTH_TOKEN": secret}, ()), ({"ANTHROPIC_API_KEY": ""}, ("--settings", helper)),
            ({"ANTHROPIC_CUSTOM_HEADERS": "X-Tenant-Token: Bearer " + secret}, ()), ({"OPENAI_API_KEY": secret}, ("--model", "openai/m-1")),
            ({"GEMINI_API_KEY": secret}, ("--model", "gemini/m-1")),
            ({"CLAUDE_CODE_USE_BEDROCK": "1", **AWS_KEYS, "AWS_SESSION_TOKEN": secret}, ()))
    for env, args in rows:
        for status, words in ((401, "refused: %s."), (403, "expired: x-amz-security-token:%s."), (400, "x" * 280 + "%s"), (200, "refused: %s.")):
            error = {"error": {"message": words % secret, "code": 400}}
            mock = Mock(lambda n, r, answer=(status, {"content-type": "application/json"}, json.dumps(error)): answer)
            urls = dict.fromkeys(("ANTHROPIC_BASE_URL", "OPENAI_BASE_URL", "GEMINI_BASE_URL", "ANTHROPIC_BEDROCK_BASE_URL"), mock.url)
            done = lab.cadre("-p", "--debug", *args, "hi", env={**urls, **env, "CLAUDE_CODE_MAX_RETRIES": "0", "AWS_EC2_METADATA_DISABLED": "true"})
            assert done.code == 1 and secret[:12] in str(mock.seen), (env, status, done)
            kept = "".join(path.read_text(errors="replace") for path in below(lab.home) if path.is_file())
            assert secret[:12] not in done.out + done.err + kept, (env, status, done)


def secrets_of_an_address_and_of_any_header_are_not_printed_either(lab):
    """A gateway repeats the whole request: a parameter, the login of the address as it is sent, headers that are called otherwise."""
    secrets = {name: "%s-s3cr3t/value" % name for name in ("query", "password", "login")}
    for wire in ("messages", "chat", "gemini"):
        mock = Mock(lambda n, r: (400, {}, json.dumps({"error": {"message": "%s %s %s" % (
            r["path"].split("?")[-1][-60:], r["headers"].get("x-db-password"), r["headers"].get("authorization") if wire == "gemini" else "")}})))
        own = {"wire": wire, "baseUrl": mock.url.replace("//", "//me:%s@" % secrets["login"].replace("/", "%2F")), "query": {"sig": secrets["query"], "v": "2024-10-21"},
               "headers": {"X-Db-Password": secrets["password"]}}
        done = lab.cadre("-p", "--debug", "--model", "work/m", "--settings", json.dumps({"providers": {"work": own}}), "hi")
        kept = "".join(path.read_text(errors="replace") for path in below(lab.home) if path.is_file()) + done.out + done.err
        hidden = [*secrets.values(), secrets["query"].replace("/", "%2F"), base64.b64encode(("me:" + secrets["login"]).encode()).decode()]
        assert done.code == 1 and "v=2024-10-21" in done.out and not any(s[:12] in kept for s in hidden), (wire, done)


def a_key_in_the_file_itself_is_used_and_said(lab):
    for key, said_so in (("sk-in-the-file", True), ("${K}", False)):
        mock = Mock(lambda n, r: said("yes"))
        lab.env.update(K="sk-of-the-environment")
        done = place(lab, {"work": {"wire": "chat", "baseUrl": mock.url, "key": key}})
        assert result(done)["result"] == "yes" and ("providers.work.key is the key itself" in done.err) == said_so, done
        assert "sk-" not in done.err and mock.seen[0]["headers"]["authorization"].startswith("Bearer sk-"), done


def a_helper_of_a_chat_place_is_asked_again_when_its_key_is_refused(lab):
    counter = os.path.join(lab.folder, "count")

    def reply(n, request):
        if request["headers"]["authorization"] != "Bearer key2":
            return 401, {}, '{"error":{"message":"expired","type":"authentication_error"}}'
        return said("yes")

    helper = "echo x >> %s; echo key$(wc -l < %s)" % (counter, counter)
    mock = Mock(reply)
    done = place(lab, {"work": {"wire": "chat", "baseUrl": mock.url, "keyHelper": helper}})
    assert result(done)["result"] == "yes" and len(mock.seen) == 2, done


def a_place_that_is_wrong_is_named_with_its_member(lab):
    rows = (({"wire": "chat"}, "providers.work has no baseUrl"),
            ({"baseURL": "http://127.0.0.1:9"}, "providers.work.baseURL is not known"),
            ({"wire": "smtp", "baseUrl": "http://127.0.0.1:9"}, "there is no wire 'smtp'"),
            ({"wire": "chat", "baseUrl": "nowhere"}, "providers.work.baseUrl is not an address"),
            ({"wire": "chat", "baseUrl": "http://127.0.0.1:9", "headers": {"A": "${NOT_SET}"}}, "NOT_SET is not set"),
            ({"wire": "chat", "baseUrl": "http://127.0.0.1:9", "keyEnv": "NOT_SET"}, "set NOT_SET (keyEnv of providers.work)"),
            ({"wire": "chat", "baseUrl": "http://127.0.0.1:9", "quirks": ["nope"]}, 'has no quirk "nope"'),
            ({"wire": "chat", "baseUrl": "http://127.0.0.1:9", "models": {"m": {"window": 1}}}, "models.m.window is not known"),
            ({"wire": "chat", "baseUrl": "http://127.0.0.1:9", "models": {"m": {"context": "1"}}}, "context is not a number"),
            ({"wire": "chat", "baseUrl": "http://127.0.0.1:9", "models": {"m": {"context": 3}}}, "models.m.context is less than 512"),
            ({"wire": "chat", "baseUrl": "http://127.0.0.1:9", "models": {"m": {"quirks": ["nope"]}}}, 'models.m.quirks: the wire chat has no quirk "nope"'),
            ({"baseUrl": "http://127.0.0.1:9", "models": {"m": {"thinking": "yes"}}}, "models.m.thinking is 'yes' and must be one of adaptive|budget|none"),
            ({"baseUrl": "http://127.0.0.1:9", "models": {"m": {"like": "clade-opus-5-5"}}}, "models.m.like is 'clade-opus-5-5', which is not a known model"),
            ({"wire": "chat", "baseUrl": "http://127.0.0.1:9", "server": "olama"}, "server is 'olama' and must be one of ollama|llamacpp"),
            ({"wire": "chat", "baseUrl": "http://127.0.0.1:9", "headers": {"X-Team": 5}}, "headers is not an object of texts"),
            ({"wire": "chat", "baseUrl": "http://127.0.0.1:9", "query": {"v": 5}}, "query is not an object of texts"),
            ({"wire": "chat", "baseUrl": "http://127.0.0.1:9", "aliases": {"fast": ["m"]}}, "aliases is not an object of texts"))
    for own, words in rows:
        done = place(lab, {"work": own})
        assert done.code == 2 and words in done.err, (own, done)
    done = place(lab, {"bedrock": {"baseUrl": "http://127.0.0.1:9"}}, name="bedrock")
    assert done.code == 2 and "this name is taken" in done.err, done
    done = lab.cadre("-p", "--provider", "elsewhere", "hi")
    assert done.code == 2 and "unknown provider 'elsewhere': expected one of anthropic, bedrock" in done.err, done


def a_project_chooses_a_place_in_a_trusted_folder_only(lab):
    mock = Mock(lambda n, r: message("from the place"))
    os.makedirs(os.path.join(lab.work, ".claude"))
    with open(os.path.join(lab.work, ".claude", "settings.json"), "w", encoding="utf-8") as f:
        json.dump({"provider": "work", "providers": {"work": {"baseUrl": mock.url}}}, f)
    lab.model("rule\n  text from the usual one")
    done = lab.cadre("-p", "--model", "claude-x-1", "hi")
    assert done.out == "from the usual one\n" and not mock.seen, done
    done = lab.cadre("-p", "--trust-project", "--model", "claude-x-1", "hi")
    assert done.out == "from the place\n" and len(mock.seen) == 1, done


def a_pin_keeps_requests_from_places_of_the_settings(lab):
    mock = Mock(lambda n, r: message("no"))
    lab.env.update(CLAUDE_CODE_USE_BEDROCK="1", ANTHROPIC_BEDROCK_BASE_URL="http://127.0.0.1:9",
                   AWS_BEARER_TOKEN_BEDROCK="t")
    done = lab.cadre("-p", "--model", "work/fast", "--settings",
                     json.dumps({"providers": {"work": {"baseUrl": mock.url}}}), "hi")
    assert done.code == 2 and "CLAUDE_CODE_USE_BEDROCK pins" in done.err and not mock.seen, done


def behind_a_gateway_a_vendor_is_part_of_the_name(lab):
    mock = Mock(lambda n, r: said("yes"))
    done = place(lab, {"work": {"wire": "chat", "baseUrl": mock.url}}, "--model", "anthropic/claude-opus-5", "hi")
    assert result(done)["result"] == "yes" and mock.bodies()[0]["model"] == "anthropic/claude-opus-5", done
    lab.env.update(OPENROUTER_BASE_URL=mock.url, OPENROUTER_API_KEY="k")
    done = lab.cadre("-p", "--provider", "openrouter", "--model", "openai/gpt-5", "hi")
    assert done.out == "yes\n" and [b for b in mock.bodies() if b][1]["model"] == "openai/gpt-5", done


def a_key_variable_is_enough_for_a_place_of_the_program(lab):
    for name, variable in (("deepseek", "DEEPSEEK"), ("mistral", "MISTRAL"), ("groq", "GROQ"), ("xai", "XAI"),
                           ("moonshot", "MOONSHOT"), ("zai", "ZAI"), ("openrouter", "OPENROUTER"), ("gemini", "GEMINI")):
        done = lab.cadre("models", "show", name + "/m-1", "--json")
        assert done.code == 1 and variable + "_API_KEY" in json.loads(done.out)["problem"], (name, done)
        lab.env[variable + "_API_KEY"] = "k"
        shown = json.loads(lab.cadre("models", "show", name + "/m-1", "--json").out)
        assert shown["address"].startswith("https://") and shown["problem"] is None, shown
        assert shown["credential"] == "the variable %s_API_KEY" % variable, shown
    for name in ("ollama", "lmstudio", "llamacpp", "vllm"):
        shown = json.loads(lab.cadre("models", "show", name + "/m-1", "--json").out)
        assert shown["address"].startswith("http://127.0.0.1:") and shown["context"] == 32768, shown
        assert shown["windowSource"] == "assumed" and shown["priceSource"] == "local", shown


# ---- names that stand for others


def an_override_is_sent_by_every_agent_and_priced_by_its_left_side(lab):
    mock = Mock(lambda n, r: message("yes"))
    lab.env["ANTHROPIC_BASE_URL"] = mock.url
    settings = {"modelOverrides": {"claude-haiku-5-5": "our-deployment"}, "availableModels": ["haiku"]}
    done = lab.cadre("-p", "--output-format", "json", "--model", "haiku", "--settings", json.dumps(settings), "hi")
    assert mock.bodies()[0]["model"] == "our-deployment", mock.bodies()
    usage = result(done)["modelUsage"]
    assert list(usage) == ["claude-haiku-5-5"] and "unknownPrice" not in usage["claude-haiku-5-5"], usage


def the_right_side_of_an_override_has_the_facts_of_its_left_side(lab):
    arn = "arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/abc"
    lab.env.update(**AWS_KEYS)
    settings = json.dumps({"modelOverrides": {"claude-opus-5-5": arn}})
    for name in (arn, "claude-opus-5-5"):
        shown = json.loads(lab.cadre("models", "show", name, "--provider", "bedrock", "--settings", settings, "--json").out)
        assert shown["sent"] == arn and shown["context"] == 1000000 and shown["priceSource"] == "built in", shown
        assert shown["thinking"] == "adaptive", shown


def a_provider_of_the_program_with_more_facts_keeps_its_key(lab):
    mock = Mock(lambda n, r: said("yes"))
    for name, header, key in (("openai", "authorization", "Bearer k1"), ("azure", "api-key", "k1")):
        base, own = {"openai": "OPENAI", "azure": "AZURE_OPENAI"}[name], {"models": {"m1": {"context": 50000}}}
        if name == "azure":
            own["baseUrl"] = mock.url + "/v1"
        lab.env.update({base + "_API_KEY": "k1", base + "_BASE_URL": mock.url + "/v1"})
        done = lab.cadre("-p", "--model", name + "/m1", "--settings", json.dumps({"providers": {name: own}}), "hi")
        sent = mock.seen[-1]["headers"].get(header) if mock.seen else None
        # An address of its own is another server: the key of the variable is not for it.
        assert done.out == "yes\n" and sent == (None if name == "azure" else key), (name, done, sent)
    del lab.env["OPENAI_API_KEY"], lab.env["OPENAI_BASE_URL"]
    done = lab.cadre("-p", "--model", "openai/m1", "--settings", '{"providers": {"openai": {"models": {}}}}', "hi")
    assert done.code == 2 and "no API key: set OPENAI_API_KEY (for providers.openai)" in done.err, done


# ---- prices


def cost_is_counted_request_by_request(lab):
    """Two prompts below the tier of Haiku 5.5 cost the lower price, although their sum is above it."""
    usage = {"prompt_tokens": 60000, "completion_tokens": 1000}

    def reply(n, request):
        if n > 1:
            return said("done", usage=usage)
        function = {"name": "Bash", "arguments": json.dumps({"command": "true"})}
        return 200, SSE, chunks(delta(tool_calls=[{"index": 0, "id": "call_1", "type": "function", "function": function}]),
                                delta("tool_calls", usage))

    mock = Mock(reply)
    own = {"wire": "chat", "baseUrl": mock.url, "models": {"fast": {"like": "claude-haiku-5-5"}}}
    done = place(lab, {"work": own}, "--model", "fast", "--allowed-tools", "Bash(true)", "--", "hi")
    assert len(mock.seen) == 2, done
    cost = result(done)["total_cost_usd"]
    assert abs(cost - 2 * (60000 * 0.1 + 1000 * 0.5) / 1e6) < 1e-9, cost


def an_answer_of_one_region_costs_a_tenth_more(lab):
    """Bedrock's profiles of a region, and every region of Vertex but `global`."""
    usage = {"input_tokens": 1000000, "output_tokens": 0}

    def reply(n, request):
        status, headers, body = message("yes")
        return status, headers, body.replace('{"input_tokens": 1}', json.dumps(usage), 1)

    lab.env.update(ANTHROPIC_VERTEX_BASE_URL=Mock(reply).url, ANTHROPIC_VERTEX_PROJECT_ID="p", CLAUDE_CODE_SKIP_VERTEX_AUTH="1")
    for region, cost in (("global", 4), ("us-east5", 4.4), ("eu", 4.4)):
        done = lab.cadre("-p", "--output-format", "json", "--provider", "vertex", "--model", "claude-opus-5-5", "hi",
                         env={"CLOUD_ML_REGION": region})
        assert abs(result(done)["total_cost_usd"] - cost - 20 / 1e6 * (1.1 if cost > 4 else 1)) < 1e-9, (region, done)
    for env, name, price in (({"AWS_REGION": "us-east-1"}, "claude-opus-5-5", 4.4), ({"AWS_REGION": "me-south-1"}, "claude-opus-5-5", 4),
                             ({}, "global.anthropic.claude-opus-5-5", 4), ({}, "eu.anthropic.claude-opus-5-5", 4.4)):
        shown = json.loads(lab.cadre("models", "show", name, "--provider", "bedrock", "--json", env={**env, "AWS_BEARER_TOKEN_BEDROCK": "b"}).out)
        assert abs(shown["price"]["input"] - price) < 1e-9, (env, name, shown)


def a_price_of_the_settings_counts_with_its_tiers(lab):
    mock = Mock(lambda n, r: said("x", usage={"prompt_tokens": 300, "completion_tokens": 10,
                                             "prompt_tokens_details": {"cached_tokens": 100}}))
    price = {"input": 1, "output": 10, "cacheRead": 0.5, "tiers": [{"above": 250, "input": 2, "output": 20, "cacheRead": 1}]}
    own = {"wire": "chat", "baseUrl": mock.url, "models": {"*": {"price": price}}}
    done = place(lab, {"work": own})
    assert abs(result(done)["total_cost_usd"] - (200 * 2 + 100 * 1 + 10 * 20) / 1e6) < 1e-12, done


def a_money_limit_needs_a_known_price(lab):
    mock = Mock(lambda n, r: said("x"))
    own = {"wire": "chat", "baseUrl": "http://127.0.0.2:9", "models": {}}
    done = place(lab, {"work": {**own, "baseUrl": mock.url.replace("127.0.0.1", "localhost")}}, "--max-budget-usd", "1",
                 "--model", "fast", "hi")
    assert done.code == 0, done  # a server of the user costs nothing
    lab.env.update(OPENAI_BASE_URL=mock.url, OPENAI_API_KEY="k")
    before = len(mock.seen)
    done = lab.cadre("-p", "--provider", "openai", "--model", "m-unknown", "--max-budget-usd", "1", "hi")
    assert done.code == 2 and "price of m-unknown is unknown" in done.err and len(mock.seen) == before, done
    done = lab.cadre("-p", "--provider", "openai", "--model", "m-unknown", "--max-budget-usd", "1", "--allow-unknown-price",
                     "hi")
    assert done.code == 0, done


# ---- marks


def variables_say_how_long_prompts_are_cached(lab):
    def marks(**env):
        mock = Mock(lambda n, r: message("yes"))
        lab.env["ANTHROPIC_BASE_URL"] = mock.url
        done = lab.cadre("-p", "--model", "claude-opus-5-5", "--system-prompt", "s", "hi", env=env)
        assert done.out == "yes\n", done
        body = mock.bodies()[0]
        blocks = [*body["system"], *(b for m in body["messages"] for b in m["content"])]
        return [b["cache_control"].get("ttl") for b in blocks if "cache_control" in b]

    usual = marks()
    assert len(usual) >= 2 and set(usual) == {None}, usual
    assert marks(ENABLE_PROMPT_CACHING_1H="1") == ["1h"] * len(usual)
    assert marks(ENABLE_PROMPT_CACHING_1H="1", FORCE_PROMPT_CACHING_5M="1") == usual
    assert marks(DISABLE_PROMPT_CACHING="1") == [] and marks(DISABLE_PROMPT_CACHING_OPUS="1") == []
    assert marks(DISABLE_PROMPT_CACHING_HAIKU="1") == usual and marks(DISABLE_PROMPT_CACHING="0") == usual
    assert marks(DISABLE_PROMPT_CACHING="false") == usual == marks(DISABLE_PROMPT_CACHING="off", FORCE_PROMPT_CACHING_5M="1")
    assert marks(ENABLE_PROMPT_CACHING_1H="1", FORCE_PROMPT_CACHING_5M="0") == ["1h"] * len(usual)


def thinking_that_a_server_takes_out_is_told_once(lab):
    def reply(n, request):
        status, headers, body = message("yes")
        change = {"type": "thinking_dropped", "path": "messages.1.content.0", "reason": "prefix_binding_mismatch"}
        return status, headers, body.replace('"usage": {"input_tokens": 1}',
                                             '"usage": {"input_tokens": 1}, "input_transformations": [%s]' % json.dumps(change), 1)

    lab.env["ANTHROPIC_BASE_URL"] = Mock(reply).url
    done = lab.cadre("-p", "--model", "claude-opus-5-5", "hi")
    assert done.out == "yes\n" and done.err.count("took 1 blocks of thinking out of the request: prefix_binding_mismatch") == 1, done


def prompts_of_claude_behind_a_gateway_are_marked(lab):
    """OpenRouter and LiteLLM cache prompts of Claude up to marks: behind the system prompt and the last message."""
    def marks(place, model, **env):
        def reply(n, request):
            return call("Bash", {"command": "true"}) if n == 1 else said("done")

        mock = Mock(lambda n, r: reply(len([s for s in mock.seen if s["body"]]), r) if r["body"] else (404, {}, ""))
        settings = {"providers": {"lab": {"wire": "chat", "baseUrl": mock.url, **place}}}
        done = lab.cadre("-p", "--settings", json.dumps(settings), "--model", "lab/" + model, "--system-prompt", "s",
                         "--allowed-tools", "Bash(true)", "--", "hi", env=env)
        assert done.out == "done\n", done
        found = []
        for body in (b for b in mock.bodies() if b):
            found.append([m["role"] for m in body["messages"] if "cache_control" in json.dumps(m)])
            for m in body["messages"]:
                parts = m["content"] if isinstance(m["content"], list) else []
                assert [p for p in parts if "cache_control" in p] == parts[-1:] or "cache_control" not in json.dumps(parts), m
        return found, mock

    found, mock = marks({"server": "openrouter"}, "anthropic/claude-opus-5.5")
    assert found == [["system", "user"], ["system", "tool"]], found
    sessions = {r["headers"]["x-session-id"] for r in mock.seen if r["body"]}
    assert len(sessions) == 1, sessions
    assert marks({"server": "litellm"}, "claude-x")[0] == [["system", "user"], ["system", "tool"]]
    assert marks({"server": "openrouter"}, "openai/gpt-5")[0] == [[], []]
    assert marks({"server": "openrouter"}, "google/gemini-3-pro")[0] == [["system", "user"], ["system", "tool"]]
    assert marks({"server": "litellm"}, "claude-x", DISABLE_PROMPT_CACHING="1")[0] == [[], []]
    assert marks({"quirks": ["marks"]}, "my-claude")[0] == [["system", "user"], ["system", "tool"]]


def a_cost_that_the_server_reports_counts(lab):
    mock = Mock(lambda n, r: said("x", usage={"prompt_tokens": 1000, "completion_tokens": 10, "cost": 0.0125}))
    done = place(lab, {"work": {"wire": "chat", "baseUrl": mock.url}}, "--model", "m-unknown", "hi")
    (facts,) = result(done)["modelUsage"].values()
    assert result(done)["total_cost_usd"] == 0.0125 and facts["reportedCost"] and "unknownPrice" not in facts, facts
    # xAI: 10^10 ticks are a dollar
    counts = {"input_tokens": 12, "output_tokens": 291, "cost_in_usd_ticks": 1466250}
    for wire, reply in (("chat", said("x", usage={"prompt_tokens": 12, "completion_tokens": 291, "cost_in_usd_ticks": 1466250})),
                        ("responses", events(message_item(0, "x"), usage=counts))):
        mock = Mock(lambda n, r, reply=reply: reply)
        done = place(lab, {"work": {"wire": wire, "baseUrl": mock.url}}, "--model", "m-unknown", "hi")
        (facts,) = result(done)["modelUsage"].values()
        assert result(done)["total_cost_usd"] == 0.000146625 and facts["reportedCost"], (wire, facts)


def agents_with_one_head_share_the_key_of_their_cache(lab):
    """Other heads have other keys: their prefixes differ."""
    seen = []

    def reply(n, request):
        body = request["body"]
        seen.append((body["model"], body.get("prompt_cache_key")))
        if any(m["role"] == "tool" for m in body["messages"]):
            return said("parent")
        child = any("work for me" in json.dumps(m) for m in body["messages"])
        return said("child") if child else call("Agent", {"description": "d", "prompt": "work for me", "subagent_type": "general-purpose"})

    own = {"wire": "chat", "baseUrl": Mock(reply).url, "quirks": ["sessionKey"]}
    done = place(lab, {"work": own}, "--model", "m-1", "hi")
    keys = [key for _, key in seen]
    assert result(done)["result"] == "parent" and keys[0] == keys[2] != keys[1] and all(len(k) <= 64 for k in keys), seen


def bound(lab, drops, seen):
    """A server as Opus 5.5: a block of thinking is good behind the messages that it was made behind, for the model that made it."""
    def digest(model, messages):
        plain = [(m["role"], [{k: v for k, v in b.items() if k != "cache_control"} for b in m["content"]]) for m in messages]
        return hashlib.sha256(json.dumps([model, plain]).encode()).hexdigest()

    def reply(n, request):
        body = request["body"]
        messages = [{"role": m["role"], "content": m["content"] if isinstance(m["content"], list) else [{"type": "text", "text": m["content"]}]}
                    for m in body["messages"]]
        failed = [i for i, m in enumerate(messages) for b in m["content"]
                  if b["type"] == "thinking" and b["signature"] != digest(body["model"], messages[:i])]
        drops.append(len(failed))
        seen.append(body)
        behind = max((i for i, m in enumerate(messages) if m["role"] == "user" and any(b["type"] == "text" and "PROMPT" in b["text"] for b in m["content"])), default=0)
        turn = sum(m["role"] == "assistant" for m in messages[behind:])
        change = [{"type": "thinking_dropped", "path": "messages.%d.content.0" % i, "reason": "prefix_binding_mismatch"} for i in failed]
        events = [{"type": "message_start", "message": {"id": "msg_%d" % n, "model": body["model"], "usage": {"input_tokens": 1},
                                                        "input_transformations": change}},
                  {"type": "content_block_start", "index": 0, "content_block": {"type": "thinking", "thinking": "hm", "signature": ""}},
                  {"type": "content_block_delta", "index": 0, "delta": {"type": "signature_delta", "signature": digest(body["model"], messages)}},
                  {"type": "content_block_stop", "index": 0},
                  {"type": "content_block_start", "index": 1, "content_block":
                   {"type": "text", "text": "done"} if turn >= 4 else {"type": "tool_use", "id": "toolu_%d" % n, "name": "Read", "input": {"file_path": "a.txt"}}},
                  {"type": "content_block_stop", "index": 1},
                  {"type": "message_delta", "delta": {"stop_reason": "end_turn" if turn >= 4 else "tool_use"}, "usage": {"output_tokens": 1}},
                  {"type": "message_stop"}]
        return 200, SSE, "".join("event: %s\ndata: %s\n\n" % (e["type"], json.dumps(e)) for e in events)

    with open(os.path.join(lab.work, "a.txt"), "w", encoding="utf-8") as f:
        f.write("apple\n")
    lab.env["ANTHROPIC_BASE_URL"] = Mock(reply).url


def thinking_keeps_the_conversation_that_it_is_bound_to(lab):
    """A tool loop, a resumed session and a fork of it change nothing in front of what was thought."""
    drops, seen = [], []
    bound(lab, drops, seen)
    done = lab.cadre("-p", "--output-format", "json", "--model", "claude-opus-5-5", "PROMPT")
    session = result(done)["session_id"]
    done = lab.cadre("-p", "--resume", session, "--model", "claude-opus-5-5", "PROMPT again")
    assert done.out == "done\n", done
    done = lab.cadre("-p", "--resume", session, "--fork-session", "--model", "claude-opus-5-5", "PROMPT once more")
    assert done.out == "done\n" and len(drops) == 15 and not any(drops), (done, drops)


def a_reminder_that_costs_thinking_is_kept_in_the_conversation(lab):
    """It is in one request only, until the server says that this costs thinking: then it stays where it was sent."""
    drops, seen = [], []
    bound(lab, drops, seen)
    agent = {"main": {"description": "d", "prompt": "p", "criticalSystemReminder_EXPERIMENTAL": "NEVER WRITE"}}
    done = lab.cadre("-p", "--model", "claude-opus-5-5", "--agents", json.dumps(agent), "--agent", "main", "PROMPT")
    assert "done" in done.out, done
    reminders = [json.dumps(body["messages"]).count("NEVER WRITE") for body in seen]
    assert drops == [0, 1, 2, 2, 2] and reminders == [1, 1, 1, 2, 3], (drops, reminders)


def the_beta_for_bound_thinking_asks_for_drops_in_place_of_errors(lab):
    drops, seen = [], []
    bound(lab, drops, seen)
    done = lab.cadre("-p", "--model", "claude-opus-5-5", "PROMPT", env={"ANTHROPIC_BETAS": "thinking-binding-controls-2026-08-01"})
    assert done.out == "done\n", done
    assert all(b["thinking"] == {"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": "drop_block"}} for b in seen), seen[0]


# ---- windows


def a_server_is_asked_for_the_window_of_its_model(lab):
    """The request and the question are on their way together: a second request sees the answer."""
    cases_of = (("ollama", {"/api/ps": {"models": [{"name": "other", "context_length": 1}, {"name": "m1:latest", "context_length": 8192}]}}),
                ("ollama", {"/api/ps": {"models": []}, "/api/show": {"model_info": {"general.architecture": "qwen3", "qwen3.context_length": 8192}}}),
                ("llamacpp", {"/props": {"default_generation_settings": {"n_ctx": 8192}}}),
                ("vllm", {"/v1/models": {"data": [{"id": "m1", "max_model_len": 8192}]}}),
                ("lmstudio", {"/api/v1/models": {"models": [{"key": "other", "max_context_length": 1024},
                                                            {"key": "m1", "max_context_length": 40960,
                                                             "loaded_instances": [{"id": "m1", "config": {"context_length": 8192}}]}]}}),
                ("lmstudio", {"/api/v1/models": None, "/api/v0/models": {"data": [{"id": "m1", "loaded_context_length": 8192,
                                                                                   "max_context_length": 40960}]}}))
    for name, answers in cases_of:
        def reply(n, request):
            if request["path"] in answers:
                assert request["path"] != "/api/show" or request["body"] == {"model": "m1"}, request
                answer = answers[request["path"]]
                return 200 if answer else 404, {"content-type": "application/json"}, json.dumps(answer)
            assert request["path"] == "/v1/chat/completions", request["path"]
            mock.wait_for_answer(list(answers)[-1])
            if request["body"]["messages"][-1]["role"] == "tool":
                return said("done")
            return call("Bash", {"command": "true"})

        mock = Mock(reply)
        lab.env[name.upper() + "_BASE_URL"] = mock.url + "/v1"
        done = lab.cadre("-p", "--output-format", "json", "--provider", name, "--model", "m1", "--tools", "Bash",
                         "--allowed-tools", "Bash(true)", "--", "hi")
        assert result(done)["result"] == "done", (name, done)
        (facts,) = result(done)["modelUsage"].values()
        assert facts["contextWindow"] == 8192 and "assumedWindow" not in facts, (name, facts)
        assert facts["maxOutputTokens"] == 2048, (name, facts)
        assert [r["body"] for r in mock.seen if "chat" in r["path"]][-1]["max_tokens"] <= 8192, name


def a_window_of_8k_finishes_with_compactions_and_nothing_is_cut(lab):
    """llama.cpp refuses what is too long and names its window; Ollama cuts it, which the usage tells."""
    work = "x" * 9000

    def tokens(request):
        return len(json.dumps(request["body"])) // 4

    for name in ("llamacpp", "ollama"):
        state = {"calls": 0, "summaries": 0}

        def reply(n, request):
            if request["body"] is None:
                return 404, {}, "{}"
            size, last = tokens(request), request["body"]["messages"][-1]
            usage = {"prompt_tokens": size if size <= 8192 else 8000, "completion_tokens": 5}
            if size > 8192 and name == "llamacpp":
                return 400, {}, json.dumps({"error": {"code": 400, "type": "exceed_context_size_error", "n_ctx": 8192,
                                                     "message": "the request exceeds the available context size"}})
            if "replaced by a summary" in str(last["content"]):
                state["summaries"] += size <= 8192
                return said("a summary", usage=usage)
            if state["calls"] >= 12:
                return said("done", usage=usage)
            state["calls"] += size <= 8192
            function = {"name": "Bash", "arguments": json.dumps({"command": "cat big"})}
            return 200, SSE, chunks(delta(tool_calls=[{"index": 0, "id": "call_%d" % n, "type": "function",
                                                      "function": function}]), delta("tool_calls", usage))

        with open(os.path.join(lab.work, "big"), "w", encoding="utf-8") as f:
            f.write(work)
        mock = Mock(reply)
        lab.env[name.upper() + "_BASE_URL"] = mock.url + "/v1"
        done = lab.cadre("-p", "--output-format", "json", "--provider", name, "--model", "m1", "--tools", "Bash",
                         "--system-prompt", "Work.", "--allowed-tools", "Bash(cat big)", "--", "hi")
        assert done.code == 0 and result(done)["result"] == "done", (name, done, state)
        assert state["summaries"] >= 2, (name, state)
        (facts,) = result(done)["modelUsage"].values()
        assert facts["contextWindow"] <= 8192, (name, facts)


def what_is_too_long_without_a_word_is_summed_up(lab):
    """No room for an answer and no refusal; a refusal of Cerebras, which has no body."""
    refusals = {"full": (200, SSE, chunks(delta("length", {"prompt_tokens": 8150, "completion_tokens": 0}))), "cerebras": (400, {}, "")}
    for name, refusal in refusals.items():
        def reply(n, request):
            if "replaced by a summary" in str(request["body"]["messages"][-1]["content"]):
                return said("a summary", usage={"prompt_tokens": 100, "completion_tokens": 3})
            if n == 2:
                return refusal
            return call("Bash", {"command": "true"}) if n == 1 else said("done", usage={"prompt_tokens": 100, "completion_tokens": 3})

        mock = Mock(reply)
        settings = {"providers": {"lab": {"wire": "chat", "baseUrl": "%s/%s/v1" % (mock.url, name), "models": {"m1": {"context": 8192}}}}}
        done = lab.cadre("-p", "--provider", "lab", "--model", "m1", "--settings", json.dumps(settings), "--tools", "Bash", "--system-prompt", "Work.",
                         "--allowed-tools", "Bash", "--", "hi")
        assert done.code == 0 and done.out == "done\n" and len(mock.seen) == 4, (name, done, len(mock.seen))


def plain_text_behind_dense_text_is_not_a_cut_prompt(lab):
    """The first count says 1.5 bytes per token, what is added then has 5."""
    with open(os.path.join(lab.work, "big"), "w", encoding="utf-8") as f:
        f.write("word " * 4000)

    def reply(n, request):
        if request["body"] is None:
            return 404, {}, "{}"
        size = len(json.dumps(request["body"]))
        if "size" in state:
            return said("done", usage={"prompt_tokens": state["tokens"] + (size - state["size"]) // 5, "completion_tokens": 1})
        state.update(size=size, tokens=int(size / 1.5))
        function = {"name": "Bash", "arguments": json.dumps({"command": "cat big"})}
        return 200, SSE, chunks(delta(tool_calls=[{"index": 0, "id": "call_1", "type": "function", "function": function}]),
                                delta("tool_calls", {"prompt_tokens": state["tokens"], "completion_tokens": 9}))

    state = {}
    mock = Mock(reply)
    lab.env["OLLAMA_BASE_URL"] = mock.url + "/v1"
    done = lab.cadre("-p", "--provider", "ollama", "--model", "m1", "--tools", "Bash", "--system-prompt", "Work.", "--allowed-tools", "Bash(cat big)",
                     "--settings", json.dumps({"providers": {"ollama": {"models": {"m1": {"context": 60000}}}}}), "--", "x" * 12000)
    asked = [r for r in mock.seen if "chat" in r["path"]]
    assert done.code == 0 and done.out == "done\n" and len(asked) == 2 and "word " * 4000 in str(asked[1]["body"]), (done, len(asked))


def a_prompt_that_cannot_be_shortened_says_why_in_one_line(lab):
    mock = Mock(lambda n, r: said("x", usage={"prompt_tokens": 100, "completion_tokens": 1}) if r["body"] else (404, {}, ""))
    lab.env["OLLAMA_BASE_URL"] = mock.url + "/v1"
    done = lab.cadre("-p", "--provider", "ollama", "--model", "m1", "word " * 4000)
    assert done.code == 1 and "the server has cut the prompt: it took 100 tokens of at least" in done.out, done
    assert len(done.out.strip().splitlines()) == 1 and not done.err.strip(), done
    done = lab.cadre("-p", "--allow-cut-prompt", "--provider", "ollama", "--model", "m1", "word " * 4000)
    assert done.code == 0 and done.out == "x\n", done


def a_fork_whose_prompt_was_cut_is_compacted(lab):
    """What it shares counts in the least that its first prompt can have had, although its parent has measured it."""
    def reply(number, request):
        messages = request["body"]["messages"] if request["body"] else []
        if not messages:
            return 404, {}, ""
        if "Look at it" in str(messages[-1]):
            return said("seen", usage={"prompt_tokens": 4000, "completion_tokens": 1})
        if "replaced by a summary" in str(messages[-1]):
            return said("words", usage={"prompt_tokens": 9000, "completion_tokens": 1})
        if "tool" in [m["role"] for m in messages]:
            return said("done", usage={"prompt_tokens": 9000, "completion_tokens": 1})
        function = {"name": "Agent", "arguments": json.dumps({"description": "look", "prompt": "Look at it", "subagent_type": "fork"})}
        return 200, SSE, chunks(delta(tool_calls=[{"index": 0, "id": "call_1", "type": "function", "function": function}]),
                                delta("tool_calls", {"prompt_tokens": 8000, "completion_tokens": 9}))

    mock = Mock(reply)
    lab.env["OLLAMA_BASE_URL"] = mock.url + "/v1"
    done = lab.cadre("-p", "--provider", "ollama", "--model", "m1", "--tools", "Agent", "--system-prompt", "Work.", "--", "word " * 8000)
    summaries = [r for r in mock.seen if "replaced by a summary" in str(r["body"])]
    assert done.code == 0 and done.out == "done\n" and summaries, (done, len(summaries))


def the_settings_say_what_a_model_cannot_do(lab):
    """No tools: told before anything is sent. A document is left out, also where the server says so."""
    mock = Mock(lambda n, r: (400, {}, json.dumps({"error": {"message": "Invalid value: 'input_file'"}})) if "file_data" in str(r["body"])
                and "learns" in r["body"]["model"] else events(message_item(0, "yes")))
    models = {"deaf": {"tools": False}, "no-pdf": {"pdf": False}, "learns": {}, "all": {"pdf": True, "tools": True}}
    own = {"lab": {"wire": "responses", "baseUrl": mock.url, "models": models}}
    args = ("--settings", json.dumps({"providers": own}), "--provider", "lab")
    done = lab.cadre("-p", "hi", "--model", "deaf", *args)
    assert done.code == 1 and "deaf cannot call tools (by the settings)" in done.out and not mock.seen, done
    document = {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": "QUJD"}}
    for model, requests, sent in (("all", 1, True), ("no-pdf", 1, False), ("learns", 2, False)):
        mock.seen.clear()
        client = Client(lab, "-p", "--model", model, *args)
        client.send({"type": "user", "message": {"role": "user", "content": [{"type": "text", "text": "hi"}, document]}})
        done = client.over()
        body = json.dumps(mock.bodies()[-1])
        assert done.code == 0 and len(mock.seen) == requests and ("file_data" in body) == sent, (model, done, mock.seen)
        assert sent or "[A document was left out: this model takes none.]" in body, body


def reasoning_goes_back_in_the_member_that_the_settings_name(lab):
    def reply(n, request):
        function = {"name": "Bash", "arguments": '{"command": "true"}'}
        return said("x") if n == 2 else (200, SSE, chunks(delta(reasoning="hm"), delta(
            tool_calls=[{"index": 0, "id": "call_1", "type": "function", "function": function}]), delta("tool_calls")))

    for field in ("reasoning", "reasoning_content", "thoughts"):
        mock = Mock(reply)
        settings = {"providers": {"lab": {"wire": "chat", "baseUrl": mock.url + "/v1", "models": {"*": {"reasoningField": field}}}}}
        done = lab.cadre("-p", "--settings", json.dumps(settings), "--model", "lab/m1", "--allowed-tools", "Bash", "--", "hi")
        if field == "thoughts":
            assert done.code == 2 and "models.*.reasoningField is 'thoughts'" in done.err and not mock.seen, done
            continue
        answer = next(m for m in mock.bodies()[1]["messages"] if m["role"] == "assistant")
        assert done.out == "x\n" and {k: v for k, v in answer.items() if k.startswith("reasoning")} == {field: "hm"}, (done, answer)


def reasoning_goes_back_to_mistral_as_a_part_of_the_content(lab):
    """With a text, with a text and a call, with a call alone; an answer without reasoning has its text alone."""
    def reply(n, request):
        thinking = {"type": "thinking", "thinking": [{"type": "text", "text": "hm %d" % n}]}
        text = {"type": "text", "text": "text %d" % n}
        content = {1: [thinking, text], 2: [thinking], 3: [thinking, text]}.get(n, [text])
        function = {"name": "Bash", "arguments": '{"command": "true"}'}
        calls = [delta(tool_calls=[{"index": 0, "id": "call_%d" % n, "type": "function", "function": function}])] if n < 3 else []
        stream = chunks(*(delta(content=[part]) for part in content), *calls, delta("tool_calls" if calls else "stop"))
        return 200, SSE, stream.replace("0123456789abcdef", "%016d" % n)  # each answer has an id of its own

    mock = Mock(reply)
    settings = {"providers": {"lab": {"wire": "chat", "baseUrl": mock.url + "/v1", "quirks": ["echoParts"]}}}
    for more in ((), ("--continue",), ("--continue",)):
        done = lab.cadre("-p", "--settings", json.dumps(settings), "--model", "lab/m1", "--allowed-tools", "Bash", *more, "--", "more")
    answers = [m["content"] for m in mock.bodies()[-1]["messages"] if m["role"] == "assistant"]

    def thought(n):
        return {"type": "thinking", "thinking": [{"type": "text", "text": "hm %d" % n}]}

    assert answers == [[thought(1), {"type": "text", "text": "text 1"}], [thought(2)], [thought(3), {"type": "text", "text": "text 3"}],
                       [{"type": "text", "text": "text 4"}]], (done, answers)


def a_small_window_is_told_once(lab):
    mock = Mock(lambda n, r: call("Bash", {"command": "true"}) if n == 1 else said("x"))
    settings = {"providers": {"lab": {"wire": "chat", "baseUrl": mock.url + "/v1", "models": {"m1": {"context": 12000}, "m2": {"context": 32768}}}}}
    for model, count in (("m1", 1), ("m2", 0)):
        mock.seen.clear()
        done = lab.cadre("-p", "--settings", json.dumps(settings), "--model", "lab/" + model, "--allowed-tools", "Bash", "--", "hi")
        assert done.out == "x\n" and done.err.count("m1 has a window of 12000 tokens") == count, done


def another_content_type_at_bedrock_is_named(lab):
    lab.env["CLAUDE_CODE_MAX_RETRIES"] = "0"
    for kind in ("Text/Event-Stream; charset=utf-8", "application/json"):
        mock = Mock(lambda n, r: (200, {"content-type": kind}, "nothing that is known"))
        settings = {"providers": {"gov": {"wire": "invoke", "baseUrl": mock.url, "credential": "none"}}}
        done = lab.cadre("-p", "--settings", json.dumps(settings), "--model", "gov/m1", "hi")
        assert done.code == 1 and "is not an event stream (content type %s): " % kind.split(";")[0] in done.out, (kind, done)


def a_call_that_groq_cannot_read_fails_and_the_model_is_told(lab):
    error = {"error": {"message": "Failed to call a function.", "type": "invalid_request_error", "code": "tool_use_failed",
                       "failed_generation": '<function=Bash>{"command": "grep stream_options"</function>'}}
    in_stream = 200, SSE, "data: %s\n\n" % json.dumps(error)
    for refusal in ((400, {}, json.dumps(error)), in_stream):
        mock = Mock(lambda n, r: refusal if n == 1 else said("done"))
        settings = {"providers": {"lab": {"wire": "chat", "baseUrl": mock.url + "/v1"}}}
        done = lab.cadre("-p", "--settings", json.dumps(settings), "--model", "lab/m1", "--allowed-tools", "Bash", "--", "hi")
        assert done.code == 0 and done.out == "done\n" and len(mock.seen) == 2, (done, len(mock.seen))
        call, told = mock.seen[1]["body"]["messages"][-2:]
        assert call["tool_calls"][0]["function"]["name"] == "Bash" and "Failed to call a function." in str(call) and "<function=Bash>" in str(call), call
        assert told["role"] == "tool" and told["tool_call_id"] == call["tool_calls"][0]["id"] and told["content"].startswith("Error: "), told


def a_history_with_calls_to_claude_has_tools_at_litellm(lab):
    """An empty list, where the run has none."""
    for name, server, wanted in (("claude-x", "litellm", True), ("gpt-x", "litellm", False), ("claude-x", "vllm", False)):
        mock = Mock(lambda n, r: (404, {}, "{}") if r["body"] is None else said("done") if "tools" not in r["body"] or not r["body"]["tools"] or
                    r["body"]["messages"][-1]["role"] == "tool" else call("Bash", {"command": "true"}))
        settings = {"providers": {"lab": {"wire": "chat", "server": server, "baseUrl": mock.url + "/v1"}}}
        run = ["-p", "--output-format", "json", "--settings", json.dumps(settings), "--model", "lab/" + name]
        first = lab.cadre(*run, "--allowed-tools", "Bash", "--", "hi")
        lab.cadre(*run, "--tools", "", "--resume", result(first)["session_id"], "--", "again")
        lab.cadre(*run, "--tools", "", "--", "new")
        bodies = [r["body"] for r in mock.seen if "chat" in r["path"]]
        assert len(bodies) == 4 and bodies[0]["tools"] and bodies[1]["tools"], (name, server, len(bodies))
        assert bodies[2].get("tools") == ([] if wanted else None) and "tools" not in bodies[3], (name, server, bodies[2].get("tools"))


if __name__ == "__main__":
    main(*cases(globals()))
