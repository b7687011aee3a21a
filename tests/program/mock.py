# SPDX-License-Identifier: MIT
"""A small server with a script, which stands for a place of models, and answers in the forms of each API."""
import base64
import contextlib
import hashlib
import hmac
import http.server
import itertools
import json
import re
import struct
import threading
import urllib.error
import urllib.parse
import urllib.request
import zlib


class Mock:
    """reply(n, request) gives (status, headers, body); n counts from 1. request has path, headers, body. A body that is no text is
    written piece by piece, and ends with the connection. context: of TLS."""

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
                with mock.news:  # of two at once each has its own number
                    mock.seen.append(request)
                    number = len(mock.seen)
                status, headers, body = reply(number, request)
                body = body.encode() if isinstance(body, str) else body
                whole = isinstance(body, bytes)
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                    if name == "date":  # in place of its own
                        self._headers_buffer = [h for h in self._headers_buffer if not h.startswith(b"Date:")]
                self.send_header(*(("content-length", str(len(body))) if whole else ("connection", "close")))
                with contextlib.suppress(ConnectionError):  # it did not wait
                    self.end_headers()
                    for piece in [body] if whole else body:
                        self.wfile.write(piece)
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


def message_events(texts):
    """An answer of the Messages API, in pieces: one for each of its texts, when it is there."""
    start = [{"type": "message_start", "message": {"id": "msg_1", "model": "claude", "usage": {"input_tokens": 1}}},
             {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}]
    end = [{"type": "content_block_stop", "index": 0},
           {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 1}}, {"type": "message_stop"}]
    deltas = ({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}} for text in texts)
    for e in itertools.chain(start, deltas, end):
        yield ("event: %s\ndata: %s\n\n" % (e["type"], json.dumps(e))).encode()


def message(text, **more):
    return 200, {**SSE, **more}, b"".join(message_events([text])).decode()


def refusal(text):
    """An error of the Messages API, which the others read as well."""
    return {"type": "error", "error": {"type": "invalid_request_error", "message": text}}


def picture():
    """A PNG of one black pixel."""
    def part(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    return (b"\x89PNG\r\n\x1a\n" + part(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0)) +
            part(b"IDAT", zlib.compress(b"\0\0")) + part(b"IEND", b""))


def result(done):
    return json.loads(done.out)


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


def gateway(lab, reply, *args, **env):
    mock = Mock(reply)
    lab.env.update(ANTHROPIC_BASE_URL=mock.url, **env)
    return mock, lab.cadre("-p", *(args or ("hi",)))


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


def frame(event, *names):
    """One event in a frame of Bedrock. names: other headers, for a payload that is no event."""
    headers = b"".join(bytes([len(n)]) + n.encode() + b"\x07" + struct.pack(">H", len(v)) + v.encode()
                       for n, v in names or ((":message-type", "event"), (":event-type", "chunk")))
    payload = event if names else json.dumps({"bytes": base64.b64encode(json.dumps(event).encode()).decode()}).encode()
    prelude = struct.pack(">II", 16 + len(headers) + len(payload), len(headers))
    whole = prelude + struct.pack(">I", zlib.crc32(prelude)) + headers + payload
    return whole + struct.pack(">I", zlib.crc32(whole))


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


def cases(names):
    """All functions of a file that take a lab alone."""
    return [v for v in names.values() if getattr(v, "__module__", "") == "__main__" and hasattr(v, "__code__")
            and v.__code__.co_argcount == 1 and v.__code__.co_varnames[:1] == ("lab",)]
