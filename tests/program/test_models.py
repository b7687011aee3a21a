# SPDX-License-Identifier: MIT
"""`cadre models`: the catalog, tests that name the cause of a failure, lists."""
import base64
import hashlib
import json
import os
import re
import ssl
import subprocess
import time

from lab import main
from mock import AWS_KEYS, SSE, Mock, call, cases, chunks, delta, events, message, message_item, said


# ---- the catalog


SIGN = os.path.join(os.path.dirname(__file__), "..", "..", "scripts", "sign-catalog.sh")


def signed(catalog, key):
    """A catalog file, as its maker makes it."""
    file = os.path.join(key, "catalog.json")
    with open(file, "w", encoding="utf-8") as f:
        json.dump(catalog, f, indent=1)
    return subprocess.run([SIGN, os.path.join(key, "key.pem"), file], capture_output=True, check=True, text=True).stdout


def maker(at):
    """A new key; returns its folder and its public half as the setting wants it."""
    folder = os.path.join(at, "maker")
    os.makedirs(folder)
    pem = os.path.join(folder, "key.pem")
    subprocess.run(["openssl", "genpkey", "-algorithm", "ed25519", "-out", pem], capture_output=True, check=True)
    public = subprocess.run(["openssl", "pkey", "-in", pem, "-pubout", "-outform", "DER"], capture_output=True, check=True)
    return folder, base64.b64encode(public.stdout[-32:]).decode()


TIER = {"above": 272000, "input": 6, "output": 45}
NEW = {"openai": {"models": {"gpt-9": {"cost": {"input": 3, "output": 30, "cache_read": 0.3, "tiers": [TIER]},
                                      "limit": {"context": 2000000, "output": 64000}}}},
       "anthropic": {"models": {"claude-opus-5-5": {"cost": {"input": 7, "output": 70}, "limit": {"context": 500000}}}}}


def a_catalog_changes_prices_without_a_release_and_a_changed_one_is_refused(lab):
    folder, key = maker(lab.folder)
    file = os.path.join(lab.folder, "models.json")
    settings = json.dumps({"modelCatalogKeys": [key]})

    def update(text, **more):
        with open(file, "w", encoding="utf-8") as f:
            f.write(text)
        return lab.cadre("models", "update", file, "--settings", settings, **more)

    def opus():
        return json.loads(lab.cadre("models", "show", "opus", "--json", "--settings", settings).out)

    good = signed(NEW, folder)
    assert opus()["price"]["input"] == 4 and opus()["priceSource"] == "built in", opus()
    for bad, words in ((good.replace('"input": 7', '"input": 1'), "signature"), (re.sub('"signature": ".*"', '"signature": "??"', good), "not a catalog"),
                       (good.replace("gpt-9", "gpt-8"), "signature"), ("{", "JSON"), ("{}", "not a catalog"),
                       (signed({"openai": {"models": {"m": {"cost": {"input": 1001, "output": 1}}}}}, folder), "between 0 and 1000"),
                       (signed({"openai": {"models": {"m": {"limit": {"context": 10}}}}}, folder), "limit"),
                       *((signed({"openai": {"models": {"m": {"cost": {"input": 1, "output": 1, "tiers": tiers}}}}}, folder), "a tier cannot be read")
                         for tiers in ([TIER, TIER], [{"input": 6, "output": 45}], [{**TIER, "output": 1001}], [{**TIER, "size": 1}])),
                       (signed({"openai": {"models": {"m": {"cots": {}}}}}, folder), "not known"),
                       (signed({"openai": {"keys": 1, "models": {}}}, folder), "expected")):
        done = update(bad)
        assert done.code == 1 and words in done.err and "refused" in done.err, (bad[:80], done)
    assert opus()["price"]["input"] == 4, opus()
    shown = [(404, {}, "nothing"), (200, {}, good.replace("gpt-9", "gpt-8")), (200, {}, good)]
    server = Mock(lambda n, r: shown[n - 1])
    for code, words in ((1, "status 404"), (1, "refused"), (0, "2 models")):
        done = lab.cadre("models", "update", server.url + "/models.json", "--settings", settings)
        assert done.code == code and words in done.err + done.out, done
    done = update(good)
    assert done.code == 0 and "2 models" in done.out, done
    assert opus()["price"]["input"] == 7 and opus()["context"] == 500000 and opus()["priceSource"] == "catalog", opus()
    installed = os.path.join(lab.home, ".claude", "cache", "models.json")
    with open(installed, encoding="utf-8") as f:
        text = f.read()
    with open(installed, "w", encoding="utf-8") as f:
        f.write(text.replace('"input": 7', '"input": 1'))  # behind our back
    assert opus()["price"]["input"] == 4 and opus()["priceSource"] == "built in", opus()
    assert opus()["catalogProblem"].startswith(installed + " is not used: the signature is not that of a trusted key"), opus()
    for args in (("models", "list"), ("models", "show", "opus"), ("models", "test", "opus")):
        done = lab.cadre(*args, "--settings", settings, env={"ANTHROPIC_BASE_URL": server.url})
        assert installed + " is not used: " in done.out, done
    answer = Mock(lambda n, r: message("yes"))
    done = lab.cadre("-p", "--settings", settings, "hi", env={"ANTHROPIC_BASE_URL": answer.url})
    assert done.out == "yes\n" and done.err.count(installed + " is not used: ") == 1, done
    done = lab.cadre("models", "update", file)
    assert done.code == 1 and "modelCatalogKeys" in done.err, done


def a_catalog_counts_wherever_its_models_are_reached(lab):
    """At clouds, gateways and providers of the settings, by their name or by like; what a row leaves out is as it was built in."""
    folder, key = maker(lab.folder)
    file = os.path.join(lab.folder, "models.json")
    rows = {"openai": NEW["openai"], "openrouter": {"models": {"claude-opus-5-5": {"cost": {"input": 9, "output": 90}}}}, "anthropic": {"models": {
        "claude-opus-5-5": {"cost": {"input": 7, "output": 70}}, "claude-haiku-5-5": {"limit": {"context": 300000}}}}}
    with open(file, "w", encoding="utf-8") as f:
        f.write(signed(rows, folder))
    models = {"prod": {"like": "claude-opus-5-5"}, "next": {"like": "gpt-9"}, "dear": {"like": "claude-opus-5-5", "price": {"input": 1, "output": 2}}}
    own = {"work": {"baseUrl": "http://127.0.0.1:9", "models": models}}
    settings = ("--settings", json.dumps({"modelCatalogKeys": [key], "providers": own, "modelOverrides": {"claude-opus-5-5": "my-profile"}}))
    done = lab.cadre("models", "show", "work/next", *settings)
    assert done.code == 2 and "name a built-in one, or one of the catalog" in done.err, done
    done = lab.cadre("models", "update", file, *settings)
    assert done.code == 0, done

    def shown(name, **env):
        return json.loads(lab.cadre("models", "show", name, "--json", *settings, env={**AWS_KEYS, "OPENROUTER_API_KEY": "k", **env}).out)

    for name, price, window in (("opus", 7, 1000000), ("work/prod", 7, 1000000), ("work/claude-opus-5-5", 7, 1000000), ("work/dear", 1, 1000000),
                                ("work/next", 3, 2000000), ("bedrock/us.anthropic.claude-opus-5-5-v1:0", 7 * 1.1, 1000000), ("bedrock/my-profile", 7, 1000000),
                                ("openrouter/anthropic/claude-opus-5.5", 9, 1000000), ("openrouter/openai/gpt-9", 3, 2000000), ("haiku", 0.1, 300000)):
        facts = shown(name)
        assert abs(facts["price"]["input"] - price) < 1e-9 and facts["context"] == window, (name, facts)
    assert shown("haiku")["tiers"][0]["above"] == 100000 and shown("haiku")["maxOutput"] == 128000, shown("haiku")
    assert (shown("haiku")["priceSource"], shown("haiku")["windowSource"]) == ("built in", "catalog"), shown("haiku")
    assert (shown("opus")["priceSource"], shown("opus")["windowSource"]) == ("catalog", "built in"), shown("opus")


def a_catalog_of_models_dev_is_taken_with_what_models_can_do(lab):
    """Prices, tiers and windows; a model without images or tools; a member for reasoning. What is out of bounds is left out."""
    folder, key = maker(lab.folder)
    tier = {"input": 4, "output": 15, "cache_read": 0.4, "tier": {"type": "context", "size": 272000}}
    source = {"openai": {"id": "openai", "env": ["X"], "models": {
        "gpt-8": {"id": "gpt-8", "name": "x", "tool_call": True, "reasoning": True, "cost": {"input": 2, "output": 10, "cache_read": 0.2, "tiers": [tier]},
                  "limit": {"context": 1050000, "input": 922000, "output": 128000}, "modalities": {"input": ["text", "image", "pdf"], "output": ["text"]}},
        "plain": {"tool_call": {"supported": False}, "limit": {"context": 32000, "output": 4000}, "modalities": {"input": ["text"]}, "interleaved": {
            "field": "reasoning_content"}},
        "dear": {"cost": {"input": 2000, "output": 1}}}}, "google": {"models": {"gemini-9": {"cost": {"input": 1, "output": 2, "context_over_200k": {
            "input": 2, "output": 3}}, "interleaved": True}}}, "unknown": {"models": {"m": {}}}}
    api, file = os.path.join(lab.folder, "api.json"), os.path.join(lab.folder, "models.json")
    with open(api, "w", encoding="utf-8") as f:
        json.dump(source, f)
    made = subprocess.run([os.path.join(os.path.dirname(SIGN), "make-catalog.py"), api], capture_output=True, check=True, text=True)
    assert made.stderr == "openai/dear is left out: a price is missing, or not between 0 and 1000\n", made
    with open(file, "w", encoding="utf-8") as f:
        f.write(signed(json.loads(made.stdout), folder))
    settings = ("--settings", json.dumps({"modelCatalogKeys": [key]}))
    done = lab.cadre("models", "update", file, *settings)
    assert done.code == 0 and "3 models" in done.out, done
    mock = Mock(lambda n, r: said("yes"))
    lab.env.update(OPENAI_BASE_URL=mock.url + "/v1")
    shown = json.loads(lab.cadre("models", "show", "openai/gpt-8", "--json", *settings).out)
    assert shown["price"]["output"] == 10 and shown["tiers"][0]["above"] == 272000 and shown["context"] == 1050000 and not shown["quirks"], shown
    shown = json.loads(lab.cadre("models", "show", "openai/plain", "--json", *settings).out)
    assert sorted(shown["quirks"]) == ["echo", "noDocuments", "noImages"] and shown["context"] == 32000, shown
    shown = json.loads(lab.cadre("models", "show", "gemini/gemini-9", "--json", *settings, env={"GEMINI_API_KEY": "k"}).out)
    assert shown["tiers"][0]["above"] == 200000 and shown["tiers"][0]["price"]["output"] == 3, shown
    done = lab.cadre("-p", "hi", "--model", "openai/plain", *settings)
    assert done.code == 1 and "plain cannot call tools (by the catalog): take a model that can" in done.out and not mock.seen, done
    done = lab.cadre("-p", "hi", "--model", "openai/plain", "--tools", "", *settings)
    assert done.out == "yes\n" and len(mock.seen) == 1, done


# ---- cadre models test


ERROR = '{"error":{"message":"%s","type":"invalid_request_error"}}'


def slow(n, request):
    """A proxy that collects the stream."""
    time.sleep(2.2)
    return said("one two three four five", usage={"prompt_tokens": 9, "completion_tokens": 9})


def hosts_that_are_known_have_their_quirks_at_every_address(lab):
    for host, quirks in {"coding-intl.dashscope.aliyuncs.com/v1": ["echo"], "dashscope-us.aliyuncs.com/compatible-mode/v1": ["echo"],
                         "api.moonshot.cn/v1": ["echo"], "api.kimi.com/coding/v1": ["echo"], "api.minimaxi.com/v1": ["echo"],
                         "open.bigmodel.cn/api/coding/paas/v4": ["echo", "keepThinking"], "api.z.ai/api/coding/paas/v4": ["echo", "keepThinking"],
                         "my-resource.openai.azure.com/openai/v1": ["completionTokens", "sessionKey"], "llm.example.com/v1": []}.items():
        own = json.dumps({"providers": {"lab": {"wire": "chat", "baseUrl": "https://" + host}}})
        shown = json.loads(lab.cadre("models", "show", "lab/m1", "--json", "--settings", own, env={"LAB_API_KEY": "k"}).out)
        assert sorted(shown["quirks"]) == quirks, (host, shown)


def broken_tls(of):
    """The address of a server whose certificate nobody knows."""
    key, cert = os.path.join(of.folder, "key.pem"), os.path.join(of.folder, "cert.pem")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", cert, "-subj", "/CN=127.0.0.1",
                    "-addext", "subjectAltName=IP:127.0.0.1"], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert, key)
    return Mock(lambda n, r: said("x"), context).url + "/v1"


# what is wrong: (the server's answer or NULL, more environment, flags, words of the one line, exit code)
FAULTS = {
    "nothing listens": (None, {"OPENAI_BASE_URL": "http://127.0.0.1:9/v1"}, (),
                        "nothing answers at http://127.0.0.1:9/v1: is the server running? its address is that of OPENAI_BASE_URL", 1),
    "the proxy refuses": (None, {"OPENAI_BASE_URL": "http://models.invalid/v1", "http_proxy": "http://127.0.0.1:9"}, (),
                          "through the proxy of http_proxy", 1),
    "an unknown certificate": (None, {"OPENAI_BASE_URL": broken_tls}, (), "is not accepted (CA file: ", 1),
    "the wrong path": (lambda n, r: said("x") if r["path"].startswith("/v1/") else (404, {"content-type": "text/html"}, "<html>page not found"),
                       {"NO_V1": "1"}, (), "base URLs of chat servers end with /v1; it answers at", 1),
    "no such model": (lambda n, r: (404, {}, ERROR % "no such model"), {}, (), "has no model m1", 1),
    "a refused key": (lambda n, r: (401, {}, ERROR % "bad key"), {}, (), "the credential is refused; it is from the variable OPENAI_API_KEY", 1),
    "a forbidden model": (lambda n, r: (403, {}, ERROR % "not allowed"), {}, (), "the credential is refused", 1),
    "an empty account": (lambda n, r: (429, {}, ERROR % "insufficient_quota"), {}, (), "no balance or quota", 1),
    "no credits": (lambda n, r: (402, {}, ERROR % "more credits"), {}, (), "no balance or quota", 1),
    "no TLS": (None, {"OPENAI_BASE_URL": lambda lab: Mock(lambda n, r: said("x")).url.replace("http:", "https:") + "/v1"}, (), "is it http://?", 1),
    "a call that is no JSON": (lambda n, r: said("x") if n == 1 else (200, SSE, chunks(delta(tool_calls=[
        {"index": 0, "id": "c", "function": {"name": "add", "arguments": "{oops"}}]), delta("tool_calls"))), {}, ("--tools",), "are not JSON", 1),
    "a login page": (lambda n, r: (200, {"content-type": "text/html"}, "<html>log in</html>"), {}, (), "a login page answers", 1),
    "a collected stream": (slow, {}, (), "a proxy between here and the model collects the stream", 0),
    "text in place of a call": (lambda n, r: said("2 + 3 = 5"), {}, ("--tools",), "text came instead of a call", 1),
    "no tools": (lambda n, r: said("x") if n == 1 else (400, {}, ERROR % "m1 does not support tools"), {}, ("--tools",),
                 "cannot call tools at this server", 1),
    "another model": (lambda n, r: (200, SSE, chunks({**delta("stop", content="x"), "model": "another"})), {}, (),
                      "the server mapped the name to another", 0),
}


def tests_name_the_cause_of_a_failure_in_one_line(lab):
    for fault, (reply, env, args, words, code) in FAULTS.items():
        mock = Mock(reply or (lambda n, r: said("x")))
        given = {"OPENAI_BASE_URL": mock.url + ("" if "NO_V1" in env else "/v1"), "OPENAI_API_KEY": "k-secret", **env}
        given = {name: value(lab) if callable(value) else value for name, value in given.items()}
        done = lab.cadre("models", "test", "--provider", "openai", "--model", "m1", *args, env=given)
        lines = [line for line in done.out.splitlines() if words in line]
        assert "is not accepted" in words or "is not accepted" not in done.out, (fault, done)
        assert done.code == code and len(lines) == 1 and len(done.out.splitlines()) <= 3, (fault, done)
        assert "k-secret" not in done.out + done.err, (fault, done)
    lab.env.update(AWS_BEARER_TOKEN_BEDROCK="t", ANTHROPIC_BEDROCK_BASE_URL=Mock(lambda n, r: message("x")).url)
    done = lab.cadre("models", "test", "claude-opus-5-5", "--provider", "bedrock")
    assert done.code == 1 and "the gateway rewrites the stream" in done.out, done
    done = lab.cadre("models", "test", "claude-opus-5-5", "--provider", "bedrock", env={
        "ANTHROPIC_BEDROCK_BASE_URL": "", "AWS_REGION": "us-nowhere-1", "https_proxy": "http://127.0.0.1:9"})
    assert done.code == 1 and "us-nowhere-1.amazonaws.com through the proxy of https_proxy: AWS_REGION names the region" in done.out, done
    place = {"wire": "responses", "baseUrl": Mock(lambda n, r: events(message_item(0, "yes")) if r["path"].startswith("/v1/") else (404, {}, "{}")).url}
    done = lab.cadre("models", "test", "lab/m1", "--settings", json.dumps({"providers": {"lab": place}}))
    assert done.code == 1 and "end with /v1; it answers at %s/v1 " % place["baseUrl"] in done.out, done
    place["baseUrl"] = Mock(lambda n, r: (200, {"content-type": "text/html"}, "<html>log in</html>")).url + "/v1"
    done = lab.cadre("models", "test", "lab/m1", "--settings", json.dumps({"providers": {"lab": place}}))
    assert done.code == 1 and "%s does not answer with an event stream" % place["baseUrl"] in done.out, done
    lab.env["OLLAMA_BASE_URL"] = Mock(lambda n, r: said("x", usage={"prompt_tokens": 2048, "completion_tokens": 1}) if r["body"] else (404, {}, "")).url
    done = lab.cadre("models", "test", "ollama/m1")
    assert done.code == 1 and "raise its context (OLLAMA_CONTEXT_LENGTH)" in done.out, done
    lab.env["ANTHROPIC_BASE_URL"] = Mock(lambda n, r: (401, {}, ERROR % "no")).url
    done = lab.cadre("models", "test", "opus")
    assert done.code == 1 and "sent to %s as x-api-key (a gateway may want authorization: ANTHROPIC_AUTH_TOKEN)" % lab.env["ANTHROPIC_BASE_URL"] in done.out, done
    done = lab.cadre("models", "test", "claude-opus-5-5", "--provider", "bedrock", env={
        "ANTHROPIC_BEDROCK_BASE_URL": Mock(lambda n, r: (403, {}, '{"message":"no"}')).url, "AWS_REGION": "eu-west-1"})
    assert done.code == 1 and "for the region eu-west-1" in done.out, done
    done = lab.cadre("models", "test", "opus", env={"ANTHROPIC_BASE_URL": Mock(lambda n, r: message("yes")).url})
    assert done.code == 0 and "claude: first byte after" in done.out, done


def every_model_of_the_settings_is_tested(lab):
    good, bad = Mock(lambda n, r: said("yes")), Mock(lambda n, r: (401, {}, ERROR % "no"))
    own = {"one": {"wire": "chat", "baseUrl": good.url, "models": {"m1": {}, "m1-b": {}, "*": {}}},
           "two": {"wire": "chat", "baseUrl": bad.url, "models": {"c": {}}},
           "three": {"wire": "chat", "baseUrl": good.url, "keyEnv": "NOT_SET", "models": {"d": {}}}}
    done = lab.cadre("models", "test", "--all", "--provider", "one", "--settings", json.dumps({"providers": own}))
    lines = done.out.splitlines()
    assert done.code == 1 and len(lines) == 4, done
    assert lines[0].split()[0] == "one/m1" and lines[1].split()[0] == "one/m1-b" and "first byte" in lines[1], lines
    assert "the credential is refused" in lines[2] and "set NOT_SET" in lines[3], lines
    told = json.loads(lab.cadre("models", "test", "--all", "--provider", "one", "--settings", json.dumps({"providers": own}), "--json").out)
    assert [t["model"] for t in told] == ["one/m1", "one/m1-b", "two/c", "three/d"] and "set NOT_SET" in told[3]["problem"], told


def a_key_in_the_clear_is_named(lab):
    for key, clear in (("k-1", True), ("${LAB_KEY}", False)):
        own = {"lab": {"wire": "chat", "baseUrl": "http://127.0.0.1:9", "key": key}}
        done = lab.cadre("models", "show", "lab/m1", "--json", "--settings", json.dumps({"providers": own}), env={"LAB_KEY": "k-2"})
        shown = json.loads(done.out)["credential"]
        assert shown.startswith("key of providers.lab") and ("in the clear" in shown) == clear, shown
        assert "k-1" not in done.out and "k-2" not in done.out, done


def a_server_is_asked_for_its_list(lab):
    """Each API has its own path; a window in the list counts."""
    rows = (("chat", "/models", {"data": [{"id": "m-1", "context_length": 9999}, {"id": "m-2"}]}),
            ("messages", "/v1/models?limit=1000", {"data": [{"id": "m-1", "max_input_tokens": 9999}, {"id": "m-2"}]}),
            ("gemini", "/models?pageSize=1000", {"models": [{"name": "models/m-1"}, {"name": "models/m-2"}]}))
    for wire, path, answer in rows:
        mock = Mock(lambda n, r: (200, {}, json.dumps(answer)) if r["path"] == path else (404, {}, ""))
        settings = json.dumps({"providers": {"lab": {"wire": wire, "baseUrl": mock.url, "keyHelper": "echo k1"}}})
        done = lab.cadre("models", "list", "lab", "--ask", "--json", "--settings", settings)
        listed = {m["model"]: m for m in json.loads(done.out)["models"]}
        assert list(listed) == ["lab/m-1", "lab/m-2"] and "k1" in json.dumps(mock.seen[0]["headers"]), (wire, done)
        assert wire == "gemini" or (listed["lab/m-1"]["context"], listed["lab/m-1"]["windowSource"]) == (9999, "asked"), listed
    profiles = Mock(lambda n, r: (200, {}, json.dumps({"inferenceProfileSummaries": [{"inferenceProfileId": name} for name in (
        "us.anthropic.claude-opus-5-5", "us.amazon.nova-pro-v1:0")]})))
    done = lab.cadre("models", "list", "bedrock", "--ask", "--json", env={**AWS_KEYS, "AWS_ENDPOINT_URL_BEDROCK": profiles.url})
    listed = {m["model"]: m for m in json.loads(done.out)["models"]}
    assert listed["bedrock/us.anthropic.claude-opus-5-5"]["priceSource"] == "built in" and not any("nova" in m for m in listed), done
    request = profiles.seen[0]
    assert request["path"] == "/inference-profiles?type=SYSTEM_DEFINED&maxResults=1000" and "bedrock/aws4_request" in request["headers"]["authorization"], request
    down = json.dumps({"providers": {"lab": {"wire": "chat", "baseUrl": "http://127.0.0.1:9"}}})
    done = lab.cadre("models", "list", "lab", "--ask", "--settings", down)
    assert done.code == 1 and "lab does not list its models: " in done.err, done
    mock = Mock(lambda n, r: (200, {}, json.dumps(rows[1][2])))
    done = lab.cadre("models", "--json", env={"ANTHROPIC_BASE_URL": mock.url, "CLAUDE_CODE_ENABLE_GATEWAY_MODEL_DISCOVERY": "1"})
    assert "anthropic/m-2" in [m["model"] for m in json.loads(done.out)["models"]], done


def an_unknown_name_is_answered_with_one_that_the_server_lists(lab):
    """The run fails as the server says; a place without a list, and a name that is listed or like no other, have no suggestion."""
    unknown = '{"error":{"message":"The model `%s` does not exist","type":"invalid_request_error","code":"model_not_found"}}'
    listed = {"data": [{"id": "qwen3:8b"}, {"id": "vendor/gpt-oss-20b"}, {"id": "Kimi-K2"}, {"id": "other"}]}
    rows = [("chat", 404, listed, "qwen3:8", "qwen3:8b"), ("chat", 404, listed["data"], "gpt-oss-20b", "vendor/gpt-oss-20b"),
            ("chat", 400, listed, "kimi-k2", "Kimi-K2"), ("chat", 404, listed, "qwne3:8b", "qwen3:8b"), ("chat", 404, listed, "other", None),
            ("chat", 404, listed, "unlike", None), ("chat", 404, None, "qwen3:8", None), ("chat", 404, "no list", "qwen3:8", None),
            ("chat", 404, {"data": [{"id": "qwen\x1b[2J"}]}, "qwen[2J", None), ("responses", 404, listed, "qwen3:8", "qwen3:8b"), ("messages", 404, listed, "qwen3:8", "qwen3:8b"),
            ("gemini", 404, {"models": [{"name": "models/qwen3:8b"}]}, "qwen3:8", "qwen3:8b")]
    for wire, status, list_, name, meant in rows:
        def reply(n, r):
            if "models?" in r["path"] or r["path"].endswith("/models"):
                return (404, {}, "") if list_ is None else (200, {}, json.dumps(list_))
            return status, {}, unknown % name

        mock = Mock(reply)
        settings = json.dumps({"providers": {"lab": {"wire": wire, "baseUrl": mock.url, "keyHelper": "echo k1"}}})
        done = lab.cadre("-p", "--settings", settings, "--model", "lab/" + name, "hi")
        assert done.code == 1 and ("did you mean lab/%s?" % meant in done.out) == bool(meant) and "does not exist" in done.out, (wire, name, done)
        assert meant or "did you mean" not in done.out, done
        assert "k1" in json.dumps(mock.seen[-1]["headers"]) and len(mock.seen) == 2, mock.seen
    mock = Mock(lambda n, r: said("fine"))
    done = lab.cadre("-p", "--settings", json.dumps({"providers": {"lab": {"wire": "chat", "baseUrl": mock.url}}}), "--model", "lab/any", "hi")
    assert done.out == "fine\n" and len(mock.seen) == 1, done  # a gateway that maps it is asked nothing
    mock = Mock(lambda n, r: (200, {}, json.dumps(listed)) if "models?" in r["path"] else (404, {}, unknown % "qwen3:8"))
    done = lab.cadre("-p", "--provider", "mantle", "--model", "qwen3:8", "hi", env={**AWS_KEYS, "ANTHROPIC_BEDROCK_MANTLE_BASE_URL": mock.url})
    empty = hashlib.sha256().hexdigest()  # what is signed of a request without a body
    assert "did you mean mantle/qwen3:8b?" in done.out and mock.seen[1]["headers"]["x-amz-content-sha256"] == empty, (done, mock.seen[1]["headers"])


def what_a_test_learns_can_be_saved(lab):
    def reply(n, request):
        if request["body"]["model"] == "m2" and request["path"] == "/v1/responses":
            return events(message_item(0, "yes"))
        if request["body"]["model"] == "m2":
            return 400, {}, ERROR % "use v1/responses"
        if "stream_options" in request["body"]:
            return 400, {}, ERROR % "stream_options is not supported"
        return said("yes")

    mock = Mock(reply)
    path = os.path.join(lab.home, ".claude", "settings.json")
    os.makedirs(os.path.dirname(path), exist_ok=True)
    place_of = {"wire": "chat", "baseUrl": mock.url + "/v1", "models": {"m1": {"context": 32768}}}
    with open(path, "w", encoding="utf-8") as f:
        json.dump({"model": "lab/m1", "providers": {"lab": place_of}}, f)
    done = lab.cadre("models", "test", "lab/m1", "--save")
    with open(path, encoding="utf-8") as f:
        saved = json.load(f)
    assert done.code == 0 and "Facts learned about lab/m1" in done.out and len(mock.seen) == 2, (done, len(mock.seen))
    place_of["models"]["m1"]["quirks"] = ["noStreamOptions"]
    assert saved == {"model": "lab/m1", "providers": {"lab": place_of}}, saved
    done = lab.cadre("models", "test", "--save")
    assert done.code == 0 and "Nothing new" in done.out and len(mock.seen) == 3, (done, len(mock.seen))
    for requests in (5, 6):  # chat, then the Responses API; then that one alone
        done = lab.cadre("models", "test", "lab/m2", "--save")
        assert done.code == 0 and len(mock.seen) == requests, (done, len(mock.seen))
    done = lab.cadre("models", "test", "openai/m1", "--save", env={"OPENAI_BASE_URL": mock.url + "/v1"})
    assert done.code == 2 and "openai is not a member of providers" in done.err, done


def a_test_with_tools_proves_the_loop(lab):
    def reply(n, request):
        if n == 2:
            return call("add", {"a": 2, "b": 3})
        if n == 3:
            assert request["body"]["messages"][-1] == {"role": "tool", "tool_call_id": "call_1", "content": "5"}, request["body"]
        return said("5")

    mock = Mock(reply)
    lab.env.update(OPENAI_BASE_URL=mock.url + "/v1")
    done = lab.cadre("models", "test", "--provider", "openai", "--model", "m1", "--tools", "--json")
    shown = json.loads(done.out)
    assert done.code == 0 and [r["request"] for r in shown["requests"]] == ["text", "call", "result"], done
    assert all(r["good"] for r in shown["requests"]) and len(mock.seen) == 3, shown


if __name__ == "__main__":
    main(*cases(globals()))
