// SPDX-License-Identifier: MIT
// acp.mjs - an editor's adapter (Agent Client Protocol) that sits on the agent SDK, with cadre below it. Prints TAP.
// usage: node acp.mjs MODELD CADRE [WORD...]
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { createRequire } from "node:module";
import path from "node:path";
import { createInterface } from "node:readline";
import { cadre, play } from "./agent_lab.mjs";

// The adapter needs a newer Node than may be installed.
const require = createRequire(import.meta.url);
const node = path.join(path.dirname(require.resolve("node/package.json")), "bin", "node");
const adapter = path.join(path.dirname(require.resolve("@agentclientprotocol/claude-agent-acp/package.json")), "dist", "index.js");

// The editor: JSON-RPC, a line each, on the adapter's standard input and output.
class Editor {
  constructor(lab, permit) {
    const env = { ...lab.env, CLAUDE_CODE_EXECUTABLE: cadre };
    this.child = spawn(node, [adapter], { cwd: lab.work, env, stdio: ["pipe", "pipe", "pipe"] });
    this.child.stderr.on("data", (text) => (lab.stderr += text));
    this.permit = permit;
    this.updates = [];
    this.waiting = new Map();
    this.number = 0;
    createInterface({ input: this.child.stdout }).on("line", (line) => this.take(JSON.parse(line)));
  }
  send(message) {
    this.child.stdin.write(JSON.stringify({ jsonrpc: "2.0", ...message }) + "\n");
  }
  ask(method, params) {
    const id = ++this.number;
    return new Promise((resolve, reject) => {
      this.waiting.set(id, { resolve, reject });
      this.send({ id, method, params });
    });
  }
  async take(message) {
    if (message.method === "session/update") {
      this.updates.push(message.params.update);
      this.onUpdate?.(message.params.update);
    } else if (message.method === "session/request_permission") {
      this.send({ id: message.id, result: { outcome: this.permit(message.params) } });
    } else if (message.method && message.id !== undefined) {
      this.send({ id: message.id, error: { code: -32601, message: "not offered" } });
    } else if (this.waiting.has(message.id)) {
      const { resolve, reject } = this.waiting.get(message.id);
      this.waiting.delete(message.id);
      if (message.error) reject(new Error(JSON.stringify(message.error)));
      else resolve(message.result);
    }
  }
  async open(cwd) {
    const agent = await this.ask("initialize", { protocolVersion: 1, clientCapabilities: {} });
    assert.equal(agent.protocolVersion, 1);
    const { sessionId } = await this.ask("session/new", { cwd, mcpServers: [] });
    return sessionId;
  }
  prompt(sessionId, text) {
    return this.ask("session/prompt", { sessionId, prompt: [{ type: "text", text }] });
  }
  text() {
    const chunks = this.updates.filter((u) => u.sessionUpdate === "agent_message_chunk");
    return chunks.map((u) => u.content.text ?? "").join("");
  }
  async close() {
    const ended = new Promise((resolve) => this.child.on("exit", resolve));
    this.child.stdin.end();
    setTimeout(() => this.child.kill(), 60_000).unref();
    await ended;
  }
}

const choose = (kind) => ({ options }) => ({ outcome: "selected", optionId: options.find((o) => o.kind === kind).optionId });

await play({
  async "the adapter opens a session and a prompt is answered"(lab) {
    await lab.model("chunk 5\nrule\n  text Good morning from below.\n");
    const editor = new Editor(lab);
    const session = await editor.open(lab.work);
    const { stopReason } = await editor.prompt(session, "hello");
    assert.equal(stopReason, "end_turn");
    assert.match(editor.text(), /Good morning from below\./);
    await editor.close();
  },
  async "a call asks the editor's user and is shown from its start to its end"(lab) {
    await lab.model('rule\n  turn 1\n  call Bash {"command": "touch made-by-acp"}\nrule\n  text It is done.\n');
    const asked = [];
    const editor = new Editor(lab, (params) => (asked.push(params.toolCall), choose("allow_once")(params)));
    const session = await editor.open(lab.work);
    const { stopReason } = await editor.prompt(session, "make it");
    assert.equal(stopReason, "end_turn");
    assert.equal(asked.length, 1);
    assert.equal(lab.read("made-by-acp"), "");
    const states = editor.updates.filter((u) => u.toolCallId === asked[0].toolCallId && u.status).map((u) => u.status);
    assert.equal(states.at(-1), "completed");
    assert.match(editor.text(), /It is done\./);
    await editor.close();
  },
  async "a call that the user rejects does not run"(lab) {
    await lab.model('rule\n  turn 1\n  call Bash {"command": "touch made-by-acp"}\nrule\n  text So be it.\n');
    const editor = new Editor(lab, choose("reject_once"));
    const session = await editor.open(lab.work);
    await editor.prompt(session, "make it");
    assert.throws(() => lab.read("made-by-acp"));
    await editor.close();
  },
  async "cancel ends the turn, and the session goes on"(lab) {
    await lab.model("rule\n  nth 1\n  chunk 4\n  delay 50\n  text This takes very long, much longer than anybody would like to wait for it.\nrule\n  text Still here.\n");
    const editor = new Editor(lab);
    const session = await editor.open(lab.work);
    editor.onUpdate = (update) => {
      if (update.sessionUpdate !== "agent_message_chunk") return;
      editor.onUpdate = undefined;
      editor.send({ method: "session/cancel", params: { sessionId: session } });
    };
    assert.equal((await editor.prompt(session, "slow")).stopReason, "cancelled");
    assert.equal((await editor.prompt(session, "and now")).stopReason, "end_turn");
    assert.match(editor.text(), /Still here\./);
    await editor.close();
  },
});
