#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""mcp_server.py SPEC [LOG]: an MCP server on standard input and output for scenario tests ({server} there).

SPEC is a JSON file: {"instructions": TEXT, "tools": {NAME: ANSWER}, "prompts": {NAME: {"arguments": [..], "messages": [..]}}}.
An ANSWER is what the tool says: a text, or an object that is written as JSON text; {"echo": true} says the arguments as JSON,
{"error": TEXT} fails, {"die": true} ends the server in the middle of the call. In texts of a prompt {NAME} is the argument of
that name; an argument that ends with ! is required; a prompt with {"error": TEXT} is refused. LOG
gets a line for each tool that is called, each prompt that is got and each resource that is read. Further members of SPEC: "about": {NAME: MEMBERS} of a tool
as it is listed; "resources" and "templates": what is listed of them."""
import json
import sys


class Refusal(Exception):
    """Becomes an error of the protocol."""


def text(value):
    return {"type": "text", "text": value}


def call(answer, arguments):
    if isinstance(answer, dict) and answer.get("die"):
        sys.exit(3)
    if isinstance(answer, dict) and "error" in answer:
        return {"content": [text(answer["error"])], "isError": True}
    if isinstance(answer, dict) and answer.get("echo"):
        answer = arguments
    return {"content": [text(answer if isinstance(answer, str) else json.dumps(answer))]}


def fill(content, arguments):
    if content.get("type") != "text":
        return content
    for name, value in arguments.items():
        content = text(content["text"].replace("{" + name + "}", value))
    return content


def arguments_of(prompt):
    return [{"name": name.rstrip("!"), "required": name.endswith("!")} for name in prompt.get("arguments", [])]


def answer(spec, log, method, params):
    if method == "initialize":
        capabilities = {kind: {} for kind in ("tools", "prompts", "resources") if kind in spec}
        return {"protocolVersion": params["protocolVersion"], "capabilities": capabilities,
                "serverInfo": {"name": "scenario", "version": "1"}, "instructions": spec.get("instructions", "")}
    if method == "tools/list":
        about = spec.get("about", {})
        return {"tools": [{"name": name, "description": name, "inputSchema": {"type": "object"}, **about.get(name, {})}
                          for name in spec["tools"]]}
    if method == "resources/list":
        return {"resources": spec["resources"]}
    if method == "resources/templates/list" and "templates" in spec:
        return {"resourceTemplates": spec["templates"]}
    if method == "prompts/list":
        return {"prompts": [{"name": name, "description": prompt.get("description", ""), "arguments": arguments_of(prompt)}
                            for name, prompt in spec["prompts"].items()]}
    if method in ("tools/call", "prompts/get", "resources/read") and log:
        with open(log, "a") as f:
            f.write(json.dumps([params.get("name", params.get("uri")), params.get("arguments", {})]) + "\n")
    if method == "resources/read":
        return {"contents": [{"uri": params["uri"], "text": "text of " + params["uri"]}]}
    if method == "tools/call":
        return call(spec["tools"][params["name"]], params.get("arguments", {}))
    if method == "prompts/get":
        prompt = spec["prompts"][params["name"]]
        if "error" in prompt:
            raise Refusal(prompt["error"])
        return {"messages": [{"role": "user", "content": fill(content, params.get("arguments", {}))}
                             for content in prompt["messages"]]}
    raise Refusal("no such method")


def main():
    with open(sys.argv[1]) as f:
        spec = json.load(f)
    log = sys.argv[2] if len(sys.argv) > 2 else None
    for line in sys.stdin:
        message = json.loads(line)
        if "id" not in message or "method" not in message:
            continue
        reply = {"jsonrpc": "2.0", "id": message["id"]}
        try:
            reply["result"] = answer(spec, log, message["method"], message.get("params", {}))
        except Refusal as why:
            reply["error"] = {"code": -32601, "message": str(why)}
        print(json.dumps(reply), flush=True)


main()
