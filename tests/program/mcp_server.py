# SPDX-License-Identifier: MIT
"""A small MCP server on standard input and output, and a diary of its life for tests.

It appends `start PID NAME`, `call PID NUMBER` and `end PID NAME` to the file $DIARY, so that a test can tell how many servers
were alive at a time without looking at the right moment. $NAME is its name; its tool `square` multiplies a number by itself."""
import collections
import json
import os
import pathlib
import signal
import sys

SOURCE = str(pathlib.Path(__file__).resolve())


def entry(diary, name):
    """Its configuration."""
    return {"command": "python3", "args": [SOURCE], "env": {"DIARY": str(diary), "NAME": name}}


class Diary:
    def __init__(self, path):
        self.words = [line.split() for line in pathlib.Path(path).read_text().splitlines()]

    def count(self, what):
        return sum(words[0] == what for words in self.words)

    def most_alive(self):
        alive = most = 0
        for words in self.words:
            alive += (words[0] == "start") - (words[0] == "end")
            most = max(most, alive)
        return most

    def calls_by_server(self):
        return collections.Counter(words[1] for words in self.words if words[0] == "call")


def note(*words):
    with open(os.environ["DIARY"], "a", encoding="utf-8") as diary:
        diary.write(" ".join(str(word) for word in words) + "\n")  # one write: lines of several servers do not mix


def result_of(message):
    given = message.get("params", {})
    if message["method"] == "initialize":
        return {"protocolVersion": given["protocolVersion"], "capabilities": {"tools": {}},
                "serverInfo": {"name": os.environ["NAME"], "version": "1"}}
    if message["method"] == "tools/list":
        schema = {"type": "object", "properties": {"number": {"type": "string"}}, "required": ["number"]}
        return {"tools": [{"name": "square", "description": "squares", "inputSchema": schema}]}
    if message["method"] == "tools/call":
        number = int(given["arguments"]["number"])
        note("call", os.getpid(), number)
        return {"content": [{"type": "text", "text": "%s says %d" % (os.environ["NAME"], number * number)}]}
    return {}


def end(*_):
    """Also by a signal: the end of the input is followed by one after half a second, which a busy machine may not give us."""
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
    note("end", os.getpid(), os.environ["NAME"])
    os._exit(0)


def serve():
    signal.signal(signal.SIGTERM, end)
    note("start", os.getpid(), os.environ["NAME"])
    for line in sys.stdin:
        message = json.loads(line)
        if "id" in message and "method" in message:
            print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result_of(message)}), flush=True)
    end()


if __name__ == "__main__":
    serve()
