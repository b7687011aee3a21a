# SPDX-License-Identifier: MIT
"""A stranger's first hour: the blocks of docs/models.md as they stand there, and one line for each usual mistake."""
import gzip
import json
import pathlib
import re
import subprocess

from lab import CADRE, main
from test_models import broken_tls
from mock import AWS_KEYS, Mock, events, message, message_item, said

DOCS = pathlib.Path(__file__).resolve().parent.parent.parent / "docs" / "models.md"


def answer(n, request):
    """A server of every API."""
    path = request["path"]
    if "streamGenerateContent" in path:
        text = {"candidates": [{"content": {"role": "model", "parts": [{"text": "yes"}]}, "finishReason": "STOP"}],
                "usageMetadata": {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}, "modelVersion": "m", "responseId": "r-1"}
        return 200, {"content-type": "text/event-stream"}, "data: %s\n\n" % json.dumps(text)
    if path.endswith("/responses"):
        return events(message_item(0, "yes"))
    if "/chat/completions" in path:
        return said("yes")
    if request["body"] is None:
        return 404, {}, "{}"
    return message("yes")


def blocks():
    """The commands of the documentation with `cadre -p`, each with the exports before it."""
    found, exports = [], []
    for line in DOCS.read_text(encoding="utf-8").splitlines():
        if not line.startswith("    "):
            exports = [] if line else exports
        elif re.search(r"\bcadre -p\b", line):
            found.append((exports, line.strip()))
        elif line.strip().startswith("export "):
            exports = exports + [line.strip()]
        elif line.strip().startswith("#"):
            exports = []
    return found


def each_block_of_the_documentation_works_as_it_stands(lab):
    """Only addresses and credentials are those of a stand-in; `cadre` is found in PATH."""
    server, model = Mock(answer), lab.model("rule\n  text yes")
    programs = pathlib.Path(lab.folder, "bin")
    programs.mkdir()
    (programs / "cadre").symlink_to(CADRE)
    (programs / "vault").write_text("#!/bin/sh\necho key\n")
    (programs / "vault").chmod(0o755)
    pathlib.Path(lab.home, ".aws").mkdir()
    pathlib.Path(lab.home, ".aws", "credentials").write_text("[work]\naws_access_key_id = AK\naws_secret_access_key = s\n")
    machine = Mock(lambda n, r: (200, {}, json.dumps({"access_token": "machine", "expires_in": 3600})))
    places = ("OPENAI", "GEMINI", "OPENROUTER", "DEEPSEEK", "MISTRAL", "GROQ", "XAI", "MOONSHOT", "ZAI", "AZURE_OPENAI", "LLAMACPP", "OLLAMA",
              "VLLM", "LMSTUDIO", "ANTHROPIC_AWS", "ANTHROPIC_BEDROCK_MANTLE", "ANTHROPIC_FOUNDRY", "ANTHROPIC_GOOGLE_CLOUD")
    stand_in = {name + "_BASE_URL": server.url for name in places}
    stand_in.update(ANTHROPIC_BEDROCK_BASE_URL=model.url, ANTHROPIC_VERTEX_BASE_URL=model.url + "/v1", GCE_METADATA_HOST=machine.url[7:],
                    PATH="%s:%s" % (programs, lab.env["PATH"]))
    found = blocks()
    assert len(found) >= 20, found
    for exports, command in found:
        # An address that the block itself names is replaced in it: the stand-in is on this machine.
        script = "\n".join([*exports, command])
        script = re.sub(r"ANTHROPIC_BASE_URL=\S+", "ANTHROPIC_BASE_URL=" + server.url, script)
        env = {**lab.env, **stand_in}
        if "ANTHROPIC_BASE_URL" in script:
            env["ANTHROPIC_API_KEY"] = ""
        done = subprocess.run(["sh", "-c", script], env=env, cwd=lab.work, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0 and done.stdout == "yes\n", (script, done)


def torn_account(lab):
    """A directory of gcloud whose account was cut while it was written."""
    folder = pathlib.Path(lab.folder, "gcloud")
    folder.mkdir(exist_ok=True)
    (folder / "application_default_credentials.json").write_text('{"type":')
    return str(folder)


def ended_account(lab):
    """A directory of gcloud with a login that its server refuses."""
    folder = pathlib.Path(torn_account(lab))
    refused = Mock(lambda n, r: (400, {}, '{"error":"invalid_grant","error_description":"Token has been expired or revoked."}'))
    (folder / "application_default_credentials.json").write_text(json.dumps(
        {"type": "authorized_user", "client_id": "c", "client_secret": "s", "refresh_token": "r", "token_uri": refused.url}))
    return str(folder)


# What is wrong: (arguments, environment, words of the one line, exit code; "not: " stands before those that mislead). A tuple in the environment is the answer of a server at that
# address: status, body, and perhaps a path behind the address and headers.
STREAM = {"content-type": "text/event-stream"}
OWN = '{"providers": {"lab": {"wire": "chat", "baseUrl": "http://127.0.0.1:9/v1", "models": {"m1": {%s}}}}}'
MISTAKES = {
    "no key": ((), {"ANTHROPIC_API_KEY": ""}, ("set ANTHROPIC_API_KEY or ANTHROPIC_AUTH_TOKEN",), 2),
    "no key of a vendor": (("--model", "deepseek/m-1"), {}, ("set DEEPSEEK_API_KEY",), 2),
    "no key where one is wanted": (("--model", "deepseek/m-1"), {"DEEPSEEK_BASE_URL": (401, '{"error":{"message":"no"}}')},
                                   ("401 no", "no key was sent: set DEEPSEEK_API_KEY"), 1),
    "a wrong key": ((), {"ANTHROPIC_BASE_URL": (401, '{"error":{"type":"authentication_error","message":"invalid"}}')},
                    ("invalid", "the key is that of ANTHROPIC_API_KEY"), 1),
    "a wrong key of Gemini": (("--model", "gemini/gemini-3-pro-preview"), {"GEMINI_API_KEY": "k", "GEMINI_BASE_URL": (
        400, '[{"error":{"code":400,"message":"API key not valid.","status":"INVALID_ARGUMENT"}}]')}, ("not valid", "that of GEMINI_API_KEY"), 1),
    "no keys of AWS": ((), {"CLAUDE_CODE_USE_BEDROCK": "1"}, ("no AWS credentials", "AWS_PROFILE", "aws configure"), 1),
    "half a key of AWS": ((), {"CLAUDE_CODE_USE_BEDROCK": "1", "AWS_ACCESS_KEY_ID": "AK"}, ("AWS_SECRET_ACCESS_KEY is not",), 1),
    "a profile that is not there": ((), {"CLAUDE_CODE_USE_BEDROCK": "1", "AWS_PROFILE": "wrok"}, ("the profile 'wrok' of AWS_PROFILE",), 1),
    "a web page in place of Bedrock": ((), {"CLAUDE_CODE_USE_BEDROCK": "1", **AWS_KEYS, "ANTHROPIC_BEDROCK_BASE_URL": (
        200, "<html><title>Sign in</title></html>", "", {"content-type": "text/html"})}, ("a web page answered", "Sign in"), 1),
    "a price that is a text": (("--settings", OWN % '"price": {"input": "1"}', "--model", "lab/m1"), {}, ("providers.lab.models.m1.price.input is not a number",), 2),
    "a tier that is not known": (("--settings", OWN % '"price": {"input": 1, "tiers": [{"over": 5}]}', "--model", "lab/m1"), {},
                                 ("providers.lab.models.m1.price.tiers.over is not known",), 2),
    "a login in the address": ((), {"ANTHROPIC_BASE_URL": "http://me:hidden-word@127.0.0.1:9"}, ("at http://127.0.0.1:9;",), 1),
    "an expired login": ((), {"CLAUDE_CODE_USE_BEDROCK": "1", **AWS_KEYS, "ANTHROPIC_BEDROCK_BASE_URL": (
        403, '{"message":"The security token included in the request is expired"}')}, ("is expired", "log in again", "awsAuthRefresh"), 1),
    "a wrong region": ((), {"CLAUDE_CODE_USE_BEDROCK": "1", **AWS_KEYS, "AWS_REGION": "us-nowhere-1", "https_proxy": "http://127.0.0.1:9"},
                       ("bedrock-runtime.us-nowhere-1.amazonaws.com", "https_proxy", "AWS_REGION names the region"), 1),
    "a wrong region of Vertex": ((), {"CLAUDE_CODE_USE_VERTEX": "1", "ANTHROPIC_VERTEX_PROJECT_ID": "p-1", "CLAUDE_CODE_SKIP_VERTEX_AUTH": "1",
                                      "CLOUD_ML_REGION": "us-nowhere1", "https_proxy": "http://127.0.0.1:9"},
                                 ("through the proxy of https_proxy in the region us-nowhere1", "CLOUD_ML_REGION names the region"), 1),
    "a wrong resource": ((), {"CLAUDE_CODE_USE_FOUNDRY": "1", "ANTHROPIC_FOUNDRY_RESOURCE": "reosurce", "ANTHROPIC_FOUNDRY_API_KEY": "k",
                              "https_proxy": "http://127.0.0.1:9"}, ("https://reosurce.services", "ANTHROPIC_FOUNDRY_RESOURCE names the resource"), 1),
    "a token of Bedrock that is none": ((), {"CLAUDE_CODE_USE_BEDROCK": "1", "AWS_BEARER_TOKEN_BEDROCK": "t", "ANTHROPIC_BEDROCK_BASE_URL": (
        403, '{"__type":"AccessDeniedException","Message":"Invalid API Key format: Must start with pre-defined prefix"}')},
                                        ("the key is that of AWS_BEARER_TOKEN_BEDROCK", "not: check IAM"), 1),
    "an expired login at the Platform": ((), {"CLAUDE_CODE_USE_ANTHROPIC_AWS": "1", "ANTHROPIC_AWS_WORKSPACE_ID": "w", **AWS_KEYS, "ANTHROPIC_AWS_BASE_URL": (
        401, '{"error":{"type":"authentication_error","message":"The security token included in the request is expired"}}')},
                                         ("log in again", "awsAuthRefresh", "not: helper"), 1),
    "no access": ((), {"CLAUDE_CODE_USE_BEDROCK": "1", **AWS_KEYS, "ANTHROPIC_BEDROCK_BASE_URL": (
        403, '{"__type":"AccessDeniedException","Message":"You don\'t have access to the model."}')}, ("check IAM", "model access"), 1),
    "no profile of Bedrock": ((), {"CLAUDE_CODE_USE_BEDROCK": "1", **AWS_KEYS, "ANTHROPIC_BEDROCK_BASE_URL": (
        400, '{"message":"Invocation with on-demand throughput isn\'t supported."}')}, ("name an inference profile",), 1),
    "an inference profile that is not there": (("--model", "arn:aws:bedrock:us-east-1:1:application-inference-profile/abc"), {
        "CLAUDE_CODE_USE_BEDROCK": "1", **AWS_KEYS, "ANTHROPIC_BEDROCK_BASE_URL": (404, '{"message":"The specified inference profile does not exist"}')},
                                               ("404 The specified inference profile does not exist", "not: address"), 1),
    "no workspace": ((), {"CLAUDE_CODE_USE_ANTHROPIC_AWS": "1"}, ("set ANTHROPIC_AWS_WORKSPACE_ID",), 2),
    "no project": ((), {"CLAUDE_CODE_USE_VERTEX": "1"}, ("set ANTHROPIC_VERTEX_PROJECT_ID",), 2),
    "no login of Google": ((), {"CLAUDE_CODE_USE_VERTEX": "1", "ANTHROPIC_VERTEX_PROJECT_ID": "p"},
                           ("gcloud auth application-default login", "GOOGLE_APPLICATION_CREDENTIALS"), 1),
    "an account of Google that is none": ((), {"CLAUDE_CODE_USE_VERTEX": "1", "ANTHROPIC_VERTEX_PROJECT_ID": "p", "GOOGLE_APPLICATION_CREDENTIALS": "/dev/null"},
                                          ("GOOGLE_APPLICATION_CREDENTIALS cannot be read",), 1),
    "a torn account of Google": ((), {"CLAUDE_CODE_USE_VERTEX": "1", "ANTHROPIC_VERTEX_PROJECT_ID": "p", "CLOUDSDK_CONFIG": torn_account},
                                 ("application_default_credentials.json is not JSON",), 1),
    "a login of Google that has ended": ((), {"CLAUDE_CODE_USE_VERTEX": "1", "ANTHROPIC_VERTEX_PROJECT_ID": "p", "CLOUDSDK_CONFIG": ended_account},
                                         ("status 400: Token has been expired or revoked.", "gcloud auth application-default login"), 1),
    "a secret of Entra that is wrong": ((), {"CLAUDE_CODE_USE_FOUNDRY": "1", "ANTHROPIC_FOUNDRY_RESOURCE": "r", "AZURE_CLIENT_ID": "c", "AZURE_TENANT_ID": "t",
                                             "AZURE_CLIENT_SECRET": "hidden-word", "AZURE_AUTHORITY_HOST": (
        401, '{"error":"invalid_client","error_description":"AADSTS7000215: Invalid client secret hidden-word provided."}')},
                                        ("status 401: AADSTS7000215: Invalid client secret *********** provided.", "AZURE_CLIENT_ID"), 1),
    "a web identity that AWS refuses": ((), {"CLAUDE_CODE_USE_BEDROCK": "1", "AWS_WEB_IDENTITY_TOKEN_FILE": "/etc/hostname", "AWS_ROLE_ARN": "arn:aws:iam::1:role/r",
                                             "AWS_ENDPOINT_URL_STS": (
        400, "<ErrorResponse><Error><Code>ExpiredTokenException</Code><Message>Token expired: 1</Message></Error></ErrorResponse>")},
                                        ("no AWS credentials", "status 400: Token expired: 1"), 1),
    "no key of Azure": (("--model", "azure/d-1"), {"AZURE_OPENAI_RESOURCE_NAME": "r"}, ("set AZURE_OPENAI_API_KEY",), 2),
    "an API of Google that is off": ((), {"CLAUDE_CODE_USE_VERTEX": "1", "ANTHROPIC_VERTEX_PROJECT_ID": "p-1", "CLAUDE_CODE_SKIP_VERTEX_AUTH": "1",
                                          "ANTHROPIC_VERTEX_BASE_URL": (403, '[{"error":{"code":403,"message":"Vertex AI API has not been used in project 1 '
                                          'before or it is disabled. Enable it by visiting https://x then retry.","status":"PERMISSION_DENIED"}}]')},
                                     ("then retry.", "not: role"), 1),
    "a model that DeepSeek does not know": (("--model", "deepseek/m-1"), {"DEEPSEEK_API_KEY": "k", "DEEPSEEK_BASE_URL": (
        400, '{"error":{"message":"Model Not Exist"}}')}, ("400 Model Not Exist", "cadre models list deepseek --ask"), 1),
    "a model that Gemini does not know": (("--model", "gemini/gemini-3-por"), {"GEMINI_API_KEY": "k", "GEMINI_BASE_URL": (
        404, '{"error":{"code":404,"message":"models/gemini-3-por is not found","status":"NOT_FOUND"}}')}, ("cadre models list gemini --ask",), 1),
    "a deployment that is not there": (("--model", "d-1"), {"CLAUDE_CODE_USE_FOUNDRY": "1", "ANTHROPIC_FOUNDRY_API_KEY": "k", "ANTHROPIC_FOUNDRY_BASE_URL": (
        404, '{"error":{"code":"DeploymentNotFound","message":"The API deployment for this resource does not exist."}}')},
                                       ("--model is the name of a deployment", "not: models list"), 1),
    "an organization that is disabled": ((), {"ANTHROPIC_BASE_URL": (
        400, '{"error":{"type":"invalid_request_error","message":"This organization has been disabled."}}')}, ("that of ANTHROPIC_API_KEY",), 1),
    "a path that is not there": ((), {"ANTHROPIC_BASE_URL": (404, "404 page not found", "/anthropc")},
                                 ("/anthropc; its address is that of ANTHROPIC_BASE_URL", "not: models list"), 1),
    "a local server behind a proxy": (("--model", "ollama/qwen3"), {"http_proxy": "http://127.0.0.1:9"},
                                      ("OLLAMA_BASE_URL would name another", "no_proxy=localhost,127.0.0.1", "not: running"), 1),
    "no resource": ((), {"CLAUDE_CODE_USE_FOUNDRY": "1"}, ("set ANTHROPIC_FOUNDRY_RESOURCE",), 2),
    "an address as resource": ((), {"CLAUDE_CODE_USE_FOUNDRY": "1", "ANTHROPIC_FOUNDRY_RESOURCE": "https://r.example"}, ("not an address",), 2),
    "no server": (("--model", "ollama/qwen3"), {"OLLAMA_BASE_URL": "http://127.0.0.1:9/v1"}, ("ollama at http://127.0.0.1:9/v1; is it running? its address is that of OLLAMA_BASE_URL",), 1),
    "an unknown model": (("--model", "openai/gpt-99"), {"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": (
        404, '{"error":{"message":"The model `gpt-99` does not exist","code":"model_not_found"}}')}, ("gpt-99", "cadre models list openai --ask"), 1),
    "a misspelt alias": (("--model", "sonet"), {}, ("unknown model 'sonet'", "opus, sonnet, haiku"), 2),
    "a misspelt provider": (("--provider", "bedrok"), {}, ("unknown provider 'bedrok'", "bedrock"), 2),
    "a proxy that is down": ((), {"ANTHROPIC_BASE_URL": "https://llm.invalid", "https_proxy": "http://127.0.0.1:9"},
                             ("through the proxy of https_proxy at https://llm.invalid",), 1),
    "a proxy with a login": ((), {"ANTHROPIC_BASE_URL": "http://llm.invalid", "http_proxy": (407, "who are you")},
                             ("407", "the proxy of http_proxy wants a login"), 1),
    "no such host": ((), {"ANTHROPIC_BASE_URL": "http://llm.invalid"}, ("resolve host: llm.invalid", "ANTHROPIC_BASE_URL"), 1),
    "an unknown authority": ((), {"ANTHROPIC_BASE_URL": broken_tls}, ("certificate", "SSL_CERT_FILE or NODE_EXTRA_CA_CERTS"), 1),
    "http for https": ((), {"ANTHROPIC_BASE_URL": lambda lab: broken_tls(lab).replace("https", "http")}, ("its address is that of ANTHROPIC_BASE_URL",), 1),
    "https for http": ((), {"ANTHROPIC_BASE_URL": lambda lab: Mock(answer).url.replace("http", "https")}, ("no TLS is spoken at https://127", "is it http://?"), 1),
    "no scheme": ((), {"ANTHROPIC_BASE_URL": "llm.example.com"}, ("ANTHROPIC_BASE_URL is not an address (http://... or https://...)",), 2),
    "/v1 twice": ((), {"ANTHROPIC_BASE_URL": (404, '{"detail":"Not Found"}', "/v1")}, ("/v1 ends with /v1, which is added: leave it out",), 1),
    "no /v1": (("--model", "openai/m-1"), {"OPENAI_BASE_URL": (404, '{"detail":"Not Found"}')}, ("addresses of chat servers usually end with /v1",), 1),
    "a path without POST": (("--model", "openai/m-1"), {"OPENAI_BASE_URL": (405, '{"detail":"Method Not Allowed"}')}, ("usually end with /v1",), 1),
    "marks that a gateway does not know": ((), {"ANTHROPIC_BASE_URL": (
        400, '{"error":{"type":"invalid_request_error","message":"system.0.cache_control.ttl: Extra inputs are not permitted"}}')},
                                           ("cache_control.ttl", "DISABLE_PROMPT_CACHING=1 leaves it out"), 1),
    "a page of a gateway": ((), {"ANTHROPIC_BASE_URL": (404, "<html><title>404 Not Found</title></html>")},
                            ("a web page answered", "404 Not Found", "its address is that of ANTHROPIC_BASE_URL"), 1),
    "a login page": ((), {"ANTHROPIC_BASE_URL": (200, "<html><title>Sign in</title></html>")},
                     ("a web page answered, of a proxy or a login: Sign in", "ANTHROPIC_BASE_URL"), 1),
    "a login page of a chat server": (("--model", "openai/m-1"), {"OPENAI_BASE_URL": (200, "<html><title>Sign in</title></html>")},
                                      ("a proxy or a login: Sign in", "OPENAI_BASE_URL"), 1),
    "an empty answer": ((), {"ANTHROPIC_BASE_URL": (200, "")}, ("it is empty", "ANTHROPIC_BASE_URL"), 1),
    "an error with status 200": ((), {"ANTHROPIC_BASE_URL": (200, '{"error":{"message":"no credits"}}')}, ("no credits",), 1),
    "an error that says it is a stream": ((), {"ANTHROPIC_BASE_URL": (
        200, '\n {"error":{"message":"no credits","type":"insufficient_quota"}}', "", STREAM)}, ("no credits",), 1),
    "the same of a chat server": (("--model", "openai/m-1"), {"OPENAI_BASE_URL": (
        200, '[{"error":{"code":429,"message":"no quota","status":"RESOURCE_EXHAUSTED"}}]', "", STREAM)}, ("429 RESOURCE_EXHAUSTED: no quota",), 1),
    "a login page that says it is a stream": ((), {"ANTHROPIC_BASE_URL": (200, "<html><title>Sign in</title></html>", "", STREAM)},
                                              ("a web page answered, of a proxy or a login: Sign in",), 1),
    "a redirection": ((), {"ANTHROPIC_BASE_URL": (302, "", "", {"location": "https://login.example.com/"})},
                      ("it redirects to https://login.example.com/: ANTHROPIC_BASE_URL must name the final address",), 1),
    "another API": (("--model", "openai/m-1"), {"OPENAI_BASE_URL": (200, message("x")[2], "", {"content-type": "text/event-stream"})},
                    ("has no answer of this API", "OPENAI_BASE_URL"), 1),
    "a model of Vertex that is not enabled": ((), {"CLAUDE_CODE_USE_VERTEX": "1", "ANTHROPIC_VERTEX_PROJECT_ID": "p-1", "CLAUDE_CODE_SKIP_VERTEX_AUTH": "1",
                                                   "ANTHROPIC_VERTEX_BASE_URL": (404, '[{"error":{"code":404,"message":"Publisher Model was not found","status":"NOT_FOUND"}}]')},
                                              ("has Model Garden enabled it for the project p-1?", "CLOUD_ML_REGION"), 1),
    "no role at Vertex": ((), {"CLAUDE_CODE_USE_VERTEX": "1", "ANTHROPIC_VERTEX_PROJECT_ID": "p-1", "CLAUDE_CODE_SKIP_VERTEX_AUTH": "1",
                               "ANTHROPIC_VERTEX_BASE_URL": (403, '[{"error":{"code":403,"message":"Permission denied","status":"PERMISSION_DENIED"}}]')},
                          ("needs the role Vertex AI User in the project p-1",), 1),
    "a helper that fails": (("--settings", '{"apiKeyHelper":"echo locked >&2; exit 3"}'), {"ANTHROPIC_API_KEY": ""},
                            ("apiKeyHelper failed: exit code 3: locked",), 1),
    "a helper that fails with many words": (("--settings", json.dumps({"apiKeyHelper": "printf 'WARNING: x\\nERROR: (auth) token is revoked\\r\\n\\nTo report\\tthis:\\n  run "
                                                                       + 30 * "words " + "\\n' >&2; exit 1"})), {"ANTHROPIC_API_KEY": ""},
                                            ("apiKeyHelper failed: exit code 1: ERROR: (auth) token is revoked To report this: run words",), 1),
}


def each_mistake_is_told_in_one_line_with_the_next_step(lab):
    usual = {"CLAUDE_CODE_MAX_RETRIES": "0", "AWS_EC2_METADATA_DISABLED": "true", "GCE_METADATA_HOST": "127.0.0.1:9"}
    for mistake, (args, env, words, code) in MISTAKES.items():
        given = {}
        for name, value in env.items():
            if isinstance(value, tuple):
                status, body, path, headers = value + ("", {})[len(value) - 2:]
                given[name] = Mock(lambda n, r, a=(status, headers, body): a).url + path
            else:
                given[name] = value(lab) if callable(value) else value
        done = lab.cadre("-p", *args, "hi", env={**usual, **given})
        lines = (done.out + done.err).strip().splitlines()
        assert done.code == code and len(lines) == 1, (mistake, done)
        assert all(w[5:] not in lines[0] if w.startswith("not: ") else w in lines[0] for w in words), (mistake, done)
        assert "hidden-word" not in lines[0], (mistake, done)


# What servers and gateways do that is no mistake: (status, headers, body) of an answer that says yes
WHOLE_CHAT = json.dumps({"id": "x", "choices": [{"message": {"content": "yes"}, "finish_reason": "stop"}], "usage": {"prompt_tokens": 1, "completion_tokens": 1}})
WHOLE_MESSAGE = json.dumps({"type": "message", "id": "msg_1", "role": "assistant", "model": "claude-m", "content": [{"type": "text", "text": "yes"}],
                            "stop_reason": "end_turn", "usage": {"input_tokens": 7, "output_tokens": 1}})
JSON = {"content-type": "application/json"}
HABITS = {
    "a whole answer of chat completions": ("chat", (200, JSON, WHOLE_CHAT)),
    "a whole answer of the Messages API": ("messages", (200, JSON, WHOLE_MESSAGE)),
    "a whole answer of Vertex": ("vertex", (200, JSON, WHOLE_MESSAGE)),
    "a stream that says it is JSON": ("chat", (200, JSON, said("yes")[2])),
    "a stream that begins with its time to retry": ("messages", (200, STREAM, "retry: 3000\n\n" + message("yes")[2])),
    "a stream without a type": ("messages", (200, {}, message("yes")[2])),
    "compressed": ("chat", (200, {**STREAM, "content-encoding": "gzip"}, gzip.compress(said("yes")[2].encode()))),
    "compressed, at the Messages API": ("messages", (200, {**STREAM, "content-encoding": "gzip"}, gzip.compress(message("yes")[2].encode()))),
    "blank lines and comments first": ("chat", (200, {}, "\n\n: keep-alive\n\n" + said("yes")[2])),
    "no last line end": ("chat", (200, STREAM, said("yes")[2].replace("data: [DONE]", "").rstrip())),
}


class Drip(Mock):
    """Sends the body in chunks of one byte."""

    def __init__(self, reply):
        super().__init__(reply)
        handler = self.server.RequestHandlerClass

        class Dripping(handler):
            def send_header(self, name, value):
                super().send_header("transfer-encoding" if name == "content-length" else name, "chunked" if name == "content-length" else value)

            def end_headers(self):
                super().end_headers()
                out = self.wfile

                class Pieces:
                    def write(self, body):
                        for i in range(len(body)):
                            out.write(b"1\r\n" + body[i:i + 1] + b"\r\n")
                        out.write(b"0\r\n\r\n")

                    flush, closed, close = out.flush, False, out.close

                self.wfile = Pieces()

            def finish(self):
                pass

        self.server.RequestHandlerClass = Dripping


def what_servers_do_otherwise_is_understood(lab):
    """Also with each byte in a piece of its own."""
    for habit, (wire, reply) in HABITS.items():
        for kind in (Mock, Drip):
            url = kind(lambda n, r, reply=reply: reply).url
            env = {"OPENAI_BASE_URL": url, "ANTHROPIC_BASE_URL": url, "CLAUDE_CODE_MAX_RETRIES": "0"}
            if wire == "vertex":
                env.update(CLAUDE_CODE_USE_VERTEX="1", ANTHROPIC_VERTEX_PROJECT_ID="p-1", CLAUDE_CODE_SKIP_VERTEX_AUTH="1", ANTHROPIC_VERTEX_BASE_URL=url)
            done = lab.cadre("-p", *(("--model", "openai/m1") if wire == "chat" else ()), "hi", env=env)
            assert done.code == 0 and done.out == "yes\n", (habit, kind, done)


def the_whole_address_of_an_api_is_taken_too(lab):
    server = Mock(answer)
    done = lab.cadre("-p", "--model", "openai/m1", "hi", env={"OPENAI_BASE_URL": server.url + "/v1/chat/completions/"})
    assert done.out == "yes\n" and server.seen[-1]["path"] == "/v1/chat/completions", (done, server.seen)
    done = lab.cadre("-p", "hi", env={"ANTHROPIC_BASE_URL": server.url + "/v1/messages"})
    assert done.out == "yes\n" and server.seen[-1]["path"] == "/v1/messages", (done, server.seen)


if __name__ == "__main__":
    main(each_block_of_the_documentation_works_as_it_stands, each_mistake_is_told_in_one_line_with_the_next_step,
         what_servers_do_otherwise_is_understood, the_whole_address_of_an_api_is_taken_too)
