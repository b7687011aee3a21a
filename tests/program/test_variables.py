# SPDX-License-Identifier: MIT
"""Variables of Claude Code that say how models are reached: each has its effect, in the environment and in `env` of the settings."""
import json
import os
import re
import ssl
import subprocess
import time

from lab import main
from mock import AWS_KEYS, SSE, Mock, call, cases, chunks, delta, front, gateway, message, pinned, result, said, signature_of

REFUSED = '{"type":"error","error":{"type":"invalid_request_error","message":%s}}'


def asked(where, *args, reply=lambda n, r: message("yes"), **env):
    """The body of the first request of a run with these variables, and the mock."""
    mock = Mock(reply)
    done = where.cadre("-p", "--output-format", "json", *(args or ("hi",)), env={"ANTHROPIC_BASE_URL": mock.url, **env})
    assert done.code == 0, done
    return mock.bodies()[0], mock, done


def variables_of_the_settings_count_like_those_of_the_environment(lab):
    rows = (({"ANTHROPIC_DEFAULT_HAIKU_MODEL": "our-haiku"}, ("--model", "haiku"), "model", "our-haiku"),
            ({"ANTHROPIC_MODEL": "m-7"}, (), "model", "m-7"),
            ({"CLAUDE_CODE_MAX_OUTPUT_TOKENS": "777"}, (), "max_tokens", 777),
            ({"CLAUDE_CODE_DISABLE_THINKING": "1"}, (), "thinking", None),
            ({"MAX_THINKING_TOKENS": "2000"}, ("--model", "claude-sonnet-4-5"), "thinking", {"type": "enabled", "budget_tokens": 2000}),
            ({"CLAUDE_CODE_DISABLE_ADAPTIVE_THINKING": "1"}, (), "thinking", {"type": "enabled", "budget_tokens": 16000}))
    for env, args, member, value in rows:
        for how in ({}, env):
            settings = [] if how else ["--settings", json.dumps({"env": env})]
            body, _, _ = asked(lab, *args, *settings, "hi", **how)
            assert body.get(member) == value, (env, how, body.get(member))


def capabilities_of_a_named_model_decide_what_is_sent(lab):
    lab.env["ANTHROPIC_DEFAULT_OPUS_MODEL"] = "our-opus"
    rows = (("", None, "high"), ("effort", None, "high"), ("thinking", {"type": "enabled", "budget_tokens": 16000}, None),
            ("adaptive_thinking, effort", {"type": "adaptive"}, "high"))
    for capabilities, thinking, effort in rows:
        env = {"ANTHROPIC_DEFAULT_OPUS_MODEL_SUPPORTED_CAPABILITIES": capabilities}
        body, _, _ = asked(lab, "--model", "opus", "--effort", "high", "hi", **env)
        assert body["model"] == "our-opus" and body.get("thinking") == thinking, (capabilities, body.get("thinking"))
        assert body.get("output_config", {}).get("effort") == effort, (capabilities, body.get("output_config"))
    env.update(ANTHROPIC_DEFAULT_OPUS_MODEL_SUPPORTED_CAPABILITIES="thinking", CLAUDE_CODE_ALWAYS_ENABLE_EFFORT="1")
    body, _, _ = asked(lab, "--model", "opus", "--effort", "high", "hi", **env)
    assert body["output_config"] == {"effort": "high"}, body


def windows_follow_their_variables(lab):
    def window(model, **env):
        _, _, done = asked(lab, "--model", model, "hi", **env)
        (facts,) = result(done)["modelUsage"].values()
        return facts["contextWindow"]

    assert window("claude-opus-5-5") == 1000000
    assert window("claude-opus-5-5", CLAUDE_CODE_DISABLE_1M_CONTEXT="1") == 200000
    assert window("our-model-1") == 128000
    assert window("our-model-1", CLAUDE_CODE_MAX_CONTEXT_TOKENS="50000") == 50000
    assert window("our-model-1", CLAUDE_CODE_DISABLE_UNKNOWN_MODEL_WINDOW_ENFORCEMENT="1") == 100000000


def betas_are_sent_unless_they_are_switched_off(lab):
    def betas(**env):
        _, mock, _ = asked(lab, ANTHROPIC_BETAS="one-2026-01-01", **env)
        return mock.seen[0]["headers"].get("anthropic-beta")

    assert betas() == "one-2026-01-01" and betas(CLAUDE_CODE_DISABLE_EXPERIMENTAL_BETAS="1") is None


def the_number_of_retries_is_limited(lab):
    for retries, requests in (("0", 1), ("1", 2)):
        mock, done = gateway(lab, lambda n, r: (500, {}, "{}"), CLAUDE_CODE_MAX_RETRIES=retries)
        assert done.code == 1 and len(mock.seen) == requests, (retries, len(mock.seen))


def extra_members_are_in_every_body(lab):
    body, _, _ = asked(lab, CLAUDE_CODE_EXTRA_BODY='{"metadata":{"team":"a"},"top_k":3}')
    assert body["metadata"] == {"team": "a"} and body["top_k"] == 3 and body["messages"], body
    mock = Mock(lambda n, r: said("x"))
    lab.env.update(OPENAI_BASE_URL=mock.url, CLAUDE_CODE_EXTRA_BODY='{"user":"u1"}')
    done = lab.cadre("-p", "--provider", "openai", "--model", "m1", "hi")
    assert done.out == "x\n" and mock.bodies()[0]["user"] == "u1", done
    for bad in ("[1]", "{", "1"):
        done = lab.cadre("-p", "hi", env={"CLAUDE_CODE_EXTRA_BODY": bad})
        assert done.code == 2 and "CLAUDE_CODE_EXTRA_BODY is not a JSON object" in done.err, (bad, done)


# ---- what old upstreams and gateways refuse


def what_a_gateway_refuses_is_left_out(lab):
    """A gateway answers 400 with its own words; the same request follows without the member, also for the next turn."""
    effort, thinking = (lambda b: "effort" not in b.get("output_config", {})), (lambda b: "thinking" not in b)
    rows = (("output_config: Extra inputs are not permitted", effort), ("This model does not support the effort parameter.", effort),
            ("capability_rejected: effort", effort), ("Unsupported parameter: thinking", thinking), ('json: unknown field "thinking"', thinking), ("adaptive thinking is not supported on this model", thinking),
            ("thinking: Extra inputs are not permitted", thinking), ("capability_rejected: thinking", thinking),
            ("`max_tokens` must be greater than `thinking.budget_tokens`", thinking),
            ("When `thinking` is enabled, a final `assistant` message must start with a thinking block", thinking),
            ("Unrecognized request argument supplied: thinking", thinking), ("Additional properties are not allowed ('thinking' was unexpected)", thinking),
            ("'type' must be in [\"enabled\", \"disabled\", \"auto\"]", thinking),  # SenseNova
            ([{"type": "literal_error", "loc": ["body", "thinking", "type"], "msg": "Input should be 'enabled' or 'disabled'", "input": "adaptive"}], thinking))  # oMLX
    for words, heeded in rows:
        def reply(n, request):
            if not heeded(request["body"]):
                return (400, {}, REFUSED % json.dumps(words)) if isinstance(words, str) else (422, {}, json.dumps({"detail": words}))
            return message("yes")

        mock, done = gateway(lab, reply, "--effort", "high", "hi")
        assert done.out == "yes\n" and len(mock.seen) == 2, (words, done, len(mock.seen))
        kept = "thinking" if heeded is effort else "output_config"
        assert kept in mock.bodies()[1] and mock.bodies()[1]["messages"] == mock.bodies()[0]["messages"], (words, mock.bodies()[1])


def a_beta_that_is_refused_is_left_out(lab):
    for words in ("invalid beta flag", "Unexpected value(s) `one-2026-01-01` for the `anthropic-beta` header."):
        def reply(n, request):
            return (400, {}, REFUSED % json.dumps(words)) if "anthropic-beta" in request["headers"] else message("yes")

        mock, done = gateway(lab, reply, ANTHROPIC_BETAS="one-2026-01-01")
        assert done.out == "yes\n" and len(mock.seen) == 2, (words, done)


def an_output_limit_of_the_messages_api_is_read_from_the_refusal(lab):
    words = "max_tokens: 32000 > 8192, which is the maximum allowed number of output tokens for m-1"

    def reply(n, request):
        return (400, {}, REFUSED % json.dumps(words)) if request["body"]["max_tokens"] > 8192 else message("yes")

    mock, done = gateway(lab, reply, "--model", "m-1", "hi")
    assert done.out == "yes\n" and [b["max_tokens"] for b in mock.bodies()] == [32000, 8192], done


# ---- headers


def agents_name_themselves_and_their_parents(lab):
    model = lab.model("""rule
  agent main
  turn 1
  call Agent {"description": "d", "prompt": "outer", "subagent_type": "general-purpose"}
rule
  prompt contains "outer"
  turn 1
  call Agent {"description": "d", "prompt": "inner", "subagent_type": "general-purpose"}
rule
  text done
""")
    kept = []
    lab.env["ANTHROPIC_BASE_URL"] = front(model.url, kept, names=("x-cadre-agent",)).url
    done = lab.cadre("-p", "hi")
    assert done.out == "done\n", done
    ids = [(r["headers"].get("x-claude-code-agent-id"), r["headers"].get("x-claude-code-parent-agent-id")) for r in kept]
    (outer,) = {i for i, parent in ids if i and not parent}
    (inner,) = {(i, parent) for i, parent in ids if parent}
    assert (None, None) in ids and inner[0] != outer and inner[1] == outer, ids
    assert all(r["headers"]["x-claude-code-session-id"] for r in kept)


def an_error_of_azure_has_both_of_its_ids(lab):
    mock = Mock(lambda n, r: (400, {"request-id": "req-1", "apim-request-id": "apim-2"}, REFUSED % '"no"'))
    lab.env.update(CLAUDE_CODE_USE_FOUNDRY="1", ANTHROPIC_FOUNDRY_BASE_URL=mock.url, ANTHROPIC_FOUNDRY_API_KEY="k")
    done = lab.cadre("-p", "--model", "d", "hi")
    assert done.code == 1 and "request-id req-1, apim-request-id apim-2" in done.out, done


def limits_in_headers_hold_the_next_request(lab):
    def reply(n, request):
        if n == 2:
            return said("done")
        status, headers, body = 200, SSE, chunks(delta(tool_calls=[{"index": 0, "id": "call_1", "type": "function", "function": {
            "name": "Bash", "arguments": '{"command":"true"}'}}]), delta("tool_calls"))
        return status, {**headers, "x-ratelimit-remaining-requests": "0", "x-ratelimit-remaining-tokens": "5",
                        "x-ratelimit-reset-requests": "1.2s", "x-ratelimit-reset-tokens": "1m0s"}, body

    times = []
    mock = Mock(lambda n, r: (times.append(time.monotonic()), reply(n, r))[1])
    lab.env["OPENAI_BASE_URL"] = mock.url
    done = lab.cadre("-p", "--provider", "openai", "--model", "m1", "--allowed-tools", "Bash(true)", "--", "hi")
    assert done.out == "done\n" and 1.0 < times[1] - times[0] < 30, (done, times)


# ---- AWS


def bedrock_follows_its_variables(lab):
    model = lab.model("rule\n  text yes")
    other, kept = pinned(lab, "CLAUDE_CODE_USE_BEDROCK", **AWS_KEYS), []
    lab.env.update(ANTHROPIC_BEDROCK_BASE_URL=front(model.url, kept).url, ANTHROPIC_BEDROCK_REGION_PREFIX="jp",
                   ANTHROPIC_BEDROCK_SERVICE_TIER="priority", ANTHROPIC_CUSTOM_HEADERS="X-Amzn-Bedrock-GuardrailIdentifier: g1")
    done = lab.cadre("-p", "--model", "claude-opus-5-5", "hi")
    assert done.out == "yes\n" and not other.seen, done
    assert kept[0]["path"].startswith("/model/jp.anthropic.claude-opus-5-5/"), kept[0]["path"]
    headers = kept[0]["headers"]
    assert headers["x-amzn-bedrock-service-tier"] == "priority" and headers["x-amzn-bedrock-guardrailidentifier"] == "g1", headers
    assert "x-amzn-bedrock-guardrailidentifier" in headers["authorization"], headers


def the_small_model_may_have_another_region(lab):
    model = lab.model("rule\n  text yes")
    pinned(lab, "CLAUDE_CODE_USE_BEDROCK", **AWS_KEYS, ANTHROPIC_SMALL_FAST_MODEL_AWS_REGION="eu-west-1")
    kept = []
    cloud = front(model.url, kept)
    lab.env["ANTHROPIC_BEDROCK_BASE_URL"] = cloud.url
    for name, prefix, region in (("opus", "us", "us-west-2"), ("haiku", "eu", "eu-west-1"), ("opus", "us", "us-west-2")):
        done = lab.cadre("-p", "--model", name, "hi")
        assert done.out == "yes\n" and kept[-1]["path"].startswith("/model/%s.anthropic.claude-%s" % (prefix, name)), kept[-1]["path"]
        ours, given = signature_of(kept[-1], AWS_KEYS["AWS_SECRET_ACCESS_KEY"], region, "bedrock", cloud.url[7:])
        assert ours == given, name


def efforts_of_a_place_are_those_of_its_settings(lab):
    mock = Mock(lambda n, r: message("yes"))
    settings = {"providers": {"lab": {"baseUrl": mock.url, "models": {"m-1": {"effort": ["low", "high"]}}}}}
    for effort, sent in (("high", "high"), ("max", None)):
        done = lab.cadre("-p", "--settings", json.dumps(settings), "--model", "lab/m-1", "--effort", effort, "hi")
        assert done.out == "yes\n" and mock.bodies()[-1].get("output_config", {}).get("effort") == sent, (effort, mock.bodies()[-1])


def a_bedrock_gateway_may_change_the_content_type(lab):
    model = lab.model("rule\n  text yes")
    inner = front(model.url, [])

    def retype(n, request):
        import urllib.request
        with urllib.request.urlopen(urllib.request.Request(inner.url + request["path"], request["raw"])) as answer:
            return 200, {"content-type": "application/octet-stream"}, answer.read()

    lab.env.update(CLAUDE_CODE_USE_BEDROCK="1", AWS_BEARER_TOKEN_BEDROCK="b", ANTHROPIC_BEDROCK_BASE_URL=Mock(retype).url,
                   CLAUDE_CODE_MAX_RETRIES="0")
    assert lab.cadre("-p", "hi").code == 1
    done = lab.cadre("-p", "hi", env={"CLAUDE_CODE_DISABLE_BEDROCK_CONTENT_TYPE_GUARD": "1"})
    assert done.out == "yes\n", done


def a_region_and_its_profile_are_found_in_their_order(lab):
    files = {name: os.path.join(lab.folder, name) for name in ("config", "credentials")}
    with open(files["config"], "w", encoding="utf-8") as f:
        f.write("[default]\nregion = eu-north-1\n[profile work]\nregion = ap-south-1\n")
    with open(files["credentials"], "w", encoding="utf-8") as f:
        f.write("[work]\naws_access_key_id = AKWORK\naws_secret_access_key = s\nregion = ca-central-1\n")
    lab.env.update(AWS_CONFIG_FILE=files["config"], AWS_SHARED_CREDENTIALS_FILE=files["credentials"], CLAUDE_CODE_USE_BEDROCK="1")
    rows = (({}, "eu-north-1"), ({"AWS_PROFILE": "work"}, "ca-central-1"), ({"AWS_DEFAULT_REGION": "us-east-2"}, "us-east-2"),
            ({"AWS_REGION": "us-west-1", "AWS_DEFAULT_REGION": "us-east-2"}, "us-west-1"), ({"AWS_REGION": "a/b"}, "eu-north-1"))
    for env, region in rows:
        shown = json.loads(lab.cadre("models", "show", "opus", "--json", env=env).out)
        assert shown["address"] == "https://bedrock-runtime.%s.amazonaws.com" % region, (env, shown)


def a_clock_that_is_wrong_is_corrected_by_the_server(lab):
    model = lab.model("rule\n  text yes")
    ahead = time.gmtime(time.time() + 3600)
    kept = []

    def check(request):
        stamp = time.strptime(request["headers"]["x-amz-date"], "%Y%m%dT%H%M%SZ")
        if abs(time.mktime(stamp) - time.mktime(ahead)) > 300:
            return 403, {"date": time.strftime("%a, %d %b %Y %H:%M:%S GMT", ahead)}, '{"message":"Signature expired: ..."}'
        return None

    pinned(lab, "CLAUDE_CODE_USE_BEDROCK", **AWS_KEYS)
    lab.env["ANTHROPIC_BEDROCK_BASE_URL"] = front(model.url, kept, check).url
    done = lab.cadre("-p", "hi")
    assert done.out == "yes\n" and len(kept) == 1, done


def aws_keys_are_fetched_anew_without_a_cache(lab):
    model = lab.model("rule\n  turn 1\n  call Bash {\"command\": \"true\"}\nrule\n  text yes")
    counter = os.path.join(lab.folder, "count")
    keys = json.dumps({"AccessKeyId": "AK2", "SecretAccessKey": "s"})
    settings = json.dumps({"awsCredentialExport": "echo x >> %s; echo '%s'" % (counter, keys)})
    pinned(lab, "CLAUDE_CODE_USE_BEDROCK")
    lab.env["ANTHROPIC_BEDROCK_BASE_URL"] = front(model.url, []).url
    for env, fetches in (({}, 1), ({"CLAUDE_CODE_SKIP_AWS_CRED_CACHE": "1"}, 2)):
        done = lab.cadre("-p", "--settings", settings, "--allowed-tools", "Bash(true)", "--", "hi", env=env)
        with open(counter, encoding="utf-8") as f:
            assert done.out == "yes\n" and f.read() == "x\n" * fetches, (env, done)
        os.unlink(counter)


def a_credential_command_that_hangs_ends_in_time(lab):
    pinned(lab, "CLAUDE_CODE_USE_BEDROCK", CLAUDE_CODE_AWS_CHAIN_RESOLVE_TIMEOUT_MS="300")
    done = lab.cadre("-p", "--settings", json.dumps({"awsCredentialExport": "sleep 50"}), "hi")
    assert done.code == 1 and "no end in time" in done.out, done


def keys_come_from_the_container_and_the_instance(lab):
    model, keys = lab.model("rule\n  text yes"), {"AccessKeyId": "AKC", "SecretAccessKey": "s", "Token": "t"}
    token = os.path.join(lab.folder, "token")
    with open(token, "w", encoding="utf-8") as f:
        f.write("from-file\n")

    def reply(n, request):
        if request["path"] == "/latest/api/token":
            return 200, {}, "imds-token"
        if request["path"].endswith("/security-credentials/"):
            return 200, {}, "role-1\n"
        return 200, {}, json.dumps(keys)

    server, kept = Mock(reply), []
    pinned(lab, "CLAUDE_CODE_USE_BEDROCK", AWS_REGION="us-east-1")
    lab.env["ANTHROPIC_BEDROCK_BASE_URL"] = front(model.url, kept).url
    done = lab.cadre("-p", "hi", env={"AWS_CONTAINER_CREDENTIALS_FULL_URI": server.url + "/keys",
                                      "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE": token})
    assert done.out == "yes\n" and server.seen[0]["headers"]["authorization"] == "from-file", done
    del lab.env["AWS_EC2_METADATA_DISABLED"]
    done = lab.cadre("-p", "hi", env={"AWS_EC2_METADATA_SERVICE_ENDPOINT": server.url})
    assert done.out == "yes\n" and server.seen[-1]["headers"]["x-aws-ec2-metadata-token"] == "imds-token", done
    assert [r["path"] for r in server.seen[1:]] == ["/latest/api/token", "/latest/meta-data/iam/security-credentials/",
                                                    "/latest/meta-data/iam/security-credentials/role-1"], server.seen
    assert all("Credential=AKC/" in r["headers"]["authorization"] for r in kept), kept
    # Neither passes a proxy: its owner would read the token of the container, and cannot reach the instance.
    proxy, seen = Mock(lambda n, r: (400, {}, "{}")), len(server.seen)
    for name, url in (("AWS_CONTAINER_CREDENTIALS_FULL_URI", server.url + "/keys"), ("AWS_EC2_METADATA_SERVICE_ENDPOINT", server.url)):
        lab.cadre("-p", "hi", env={name: url, "AWS_CONTAINER_AUTHORIZATION_TOKEN": "secret", "http_proxy": proxy.url})
    assert len(server.seen) == seen + 4 and all("/model/" in r["path"] for r in proxy.seen), (server.seen[seen:], proxy.seen)
    for host in ("example.com", "localhost.invalid", "127.0.0.1.invalid", "localhost@nowhere.invalid", "169.254.170.2.invalid"):
        done = lab.cadre("-p", "hi", env={"AWS_CONTAINER_CREDENTIALS_FULL_URI": f"http://{host}/keys"})
        assert done.code == 1 and "http only for loopback" in done.out, done


def an_instance_without_tokens_gives_keys_all_the_same(lab):
    """A container behind one hop more gets no token, and answers without one are allowed there."""
    def reply(n, request):
        if request["path"] == "/latest/api/token":
            return 403, {}, ""
        assert "x-aws-ec2-metadata-token" not in request["headers"], request
        return 200, {}, "role-1" if request["path"].endswith("/") else json.dumps({"AccessKeyId": "AK1", "SecretAccessKey": "s", "Token": "t"})

    model, server = lab.model("rule\n  text yes"), Mock(reply)
    pinned(lab, "CLAUDE_CODE_USE_BEDROCK", ANTHROPIC_BEDROCK_BASE_URL=model.url, AWS_EC2_METADATA_SERVICE_ENDPOINT=server.url)
    del lab.env["AWS_EC2_METADATA_DISABLED"]
    done = lab.cadre("-p", "hi")
    assert done.out == "yes\n" and len(server.seen) == 3, (done, server.seen)
    done = lab.cadre("-p", "hi", env={"AWS_EC2_METADATA_V1_DISABLED": "true"})
    assert done.code == 1 and "no AWS credentials" in done.out and len(server.seen) == 4, (done, server.seen)


def a_request_above_a_megabyte_is_signed_whole(lab):
    model = lab.model("rule\n  text yes")
    pinned(lab, "CLAUDE_CODE_USE_BEDROCK", **AWS_KEYS, AWS_SESSION_TOKEN="to+ken/==")
    kept = []
    cloud = front(model.url, kept)
    lab.env["ANTHROPIC_BEDROCK_BASE_URL"] = cloud.url
    run = lab.start("-p", "--model", "arn:aws:bedrock:us-west-2:123456789012:application-inference-profile/abc", stdin=subprocess.PIPE)
    run.process.stdin.write(b"word " * 260000)
    run.process.stdin.close()
    done = run.wait()
    assert done.out == "yes\n" and len(kept[0]["raw"]) > 1 << 20, done
    ours, given = signature_of(kept[0], AWS_KEYS["AWS_SECRET_ACCESS_KEY"], "us-west-2", "bedrock", cloud.url[7:])
    assert ours == given, kept[0]["headers"]


def bedrock_and_mantle_share_a_run_by_the_names_of_models(lab):
    model = lab.model("rule\n  text yes")
    other, kept = pinned(lab, "CLAUDE_CODE_USE_BEDROCK", CLAUDE_CODE_USE_MANTLE="1", **AWS_KEYS), []
    cloud = front(model.url, kept).url
    lab.env.update(ANTHROPIC_BEDROCK_BASE_URL=cloud, ANTHROPIC_BEDROCK_MANTLE_BASE_URL=cloud + "/anthropic")
    for name, path in (("claude-opus-5-5", "/model/us.anthropic.claude-opus-5-5/invoke-with-response-stream"),
                       ("anthropic.claude-opus-5-5", "/anthropic/v1/messages")):
        done = lab.cadre("-p", "--model", name, "hi")
        assert done.out == "yes\n" and kept[-1]["path"] == path and not other.seen, (name, done, kept[-1]["path"])


# ---- Google, Microsoft


def vertex_follows_its_variables(lab):
    model = lab.model("rule\n  text yes")
    kept = []
    pinned(lab, "CLAUDE_CODE_USE_VERTEX", ANTHROPIC_VERTEX_PROJECT_ID="p1", CLAUDE_CODE_SKIP_VERTEX_AUTH="1")
    lab.env["ANTHROPIC_VERTEX_BASE_URL"] = front(model.url, kept).url + "/v1"
    rows = (({}, "p1", "us-east5"), ({"CLOUD_ML_REGION": "eu", "GOOGLE_CLOUD_PROJECT": "p2"}, "p2", "eu"),
            ({"VERTEX_REGION_CLAUDE_5_5_OPUS": "global", "GCLOUD_PROJECT": "p3", "GOOGLE_CLOUD_PROJECT": "p2"}, "p3", "global"),
            ({"CLAUDE_CODE_SKIP_VERTEX_AUTH": "on"}, "p1", "us-east5"))
    for env, project, region in rows:
        done = lab.cadre("-p", "--model", "claude-opus-5-5", "hi", env=env)
        assert done.out == "yes\n" and "/projects/%s/locations/%s/" % (project, region) in kept[-1]["path"], (env, kept[-1]["path"])
        assert "authorization" not in kept[-1]["headers"], kept[-1]["headers"]


def each_model_of_vertex_has_a_variable_for_its_region(lab):
    """Their names are those of Claude Code: version and family, for some family and version."""
    names = {"claude-sonnet-4-5-20250929": "4_5_SONNET", "claude-opus-4-20250514": "4_0_OPUS", "claude-opus-4-0": "4_0_OPUS",
             "claude-opus-4-1-20250805": "4_1_OPUS", "claude-sonnet-5": "5_SONNET", "claude-haiku-4-5": "HAIKU_4_5",
             "claude-fable-5": "FABLE_5", "claude-3-5-haiku-20241022": "3_5_HAIKU"}
    model = lab.model("rule\n  text yes")
    kept = []
    pinned(lab, "CLAUDE_CODE_USE_VERTEX", ANTHROPIC_VERTEX_PROJECT_ID="p1", CLAUDE_CODE_SKIP_VERTEX_AUTH="1")
    lab.env["ANTHROPIC_VERTEX_BASE_URL"] = front(model.url, kept).url + "/v1"
    every = {"VERTEX_REGION_CLAUDE_" + name: name.lower().replace("_", "-") for name in names.values()}
    for name, variable in names.items():
        done = lab.cadre("-p", "--model", name, "hi", env={"CLOUD_ML_REGION": "global", **every})
        region = "/locations/%s/" % every["VERTEX_REGION_CLAUDE_" + variable]
        assert done.out == "yes\n" and region in kept[-1]["path"], (name, done, kept[-1]["path"] if kept else None)


def names_without_a_date_get_the_one_that_clouds_want(lab):
    rows = {"claude-sonnet-4-5": ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", "claude-sonnet-4-5@20250929"),
            "claude-opus-4-0": ("us.anthropic.claude-opus-4-20250514-v1:0", "claude-opus-4@20250514"),
            "claude-haiku-4-5": ("us.anthropic.claude-haiku-4-5-20251001-v1:0", "claude-haiku-4-5@20251001"),
            "claude-opus-4-6": ("us.anthropic.claude-opus-4-6-v1", "claude-opus-4-6"),
            "claude-sonnet-4-6": ("us.anthropic.claude-sonnet-4-6", "claude-sonnet-4-6"),
            "claude-opus-5-5": ("us.anthropic.claude-opus-5-5", "claude-opus-5-5")}
    lab.env.update(ANTHROPIC_VERTEX_PROJECT_ID="p1", **AWS_KEYS)
    for name, sent in rows.items():
        for provider, expected in zip(("bedrock", "vertex"), sent):
            shown = json.loads(lab.cadre("models", "show", name, "--provider", provider, "--json").out)
            assert shown["sent"] == expected and shown["priceSource"] == "built in", shown


def a_switch_is_off_by_each_word_for_it(lab):
    """Of a switch that skips a signature, one that fetches keys for every request, and one that leaves marks out."""
    mock = Mock(lambda n, r: (400, {}, '{"message":"no"}'))
    other = pinned(lab, "CLAUDE_CODE_USE_BEDROCK", ANTHROPIC_BEDROCK_BASE_URL=mock.url, **AWS_KEYS)
    lab.env["ANTHROPIC_BEDROCK_BASE_URL"] = mock.url
    for value, is_signed in (("1", False), ("on", False), ("0", True), ("false", True), ("No", True), ("off", True)):
        lab.cadre("-p", "--model", "claude-opus-5-5", "hi", env={"CLAUDE_CODE_SKIP_BEDROCK_AUTH": value})
        assert ("authorization" in mock.seen[-1]["headers"]) == is_signed and not other.seen, (value, mock.seen[-1]["headers"])
    for value, is_marked in (("1", False), ("false", True), ("off", True)):
        lab.cadre("-p", "--model", "claude-opus-5-5", "hi", env={"DISABLE_PROMPT_CACHING": value})
        assert (b"cache_control" in mock.seen[-1]["raw"]) == is_marked, value


def each_cloud_takes_its_key_or_none_at_all(lab):
    """The headers that say who asks; None: it must not be there."""
    platform = {"CLAUDE_CODE_USE_ANTHROPIC_AWS": "1", "ANTHROPIC_AWS_WORKSPACE_ID": "w-1"}
    rows = ((platform, "ANTHROPIC_AWS_BASE_URL", {"ANTHROPIC_AWS_API_KEY": "kk"}, {"x-api-key": "kk", "anthropic-workspace-id": "w-1", "authorization": None}),
            (platform, "ANTHROPIC_AWS_BASE_URL", {"CLAUDE_CODE_SKIP_ANTHROPIC_AWS_AUTH": "1"}, {"x-api-key": None, "anthropic-workspace-id": "w-1", "authorization": None}),
            ({"CLAUDE_CODE_USE_MANTLE": "1"}, "ANTHROPIC_BEDROCK_MANTLE_BASE_URL", {"CLAUDE_CODE_SKIP_MANTLE_AUTH": "1"}, {"authorization": None}),
            ({"CLAUDE_CODE_USE_FOUNDRY": "1"}, "ANTHROPIC_FOUNDRY_BASE_URL", {"CLAUDE_CODE_SKIP_FOUNDRY_AUTH": "1"}, {"x-api-key": None, "authorization": None}),
            ({"CLAUDE_CODE_USE_FOUNDRY": "1"}, "ANTHROPIC_FOUNDRY_BASE_URL", {"ANTHROPIC_FOUNDRY_AUTH_TOKEN": "t", "ANTHROPIC_FOUNDRY_API_KEY": "kk"},
             {"x-api-key": None, "authorization": "Bearer t"}))
    for switch, base, env, headers in rows:
        mock = Mock(lambda n, r: message("yes"))
        done = lab.cadre("-p", "hi", env={**switch, base: mock.url, **env})
        assert done.out == "yes\n" and len(mock.seen) == 1, (switch, env, done)
        for name, value in headers.items():
            assert mock.seen[0]["headers"].get(name) == value, (switch, env, mock.seen[0]["headers"])


def azure_has_its_resource_and_version_in_the_address(lab):
    for env, address in (({"AZURE_OPENAI_RESOURCE_NAME": "res-1"}, "https://res-1.openai.azure.com/openai/v1"),
                         ({"AZURE_OPENAI_BASE_URL": "https://gw.invalid/x/"}, "https://gw.invalid/x")):
        done = lab.cadre("models", "show", "azure/d-1", "--json", env={"AZURE_OPENAI_API_KEY": "k", **env})
        assert json.loads(done.out)["address"] == address, done
    for query, sent in (("", "?api-version=2024-10-21"), ("?api-version=v2", "?api-version=v2")):
        mock = Mock(lambda n, r: said("yes"))
        done = lab.cadre("-p", "--model", "azure/d-1", "hi", env={"AZURE_OPENAI_API_KEY": "k", "AZURE_OPENAI_API_VERSION": "2024-10-21",
                                                                "AZURE_OPENAI_BASE_URL": mock.url + query})
        assert done.out == "yes\n" and mock.seen[0]["path"] == "/chat/completions" + sent, (done, mock.seen)


def a_key_of_a_helper_lives_as_long_as_its_variable_says(lab):
    """Each run of the helper prints another key; a turn has two requests."""
    for ttl, keys in (("1", ["k1", "k2"]), ("60000", ["k1", "k1"])):
        count = os.path.join(lab.folder, "count-" + ttl)
        mock = Mock(lambda n, r: call("Bash", {"command": "sleep 0.01"}) if n == 1 else said("yes"))
        settings = {"providers": {"lab": {"wire": "chat", "baseUrl": mock.url, "keyHelper": "echo >>%s; echo k$(wc -l <%s)" % (count, count)}}}
        done = lab.cadre("-p", "--settings", json.dumps(settings), "--model", "lab/m-1", "--allowed-tools", "Bash(sleep *)", "--", "hi",
                         env={"CLAUDE_CODE_API_KEY_HELPER_TTL_MS": ttl})
        assert done.out == "yes\n", done
        assert [r["headers"]["authorization"] for r in mock.seen] == ["Bearer " + k for k in keys], (ttl, mock.seen)


def a_workspace_is_signed_for_the_platform(lab):
    for own, service in (({"workspace": "w-1"}, "aws-external-anthropic"), ({}, "bedrock")):
        mock = Mock(lambda n, r: message("yes"))
        settings = {"providers": {"lab": {"baseUrl": mock.url, "credential": "aws", "region": "eu-west-1", **own}}}
        done = lab.cadre("-p", "--settings", json.dumps(settings), "--model", "lab/claude-opus-5-5", "hi", env=AWS_KEYS)
        headers = mock.seen[0]["headers"]
        assert done.out == "yes\n" and "/eu-west-1/%s/aws4_request" % service in headers["authorization"], (own, done, headers)
        assert headers.get("anthropic-workspace-id") == own.get("workspace"), headers


def google_cloud_has_its_workspace_in_the_address(lab):
    model = lab.model("rule\n  text yes")
    kept = []
    machine = Mock(lambda n, r: (200, {}, json.dumps({"access_token": "machine", "expires_in": 3600})))
    lab.env.update(ANTHROPIC_GOOGLE_CLOUD_PROJECT="p1", ANTHROPIC_GOOGLE_CLOUD_WORKSPACE_ID="w1", GCE_METADATA_HOST=machine.url[7:])
    shown = json.loads(lab.cadre("models", "show", "opus", "--provider", "google-cloud", "--json").out)
    assert shown["address"] == "https://claude.googleapis.com/v1/projects/p1/locations/global/workspaces/w1/invoke", shown
    path = shown["address"][len("https://claude.googleapis.com"):]
    lab.env["ANTHROPIC_GOOGLE_CLOUD_BASE_URL"] = front(model.url, kept).url + path
    done = lab.cadre("-p", "--provider", "google-cloud", "hi")
    assert done.out == "yes\n" and kept[0]["headers"]["authorization"] == "Bearer machine", done
    assert kept[0]["path"] == path + "/v1/messages", kept[0]["path"]


def foundry_takes_a_federated_token_and_a_managed_identity(lab):
    model, kept, forms = lab.model("rule\n  text yes"), [], []
    assertion = os.path.join(lab.folder, "assertion")
    with open(assertion, "w", encoding="utf-8") as f:
        f.write("jwt-1\n")

    def token(n, request):
        forms.append(request)
        return 200, {}, json.dumps({"access_token": "entra-%d" % n, "expires_in": "3600"})

    entra = Mock(token)
    pinned(lab, "CLAUDE_CODE_USE_FOUNDRY")
    lab.env["ANTHROPIC_FOUNDRY_BASE_URL"] = front(model.url, kept).url
    done = lab.cadre("-p", "--model", "d", "hi", env={"AZURE_CLIENT_ID": "c", "AZURE_TENANT_ID": "t", "AZURE_AUTHORITY_HOST": entra.url,
                                                      "AZURE_FEDERATED_TOKEN_FILE": assertion})
    assert done.out == "yes\n" and b"client_assertion=jwt-1" in forms[0]["raw"], (done, forms)
    done = lab.cadre("-p", "--model", "d", "hi", env={"IDENTITY_ENDPOINT": entra.url + "/msi/token", "IDENTITY_HEADER": "h1"})
    assert done.out == "yes\n" and forms[1]["headers"]["x-identity-header"] == "h1", (done, forms)
    assert forms[1]["path"] == "/msi/token?api-version=2019-08-01&resource=https%3A%2F%2Fai.azure.com", forms[1]["path"]
    assert [r["headers"]["authorization"] for r in kept] == ["Bearer entra-1", "Bearer entra-2"], kept


def a_gateway_may_want_a_certificate_of_the_client(lab):
    files = {name: os.path.join(lab.folder, name) for name in ("ca.pem", "ca.key", "client.pem", "client.key", "client.csr")}
    run = lambda *argv: subprocess.run(["openssl", *argv], check=True, capture_output=True)
    run("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", files["ca.key"], "-out", files["ca.pem"], "-subj", "/CN=127.0.0.1",
        "-addext", "subjectAltName=IP:127.0.0.1")
    run("req", "-newkey", "rsa:2048", "-keyout", files["client.key"], "-passout", "pass:word", "-out", files["client.csr"], "-subj", "/CN=me")
    run("x509", "-req", "-in", files["client.csr"], "-CA", files["ca.pem"], "-CAkey", files["ca.key"], "-CAcreateserial", "-out",
        files["client.pem"])
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(files["ca.pem"], files["ca.key"])
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_verify_locations(files["ca.pem"])
    mock = Mock(lambda n, r: message("yes"), context)
    env = {"ANTHROPIC_BASE_URL": mock.url, "SSL_CERT_FILE": files["ca.pem"], "CLAUDE_CODE_MAX_RETRIES": "0"}
    assert lab.cadre("-p", "hi", env=env).code == 1 and not mock.seen
    done = lab.cadre("-p", "hi", env={**env, "CLAUDE_CODE_CLIENT_CERT": files["client.pem"], "CLAUDE_CODE_CLIENT_KEY": files["client.key"],
                                      "CLAUDE_CODE_CLIENT_KEY_PASSPHRASE": "word"})
    assert done.out == "yes\n", done


def only_managed_places_count_when_they_are_locked(lab):
    ours, theirs = Mock(lambda n, r: message("of the company")), Mock(lambda n, r: message("of the user"))
    etc = os.path.join(lab.folder, "etc", "claude-code")
    os.makedirs(etc)
    with open(os.path.join(etc, "managed-settings.json"), "w", encoding="utf-8") as f:
        json.dump({"lockedProviders": True, "providers": {"work": {"baseUrl": ours.url}}}, f)
    from lab import CADRE, Skip
    mount = ("-rm", "sh", "-c", 'mount --bind "$0" /etc && exec "$@"', os.path.dirname(etc))
    if subprocess.run(["unshare", *mount, "true"], capture_output=True, check=False).returncode:
        raise Skip("no mount namespaces here")
    own = json.dumps({"providers": {"work": {"baseUrl": theirs.url}, "home": {"baseUrl": theirs.url}}})
    done = lab.cadre(*mount, CADRE, "-p", "--settings", own, "--model", "work/m-1", "hi", program="unshare")
    assert done.out == "of the company\n" and not theirs.seen, done
    done = lab.cadre(*mount, CADRE, "-p", "--settings", own, "--provider", "home", "--model", "m-1", "hi", program="unshare")
    assert done.code == 2 and "unknown provider 'home'" in done.err and not theirs.seen, done


def names_of_models_are_shown_with_their_variables(lab):
    from test_wire import Client
    lab.env.update(ANTHROPIC_DEFAULT_OPUS_MODEL="our-opus", ANTHROPIC_DEFAULT_OPUS_MODEL_NAME="Ours",
                   ANTHROPIC_DEFAULT_OPUS_MODEL_DESCRIPTION="of our cloud", ANTHROPIC_CUSTOM_MODEL_OPTION="extra-1",
                   ANTHROPIC_CUSTOM_MODEL_OPTION_NAME="Extra")
    lab.model("rule\n  text x")
    client = Client(lab)
    client.request("i", "initialize")
    models = {m["value"]: m for m in client.reply("i")["response"]["models"]}
    client.stdin.close()
    client.run.wait()
    assert models["opus"] == {"value": "opus", "resolvedModel": "our-opus", "displayName": "Ours", "description": "of our cloud"}, models
    assert models["extra-1"]["displayName"] == "Extra" and models["extra-1"]["resolvedModel"] == "extra-1", models


if __name__ == "__main__":
    main(*cases(globals()))
