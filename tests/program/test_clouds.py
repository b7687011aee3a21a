# SPDX-License-Identifier: MIT
"""Clouds: addresses, signatures, frames, credentials, pins."""
import base64
import hashlib
import json
import os
import pathlib
import re
import subprocess
import time
import urllib.parse
import urllib.request

from lab import main
from mock import AWS_KEYS, Mock, cases, frame, front, gateway, message, message_events, pinned, said, signature_of


SCENARIO = """rule
  turn 1
  thinking I look first.
  text I look.
  call Bash {"command": "echo one"}
  call Bash {"command": "echo two"}
rule
  text Done after {{last_result}}.
"""


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


def bedrock_gets_the_betas_that_a_model_has(lab):
    """One that it does not know would have the whole request refused. What is left out is said once."""
    model, given = lab.model("rule\n  text yes\n"), "effort-2025-11-24, files-api-2025-04-14,interleaved-thinking-2025-05-14"
    pinned(lab, "CLAUDE_CODE_USE_BEDROCK", **AWS_KEYS)
    rows = (("claude-opus-4-5", ["effort-2025-11-24", "interleaved-thinking-2025-05-14"]),
            ("eu.anthropic.claude-sonnet-4-20250514-v1:0", ["interleaved-thinking-2025-05-14"]),
            ("global.anthropic.claude-sonnet-5-5", ["effort-2025-11-24", "interleaved-thinking-2025-05-14"]),
            ("anthropic.claude-3-7-sonnet-20250219-v1:0", None), ("meta.llama9", None),
            ("arn:aws:bedrock:us-west-2:1:application-inference-profile/claude-5", None))
    lab.env["ANTHROPIC_BETAS"] = given
    for name, betas in rows:
        kept = []
        cloud = front(model.url, kept)
        lab.env["ANTHROPIC_BEDROCK_BASE_URL"] = cloud.url
        done = lab.cadre("-p", "--model", name, "hi")
        assert done.out == "yes\n" and [r["body"].get("anthropic_beta") for r in kept] == [betas], (name, done, kept)
        missing = [beta for beta in re.split(", ?", given) if beta not in (betas or [])]
        assert done.err.count("Bedrock does not take these betas") == 1 and all(beta in done.err for beta in missing), (name, done)


def a_signature_covers_a_body_whose_beginning_changes(lab):
    """A limit that is learned stands in front of what the hash of earlier requests covers."""
    model, all_of, kept = lab.model(SCENARIO), [], []
    pinned(lab, "CLAUDE_CODE_USE_BEDROCK", **AWS_KEYS)

    def check(request):
        all_of.append(request)
        if request["body"]["max_tokens"] > 4096 and len(all_of) > 1:
            return 400, {}, json.dumps({"message": "max_tokens: 32000 > 4096, which is the maximum allowed number of output tokens"})
        return None

    cloud = front(model.url, kept, check)
    lab.env["ANTHROPIC_BEDROCK_BASE_URL"] = cloud.url
    done = lab.cadre("-p", "--model", "claude-opus-5-5", "hi")
    assert done.out == "Done after two.\n" and [r["body"]["max_tokens"] for r in all_of] == [32000, 32000, 4096], done
    for request in all_of:
        ours, given = signature_of(request, AWS_KEYS["AWS_SECRET_ACCESS_KEY"], "us-west-2", "bedrock", cloud.url[7:])
        assert ours == given, request


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


def frames_behind_the_end_of_an_answer_do_not_count(lab):
    """It was paid for and is whole. Before its end an error of the service itself has its words in the headers."""
    events = [json.loads(e.split(b"data: ", 1)[1]) for e in message_events(["Whole."])]
    late = frame(b'{"message":"slow"}', (":message-type", "exception"), (":exception-type", "throttlingException"))
    broken = frame(b"", (":message-type", "error"), (":error-code", "InternalFailure"), (":error-message", "It broke."))
    mock = Mock(lambda n, r: (200, {"content-type": "application/vnd.amazon.eventstream"}, end[0]))
    lab.env.update(CLAUDE_CODE_USE_BEDROCK="1", AWS_BEARER_TOKEN_BEDROCK="b", ANTHROPIC_BEDROCK_BASE_URL=mock.url, CLAUDE_CODE_MAX_RETRIES="0")
    whole = b"".join(map(frame, events))
    for end in ([whole + late], [whole + late[:-1] + b"x"], [whole + b"\0" * 16]):
        done = lab.cadre("-p", "hi")
        assert done.out == "Whole.\n", (done, end)
    assert len(mock.seen) == 3, mock.seen
    end = [b"".join(map(frame, events[:-1])) + broken]
    done = lab.cadre("-p", "hi")
    assert done.code == 1 and "InternalFailure: It broke." in done.out, done


def counts_of_bedrock_are_used_where_the_model_reports_none(lab):
    def reply(n, request):
        own = {"usage": {"input_tokens": 3}} if n == 2 else {}
        end = {"usage": {"output_tokens": 2}} if n == 2 else {}
        metrics = {"inputTokenCount": 40, "outputTokenCount": 7, "cacheReadInputTokenCount": 100, "cacheWriteInputTokenCount": 5}
        if n == 3:  # no counts
            metrics.update(outputTokenCount=-7, cacheReadInputTokenCount=2**63 - 1, cacheWriteInputTokenCount=2**63 - 1)
        return 200, {"content-type": "application/vnd.amazon.eventstream"}, b"".join(frame(e) for e in (
            {"type": "message_start", "message": {"id": "msg_1", "model": "m", **own}},
            {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
            {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "x"}},
            {"type": "content_block_stop", "index": 0}, {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, **end},
            {"type": "message_stop", "amazon-bedrock-invocationMetrics": metrics}))

    lab.env.update(CLAUDE_CODE_USE_BEDROCK="1", AWS_BEARER_TOKEN_BEDROCK="b", ANTHROPIC_BEDROCK_BASE_URL=Mock(reply).url)
    for expected in ([40, 7, 100, 5], [3, 2, 0, 0], [40, 0, 0, 0]):
        usage = json.loads(lab.cadre("-p", "--output-format", "json", "hi").out)["usage"]
        names = ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
        assert [usage[name] for name in names] == expected, usage


def a_test_says_who_aws_thinks_we_are(lab):
    pinned(lab, "CLAUDE_CODE_USE_BEDROCK", **AWS_KEYS)
    lab.env["ANTHROPIC_BEDROCK_BASE_URL"] = Mock(lambda n, r: (403, {}, '{"message":"You are not authorized to call this model"}')).url
    arn = "arn:aws:iam::123456789012:user/someone"
    for status, words in ((200, "for the region us-west-2: AWS knows it as " + arn), (403, "AWS does not say whose it is")):
        sts = Mock(lambda n, r: (status, {}, "<R><GetCallerIdentityResult><Arn>%s</Arn></GetCallerIdentityResult></R>" % arn))
        lab.env["AWS_ENDPOINT_URL_STS"] = sts.url
        done = lab.cadre("models", "test", "claude-opus-5-5")
        assert done.code == 1 and words in done.out and sts.seen[0]["raw"] == b"Action=GetCallerIdentity&Version=2011-06-15", (done, sts.seen)
        ours, given = signature_of(sts.seen[0], AWS_KEYS["AWS_SECRET_ACCESS_KEY"], "us-west-2", "sts", sts.url[7:])
        assert ours == given, sts.seen


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


def the_project_of_vertex_is_that_of_the_account(lab):
    """GCLOUD_PROJECT, the file of the account, then ANTHROPIC_VERTEX_PROJECT_ID; a name is escaped."""
    mock = Mock(lambda n, r: message("yes"))
    pinned(lab, "CLAUDE_CODE_USE_VERTEX", CLAUDE_CODE_SKIP_VERTEX_AUTH="1")
    account = os.path.join(lab.folder, "account.json")
    with open(account, "w", encoding="utf-8") as f:
        json.dump({"type": "service_account", "project_id": "of-file"}, f)
    lab.env.update(ANTHROPIC_VERTEX_BASE_URL=mock.url, ANTHROPIC_VERTEX_PROJECT_ID="of-variable")
    for env, project in (({}, "of-variable"), ({"GOOGLE_APPLICATION_CREDENTIALS": account}, "of-file"),
                         ({"GOOGLE_APPLICATION_CREDENTIALS": account, "GCLOUD_PROJECT": "of-gcloud"}, "of-gcloud")):
        done = lab.cadre("-p", "--model", "claude-x;1@20251001", "hi", env=env)
        assert done.out == "yes\n" and mock.seen[-1]["path"] == (
            "/projects/%s/locations/us-east5/publishers/anthropic/models/claude-x%%3B1@20251001:streamRawPredict" % project), (done, mock.seen)


def azure_takes_a_key_or_a_token(lab):
    mock = Mock(lambda n, r: said("yes"))
    lab.env["AZURE_OPENAI_BASE_URL"] = mock.url + "/openai/v1"
    for env, header in (({"AZURE_OPENAI_API_KEY": "k"}, ("api-key", "k")), ({"AZURE_OPENAI_AD_TOKEN": "t", "AZURE_OPENAI_API_KEY": "k"}, ("authorization", "Bearer t"))):
        done = lab.cadre("-p", "--provider", "azure", "--model", "d", "hi", env=env)
        headers = mock.seen[-1]["headers"]
        assert done.out == "yes\n" and [(h, headers[h]) for h in ("api-key", "authorization") if h in headers] == [header], (done, headers)


def a_refresh_command_is_seen_by_who_must_log_in(lab):
    """It may print an address and a code. All waiting requests wait for one login, whose lines come once."""
    model = lab.model("rule\n  text yes")
    login = os.path.join(lab.folder, "login")
    keys = json.dumps({"AccessKeyId": "AK2", "SecretAccessKey": "s2"})
    settings = json.dumps({"awsCredentialExport": "test -f %s && echo '%s'" % (login, keys),
                           "awsAuthRefresh": "printf 'Open https://device.example\\n  and enter ' ; echo ABCD; touch %s; echo done >&2" % login})
    pinned(lab, "CLAUDE_CODE_USE_BEDROCK")
    lab.env["ANTHROPIC_BEDROCK_BASE_URL"] = model.url
    done = lab.cadre("-p", "--settings", settings, "hi")
    assert done.out == "yes\n" and sorted(done.err.splitlines()) == sorted(
        "cadre: note: " + line for line in ("Open https://device.example", "and enter ABCD", "done")), done
    done = lab.cadre("-p", "--settings", settings, "hi")
    assert done.out == "yes\n" and not done.err, done


def a_token_of_kubernetes_becomes_keys_of_a_role(lab):
    model = lab.model("rule\n  text yes")
    token = os.path.join(lab.folder, "token")
    with open(token, "w", encoding="utf-8") as f:
        f.write("ey/+=.token\n")
    end = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 3600))
    sts = Mock(lambda n, r: (200, {"content-type": "text/xml"}, """<AssumeRoleWithWebIdentityResponse><AssumeRoleWithWebIdentityResult><Credentials>
        <AccessKeyId>ASIA1</AccessKeyId><SecretAccessKey>secret/+=</SecretAccessKey><SessionToken>session/+=</SessionToken>
        <Expiration>%s</Expiration></Credentials></AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>""" % end))
    pinned(lab, "CLAUDE_CODE_USE_BEDROCK", AWS_REGION="us-west-2", AWS_WEB_IDENTITY_TOKEN_FILE=token, AWS_ROLE_SESSION_NAME="night", AWS_ROLE_ARN="arn:aws:iam::1:role/r",
           AWS_ENDPOINT_URL_STS=sts.url)
    kept = []
    cloud = front(model.url, kept)
    lab.env["ANTHROPIC_BEDROCK_BASE_URL"] = cloud.url
    done = lab.cadre("-p", "hi")
    assert done.out == "yes\n", done
    assert dict(urllib.parse.parse_qsl(sts.seen[0]["raw"].decode())) == {
        "Action": "AssumeRoleWithWebIdentity", "Version": "2011-06-15", "RoleArn": "arn:aws:iam::1:role/r", "RoleSessionName": "night",
        "WebIdentityToken": "ey/+=.token"}, sts.seen
    ours, given = signature_of(kept[-1], "secret/+=", "us-west-2", "bedrock", cloud.url[7:])
    assert ours == given and kept[-1]["headers"]["x-amz-security-token"] == "session/+=" and len(sts.seen) == 1, kept[-1]["headers"]
    config = os.path.join(lab.folder, "config")
    with open(config, "w", encoding="utf-8") as f:
        f.write("[default]\nrole_arn = arn:aws:iam::1:role/p\nweb_identity_token_file = %s\nrole_session_name = me\n" % token)
    done = lab.cadre("-p", "hi", env={"AWS_CONFIG_FILE": config, "AWS_ROLE_SESSION_NAME": "not-me"})
    asked = dict(urllib.parse.parse_qsl(sts.seen[-1]["raw"].decode()))
    assert done.out == "yes\n" and (asked["RoleArn"], asked["RoleSessionName"]) == ("arn:aws:iam::1:role/p", "me"), (done, asked)
    done = lab.cadre("-p", "hi", env={"AWS_ENDPOINT_URL_STS": Mock(lambda n, r: (403, {}, "<Error/>")).url})
    assert done.code == 1 and "no AWS credentials: status 403" in done.out, done
    os.unlink(token)
    done = lab.cadre("-p", "hi")
    assert done.code == 1 and "the web identity of AWS cannot be read" in done.out, done


def a_login_of_single_sign_on_needs_no_program(lab):
    model = lab.model("rule\n  text yes")
    cache = os.path.join(lab.home, ".aws", "sso", "cache")
    os.makedirs(cache)
    with open(os.path.join(lab.home, ".aws", "config"), "w", encoding="utf-8") as f:
        f.write("[profile work]\nsso_session = corp\nsso_account_id = 123456789012\nsso_role_name = Dev/Ops\n[sso-session corp]\nsso_region = eu-west-1\n"
                "[profile old]\nsso_start_url = https://d-1.example/start\nsso_region = eu-west-1\nsso_account_id = 1\nsso_role_name = r\n")
    portal = Mock(lambda n, r: (200, {}, json.dumps({"roleCredentials": {
        "accessKeyId": "ASIA2", "secretAccessKey": "s2", "sessionToken": "t2", "expiration": int((time.time() + 3600) * 1000)}})))
    pinned(lab, "CLAUDE_CODE_USE_BEDROCK", AWS_REGION="us-west-2", AWS_ENDPOINT_URL_SSO=portal.url, PATH="/usr/bin:/bin")
    kept = []
    cloud = front(model.url, kept)
    lab.env["ANTHROPIC_BEDROCK_BASE_URL"] = cloud.url
    for profile, name in (("work", "corp"), ("old", "https://d-1.example/start")):
        for hours, code in ((1, 0), (-1, 1)):
            end = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + hours * 3600))
            with open(os.path.join(cache, hashlib.sha1(name.encode()).hexdigest() + ".json"), "w", encoding="utf-8") as f:
                json.dump({"startUrl": "x", "region": "eu-west-1", "accessToken": "access-" + profile, "expiresAt": end}, f)
            done = lab.cadre("-p", "hi", env={"AWS_PROFILE": profile})
            assert done.code == code and (code or done.out == "yes\n"), (profile, done)
        assert "aws sso login" in done.out, done
        assert portal.seen[-1]["headers"]["x-amz-sso_bearer_token"] == "access-" + profile, portal.seen
        ours, given = signature_of(kept[-1], "s2", "us-west-2", "bedrock", cloud.url[7:])
        assert ours == given and kept[-1]["headers"]["x-amz-security-token"] == "t2", kept[-1]["headers"]
    assert portal.seen[0]["path"] == "/federation/credentials?role_name=Dev%2FOps&account_id=123456789012" and len(portal.seen) == 2, portal.seen


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


def vertex_renews_a_login_by_the_command_of_the_settings(lab):
    model = lab.model("rule\n  text yes")
    kept = []
    pinned(lab, "CLAUDE_CODE_USE_VERTEX", ANTHROPIC_VERTEX_PROJECT_ID="proj", CLOUD_ML_REGION="eu")
    tokens = Mock(lambda n, r: (200, {}, json.dumps({"access_token": "renewed", "expires_in": 3600, "token_type": "Bearer"})))
    path, stored = os.path.join(lab.folder, "account.json"), os.path.join(lab.folder, "stored.json")
    with open(stored, "w", encoding="utf-8") as f:
        json.dump({"type": "authorized_user", "client_id": "id", "client_secret": "s", "refresh_token": "r",
                   "token_uri": tokens.url + "/token"}, f)
    lab.env.update(ANTHROPIC_VERTEX_BASE_URL=front(model.url, kept).url + "/v1", GOOGLE_APPLICATION_CREDENTIALS=path)
    done = lab.cadre("-p", "--model", "claude-opus-5-5", "--settings", json.dumps({"gcpAuthRefresh": f"cp {stored} {path}"}), "hi")
    assert done.out == "yes\n" and kept[0]["headers"]["authorization"] == "Bearer renewed", done


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


def a_managed_identity_of_azure_is_the_one_that_is_named(lab):
    """AZURE_CLIENT_ID chooses among several. The end of a token is a time in the answer: a token whose end has come is not used twice."""
    model, asked = lab.model(SCENARIO), []
    pinned(lab, "CLAUDE_CODE_USE_FOUNDRY", AZURE_CLIENT_ID="c&1")

    def token(n, request):
        asked.append(dict(urllib.parse.parse_qsl(request["path"].partition("?")[2])))
        return 200, {}, json.dumps({"access_token": "token-%d" % n, "expires_on": str(int(time.time()) + (3600 if n > 1 else 0))})

    kept = []
    identity = Mock(token)
    lab.env.update(ANTHROPIC_FOUNDRY_BASE_URL=front(model.url, kept).url, IDENTITY_ENDPOINT=identity.url + "/msi/token", IDENTITY_HEADER="h")
    done = lab.cadre("-p", "--model", "deployment", "hi")
    assert done.out == "Done after two.\n" and [r["headers"]["authorization"] for r in kept] == ["Bearer token-1", "Bearer token-2"], (done, kept)
    assert identity.seen[0]["headers"]["x-identity-header"] == "h" and asked[0] == {
        "api-version": "2019-08-01", "resource": "https://ai.azure.com", "client_id": "c&1"}, asked


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


def a_key_of_a_helper_is_good_for_the_time_of_the_environment(lab):
    """60 ms; without a word it is 5 minutes."""
    counter = pathlib.Path(lab.folder, "count")
    lab.env["ANTHROPIC_API_KEY"] = ""
    helper = json.dumps({"apiKeyHelper": "echo x >> %s; echo key" % counter})
    for ttl, expected in (({}, 1), ({"CLAUDE_CODE_API_KEY_HELPER_TTL_MS": "60"}, 2)):
        counter.unlink(missing_ok=True)
        lab.model('rule\n  turn 1\n  call Bash {"command": "sleep 0.1"}\nrule\n  text yes\n')
        done = lab.cadre("-p", "--settings", helper, "--allowedTools", "Bash", "--", "hi", env=ttl)
        assert done.out == "yes\n" and counter.read_text() == "x\n" * expected, (done, ttl)


def each_cloud_can_be_asked_without_a_credential(lab):
    """As a gateway wants it that signs itself. Without the switch a credential is looked for, and the request is not sent."""
    clouds = {"CLAUDE_CODE_USE_BEDROCK": ("ANTHROPIC_BEDROCK_BASE_URL", "CLAUDE_CODE_SKIP_BEDROCK_AUTH", {}),
              "CLAUDE_CODE_USE_MANTLE": ("ANTHROPIC_BEDROCK_MANTLE_BASE_URL", "CLAUDE_CODE_SKIP_MANTLE_AUTH", {}),
              "CLAUDE_CODE_USE_ANTHROPIC_AWS": ("ANTHROPIC_AWS_BASE_URL", "CLAUDE_CODE_SKIP_ANTHROPIC_AWS_AUTH", {"ANTHROPIC_AWS_WORKSPACE_ID": "w"}),
              "CLAUDE_CODE_USE_VERTEX": ("ANTHROPIC_VERTEX_BASE_URL", "CLAUDE_CODE_SKIP_VERTEX_AUTH", {"ANTHROPIC_VERTEX_PROJECT_ID": "p"}),
              "CLAUDE_CODE_USE_ANTHROPIC_GOOGLE_CLOUD": ("ANTHROPIC_GOOGLE_CLOUD_BASE_URL", "CLAUDE_CODE_SKIP_ANTHROPIC_GOOGLE_CLOUD_AUTH", {}),
              "CLAUDE_CODE_USE_FOUNDRY": ("ANTHROPIC_FOUNDRY_BASE_URL", "CLAUDE_CODE_SKIP_FOUNDRY_AUTH", {})}
    for pin, (address, skip, more) in clouds.items():
        mock = Mock(lambda n, r: (400, {}, json.dumps({"error": {"message": "seen"}})))
        env = {pin: "1", address: mock.url, "ANTHROPIC_API_KEY": "", "AWS_EC2_METADATA_DISABLED": "true", "PATH": "/nowhere",
               "GCE_METADATA_HOST": "127.0.0.1:9", "CLAUDE_CODE_MAX_RETRIES": "0", **more}
        done = lab.cadre("-p", "hi", env={**env, skip: "1"})
        assert len(mock.seen) == 1 and "seen" in done.out, (pin, done)
        assert not {"authorization", "x-api-key", "api-key"} & {k.lower() for k in mock.seen[0]["headers"]}, mock.seen
        done = lab.cadre("-p", "hi", env=env)
        assert len(mock.seen) == 1 and done.code, (pin, done)


def a_key_of_a_helper_that_is_refused_is_not_said_to_be_of_a_variable(lab):
    refusing = Mock(lambda n, r: (401, {}, '{"error":{"type":"authentication_error","message":"no"}}'))
    done = lab.cadre("-p", "--settings", '{"apiKeyHelper": "echo k"}', "hi", env={"ANTHROPIC_API_KEY": "", "ANTHROPIC_BASE_URL": refusing.url})
    assert done.out == "API Error: 401 authentication_error: no (the key is that of the helper of the settings)\n" and len(refusing.seen) == 3, done


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


def a_command_of_a_profile_gives_keys_that_are_valid(lab):
    """As AWS documents it: Version is 1, and an Expiration that is past is an error; nothing is signed with such keys."""
    model = lab.model("rule\n  text yes")
    pinned(lab, "CLAUDE_CODE_USE_BEDROCK", AWS_REGION="us-west-2", AWS_CONFIG_FILE=os.path.join(lab.folder, "config"))
    kept = []
    lab.env["ANTHROPIC_BEDROCK_BASE_URL"] = front(model.url, kept).url
    keys = {"AccessKeyId": "AK1", "SecretAccessKey": "secret-value"}
    past, later = (time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + s)) for s in (-60, 3600))
    west = time.strftime("%Y-%m-%dT%H:%M:%S.5-07:30", time.gmtime(time.time() + 3600 - 7.5 * 3600))
    for output, said_of_it in (({"Version": 1, **keys, "Expiration": later}, None), ({"Version": 1, **keys, "Expiration": west}, None), ({"Version": 2, **keys}, "Version 1"), (keys, "Version 1"),
                               ({"Version": 1, **keys, "Expiration": past}, past)):
        with open(lab.env["AWS_CONFIG_FILE"], "w", encoding="utf-8") as f:
            f.write("[default]\ncredential_process = echo '%s'\n" % json.dumps(output))
        done = lab.cadre("-p", "hi")
        assert (done.out == "yes\n") if not said_of_it else (done.code == 1 and said_of_it in done.out), (output, done)
        assert "secret-value" not in done.out, done
    exported = {"awsCredentialExport": "echo '%s'" % json.dumps({"Credentials": {**keys, "Expiration": past}})}
    done = lab.cadre("-p", "--settings", json.dumps(exported), "hi")
    assert done.code == 1 and past in done.out and len(kept) == 2, (done, kept)


def a_profile_is_found_in_every_spelling(lab):
    model = lab.model("rule\n  text yes")
    pinned(lab, "CLAUDE_CODE_USE_BEDROCK", AWS_CONFIG_FILE=os.path.join(lab.folder, "config"))
    kept = []
    lab.env["ANTHROPIC_BEDROCK_BASE_URL"] = front(model.url, kept).url
    for section, profile in (("[default]", None), ("[profile default]", None), ("[profile my-team] # of the team", "my-team"),
                             ('[profile "my team"]', "my team"), ("[ profile\tmy-team ]", "my-team")):
        with open(lab.env["AWS_CONFIG_FILE"], "w", encoding="utf-8") as f:
            f.write("[my-team]\naws_access_key_id = wrong\naws_secret_access_key = s\n[profiles]\nregion = eu-north-1\n"
                    "%s\ns3 =\n  region = eu-north-1\n\taws_access_key_id = wrong\n#region = eu-north-1\n  ; region = eu-north-1\n"
                    "region = eu-west-3 # of the team\n aws_access_key_id = AK1\t; a key\naws_secret_access_key = s#;\n" % section)
        done = lab.cadre("-p", "hi", env={"AWS_PROFILE": profile} if profile else {})
        assert done.out == "yes\n" and "Credential=AK1/" in kept[-1]["headers"]["authorization"], (section, done)
        assert "/eu-west-3/bedrock/" in kept[-1]["headers"]["authorization"], (section, kept[-1]["headers"])


def the_token_of_a_container_goes_to_its_host_only(lab):
    """http is for loopback and the hosts of containers; a name that only begins like one is another host."""
    model = lab.model("rule\n  text yes")
    host = Mock(lambda n, r: (200, {}, json.dumps({"AccessKeyId": "AK1", "SecretAccessKey": "s", "Token": "t"})))
    port = host.url.rsplit(":", 1)[1]
    pinned(lab, "CLAUDE_CODE_USE_BEDROCK", AWS_CONTAINER_AUTHORIZATION_TOKEN="secret", http_proxy=host.url, no_proxy="127.0.0.1")
    lab.env["ANTHROPIC_BEDROCK_BASE_URL"] = model.url
    for url in ("http://127.0.0.1.example:%s/keys", "http://localhost.example:%s/keys", "http://127.0.0.1@example:%s/keys", "http://169.254.170.200:%s/keys",
                "http://169.254.170.2.example:%s"):
        done = lab.cadre("-p", "hi", env={"AWS_CONTAINER_CREDENTIALS_FULL_URI": url % port})
        assert done.code == 1 and "AWS_CONTAINER_CREDENTIALS_FULL_URI may use http only" in done.out, (url, done)
    assert not host.seen, host.seen
    for url in ("http://127.0.0.1:%s/keys", "http://localhost:%s?keys"):
        done = lab.cadre("-p", "hi", env={"AWS_CONTAINER_CREDENTIALS_FULL_URI": url % port})
        assert done.out == "yes\n" and host.seen[-1]["headers"]["authorization"] == "secret", (url, done)


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
    main(*cases(globals()))
