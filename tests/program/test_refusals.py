# SPDX-License-Identifier: MIT
"""Every limit of tests/unit/wire/refusals.txt is learned from the words of its server, and the next request succeeds."""
import json
import os
import pathlib

from lab import main
from mock import Mock, call, message, result, said

LINES = [line.split(" | ", 6) for line in
         (pathlib.Path(__file__).parent.parent / "unit" / "wire" / "refusals.txt").read_text(encoding="utf-8").splitlines()
         if line and line[0] != "#"]
WINDOW = 1000000  # of the model that is asked, as the catalog has it


def a_conversation_that_is_too_long_is_summed_up_and_goes_on(lab):
    with open(os.path.join(lab.work, "big"), "w", encoding="utf-8") as f:
        f.write("line of text\n" * 2000)
    lines = [line for line in LINES if line[3] == "long"]
    assert len(lines) >= 20, len(lines)
    for server, status, _, _, _, number, body in lines:
        def reply(n, request):
            last = str(request["body"]["messages"][-1]["content"])
            if "replaced by a summary" in last:
                return said("a summary")
            if n == 1:
                return call("Bash", {"command": "cat big"})
            return (int(status), {}, body) if n == 2 else said("done")

        mock = Mock(reply)
        lab.env["OPENAI_BASE_URL"] = mock.url
        done = lab.cadre("-p", "--output-format", "json", "--provider", "openai", "--model", "claude-opus-5-5", "--tools", "Bash",
                         "--allowed-tools", "Bash(cat big)", "--", "hi")
        assert result(done)["result"] == "done" and len(mock.seen) == 4, (server, body, done, len(mock.seen))
        (facts,) = result(done)["modelUsage"].values()
        expected = WINDOW if number == "-" else min(int(number), WINDOW)
        assert facts["contextWindow"] == expected, (server, body, facts)


def an_answer_limit_is_sent_as_the_server_named_it(lab):
    lines = [line for line in LINES if line[3] == "output"]
    assert len(lines) >= 4, len(lines)
    for server, status, _, _, _, number, body in lines:
        def reply(n, request):
            asked = request["body"].get("max_tokens", request["body"].get("max_completion_tokens"))
            if asked is None or asked > int(number):
                return int(status), {}, body
            return message("done") if "/v1/messages" in request["path"] else said("done")

        mock = Mock(reply)
        lab.env.update(OPENAI_BASE_URL=mock.url, ANTHROPIC_BASE_URL=mock.url)
        place = "anthropic" if server == "Anthropic" else "openai"
        done = lab.cadre("-p", "--provider", place, "--model", "m-1", "hi")
        last = mock.bodies()[-1]
        assert done.out == "done\n" and len(mock.seen) == 2, (server, done)
        assert last.get("max_tokens", last.get("max_completion_tokens")) == int(number), (server, last)


if __name__ == "__main__":
    main(a_conversation_that_is_too_long_is_summed_up_and_goes_on, an_answer_limit_is_sent_as_the_server_named_it)
