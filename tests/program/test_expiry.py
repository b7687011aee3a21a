# SPDX-License-Identifier: MIT
"""Credentials that expire while 200 children work: one renewal per expiry, no failed turn, no secret anywhere.

EXPIRY_S and EXPIRIES in the environment make the test longer: EXPIRY_S=30 EXPIRIES=20 is five minutes with a life of 30 s.
THINK_S is how long the model thinks: EXPIRY_S=30 EXPIRIES=480 THINK_S=20 LAB_DEADLINE=9000 is two hours."""
import calendar
import json
import os
import re
import threading
import time

from lab import main
from mock import Mock, frame, pinned

LIFE_S = float(os.environ.get("EXPIRY_S", "8"))
EXPIRIES = int(os.environ.get("EXPIRIES", "4"))
THINK_S = float(os.environ.get("THINK_S", "1.5"))
CHILDREN = 200
SECRET, TOKEN = "s3cr" + "et-", "t0k" + "en-"


def answer(number, *blocks):
    """Blocks: texts, or (tool, input)."""
    events = [{"type": "message_start", "message": {"id": "msg_%d" % number, "model": "m", "usage": {"input_tokens": 9}}}]
    for i, block in enumerate(blocks):
        if isinstance(block, str):
            begin, delta = {"type": "text", "text": ""}, {"type": "text_delta", "text": block}
        else:
            begin = {"type": "tool_use", "id": "toolu_%d_%d" % (number, i), "name": block[0], "input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(block[1])}
        events += [{"type": "content_block_start", "index": i, "content_block": begin},
                   {"type": "content_block_delta", "index": i, "delta": delta}, {"type": "content_block_stop", "index": i}]
    stop = "end_turn" if isinstance(blocks[-1], str) else "tool_use"
    events += [{"type": "message_delta", "delta": {"stop_reason": stop}, "usage": {"output_tokens": 5}}, {"type": "message_stop"}]
    return 200, {"content-type": "application/vnd.amazon.eventstream"}, b"".join(frame(e) for e in events)


def issued(log):
    """(number, time) of each credential that the command gave."""
    try:
        with open(log, encoding="utf-8") as f:
            return [(int(n), float(t)) for n, t in (line.split() for line in f)]
    except FileNotFoundError:
        return []


def one_renewal_per_expiry_and_no_secret_anywhere(lab):
    log = os.path.join(lab.folder, "issued")
    script = os.path.join(lab.folder, "issue.py")
    with open(script, "w", encoding="utf-8") as f:
        f.write("""import json, os, time
log = %r
n = len(open(log).readlines()) + 1 if os.path.exists(log) else 1
now = time.time()
with open(log, "a") as f:
    f.write("%%d %%.3f\\n" %% (n, now))
print(json.dumps({"AccessKeyId": "AK%%d" %% n, "SecretAccessKey": "s3cr" + "et-%%d" %% n, "SessionToken": "t0k" + "en-%%d" %% n,
                  "Expiration": time.strftime("%%Y-%%m-%%dT%%H:%%M:%%SZ", time.gmtime(now + %r))}))
""" % (log, LIFE_S))
    lock = threading.Lock()
    used, refused = set(), []

    def reply(number, request):
        key = int(re.search(r"Credential=AK(\d+)/", request["headers"]["authorization"]).group(1))
        assert request["headers"]["x-amz-security-token"] == TOKEN + str(key), request["headers"]
        # As old as it was when the request was signed: on a busy machine that is read much later. Ends have whole seconds.
        signed = calendar.timegm(time.strptime(request["headers"]["x-amz-date"], "%Y%m%dT%H%M%SZ"))
        if signed - dict(issued(log))[key] > LIFE_S + 1:
            with lock:
                refused.append(key)
            return 403, {}, '{"message":"The security token included in the request is expired"}'
        with lock:
            used.add(key)
            over = len(used) > EXPIRIES
        if "x-cadre-agent" not in request["headers"]:
            if len(request["body"]["messages"]) == 1:
                return answer(number, *[("Agent", {"description": "w%d" % i, "prompt": "work", "subagent_type": "general-purpose"})
                                        for i in range(CHILDREN)])
            return answer(number, "all done")
        request["raw"] = request["body"] = None  # hours of requests do not fit into memory
        time.sleep(THINK_S * (0.33 + number % 20 / 15))  # models think for different times; this keeps the load low
        return answer(number, "done") if over else answer(number, ("Bash", {"command": "true"}))

    mock = Mock(reply)
    other = pinned(lab, "CLAUDE_CODE_USE_BEDROCK", AWS_REGION="us-east-1", ANTHROPIC_BEDROCK_BASE_URL=mock.url)
    lab.env["ANTHROPIC_BEDROCK_BASE_URL"] = mock.url
    debug, trace = os.path.join(lab.folder, "debug.log"), os.path.join(lab.folder, "trace.json")
    settings = {"awsCredentialExport": "python3 " + script, "permissions": {"allow": ["Bash(true)"]}}
    done = lab.cadre("-p", "--output-format", "stream-json", "--verbose", "--model", "claude-opus-5-5", "--debug-file", debug,
                     "--trace", trace, "--forward-subagent-text", "--settings", json.dumps(settings), "hi")
    assert done.code == 0 and not other.seen, done.err[-500:]
    frames = done.frames()
    assert frames[-1]["result"] == "all done" and not frames[-1]["is_error"], frames[-1]
    results = [b for f in frames if f["type"] == "user" and not f.get("parent_tool_use_id") for b in f["message"]["content"]
               if isinstance(b, dict) and b["type"] == "tool_result"]
    wrong = [r["content"] for r in results if r.get("is_error")]
    assert len(results) == CHILDREN and not wrong, (len(results), len(wrong), wrong[:2], len(refused))
    retries = [f for f in frames if f.get("subtype") == "api_retry" and (f["error_status"] or "auth" in f["error"])]
    assert not retries, (len(retries), retries[0], len(mock.seen), refused[:9], len(issued(log)))
    times = issued(log)
    assert len(times) > EXPIRIES, times
    for (number, before), (_, at) in zip(times, times[1:]):
        # One renewal per expiry: half of a life has passed, unless a late request was refused. Ends have whole seconds.
        assert at - before > (LIFE_S - 1) / 2 - 0.01 or number in refused, (number, times)
    print("# %d requests, %d credentials, %d refusals" % (len(mock.seen), len(times), len(refused)))
    places = [debug, trace, *lab.transcripts()]
    for folder, _, names in os.walk(os.path.join(lab.home, ".claude")):
        places += [os.path.join(folder, name) for name in names]
    assert len(places) > CHILDREN, places
    for path in places:
        with open(path, "rb") as f:
            text = f.read()
        assert SECRET.encode() not in text and TOKEN.encode() not in text, path
    assert SECRET not in done.out + done.err and TOKEN not in done.out + done.err


def a_credential_that_stays_refused_is_named_without_its_value(lab):
    mock = Mock(lambda n, r: (403, {}, '{"message":"The security token included in the request is expired"}'))
    pinned(lab, "CLAUDE_CODE_USE_BEDROCK", AWS_REGION="us-east-1")
    lab.env["ANTHROPIC_BEDROCK_BASE_URL"] = mock.url
    debug = os.path.join(lab.folder, "debug.log")
    keys = {"AccessKeyId": "AK1", "SecretAccessKey": SECRET + "1", "SessionToken": TOKEN + "1"}
    settings = {"awsCredentialExport": "echo '%s'" % json.dumps(keys), "awsAuthRefresh": "true"}
    with open(os.path.join(lab.folder, "settings.json"), "w", encoding="utf-8") as f:
        json.dump(settings, f)
    done = lab.cadre("-p", "--model", "claude-opus-5-5", "--debug-file", debug, "--settings",
                     os.path.join(lab.folder, "settings.json"), "hi")
    assert done.code == 1 and "expired" in done.out, done
    with open(debug, encoding="utf-8") as f:
        seen = f.read() + done.out + done.err
    assert SECRET not in seen and TOKEN not in seen, seen


if __name__ == "__main__":
    main(one_renewal_per_expiry_and_no_secret_anywhere, a_credential_that_stays_refused_is_named_without_its_value)
