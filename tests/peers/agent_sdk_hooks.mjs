// SPDX-License-Identifier: MIT
// agent_sdk_hooks.mjs - every hook event that the agent SDK types comes to a function of the program. Prints TAP.
// usage: node agent_sdk_hooks.mjs MODELD CADRE [WORD...]
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import { HOOK_EVENTS } from "@anthropic-ai/claude-agent-sdk";
import { Dialogue, Prompts, play, say } from "./agent_lab.mjs";

const echo = "rule\n  text You said: {{prompt}}\n";
const calls = (...list) => `${list.map((call, i) => `rule\n  turn ${i + 1}\n  call ${call}\n`).join("")}rule\n  text Done.\n`;
const bash = (command) => calls(`Bash {"command": ${JSON.stringify(command)}}`);
const namer = { agents: { namer: { description: "Names things", prompt: "You name." } } };
const delegate = (more = "") => `
rule
  agent main
  turn 1
  call Agent {"description": "name", "prompt": "name the pears", "subagent_type": "namer"${more}}
rule
  text Done.
`;
const tasks = { allowedTools: ["TaskCreate", "TaskUpdate"] };
const no = async () => ({ behavior: "deny", message: "no" });

// A server that wants to know something in the middle of a call.
const asking = `
import readline from "node:readline";
const tell = (message) => console.log(JSON.stringify({ jsonrpc: "2.0", ...message }));
let call;
for await (const line of readline.createInterface({ input: process.stdin })) {
  const { id, method, params, result } = JSON.parse(line);
  if (method === "initialize")
    tell({ id, result: { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "form", version: "1" } } });
  else if (method === "tools/list") tell({ id, result: { tools: [{ name: "where", inputSchema: { type: "object" } }] } });
  else if (method === "tools/call") {
    call = id;
    const requestedSchema = { type: "object", properties: { town: { type: "string" } } };
    tell({ id: 77, method: "elicitation/create", params: { message: "Where?", requestedSchema } });
  } else if (id === 77) tell({ id: call, result: { content: [{ type: "text", text: JSON.stringify(result) }] } });
}
`;
const elicitation = {
  model: calls("mcp__form__where {}"),
  options: (lab) => ({
    mcpServers: { form: { type: "stdio", command: process.execPath, args: [lab.file("form.mjs", asking)] } },
    allowedTools: ["mcp__form"],
    onElicitation: async () => ({ action: "accept", content: { town: "Ulm" } }),
  }),
};
const worktree = {
  model: delegate(', "isolation": "worktree"'),
  options: (lab) => {
    execFileSync("git", ["init", "-q"], { cwd: lab.work });
    return namer;
  },
  // Both events have a function: what one makes the other takes away.
  also: ["WorktreeCreate", "WorktreeRemove"],
  answer: (lab) => (input) => {
    if (input.hook_event_name === "WorktreeRemove") {
      fs.rmSync(input.worktree_path, { recursive: true });
      return {};
    }
    const worktreePath = `${lab.folder}/tree`;
    fs.mkdirSync(worktreePath);
    return { hookSpecificOutput: { hookEventName: "WorktreeCreate", worktreePath } };
  },
};
const compact = { model: echo, prompts: () => Prompts.of(say("tell me something"), say("/compact")) };
const switching = { model: echo, act: (d) => d.query.setModel("haiku"), is: { source: "sdk", requested_model: "haiku" } };

// How each event comes about: what the model says, options, what happens between two turns (act), what the function answers,
// and members that its input has.
const events = {
  PreToolUse: { model: bash("echo hi"), is: { tool_name: "Bash" } },
  PostToolUse: { model: bash("echo hi"), is: { tool_name: "Bash" } },
  PostToolUseFailure: { model: calls('Read {"file_path": "nowhere.txt"}'), is: { tool_name: "Read" } },
  PostToolBatch: { model: bash("echo hi") },
  Notification: { model: bash("touch it"), options: { canUseTool: no }, is: { notification_type: "permission_prompt" } },
  UserPromptSubmit: { model: echo, is: { prompt: "go" } },
  UserPromptExpansion: {
    model: echo,
    options: (lab) => (lab.file(".claude/commands/tidy.md", "Tidy up $ARGUMENTS"), { settingSources: ["project"] }),
    prompts: () => "/tidy here",
    is: { command_name: "tidy", command_args: "here" },
  },
  SessionStart: { model: echo, is: { source: "startup" } },
  SessionEnd: { model: echo },
  Stop: { model: echo, is: { stop_hook_active: false } },
  StopFailure: { model: 'rule\n  status 400 invalid_request_error "no"\n', is: { error: "invalid_request" } },
  SubagentStart: { model: delegate(), options: namer, is: { agent_type: "namer" } },
  SubagentStop: { model: delegate(), options: namer, is: { agent_type: "namer" } },
  PreCompact: { ...compact, is: { trigger: "manual" } },
  PostCompact: { ...compact, is: { trigger: "manual" } },
  PreModelSwitch: switching,
  PostModelSwitch: switching,
  PermissionRequest: { model: bash("touch it"), options: { canUseTool: no }, is: { tool_name: "Bash" } },
  PermissionDenied: {
    model: `rule\n  agent classifier\n  text {"decision": "ask", "reason": "I do not know"}\n${bash("make deploy")}`,
    options: { permissionMode: "auto" },
    is: { tool_name: "Bash" },
  },
  Setup: { model: echo, options: { extraArgs: { init: null } }, is: { trigger: "init" } },
  TaskCreated: { model: calls('TaskCreate {"subject": "Bake", "description": "Bake bread"}'), options: tasks, is: { task_subject: "Bake" } },
  TaskCompleted: {
    model: calls('TaskCreate {"subject": "Bake", "description": "Bake bread"}', 'TaskUpdate {"taskId": "1", "status": "completed"}'),
    options: tasks,
    is: { task_subject: "Bake" },
  },
  Elicitation: { ...elicitation, is: { mcp_server_name: "form", message: "Where?" } },
  ElicitationResult: { ...elicitation, is: { mcp_server_name: "form", action: "accept", content: { town: "Ulm" } } },
  ConfigChange: {
    model: echo,
    options: (lab) => (lab.file(".claude/settings.json", "{}"), { settingSources: ["project"] }),
    act: (d, lab) => lab.file(".claude/settings.json", '{"env": {"A": "b"}}'),
    is: { source: "project_settings" },
  },
  WorktreeCreate: worktree,
  WorktreeRemove: worktree,
  InstructionsLoaded: {
    model: echo,
    options: (lab) => (lab.file("CLAUDE.md", "Be brief."), { settingSources: ["project"] }),
    is: { load_reason: "session_start" },
  },
  CwdChanged: { model: bash("cd sub"), options: (lab) => (fs.mkdirSync(`${lab.work}/sub`), { allowedTools: ["Bash"] }) },
  // The turn lasts until the hook has come.
  FileChanged: {
    model: bash("echo changed > watched.txt; until [ -e seen ]; do sleep 0.05; done"),
    options: { allowedTools: ["Bash"] },
    matcher: "watched.txt",
    answer: (lab) => () => (lab.file("seen", ""), {}),
    is: { event: "add" },
  },
  DirectoryAdded: {
    model: echo,
    options: (lab) => (fs.mkdirSync(`${lab.work}/sub`), {}),
    act: (d, lab) => d.query.request({ subtype: "register_repo_root", directory: `${lab.work}/sub` }),
    is: { source: "register_repo_root" },
  },
};

// Those that never come, and why (docs/sdk.md).
const never = {
  TeammateIdle: "there are no teams",
  MessageDisplay: "nothing is displayed",
};

async function converse(lab, event, options) {
  if (!event.act) return lab.talk(event.prompts?.() ?? "go", options);
  const d = new Dialogue(lab, options);
  await d.turn("go");
  await event.act(d, lab);
  await d.turn("go on");
  return d.over();
}

function fires(name, event) {
  return async (lab) => {
    await lab.model(event.model);
    const own = typeof event.options === "function" ? event.options(lab) : event.options;
    const answer = event.answer?.(lab) ?? (() => ({}));
    const seen = [];
    const note = async (input) => (seen.push(input), answer(input));
    const hooks = Object.fromEntries((event.also ?? [name]).map((each) => [each, [{ matcher: event.matcher, hooks: [note] }]]));
    await converse(lab, event, { ...own, hooks }).catch(() => {}); // an error of the model's service is one of the ends
    const input = seen.find((each) => each.hook_event_name === name);
    assert.ok(input, `${name} did not come; ${seen.length} others did`);
    assert.equal(typeof input.session_id, "string");
    for (const [key, value] of Object.entries(event.is ?? {})) assert.deepEqual(input[key], value, key);
  };
}

await play({
  async "there is a way to every event that the SDK types, or a reason why it never comes"() {
    assert.deepEqual([...Object.keys(events), ...Object.keys(never)].sort(), [...HOOK_EVENTS].sort());
  },
  ...Object.fromEntries(Object.entries(events).map(([name, event]) => [`${name} comes to a function of the program`, fires(name, event)])),
});
