// SPDX-License-Identifier: MIT
// agent_sdk.mjs - queries, permissions, hooks and tools of the agent SDK with cadre below it. Prints TAP.
// usage: node agent_sdk.mjs MODELD CADRE [WORD...]
import assert from "node:assert/strict";
import { HOOK_EVENTS, createSdkMcpServer, tool } from "@anthropic-ai/claude-agent-sdk";
import { z } from "zod";
import { Prompts, gate, play, say } from "./agent_lab.mjs";

const echo = "rule\n  text You said: {{prompt}}\n";
const write = `
rule
  turn 1
  call Write {"file_path": "new.txt", "content": "written"}
rule
  text The tool said: {{last_result}}
`;
const bash = (command) => `
rule
  turn 1
  call Bash {"command": "${command}"}
rule
  text The tool said: {{last_result}}
`;

const PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

// A tool that lives in this process.
const calculator = () =>
  createSdkMcpServer({
    name: "calc",
    version: "1.0.0",
    tools: [
      tool("add", "Adds two numbers", { a: z.number(), b: z.number() }, async ({ a, b }) => ({
        content: [{ type: "text", text: `sum ${a + b}` }],
      })),
    ],
  });
const addition = `
rule
  turn 1
  call mcp__calc__add {"a": 19, "b": 23}
rule
  text The tool said: {{last_result}}
`;

await play({
  async "a string prompt is answered, with the frames around it"(lab) {
    await lab.model(echo);
    const talk = await lab.talk("hello there");
    assert.equal(talk.result.subtype, "success");
    assert.match(talk.result.result, /You said: .*hello there/s);
    assert.equal(talk.result.num_turns, 1);
    assert.equal(talk.result.is_error, false);
    assert.ok(talk.result.total_cost_usd > 0 && talk.result.usage.output_tokens > 0);
    assert.equal(talk.init.session_id, talk.result.session_id);
    assert.equal(talk.init.cwd, lab.work);
    assert.ok(talk.init.tools.includes("Read") && talk.init.tools.includes("Task"));
    assert.equal(talk.of("assistant")[0].message.content[0].type, "text");
  },
  async "prompts of an iterator are answered in their order, one result each"(lab) {
    await lab.model(echo);
    const talk = await lab.talk(
      (async function* () {
        yield say("first");
        yield say([{ type: "text", text: "second" }]);
      })(),
    );
    assert.deepEqual(talk.results.map((r) => /first|second/.exec(r.result)[0]), ["first", "second"]);
    assert.deepEqual(talk.results.map((r) => r.result_index), [0, 1]);
    assert.equal(new Set(talk.results.map((r) => r.session_id)).size, 1);
    assert.equal(talk.of("system", "init").length, 2);
  },
  async "an image in a prompt reaches the model"(lab) {
    await lab.model(echo);
    const source = { type: "base64", media_type: "image/png", data: PIXEL };
    const content = [{ type: "text", text: "what is this" }, { type: "image", source }];
    await lab.talk(Prompts.of(say(content)));
    const blocks = lab.requests()[0].messages.at(-1).content;
    assert.deepEqual(blocks.find((b) => b.type === "image").source, source);
    assert.ok(blocks.some((b) => b.text === "what is this"));
  },

  // ---- permissions

  async "canUseTool is asked, and its yes lets the call run"(lab) {
    await lab.model(write);
    const asked = [];
    const talk = await lab.talk("go", {
      canUseTool: async (name, input, more) => {
        asked.push([name, input.content, typeof more.toolUseID, more.signal instanceof AbortSignal]);
        return { behavior: "allow", updatedInput: input };
      },
    });
    assert.deepEqual(asked, [["Write", "written", "string", true]]);
    assert.equal(lab.read("new.txt"), "written");
    assert.deepEqual(talk.result.permission_denials, []);
  },
  async "canUseTool's no reaches the model with its message, and is in the result"(lab) {
    await lab.model(write);
    const talk = await lab.talk("go", { canUseTool: async () => ({ behavior: "deny", message: "not on a Sunday" }) });
    assert.match(talk.result.result, /not on a Sunday/);
    assert.equal(talk.result.permission_denials[0].tool_name, "Write");
    assert.throws(() => lab.read("new.txt"));
  },
  async "canUseTool may change the input of the call"(lab) {
    await lab.model(write);
    await lab.talk("go", {
      canUseTool: async (name, input) => ({ behavior: "allow", updatedInput: { ...input, content: "changed" } }),
    });
    assert.equal(lab.read("new.txt"), "changed");
  },
  async "a deny rule holds, whatever canUseTool allows"(lab) {
    await lab.model('rule\n  turn 1\n  call Bash {"command": "touch harmless"}\nrule\n  text {{last_result}}\n');
    const talk = await lab.talk("go", {
      settings: { permissions: { deny: ["Bash(touch forbidden)"] } },
      canUseTool: async () => ({ behavior: "allow", updatedInput: { command: "touch forbidden" } }),
    });
    assert.match(talk.result.result, /denied by the rule/);
    assert.throws(() => lab.read("forbidden"));
  },
  async "a no with interrupt ends the turn without another request"(lab) {
    await lab.model(write);
    const talk = await lab.talk("go", {
      canUseTool: async () => ({ behavior: "deny", message: "stop it all", interrupt: true }),
    });
    assert.equal(talk.result.subtype, "error_during_execution");
    assert.equal(lab.requests().length, 1);
  },
  async "rules that canUseTool gives back hold for the next call"(lab) {
    await lab.model(`
rule
  turn 1-2
  call Bash {"command": "touch made-{{turn}}"}
rule
  text Done.
`);
    let asked = 0;
    await lab.talk("go", {
      canUseTool: async (name, input, { suggestions }) => {
        asked++;
        assert.equal(suggestions[0].type, "addRules");
        const rules = [{ toolName: "Bash", ruleContent: "touch *" }];
        const update = { type: "addRules", rules, behavior: "allow", destination: "session" };
        return { behavior: "allow", updatedInput: input, updatedPermissions: [update] };
      },
    });
    assert.equal(asked, 1);
    assert.equal(lab.read("made-1") + lab.read("made-2"), "");
  },
  async "AskUserQuestion is answered through canUseTool"(lab) {
    await lab.model(`
rule
  turn 1
  call AskUserQuestion {"questions": [{"question": "Tea or coffee?", "header": "Drink", "multiSelect": false, "options": [{"label": "Tea", "description": "hot"}, {"label": "Coffee", "description": "black"}]}]}
rule
  text The tool said: {{last_result}}
`);
    const talk = await lab.talk("go", {
      canUseTool: async (name, input) => {
        assert.equal(name, "AskUserQuestion");
        return { behavior: "allow", updatedInput: { ...input, answers: { "Tea or coffee?": "Tea" } } };
      },
    });
    assert.match(talk.result.result, /Tea or coffee\?.*Tea/s);
  },
  async "without canUseTool a call that would be asked about is denied"(lab) {
    await lab.model(write);
    const talk = await lab.talk("go");
    assert.equal(talk.result.permission_denials.length, 1);
    assert.equal(talk.of("system", "permission_denied").length, 1);
  },
  async "allowedTools, disallowedTools and acceptEdits decide without a question"(lab) {
    await lab.model(write);
    const ask = async () => assert.fail("nobody is to be asked");
    await lab.talk("go", { allowedTools: ["Write"], canUseTool: ask });
    assert.equal(lab.read("new.txt"), "written");
    const denied = await lab.talk("go", { disallowedTools: ["Write"], canUseTool: ask });
    assert.equal(denied.result.permission_denials[0].tool_name, "Write");
    const edits = await lab.talk("go", { permissionMode: "acceptEdits", canUseTool: ask });
    assert.deepEqual(edits.result.permission_denials, []);
    assert.equal(edits.init.permissionMode, "acceptEdits");
  },
  async "tools names what the model sees: some, none, or the usual ones"(lab) {
    await lab.model(echo);
    await lab.talk("some", { tools: ["Read", "Bash"] });
    await lab.talk("none", { tools: [] });
    await lab.talk("usual", { tools: { type: "preset", preset: "claude_code" } });
    const [some, none, usual] = lab.requests().map((r) => (r.tools ?? []).map((t) => t.name));
    assert.deepEqual(some.sort(), ["Bash", "Read"]);
    assert.deepEqual(none, []);
    assert.ok(usual.length > 5 && usual.includes("Agent"));
  },

  // ---- hooks

  async "hooks around a tool run in order and see its input and answer"(lab) {
    await lab.model(bash("echo from-the-tool"));
    const seen = [];
    const note = async (input, id) => {
      seen.push([input.hook_event_name, input.tool_name ?? "", id ? "id" : ""].join(" ").trim());
      if (input.hook_event_name === "PostToolUse") assert.match(JSON.stringify(input.tool_response), /from-the-tool/);
      if (input.hook_event_name === "PreToolUse") assert.equal(input.tool_input.command, "echo from-the-tool");
      return {};
    };
    const events = ["SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "PostToolBatch", "Stop", "SessionEnd"];
    await lab.talk("go", { hooks: Object.fromEntries(events.map((event) => [event, [{ hooks: [note] }]])) });
    assert.deepEqual(seen, [
      "SessionStart",
      "UserPromptSubmit",
      "PreToolUse Bash id",
      "PostToolUse Bash id",
      "PostToolBatch",
      "Stop",
      "SessionEnd",
    ]);
  },
  async "every hook event that the SDK types is taken"(lab) {
    await lab.model(echo);
    const hooks = Object.fromEntries(HOOK_EVENTS.map((event) => [event, [{ hooks: [async () => ({})] }]]));
    const talk = await lab.talk("go", { hooks });
    assert.equal(talk.result.subtype, "success");
  },
  async "a PreToolUse hook may deny, allow and change a call; its matcher is kept to"(lab) {
    await lab.model(`
rule
  turn 1
  call Write {"file_path": "a.txt", "content": "a"}
  call Bash {"command": "echo untouched"}
  call Write {"file_path": "b.txt", "content": "b"}
rule
  text Done.
`);
    const hook = async ({ tool_input: input }) => ({
      hookSpecificOutput: {
        hookEventName: "PreToolUse",
        permissionDecision: input.file_path.endsWith("a.txt") ? "deny" : "allow",
        permissionDecisionReason: "the hook says no",
        updatedInput: { ...input, content: "from the hook" },
      },
    });
    const talk = await lab.talk("go", { hooks: { PreToolUse: [{ matcher: "Write", hooks: [hook] }] } });
    assert.match(talk.answers[0], /the hook says no/);
    assert.match(talk.answers[1], /untouched/);
    assert.equal(lab.read("b.txt"), "from the hook");
    assert.throws(() => lab.read("a.txt"));
  },
  async "hooks add context, block a prompt, and make the model go on"(lab) {
    await lab.model(echo);
    let stops = 0;
    const hooks = {
      UserPromptSubmit: [
        {
          hooks: [
            async ({ prompt }) =>
              prompt === "forbidden"
                ? { decision: "block", reason: "not this one" }
                : { hookSpecificOutput: { hookEventName: "UserPromptSubmit", additionalContext: "context of a hook" } },
          ],
        },
      ],
      Stop: [{ hooks: [async () => (stops++ === 0 ? { decision: "block", reason: "one more time" } : {})] }],
    };
    await lab.talk("hello", { hooks });
    const requests = lab.requests().map((r) => JSON.stringify(r.messages));
    assert.equal(requests.length, 2);
    assert.match(requests[0], /context of a hook/);
    assert.match(requests[1], /one more time/);
    const blocked = await lab.talk("forbidden", { hooks });
    assert.equal(lab.requests().length, 2);
    assert.match(JSON.stringify(blocked.messages), /not this one/);
    assert.match(blocked.error.message, /not this one/);
  },
  async "hooks hear of failures, denials, questions and notifications"(lab) {
    await lab.model(`
rule
  turn 1
  call Read {"file_path": "nowhere.txt"}
  call Write {"file_path": "new.txt", "content": "x"}
rule
  turn 2
  status 400 invalid_request_error "no more"
`);
    const seen = new Set();
    const note = async (input) => (seen.add(input.hook_event_name), {});
    const events = ["PostToolUseFailure", "PermissionRequest", "StopFailure"];
    const talk = await lab.talk("go", {
      hooks: Object.fromEntries(events.map((event) => [event, [{ hooks: [note] }]])),
      canUseTool: async () => ({ behavior: "deny", message: "no" }),
    });
    assert.deepEqual([...seen].sort(), events.sort());
    assert.equal(talk.result.is_error, true);
  },
  async "a hook that takes too long is ended by its time limit, and the turn goes on"(lab) {
    await lab.model(bash("echo ran"));
    const never = gate();
    let signal;
    const slow = async (input, id, more) => {
      signal = more.signal;
      await never.passed;
      return {};
    };
    const talk = await lab.talk("go", { hooks: { PostToolUse: [{ timeout: 1, hooks: [slow] }] } });
    assert.equal(talk.result.subtype, "success");
    assert.ok(signal.aborted);
  },
  async "includeHookEvents writes when hooks start and what they answer"(lab) {
    await lab.model(echo);
    const talk = await lab.talk("hello", {
      includeHookEvents: true,
      hooks: { UserPromptSubmit: [{ hooks: [async () => ({ systemMessage: "heard" })] }] },
    });
    const started = talk.of("system", "hook_started").find((m) => m.hook_event === "UserPromptSubmit");
    const ended = talk.of("system", "hook_response").find((m) => m.hook_event === "UserPromptSubmit");
    assert.equal(started.hook_id, ended.hook_id);
    assert.equal(ended.outcome, "success");
  },

  // ---- tools of this process and of others

  async "a tool of this process is called, its manifest given at the start"(lab) {
    await lab.model(addition);
    const talk = await lab.talk("add", { mcpServers: { calc: calculator() }, allowedTools: ["mcp__calc__add"] });
    assert.deepEqual(talk.init.mcp_servers, [{ name: "calc", status: "connected" }]);
    assert.ok(talk.init.tools.includes("mcp__calc__add"));
    assert.match(talk.result.result, /sum 42/);
  },
  async "a tool of this process that fails is an error for the model"(lab) {
    await lab.model(addition);
    const calc = createSdkMcpServer({
      name: "calc",
      tools: [tool("add", "Fails", { a: z.number(), b: z.number() }, async () => { throw new Error("out of numbers"); })],
    });
    const talk = await lab.talk("add", { mcpServers: { calc }, allowedTools: ["mcp__calc__add"] });
    assert.match(talk.answers[0], /out of numbers/);
  },
  async "a server that is a program is started and asked"(lab) {
    await lab.model(`
rule
  turn 1
  call mcp__shout__shout {"text": "hello"}
rule
  text The tool said: {{last_result}}
`);
    const file = new URL("shout_server.mjs", import.meta.url).pathname;
    const talk = await lab.talk("go", {
      mcpServers: { shout: { type: "stdio", command: process.execPath, args: [file] } },
      strictMcpConfig: true,
      allowedTools: ["mcp__shout"],
    });
    assert.deepEqual(talk.init.mcp_servers, [{ name: "shout", status: "connected" }]);
    assert.match(talk.result.result, /HELLO/);
  },

  // ---- what the model is told

  async "systemPrompt: nothing is an empty prompt, a text replaces, a preset is ours, append adds"(lab) {
    await lab.model(echo);
    const preset = { type: "preset", preset: "claude_code" };
    await lab.talk("none");
    await lab.talk("text", { systemPrompt: "You are a lamp." });
    await lab.talk("preset", { systemPrompt: preset });
    await lab.talk("append", { systemPrompt: { ...preset, append: "Talk like a lamp." } });
    const texts = lab.requests().map((r) => (r.system ?? []).map((b) => b.text).join("\n"));
    assert.ok(texts[0].length < 400, texts[0]);
    assert.match(texts[1], /You are a lamp\./);
    assert.ok(texts[2].length > 500);
    assert.ok(texts[3].startsWith(texts[2].slice(0, 400)) && texts[3].includes("Talk like a lamp."));
  },
  async "model, effort and thinking are in the request"(lab) {
    await lab.model(echo);
    await lab.talk("one", { model: "haiku", maxThinkingTokens: 2048 });
    await lab.talk("two", { model: "opus", effort: "low", thinking: { type: "disabled" } });
    const [one, two] = lab.requests();
    assert.match(one.model, /haiku/);
    assert.equal(one.thinking.budget_tokens, 2048);
    assert.match(two.model, /opus/);
    assert.notEqual(two.thinking?.type, "adaptive");
  },
  async "settings given inline count"(lab) {
    await lab.model(bash("printenv FROM_SETTINGS"));
    const settings = { env: { FROM_SETTINGS: "seen" }, permissions: { allow: ["Bash(printenv *)"] } };
    const talk = await lab.talk("go", { settings: JSON.stringify(settings), settingSources: [] });
    assert.match(talk.answers[0], /seen/);
  },
});
