// SPDX-License-Identifier: MIT
// agent_sdk_request.mjs - the rest of what a program asks of a running query, and every flag that the SDK can pass. Prints TAP.
// usage: node agent_sdk_request.mjs MODELD CADRE [WORD...]
import assert from "node:assert/strict";
import { execFileSync, spawn, spawnSync } from "node:child_process";
import fs from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { InMemorySessionStore, createSdkMcpServer, tool } from "@anthropic-ai/claude-agent-sdk";
import { Dialogue, Prompts, cadre, play, say } from "./agent_lab.mjs";

const echo = "rule\n  text You said: {{prompt}}\n";
const shout = { type: "stdio", command: process.execPath, args: [new URL("shout_server.mjs", import.meta.url).pathname] };
const calls = (...list) => `${list.map((call, i) => `rule\n  turn ${i + 1}\n  call ${call}\n`).join("")}rule\n  text Done.\n`;
const status = (servers) => Object.fromEntries(servers.map((s) => [s.name, s.status]));

// A server with something to show.
const gallery = `
import readline from "node:readline";
const tell = (message) => console.log(JSON.stringify({ jsonrpc: "2.0", ...message }));
for await (const line of readline.createInterface({ input: process.stdin })) {
  const { id, method, params } = JSON.parse(line);
  if (method === "initialize")
    tell({ id, result: { protocolVersion: params.protocolVersion, capabilities: { resources: {} }, serverInfo: { name: "g", version: "1" } } });
  else if (method === "resources/list") tell({ id, result: { resources: [] } });
  else if (method === "resources/read") tell({ id, result: { contents: [{ uri: params.uri, mimeType: "text/html", text: "<b>hi</b>" }] } });
}
`;

// Every flag that sdk.mjs adds to a command line: those of nt(), zE() and plain texts in the function that starts the process.
function flagsOfSdk() {
  const source = fs.readFileSync(createRequire(import.meta.url).resolve("@anthropic-ai/claude-agent-sdk"), "utf8");
  const from = source.indexOf('"--output-format","stream-json"');
  const to = source.indexOf("CLAUDE_CODE_ENTRYPOINT", from);
  assert.ok(from > 0 && to > from && to - from < 20_000, "the place where the SDK makes its command line");
  return [...new Set([...source.slice(from, to).matchAll(/"(--[a-zA-Z-]+)/g)].map((match) => match[1]))];
}

// A value that each flag takes, where it takes one.
const values = {
  "--add-dir": "/tmp", "--agent": "general-purpose", "--allowedTools": "Read", "--betas": "some-beta", "--channels": "server",
  "--debug-file": "/dev/null", "--disallowedTools": "WebFetch", "--effort": "low", "--fallback-model": "haiku",
  "--initialize-fields": "settings", "--input-format": "stream-json", "--json-schema": '{"type":"object"}', "--managed-settings": "{}", "--max-budget-usd": "1",
  "--max-thinking-tokens": "2000", "--max-turns": "3", "--mcp-config": '{"mcpServers":{}}', "--model": "haiku",
  "--output-format": "stream-json", "--permission-mode": "default", "--permission-prompt-tool": "stdio",
  "--permission-prompts": "none", "--plugin-dir": "/tmp", "--plugin-dir-no-mcp": "/tmp", "--project-config-root": "/tmp",
  "--resume": "11111111-2222-4333-8444-555555555555", "--resume-drops-turn": "11111111-2222-4333-8444-555555555555",
  "--resume-session-at": "11111111-2222-4333-8444-555555555555", "--session-id": "11111111-2222-4333-8444-555555555555",
  "--setting-sources": "user", "--settings": "{}", "--task-budget": "10", "--thinking": "adaptive", "--thinking-display": "omitted",
  "--tools": "Read",
};

await play({
  async "no flag that the SDK can pass is unknown"(lab) {
    const flags = flagsOfSdk();
    assert.ok(flags.length >= 35, `${flags.length} flags`);
    for (const flag of flags) {
      const given = flag in values ? [`${flag}=${values[flag]}`] : [flag];
      const base = ["--output-format", "stream-json", "--verbose", "--input-format", "stream-json"];
      const done = spawnSync(cadre, [...base, ...given], { cwd: lab.work, env: lab.env, input: "", encoding: "utf8" });
      assert.doesNotMatch(done.stderr, /unknown option|expects|needs a value/, flag);
    }
  },

  // ---- requests

  async "readFile reads what the session may read, whole or in part, as text or as bytes"(lab) {
    await lab.model(echo);
    lab.file("a.txt", "grün");
    lab.file("b.bin", "");
    fs.writeFileSync(lab.file("b.bin"), Buffer.from([0xff, 0x00, 0x41]));
    const d = new Dialogue(lab, { settings: { permissions: { deny: ["Read(./secret.txt)"] } } });
    lab.file("secret.txt", "hush");
    const text = await d.query.readFile("a.txt");
    assert.deepEqual([text.contents, text.absPath, text.truncated, text.lossy], ["grün", lab.file("a.txt"), false, false]);
    const cut = await d.query.readFile(lab.file("a.txt"), { maxBytes: 3 });
    assert.deepEqual([cut.contents, cut.truncated, cut.lossy], ["gr\uFFFD", true, true]);
    const bytes = await d.query.readFile("b.bin", { encoding: "base64" });
    assert.deepEqual([bytes.encoding, Buffer.from(bytes.contents, "base64")], ["base64", Buffer.from([0xff, 0x00, 0x41])]);
    assert.equal(await d.query.readFile("secret.txt"), null);
    assert.equal(await d.query.readFile("nowhere.txt"), null);
    assert.equal(await d.query.readFile("/etc/shadow"), null);
    await d.over();
  },
  async "setMaxThinkingTokens and the option thinking say how thinking is shown"(lab) {
    await lab.model(echo);
    const d = new Dialogue(lab, { thinking: { type: "adaptive", display: "summarized" } });
    await d.turn("one");
    await d.query.setMaxThinkingTokens(2000, "omitted");
    await d.turn("two");
    await d.query.setMaxThinkingTokens(2000, null);
    await d.turn("three");
    await assert.rejects(d.query.setMaxThinkingTokens(2000, "highlights"), /summarized or omitted/);
    await d.over();
    assert.deepEqual(lab.requests().map((r) => r.thinking.display), ["summarized", "omitted", undefined]);
  },
  async "setMcpPermissionModeOverride makes calls of one server ask, although nothing else does"(lab) {
    await lab.model(calls('mcp__shout__shout {"text": "a"}', 'Bash {"command": "touch made"}'));
    const asked = [];
    process.removeAllListeners("warning"); // that canUseTool is not asked in this mode: here it is
    const d = new Dialogue(lab, {
      mcpServers: { shout },
      permissionMode: "bypassPermissions",
      allowDangerouslySkipPermissions: true,
      canUseTool: async (name, input) => (asked.push(name), { behavior: "allow", updatedInput: input }),
      env: { ...lab.env, IS_SANDBOX: "1" },
    });
    assert.match((await d.query.setMcpPermissionModeOverride("nobody", "default")).warning, /no such server/);
    assert.equal((await d.query.setMcpPermissionModeOverride("shout", "default")).warning, undefined);
    await d.turn("one");
    assert.deepEqual(asked, ["mcp__shout__shout"]);
    await d.query.setMcpPermissionModeOverride("shout", null);
    await d.turn("two");
    assert.equal(asked.length, 1);
    await assert.rejects(d.query.setMcpPermissionModeOverride("shout", "bypassPermissions"), /mode/);
    await d.over();
  },
  async "updateSettings stores an output style, which holds at once, and nothing else"(lab) {
    await lab.model(echo);
    const d = new Dialogue(lab, { systemPrompt: { type: "preset", preset: "claude_code" } });
    await d.turn("one");
    await d.query.updateSettings("localSettings", { outputStyle: "Learning" });
    await d.turn("two");
    await assert.rejects(d.query.updateSettings("localSettings", { env: { A: "b" } }), /cannot be stored/);
    await assert.rejects(d.query.updateSettings("userSettings", { outputStyle: "Learning" }), /cannot be stored/);
    await d.query.updateSettings("userSettings", { effortLevel: "low" });
    await d.over();
    await lab.talk("three");
    assert.deepEqual(JSON.parse(lab.read(".claude/settings.local.json")), { outputStyle: "Learning" });
    const [one, two, three] = lab.requests();
    assert.notDeepEqual(one.system, two.system);
    assert.deepEqual([one.output_config?.effort, three.output_config?.effort], [undefined, "low"]);
  },
  async "reloadSkills, reloadOutputStyles and reloadPlugins see what has come since"(lab) {
    await lab.model(echo);
    lab.file("plug/.claude-plugin/plugin.json", '{"name": "plug", "version": "1.2.3"}');
    lab.file("plug/agents/first.md", "---\nname: first\ndescription: The first\n---\nBe first.");
    const d = new Dialogue(lab, { settingSources: ["project"], plugins: [{ type: "local", path: `${lab.work}/plug` }] });
    await d.turn("one");
    lab.file(".claude/skills/dig/SKILL.md", "---\nname: dig\ndescription: Digs\n---\nDig.");
    lab.file(".claude/output-styles/pirate.md", "---\nname: Pirate\n---\nTalk like one.");
    lab.file("plug/agents/second.md", "---\nname: second\ndescription: The second\n---\nBe second.");
    assert.ok((await d.query.reloadSkills()).skills.some((s) => s.name === "dig" && s.description === "Digs"));
    assert.ok((await d.query.reloadOutputStyles()).available_output_styles.includes("Pirate"));
    const all = await d.query.reloadPlugins({ refuseIfBusy: true, holdOnCacheImpact: true });
    assert.deepEqual(all.agents.map((a) => a.name).filter((name) => name.startsWith("plug:")).sort(), ["plug:first", "plug:second"]);
    assert.deepEqual([all.plugins[0].name, all.plugins[0].version, all.error_count, all.held], ["plug", "1.2.3", 0, false]);
    await assert.rejects(d.query.reloadPlugins({ addPlugins: [{ type: "local", path: "/tmp" }] }), /--plugin-dir/);
    await d.over();
  },
  async "readMcpResource brings what a server wants to be shown, and nothing else"(lab) {
    await lab.model(echo);
    const d = new Dialogue(lab, { mcpServers: { g: { type: "stdio", command: process.execPath, args: [lab.file("g.mjs", gallery)] } } });
    await d.turn("one");
    const shown = await d.query.readMcpResource("g", "ui://widget");
    assert.deepEqual(shown.contents, [{ uri: "ui://widget", mimeType: "text/html", text: "<b>hi</b>" }]);
    await assert.rejects(d.query.readMcpResource("g", "file:///etc/passwd"), /ui:/);
    await assert.rejects(d.query.readMcpResource("nobody", "ui://widget"), /not found/i);
    await d.over();
  },
  async "mcp_call calls a tool without the model, within the rules if that is asked for"(lab) {
    await lab.model(echo);
    const d = new Dialogue(lab, { mcpServers: { shout } });
    await d.turn("one");
    const call = { subtype: "mcp_call", tool: "mcp__shout__shout", arguments: { text: "hey" } };
    assert.match(JSON.stringify((await d.query.request(call)).response.content), /HEY/);
    await assert.rejects(d.query.request({ ...call, check_permissions: true }), /did not run/);
    await d.query.applyFlagSettings({ permissions: { allow: ["mcp__shout"] } });
    assert.match(JSON.stringify((await d.query.request({ ...call, check_permissions: true, timeout_ms: 5000 })).response), /HEY/);
    await assert.rejects(d.query.request({ ...call, tool: "mcp__shout__whisper" }), /No such tool/);
    await d.query.applyFlagSettings({ permissions: { deny: ["mcp__shout"] } });
    await assert.rejects(d.query.request(call), /did not run/);
    await d.over();
    assert.equal(lab.requests().length, 1);
  },
  async "usage and the listing of hooks tell about this session"(lab) {
    await lab.model("rule\n  text ok\n  usage input=1000 output=10\n");
    const hooks = { PreToolUse: [{ matcher: "Bash", hooks: [async () => ({})] }] };
    const settings = { hooks: { Stop: [{ hooks: [{ type: "command", command: "true", timeout: 7 }] }] } };
    const d = new Dialogue(lab, { hooks, settings: JSON.stringify(settings), model: "haiku" });
    const result = (await d.turn("one")).at(-1);
    const usage = await d.query.usage_EXPERIMENTAL_MAY_CHANGE_DO_NOT_RELY_ON_THIS_API_YET();
    assert.equal(usage.session.total_cost_usd, result.total_cost_usd);
    assert.deepEqual(usage.session.model_usage, result.modelUsage);
    assert.deepEqual([usage.rate_limits_available, usage.subscription_type], [false, null]);
    assert.ok(usage.session.total_duration_ms >= usage.session.total_api_duration_ms);
    const listing = await d.query.getHooksListing();
    const rows = listing.hooks.map((h) => [h.event, h.matcher, h.source, h.type, h.commandText, h.timeout]);
    assert.deepEqual(rows[0].slice(0, 4), ["PreToolUse", "Bash", "sessionHook", "callback"]);
    assert.deepEqual(rows[1], ["Stop", "", "flagSettings", "command", "true", 7]);
    assert.deepEqual(listing.events.map((e) => [e.name, e.hookCount]), [["PreToolUse", 1], ["Stop", 1]]);
    assert.equal(listing.policy.allDisabled, false);
    await d.over();
  },
  async "register_repo_root adds a directory inside of those that there are, once"(lab) {
    await lab.model(echo);
    fs.mkdirSync(lab.file("sub/dir"), { recursive: true });
    const d = new Dialogue(lab, {});
    const register = (directory) => d.query.request({ subtype: "register_repo_root", directory });
    await register(`${lab.work}/sub`);
    await assert.rejects(register(`${lab.work}/sub`), /already/);
    await assert.rejects(register("/etc"), /outside/);
    await assert.rejects(register(`${lab.work}/nowhere`), /not a directory/);
    await d.over();
  },
  async "hooks of a repeated initialize take the place of the first ones, and a failure of one may block"(lab) {
    await lab.model(calls('Bash {"command": "touch made"}'));
    const fail = { hooks: [async () => Promise.reject(new Error("broken"))], onFailure: "block" };
    const d = new Dialogue(lab, { hooks: { PreToolUse: [fail] }, allowedTools: ["Bash"] });
    assert.equal((await d.query.initializationResult()).hook_on_failure_supported, true);
    await d.turn("one");
    assert.ok(!fs.existsSync(`${lab.work}/made`));
    const again = await d.query.request({ subtype: "initialize", hooks: {} });
    assert.equal(again.response.hooks_applied, true);
    await d.turn("two");
    assert.ok(fs.existsSync(`${lab.work}/made`));
    await d.over();
  },

  // ---- servers of the command line

  async "setMcpServers leaves servers of the option mcpServers alone, until it has named them"(lab) {
    await lab.model(echo);
    const d = new Dialogue(lab, { mcpServers: { shout } });
    await d.turn("one");
    assert.deepEqual((await d.query.setMcpServers({})).removed, []);
    assert.deepEqual(status(await d.query.mcpServerStatus()), { shout: "connected" });
    assert.deepEqual((await d.query.setMcpServers({ shout })).added, []);
    assert.deepEqual((await d.query.setMcpServers({})).removed, ["shout"]);
    assert.deepEqual(await d.query.mcpServerStatus(), []);
    await d.over();
  },

  // ---- flags

  async "a sessionStore gets every line of the session, and of its agents"(lab) {
    await lab.model('rule\n  agent main\n  turn 1\n  call Agent {"description": "d", "prompt": "p", "subagent_type": "namer"}\nrule\n  text Done.\n');
    const sessionStore = new InMemorySessionStore();
    process.env.CLAUDE_CONFIG_DIR = `${lab.home}/.claude`;
    const options = { sessionStore, agents: { namer: { description: "Names", prompt: "You name." } } };
    const talk = await lab.talk("hello", { ...options, env: { ...lab.env, CLAUDE_CONFIG_DIR: process.env.CLAUDE_CONFIG_DIR } });
    const id = talk.result.session_id;
    const projectKey = path.basename(path.dirname(lab.transcriptFile(id)));
    const stored = await sessionStore.load({ projectKey, sessionId: id });
    assert.deepEqual(stored.map((e) => e.uuid), lab.transcript(id).map((e) => e.uuid));
    assert.equal((await sessionStore.listSubkeys({ projectKey, sessionId: id })).length, 1);
  },
  async "managedSettings forbid and cannot allow, on the command line and in initialize"(lab) {
    await lab.model(calls('Bash {"command": "touch made"}'));
    const managedSettings = { permissions: { deny: ["Bash(touch *)"], allow: ["Write"] } };
    for (const managedSettingsDelivery of ["argv", "initialize"]) {
      const talk = await lab.talk("go", { managedSettings, managedSettingsDelivery, allowedTools: ["Bash"] });
      assert.equal(talk.result.permission_denials.length, 1, managedSettingsDelivery);
    }
    const d = new Dialogue(lab, { managedSettings });
    assert.deepEqual((await d.query.getSettings()).effective.permissions, { deny: ["Bash(touch *)"] });
    await d.over();
  },
  async "plugins that come with initialize are loaded"(lab) {
    await lab.model(echo);
    lab.file("plug/.claude-plugin/plugin.json", '{"name": "plug"}');
    const d = new Dialogue(lab, { plugins: [{ type: "local", path: `${lab.work}/plug` }], pluginDelivery: "initialize" });
    assert.equal((await d.query.initializationResult()).plugins_applied, true);
    const init = (await d.turn("one")).find((m) => m.subtype === "init");
    assert.deepEqual(init.plugins.map((p) => p.name), ["plug"]);
    await d.over();
  },
  async "a tool of this process has a policy and a time limit of its own"(lab) {
    await lab.model(`allow unknown-tools\n${calls("mcp__own__no {}", "mcp__own__slow {}")}`);
    let called = 0;
    const never = new Promise(() => {});
    const own = createSdkMcpServer({
      name: "own",
      timeout: 1000,
      tools: [tool("no", "Never", {}, async () => (called++, { content: [] })), tool("slow", "Slow", {}, () => never)],
    });
    const policy = [{ name: "no", permission_policy: "always_deny" }];
    const talk = await lab.talk("go", { mcpServers: { own: { ...own, tools: policy } }, allowedTools: ["mcp__own"] });
    assert.equal(called, 0);
    assert.deepEqual(talk.result.permission_denials.map((d) => d.tool_name), ["mcp__own__no"]);
    assert.match(talk.answers[1], /no answer within 1 s|timed out|took too long/);
  },
  async "mcpServers that come with initialize are connected, and nothing of them is on the command line"(lab) {
    await lab.model(calls('mcp__shout__shout {"text": "hello"}'));
    let args;
    const spawnClaudeCodeProcess = ({ command, args: argv, cwd, env }) => {
      args = argv;
      return spawn(command, argv, { cwd, env, stdio: ["pipe", "pipe", "inherit"] });
    };
    const own = { ...shout, env: { SECRET: "hush" } };
    const options = { mcpServers: { shout: own }, mcpServersDelivery: "initialize", allowedTools: ["mcp__shout"], spawnClaudeCodeProcess };
    const talk = await lab.talk("go", options);
    assert.deepEqual(talk.init.mcp_servers, [{ name: "shout", status: "connected" }]);
    assert.match(talk.answers[0], /HELLO/);
    assert.ok(args.includes("--await-initialize") && !args.join(" ").includes("hush"));
  },
  async "a message that asks nothing comes with the next prompt, whose answer names both"(lab) {
    await lab.model(echo);
    const uuids = ["22222222-2222-4333-8444-555555555555", "33333333-2222-4333-8444-555555555555"];
    const prompts = Prompts.of(say("context", { shouldQuery: false, uuid: uuids[0] }), say("question", { uuid: uuids[1] }));
    const talk = await lab.talk(prompts, { includePartialMessages: true });
    assert.equal(talk.results.length, 1);
    for (const kind of ["stream_event", "assistant", "result"])
      assert.deepEqual(talk.of(kind).map((m) => m.user_message_uuids)[0], uuids, kind);
    assert.equal(talk.of("stream_event").filter((m) => m.user_message_uuid).length, 1);
  },
  async "projectConfigRoot has the settings that count, not the working directory"(lab) {
    await lab.model(calls('Bash {"command": "printenv FROM_ROOT FROM_HERE"}'));
    lab.file(".claude/settings.json", '{"env": {"FROM_HERE": "here"}}');
    const root = `${lab.folder}/root`;
    fs.mkdirSync(`${root}/.claude`, { recursive: true });
    fs.writeFileSync(`${root}/.claude/settings.json`, '{"env": {"FROM_ROOT": "root"}}');
    const talk = await lab.talk("go", { projectConfigRoot: root, allowedTools: ["Bash"], extraArgs: { "trust-project": null } });
    assert.match(talk.answers[0], /root/);
    assert.doesNotMatch(talk.answers[0], /here/);
  },
  async "resumeDropsTurn refuses to leave out what it does not name"(lab) {
    await lab.model(echo);
    const [two, three] = ["22222222-2222-4333-8444-555555555555", "33333333-2222-4333-8444-555555555555"];
    const first = await lab.talk(Prompts.of(say("one"), say("two", { uuid: two })));
    const resume = first.result.session_id;
    const resumeSessionAt = first.of("assistant")[0].uuid;
    const refused = await lab.talk("x", { resume, resumeSessionAt, resumeDropsTurn: three, forkSession: true });
    assert.match(refused.error.message, /Resume rejected by --resume-drops-turn:/);
    const fork = await lab.talk("x", { resume, resumeSessionAt, resumeDropsTurn: two, forkSession: true });
    assert.equal(fork.result.subtype, "success");
  },
  async "--await-initialize takes nothing else first, and --init-only begins no conversation"(lab) {
    await lab.model(echo);
    const base = ["--output-format", "stream-json", "--verbose", "--input-format", "stream-json", "--await-initialize"];
    const early = spawnSync(cadre, base, { cwd: lab.work, env: lab.env, input: `${JSON.stringify(say("hi"))}\n`, encoding: "utf8" });
    assert.equal(early.status, 2);
    assert.match(early.stderr, /--await-initialize/);
    const settings = { hooks: { Setup: [{ matcher: "init", hooks: [{ type: "command", command: "cat > setup.json" }] }] } };
    execFileSync(cadre, ["--init-only", "--settings", JSON.stringify(settings)], { cwd: lab.work, env: lab.env });
    assert.equal(JSON.parse(lab.read("setup.json")).trigger, "init");
    assert.ok(!fs.existsSync(lab.log) || lab.requests().length === 0);
  },
});
