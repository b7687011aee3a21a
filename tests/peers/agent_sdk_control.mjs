// SPDX-License-Identifier: MIT
// agent_sdk_control.mjs - what a program changes and asks for while a query of the agent SDK runs. Prints TAP.
// usage: node agent_sdk_control.mjs MODELD CADRE [WORD...]
import assert from "node:assert/strict";
import fs from "node:fs";
import { createSdkMcpServer, getSessionInfo, tool } from "@anthropic-ai/claude-agent-sdk";
import { z } from "zod";
import { Dialogue, Prompts, gate, play, say } from "./agent_lab.mjs";

const echo = "rule\n  text You said: {{prompt}}\n";
const shout = { type: "stdio", command: process.execPath, args: [new URL("shout_server.mjs", import.meta.url).pathname] };
const bash = (command) => `
rule
  turn 1
  call Bash {"command": "${command}"}
rule
  text The tool said: {{last_result}}
`;

const status = (servers) => Object.fromEntries(servers.map((s) => [s.name, s.status]));

await play({
  async "setModel and setMaxThinkingTokens hold from the next request on, and can be taken back"(lab) {
    await lab.model(echo);
    const d = new Dialogue(lab, { model: "sonnet" });
    await d.turn("one");
    await d.query.setModel("haiku");
    await d.query.setMaxThinkingTokens(3000);
    const second = await d.turn("two");
    await d.query.setModel("default");
    await d.query.setMaxThinkingTokens(null);
    await d.turn("three");
    await d.over();
    const [one, two, three] = lab.requests();
    assert.match(two.model, /haiku/);
    assert.equal(two.thinking.budget_tokens, 3000);
    assert.match(second.find((m) => m.subtype === "init").model, /haiku/);
    assert.equal(three.model, one.model);
    assert.deepEqual(three.thinking, one.thinking);
  },
  async "setModel in the middle of a turn is seen in the turn's next request"(lab) {
    await lab.model(bash("echo hi"));
    const d = new Dialogue(lab, { model: "sonnet", hooks: { PreToolUse: [{ hooks: [async () => (await d.query.setModel("haiku"), {})] }] } });
    await d.turn("go");
    await d.over();
    assert.deepEqual(lab.requests().map((r) => /haiku|sonnet/.exec(r.model)[0]), ["sonnet", "haiku"]);
  },
  async "an unknown model or mode is refused and changes nothing"(lab) {
    await lab.model(echo);
    const d = new Dialogue(lab, {});
    await assert.rejects(d.query.setPermissionMode("sideways"));
    await assert.rejects(d.query.setPermissionMode("bypassPermissions"), /allow-dangerously-skip-permissions/);
    const messages = await d.turn("hello");
    assert.equal(messages.find((m) => m.subtype === "init").permissionMode, "default");
    await d.over();
  },
  async "setPermissionMode in mid-run decides about the next call"(lab) {
    await lab.model(`
rule
  turn 1
  call Bash {"command": "touch asked"}
rule
  turn 2
  call Write {"file_path": "free.txt", "content": "x"}
rule
  text Done.
`);
    const asked = [];
    const d = new Dialogue(lab, {
      canUseTool: async (name, input) => {
        asked.push(name);
        await d.query.setPermissionMode("acceptEdits");
        return { behavior: "allow", updatedInput: input };
      },
    });
    const messages = await d.turn("go");
    await d.over();
    assert.deepEqual(asked, ["Bash"]);
    assert.ok(fs.existsSync(lab.file("free.txt")));
    assert.ok(messages.some((m) => m.subtype === "status" && m.permissionMode === "acceptEdits"));
  },

  async "applyFlagSettings changes rules, variables, model and effort; what cannot be read changes nothing"(lab) {
    await lab.model(`
rule
  turn 1
  call Bash {"command": "printenv LATER"}
rule
  text The tool said: {{last_result}}
`);
    const d = new Dialogue(lab, { model: "sonnet" });
    await d.turn("one");
    await d.query.applyFlagSettings({ env: { LATER: "seen now" }, permissions: { allow: ["Bash(printenv *)"] }, model: "haiku", effortLevel: "low" });
    const second = await d.turn("two");
    await assert.rejects(d.query.applyFlagSettings({ permissions: { deny: ["Bash(unclosed"] } }));
    await d.query.applyFlagSettings({ env: null, model: null });
    const third = await d.turn("three");
    await d.over();
    assert.match(second.at(-1).result, /seen now/);
    assert.doesNotMatch(third.at(-1).result, /seen now/);
    const models = lab.requests().map((r) => /haiku|sonnet/.exec(r.model)[0]);
    assert.deepEqual(models, ["sonnet", "sonnet", "haiku", "haiku", "sonnet", "sonnet"]);
    assert.equal(lab.requests()[3].output_config?.effort, "low");
  },
  async "seedReadState lets a file be changed that this session has not read"(lab) {
    await lab.model(`
rule
  turn 1
  call Edit {"file_path": "{{prompt}}", "old_string": "old", "new_string": "new"}
rule
  text The tool said: {{last_result}}
`.replace("{{prompt}}", lab.file("known.txt", "old text")));
    const d = new Dialogue(lab, { permissionMode: "acceptEdits" });
    await d.turn("unseen");
    assert.equal(lab.read("known.txt"), "old text");
    await d.query.seedReadState(lab.file("known.txt"), Math.ceil(fs.statSync(lab.file("known.txt")).mtimeMs));
    await d.turn("seen");
    assert.equal(lab.read("known.txt"), "new text");
    await d.over();
  },
  async "permissionPrompts: none asks nobody"(lab) {
    await lab.model(bash("touch never"));
    const canUseTool = async () => assert.fail("nobody is to be asked");
    const talk = await lab.talk("go", { canUseTool, permissionPrompts: "none" });
    assert.equal(talk.result.permission_denials.length, 1);
  },
  async "a title given at the start or later is in the session's file"(lab) {
    await lab.model(echo);
    const d = new Dialogue(lab, { title: "First title" });
    const id = (await d.turn("hello")).at(-1).session_id;
    await d.query.renameSession("Second title");
    await d.over();
    const titles = lab.transcript(id).filter((line) => line.type === "custom-title").map((line) => line.customTitle);
    assert.deepEqual(titles, ["First title", "Second title"]);
    process.env.CLAUDE_CONFIG_DIR = `${lab.home}/.claude`;
    assert.equal((await getSessionInfo(id, { dir: lab.work })).customTitle, "Second title");
  },

  // ---- ends of a turn

  async "interrupt in a stream ends the turn; the session goes on"(lab) {
    await lab.model('rule\n  nth 1\n  chunk 4\n  delay 50\n  text This is a very long answer that takes its time, word by word, until somebody has enough of it.\nrule\n  text Back again.\n');
    const d = new Dialogue(lab, { includePartialMessages: true });
    let interrupted = false;
    const messages = await d.turn("slow", async (m) => {
      if (m.type !== "stream_event" || m.event.type !== "content_block_delta" || interrupted) return;
      interrupted = true;
      assert.deepEqual((await d.query.interrupt()).still_queued, []);
    });
    assert.equal(messages.at(-1).subtype, "error_during_execution");
    const next = await d.turn("and now");
    assert.match(next.at(-1).result, /Back again/);
    await d.over();
  },
  async "interrupt in a tool ends its processes and the turn"(lab) {
    lab.file("pipe");
    await lab.model(bash("echo started > started; sleep 600"));
    const d = new Dialogue(lab, { allowedTools: ["Bash"] });
    const started = fs.watch(lab.work, async (kind, name) => {
      if (name !== "started" || !fs.readFileSync(lab.file("started"), "utf8")) return;
      started.close();
      await d.query.interrupt();
    });
    const messages = await d.turn("go");
    assert.equal(messages.at(-1).subtype, "error_during_execution");
    await d.over();
    assert.equal(lab.requests().length, 1);
  },
  async "interrupt while canUseTool waits withdraws the question"(lab) {
    await lab.model(bash("touch never"));
    const asked = gate();
    const d = new Dialogue(lab, {
      canUseTool: (name, input, { signal }) =>
        new Promise((resolve) => {
          signal.addEventListener("abort", () => asked.open(resolve({ behavior: "deny", message: "withdrawn" })));
          d.query.interrupt();
        }),
    });
    const messages = await d.turn("go");
    await asked.passed;
    assert.equal(messages.at(-1).subtype, "error_during_execution");
    assert.ok(!fs.existsSync(lab.file("never")));
    await d.over();
  },
  async "abort ends the query and the process"(lab) {
    await lab.model("rule\n  latency 600s\n  text Too late.\n");
    const abortController = new AbortController();
    const q = lab.query("go", { abortController });
    await assert.rejects(async () => {
      for await (const m of q) if (m.subtype === "init") abortController.abort();
    }, /abort/i);
  },
  async "close ends the query without an error"(lab) {
    await lab.model("rule\n  latency 600s\n  text Too late.\n");
    const q = lab.query("go");
    for await (const m of q) if (m.subtype === "init") q.close();
  },

  // ---- queued messages

  async "messages that come while a turn runs wait: now before next before later, one result each"(lab) {
    await lab.model('rule\n  prompt contains "first"\n  turn 1\n  call Bash {"command": "cat go"}\nrule\n  text You said: {{prompt}}\n');
    const d = new Dialogue(lab, {
      allowedTools: ["Bash"],
      hooks: {
        PreToolUse: [
          {
            hooks: [
              async () => {
                d.prompts.push(say("at last", { priority: "later" }));
                d.prompts.push(say("in between", { priority: "next" }));
                await d.query.supportedModels();
                return {};
              },
            ],
          },
        ],
      },
    });
    lab.file("go", "go");
    const first = await d.turn("first");
    const second = await d.next();
    const third = await d.next();
    await d.over();
    assert.equal(first.at(-1).queued_turn_count, 2);
    assert.equal(third.at(-1).queued_turn_count, 0);
    assert.match(second.at(-1).result, /in between/);
    assert.match(third.at(-1).result, /at last/);
  },
  async "a message with priority now ends the turn that runs"(lab) {
    await lab.model('rule\n  nth 1\n  chunk 4\n  delay 50\n  text Nobody will ever read this answer to its end, because something else comes first.\nrule\n  text You said: {{prompt}}\n');
    const d = new Dialogue(lab, { includePartialMessages: true });
    let pushed = false;
    const first = await d.turn("slow", async (m) => {
      if (m.type !== "stream_event" || pushed) return;
      pushed = true;
      d.prompts.push(say("urgent", { priority: "now" }));
    });
    assert.equal(first.at(-1).subtype, "error_during_execution");
    assert.match((await d.next()).at(-1).result, /urgent/);
    await d.over();
  },
  async "replayed user messages keep their ids"(lab) {
    await lab.model(echo);
    const uuid = "0b5f6d4e-6a3c-4f7e-9f53-6f3d0a1b2c3d";
    const talk = await lab.talk(Prompts.of(say("hello", { uuid })), { extraArgs: { "replay-user-messages": null } });
    const replayed = talk.of("user").filter((m) => m.isReplay);
    assert.deepEqual(replayed.map((m) => m.uuid), [uuid]);
    assert.ok(lab.transcript(talk.result.session_id).some((line) => line.uuid === uuid));
  },

  // ---- servers

  async "setMcpServers adds a program and a server of this process, and takes them away again"(lab) {
    await lab.model(echo);
    const calc = createSdkMcpServer({
      name: "calc",
      tools: [tool("add", "Adds", { a: z.number() }, async () => ({ content: [{ type: "text", text: "sum" }] }))],
    });
    const d = new Dialogue(lab, {});
    await d.turn("one");
    const added = await d.query.setMcpServers({ shout, calc });
    assert.deepEqual(added.added.sort(), ["calc", "shout"]);
    await d.turn("two");
    assert.deepEqual(status(await d.query.mcpServerStatus()), { calc: "connected", shout: "connected" });
    const removed = await d.query.setMcpServers({});
    assert.deepEqual(removed.removed.sort(), ["calc", "shout"]);
    await d.turn("three");
    await d.over();
    const tools = lab.requests().map((r) => r.tools.map((t) => t.name).filter((name) => name.startsWith("mcp__")).sort());
    assert.deepEqual(tools, [[], ["mcp__calc__add", "mcp__shout__shout"], []]);
  },
  async "toggleMcpServer and reconnectMcpServer change what the model sees"(lab) {
    await lab.model(echo);
    const d = new Dialogue(lab, { mcpServers: { shout } });
    await d.turn("one");
    await d.query.toggleMcpServer("shout", false);
    assert.deepEqual(status(await d.query.mcpServerStatus()), { shout: "disabled" });
    await d.turn("two");
    await d.query.toggleMcpServer("shout", true);
    await d.query.reconnectMcpServer("shout");
    assert.deepEqual(status(await d.query.mcpServerStatus()), { shout: "connected" });
    await d.turn("three");
    await assert.rejects(d.query.toggleMcpServer("nobody", true), /not found/i);
    await d.over();
    assert.deepEqual(lab.requests().map((r) => r.tools.filter((t) => t.name.startsWith("mcp__")).length), [1, 0, 1]);
  },
  async "mcpServerStatus tells of a server that cannot be started"(lab) {
    await lab.model(echo);
    const d = new Dialogue(lab, { mcpServers: { broken: { type: "stdio", command: "/nowhere/at/all", args: [] } } });
    const messages = await d.turn("go");
    assert.deepEqual(messages.find((m) => m.subtype === "init").mcp_servers, [{ name: "broken", status: "failed" }]);
    const [broken] = await d.query.mcpServerStatus();
    assert.equal(broken.status, "failed");
    assert.ok(broken.error);
    await d.over();
  },

  // ---- what there is

  async "supportedCommands, supportedModels, supportedAgents and accountInfo tell what there is"(lab) {
    lab.file(".claude/commands/tidy.md", "---\ndescription: Tidies up\n---\nTidy up $ARGUMENTS");
    await lab.model(echo);
    const d = new Dialogue(lab, { agents: { reviewer: { description: "Reviews code", prompt: "Review." } }, settingSources: ["project"] });
    const commands = await d.query.supportedCommands();
    const tidy = commands.find((c) => c.name === "tidy");
    assert.match(tidy.description, /Tidies up/);
    assert.ok((await d.query.supportedModels()).some((m) => m.value === "sonnet" && m.displayName));
    assert.ok((await d.query.supportedAgents()).some((a) => a.name === "reviewer" && a.description === "Reviews code"));
    assert.ok(await d.query.accountInfo());
    await d.turn("/tidy the kitchen");
    await d.over();
    assert.match(JSON.stringify(lab.requests()[0].messages), /Tidy up the kitchen/);
  },
  async "getContextUsage and getSettings tell about this session"(lab) {
    await lab.model(echo);
    const d = new Dialogue(lab, { settings: JSON.stringify({ env: { A: "b" } }) });
    await d.turn("hello");
    const usage = await d.query.getContextUsage();
    assert.ok(usage.totalTokens > 0 && usage.maxTokens >= usage.totalTokens);
    assert.ok(usage.categories.some((c) => c.name === "Messages" && c.tokens > 0));
    const settings = await d.query.getSettings();
    assert.deepEqual(settings.effective.env, { A: "b" });
    await d.over();
  },
});
