// SPDX-License-Identifier: MIT
// mcp_serve.mjs - `cadre mcp serve` below the client of the MCP SDK and below the inspector's command line. Prints TAP.
// usage: node mcp_serve.mjs CADRE
import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { cadre, node, packageFile, play, run } from "./mcp_lab.mjs";

const SCENARIO = `
rule look
  turn 1
  prompt contains "Look around"
  call Glob {"pattern": "*.txt"}
rule wait
  turn 1
  prompt contains "Wait for ever"
  call Bash {"command": "echo $$ > waiting; exec sleep 600"}
# Later than the last step of progress: the client gives those up that come together with the answer.
rule report
  latency 300
  text The report: {{last_result}}
`;

const flags = (lab, ...more) => ["--provider", "scripted", "--scenario", lab.file("scenario.txt", SCENARIO), ...more];

async function connect(lab, ...more) {
  const client = new Client({ name: "test", version: "1" });
  const words = ["mcp", "serve", ...flags(lab, ...more)];
  await client.connect(new StdioClientTransport({ command: cadre, args: words, cwd: lab.work, env: lab.env, stderr: "inherit" }));
  lab.ends.push(() => client.close());
  return client;
}

const call = (client, name, args, options) => client.callTool({ name, arguments: args }, undefined, options);
const text = (result) => result.content.map((block) => block.text).join("\n");

async function appears(file) {
  const watcher = fs.watch(path.dirname(file));
  try {
    while (!fs.existsSync(file) || !fs.readFileSync(file, "utf8")) await new Promise((resolve) => watcher.once("change", resolve));
  } finally {
    watcher.close();
  }
}

await play({
  async "cadre mcp serve: the SDK's client finds the tools, with schemas and hints"(lab) {
    const client = await connect(lab);
    assert.equal(client.getServerVersion().name, "cadre");
    await client.ping();
    const { tools } = await client.listTools();
    const names = tools.map((tool) => tool.name);
    for (const name of ["Bash", "Edit", "Glob", "Grep", "Read", "Write", "agent"]) assert.ok(names.includes(name), name);
    for (const name of ["Agent", "AskUserQuestion", "SendMessage", "Skill"]) assert.ok(!names.includes(name), name);
    const read = tools.find((tool) => tool.name === "Read");
    assert.deepEqual(read.inputSchema.required, ["file_path"]);
    assert.equal(read.annotations.readOnlyHint, true);
    const agent = tools.find((tool) => tool.name === "agent");
    assert.match(agent.description, /general-purpose/);
    assert.deepEqual(agent.inputSchema.required, ["description", "prompt"]);
  },

  async "cadre mcp serve: tools read, find, write and run, as far as the rules allow"(lab) {
    const client = await connect(lab, "--allowed-tools", "Write", "Edit", "Bash(touch *)");
    const note = lab.file("note.txt", "one\ntwo\n");
    assert.match(text(await call(client, "Read", { file_path: note })), /two/);
    assert.match(text(await call(client, "Grep", { pattern: "two", output_mode: "content" })), /two/);
    assert.match(text(await call(client, "Glob", { pattern: "*.txt" })), /note\.txt/);
    const edit = await call(client, "Edit", { file_path: note, old_string: "two", new_string: "three" });
    assert.notEqual(edit.isError, true, text(edit));
    assert.equal(fs.readFileSync(note, "utf8"), "one\nthree\n");
    assert.notEqual((await call(client, "Bash", { command: "touch made" })).isError, true);
    assert.ok(fs.existsSync(path.join(lab.work, "made")));
  },

  async "cadre mcp serve: what would be asked about is denied, and a bad input is an error of the tool"(lab) {
    const client = await connect(lab);
    const denied = await call(client, "Write", { file_path: path.join(lab.work, "new.txt"), content: "x" });
    assert.equal(denied.isError, true);
    assert.match(text(denied), /denied|permission/i);
    assert.ok(!fs.existsSync(path.join(lab.work, "new.txt")));
    const wrong = await call(client, "Read", { file: "x" });
    assert.equal(wrong.isError, true);
    assert.match(text(wrong), /file_path/);
    await assert.rejects(call(client, "Teleport", {}), /no such tool: 'Teleport'/);
    await assert.rejects(client.listPrompts(), /prompts/);
  },

  async "cadre mcp serve: agent runs a subagent, tells its progress, and gives its report"(lab) {
    const client = await connect(lab);
    lab.file("plan.txt", "x");
    const steps = [];
    const result = await call(client, "agent", { description: "Look", prompt: "Look around" }, {
      onprogress: (progress) => steps.push(progress),
    });
    assert.notEqual(result.isError, true, text(result));
    assert.match(text(result), /The report: .*plan\.txt/);
    assert.ok(steps.length >= 1 && steps.some((step) => step.message === "Glob"), JSON.stringify(steps));
    const unknown = await call(client, "agent", { description: "d", prompt: "p", subagent_type: "nobody" });
    assert.equal(unknown.isError, true);
    assert.match(text(unknown), /'nobody' not found/);
  },

  async "cadre mcp serve: a call that is withdrawn ends, its processes too, and others go on"(lab) {
    const client = await connect(lab, "--allowed-tools", "Bash");
    for (const [tool, args] of [
      ["Bash", { command: "echo $$ > waiting; exec sleep 600" }],
      ["agent", { description: "Wait", prompt: "Wait for ever" }],
    ]) {
      const stop = new AbortController();
      const open = call(client, tool, args, { signal: stop.signal });
      await appears(path.join(lab.work, "waiting"));
      stop.abort("no longer wanted");
      await assert.rejects(open, /no longer wanted/);
      const after = await call(client, "Bash", { command: "kill -0 $(cat waiting) || echo it is gone; rm waiting" });
      assert.match(text(after), /it is gone/);
    }
  },

  async "cadre mcp serve: calls that read run side by side, and answers come as they are ready"(lab) {
    const client = await connect(lab, "--allowed-tools", "Bash");
    const note = lab.file("note.txt", "x");
    const all = await Promise.all(Array.from({ length: 40 }, () => call(client, "Read", { file_path: note })));
    assert.ok(all.every((result) => !result.isError));
    const lines = Array.from({ length: 10 }, (_, i) => call(client, "Bash", { command: `echo ${i} >> order` }));
    await Promise.all(lines);
    assert.equal(fs.readFileSync(path.join(lab.work, "order"), "utf8"), "0\n1\n2\n3\n4\n5\n6\n7\n8\n9\n");
  },

  async "cadre mcp serve: every version of the protocol is spoken, and nonsense is answered with errors"(lab) {
    const hello = (protocolVersion, id) => ({ jsonrpc: "2.0", id, method: "initialize", params: { protocolVersion } });
    const versions = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05", "1999-01-01"];
    const lines = [...versions.map((version, i) => JSON.stringify(hello(version, i))), "{no JSON", "[]",
                   '{"jsonrpc":"2.0","id":"a","method":"resources/list"}', '{"jsonrpc":"2.0","id":"b","method":"ping"}'];
    const done = await run(cadre, ["mcp", "serve", ...flags(lab)], { cwd: lab.work, env: lab.env, input: lines.join("\n") });
    assert.equal(done.code, 0, done.err);
    const answers = done.out.trim().split("\n").map((line) => JSON.parse(line));
    assert.deepEqual(answers.slice(0, 5).map((a) => a.result.protocolVersion), [...versions.slice(0, 4), "2025-11-25"]);
    assert.deepEqual(answers.slice(5, 8).map((a) => a.error.code), [-32700, -32600, -32601]);
    assert.deepEqual(answers[8], { jsonrpc: "2.0", id: "b", result: {} });
  },

  async "cadre mcp serve: the inspector's command line lists and calls tools"(lab) {
    const inspector = packageFile("@modelcontextprotocol/inspector/clients/launcher/build/index.js");
    const inspect = async (...words) => {
      const server = [cadre, "mcp", "serve", "--provider", "scripted", "--scenario", path.join(lab.work, "scenario.txt")];
      const config = lab.file("inspect.json", JSON.stringify({ mcpServers: { cadre: { command: cadre, args: server.slice(1) } } }));
      const done = await run(node, [inspector, "--cli", "--config", config, "--server", "cadre", ...words], { cwd: lab.work, env: lab.env });
      assert.equal(done.code, 0, done.err + done.out);
      return JSON.parse(done.out);
    };
    flags(lab);
    const note = lab.file("note.txt", "seen by the inspector\n");
    const { tools } = await inspect("--method", "tools/list");
    assert.ok(tools.some((tool) => tool.name === "agent"));
    const read = await inspect("--method", "tools/call", "--tool-name", "Read", "--tool-arg", `file_path=${note}`);
    assert.match(text(read), /seen by the inspector/);
    const agent = await inspect("--method", "tools/call", "--tool-name", "agent",
                                "--tool-arg", "description=Look", "prompt=Look around");
    assert.match(text(agent), /The report: .*note\.txt/);
  },
});
