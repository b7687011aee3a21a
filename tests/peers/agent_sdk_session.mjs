// SPDX-License-Identifier: MIT
// agent_sdk_session.mjs - subagents, sessions on disk, limits and ends under the agent SDK. Prints TAP.
// usage: node agent_sdk_session.mjs MODELD CADRE [WORD...]
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { getSessionMessages } from "@anthropic-ai/claude-agent-sdk";
import { Prompts, cadre, play, say } from "./agent_lab.mjs";

const echo = "rule\n  text You said: {{prompt}}\n";
const agents = {
  counter: { description: "Counts things", prompt: "You count.", tools: ["Bash"], model: "haiku" },
  namer: { description: "Names things", prompt: "You name." },
};
const texts = (request) => request.messages.flatMap((m) => (typeof m.content === "string" ? [m.content] : m.content)).map((b) => b.text ?? "");

await play({
  // ---- what comes out

  async "structured output has the shape that was asked for"(lab) {
    await lab.model('rule\n  turn 1\n  call StructuredOutput {"town": "Ulm", "days": 3}\nrule\n  text Done.\n');
    const schema = { type: "object", properties: { town: { type: "string" }, days: { type: "integer" } }, required: ["town"] };
    const talk = await lab.talk("where?", { outputFormat: { type: "json_schema", schema } });
    assert.deepEqual(talk.result.structured_output, { town: "Ulm", days: 3 });
  },
  async "rewindFiles brings files back to what they were at a message"(lab) {
    await lab.model(`
rule
  prompt contains "first"
  turn 1
  call Write {"file_path": "${lab.work}/a.txt", "content": "one"}
rule
  prompt contains "second"
  turn 1
  call Write {"file_path": "${lab.work}/a.txt", "content": "two"}
rule
  text Done.
`);
    const uuid = "11111111-2222-4333-8444-555555555555";
    const prompts = new Prompts(say("first"));
    let results = 0;
    const talk = await lab.talk(prompts, { enableFileCheckpointing: true, permissionMode: "acceptEdits" }, async (message, query) => {
      if (message.type !== "result") return;
      results += 1;
      if (results === 1) prompts.push(say("second", { uuid }));
      if (results !== 2) return;
      assert.equal(fs.readFileSync(`${lab.work}/a.txt`, "utf8"), "two");
      const done = await query.rewindFiles(uuid);
      assert.equal(done.canRewind, true);
      assert.equal(fs.readFileSync(`${lab.work}/a.txt`, "utf8"), "one");
      prompts.over();
    });
    assert.equal(talk.result.subtype, "success");
  },

  // ---- subagents

  async "agents of the options run side by side, each with its own prompt, model and tools"(lab) {
    await lab.model(`
rule
  agent main
  turn 1
  call Agent {"description": "count", "prompt": "count the apples", "subagent_type": "counter"}
  call Agent {"description": "name", "prompt": "name the pears", "subagent_type": "namer"}
rule
  agent main
  text They said: {{result:1}} and {{result:2}}
rule
  prompt contains "apples"
  turn 1
  call Bash {"command": "echo seven"}
rule
  prompt contains "apples"
  text I counted {{last_result}}
rule
  prompt contains "pears"
  text I named them.
`);
    const talk = await lab.talk("go", { agents, allowedTools: ["Bash(echo *)"] });
    assert.match(talk.result.result, /I counted seven.*I named them/s);
    const counter = lab.requests().find((r) => JSON.stringify(r.system ?? "").includes("You count."));
    assert.match(counter.model, /haiku/);
    assert.deepEqual(counter.tools.map((t) => t.name), ["Bash"]);
    const started = talk.of("system", "task_started");
    assert.deepEqual(started.map((m) => m.subagent_type).sort(), ["counter", "namer"]);
    assert.equal(talk.of("system", "task_notification").length, 2);
    const call = talk.of("assistant").find((m) => m.parent_tool_use_id)?.message.content[0];
    assert.equal(call.name, "Bash");
  },
  async "forwardSubagentText shows what subagents say"(lab) {
    await lab.model(`
rule
  agent main
  turn 1
  call Agent {"description": "name", "prompt": "name the pears", "subagent_type": "namer"}
rule
  prompt contains "pears"
  text Williams and Conference.
rule
  text Done.
`);
    const quiet = await lab.talk("go", { agents });
    const loud = await lab.talk("go", { agents, forwardSubagentText: true });
    const said = (talk) => talk.of("assistant").filter((m) => m.parent_tool_use_id && m.message.content[0].type === "text").length;
    assert.deepEqual([said(quiet), said(loud)], [0, 1]);
  },
  async "an agent in the background is waited for, and its end begins a turn of its own"(lab) {
    await lab.model(`
rule
  agent main
  prompt contains "task-notification"
  text I have heard of it.
rule
  agent main
  turn 1
  call Agent {"description": "name", "prompt": "name the pears", "subagent_type": "namer", "run_in_background": true}
rule
  agent main
  text It works in the background.
rule
  prompt contains "pears"
  latency 300
  text Williams.
`);
    const talk = await lab.talk("go", { agents });
    assert.deepEqual(talk.results.map((r) => r.result), ["It works in the background.", "I have heard of it."]);
    assert.equal(talk.results[1].origin.kind, "task-notification");
    assert.equal(talk.of("system", "task_started")[0].is_backgrounded, true);
    assert.equal(talk.of("system", "task_notification")[0].status, "completed");
  },
  async "backgroundTasks lets a turn go on, stopTask ends the agent"(lab) {
    await lab.model(`
rule
  agent main
  prompt contains "task-notification"
  text I have heard of it.
rule
  agent main
  turn 1
  call Agent {"description": "name", "prompt": "name the pears", "subagent_type": "namer"}
rule
  agent main
  text Not waiting.
rule
  prompt contains "pears"
  latency 600s
  text Never.
`);
    let task;
    const prompts = new Prompts(say("go"));
    const talk = await lab.talk(prompts, { agents }, async (m, q) => {
      if (m.subtype === "task_started") {
        task = m.task_id;
        assert.equal(await q.backgroundTasks(m.tool_use_id), true);
      }
      if (m.result === "Not waiting.") await q.stopTask(task);
      if (m.subtype === "task_notification") prompts.over();
    });
    assert.equal(talk.results[0].result, "Not waiting.");
    assert.equal(talk.of("system", "task_notification")[0].status, "stopped");
  },
  async "getTaskOutput tells what an agent has said"(lab) {
    await lab.model(`
rule
  agent main
  prompt contains "task-notification"
  text I have heard of it.
rule
  agent main
  turn 1
  call Agent {"description": "name", "prompt": "name the pears", "subagent_type": "namer", "run_in_background": true}
rule
  agent main
  text Started.
rule
  prompt contains "pears"
  text Williams and Conference.
`);
    let output;
    const prompts = new Prompts(say("go"));
    await lab.talk(prompts, { agents }, async (m, q) => {
      if (m.subtype !== "task_notification") return;
      output = await q.getTaskOutput(m.task_id);
      prompts.over();
    });
    assert.match(output.output, /Williams and Conference/);
    assert.equal(output.truncated, false);
  },
  async "SubagentStart and SubagentStop come once for each agent"(lab) {
    await lab.model(`
rule
  agent main
  turn 1
  call Agent {"description": "name", "prompt": "name the pears", "subagent_type": "namer"}
rule
  prompt contains "pears"
  text Williams.
rule
  text Done.
`);
    const seen = [];
    const note = async (input) => (seen.push(`${input.hook_event_name} ${input.agent_type}`), {});
    await lab.talk("go", { agents, hooks: { SubagentStart: [{ hooks: [note] }], SubagentStop: [{ hooks: [note] }] } });
    assert.deepEqual(seen, ["SubagentStart namer", "SubagentStop namer"]);
  },

  // ---- sessions

  async "resume, continue and the command line go on with the same session"(lab) {
    await lab.model(echo);
    const first = await lab.talk("my word is lamp", { sessionId: "11111111-2222-4333-8444-555555555555" });
    const id = first.result.session_id;
    assert.equal(id, "11111111-2222-4333-8444-555555555555");
    const second = await lab.talk("second", { resume: id });
    assert.equal(second.result.session_id, id);
    const third = await lab.talk("third", { continue: true });
    assert.equal(third.result.session_id, id);
    assert.match(lab.cadre("-p", "fourth", "--resume", id), /fourth/);
    await lab.talk("fifth", { resume: id });
    const all = texts(lab.requests().at(-1)).join("\n");
    for (const word of ["my word is lamp", "second", "third", "fourth", "fifth"]) assert.ok(all.includes(word), word);
  },
  async "forkSession goes on under a new id and leaves the old session alone"(lab) {
    await lab.model(echo);
    const first = await lab.talk("my word is lamp");
    const lines = lab.transcript(first.result.session_id).length;
    const fork = await lab.talk("and then", { resume: first.result.session_id, forkSession: true });
    assert.notEqual(fork.result.session_id, first.result.session_id);
    assert.equal(lab.transcript(first.result.session_id).length, lines);
    assert.ok(texts(lab.requests().at(-1)).some((text) => text.includes("my word is lamp")));
  },
  async "resumeSessionAt leaves out what came behind that message"(lab) {
    await lab.model(echo);
    const first = await lab.talk(Prompts.of(say("one"), say("two")));
    const id = first.result.session_id;
    const answer = first.of("assistant")[0].uuid;
    const fork = await lab.talk("three", { resume: id, forkSession: true, resumeSessionAt: answer });
    const after = texts(lab.requests().at(-1)).join("\n");
    assert.ok(after.includes("one") && after.includes("three") && !after.includes("two"), after);
    assert.notEqual(fork.result.session_id, id);
    await lab.talk("four", { resume: id, resumeSessionAt: answer });
    await lab.talk("five", { resume: id });
    const last = texts(lab.requests().at(-1)).join("\n");
    assert.ok(last.includes("one") && last.includes("four") && last.includes("five") && !last.includes("two"), last);
  },
  async "the SDK reads what was said out of the files of a session and of its fork"(lab) {
    await lab.model('rule\n  turn 1\n  prompt contains "look"\n  text I look.\n  call Glob {"pattern": "*"}\n' + echo);
    const first = await lab.talk("look");
    const fork = await lab.talk("elsewhere", { resume: first.result.session_id, forkSession: true });
    process.env.CLAUDE_CONFIG_DIR = path.join(lab.home, ".claude");
    const read = async (id) => (await getSessionMessages(id, { dir: lab.work })).map(({ type, message }) => [type, message.content]);
    const [of_first, of_fork] = [await read(first.result.session_id), await read(fork.result.session_id)];
    delete process.env.CLAUDE_CONFIG_DIR;
    const kinds = of_first.map(([type, content]) => [type, typeof content === "string" ? content : content.map((b) => b.type).join()]);
    assert.deepEqual(kinds, [["user", "look"], ["assistant", "text"], ["assistant", "tool_use"], ["user", "tool_result"], ["assistant", "text"]]);
    assert.deepEqual(of_fork.slice(0, of_first.length), of_first);
    assert.deepEqual(of_fork.slice(of_first.length).map(([type]) => type), ["user", "assistant"]);
    assert.equal(of_fork[of_first.length][1], "elsewhere");
  },
  async "resumeSessionAt of an unknown message is an error"(lab) {
    await lab.model(echo);
    const first = await lab.talk("one");
    const options = { resume: first.result.session_id, resumeSessionAt: "99999999-2222-4333-8444-555555555555" };
    const talk = await lab.talk("two", options);
    assert.match(talk.error.message, /99999999-2222/);
  },
  async "persistSession: false leaves nothing on disk"(lab) {
    await lab.model(echo);
    const talk = await lab.talk("hello", { persistSession: false });
    assert.equal(talk.result.subtype, "success");
    assert.throws(() => lab.transcript(talk.result.session_id));
  },
  async "resuming a session that is not there is an error"(lab) {
    await lab.model(echo);
    const resume = "99999999-2222-4333-8444-555555555555";
    const talk = await lab.talk("hello", { resume });
    assert.match(talk.error.message, /No conversation found with session ID: 99999999/);
  },

  // ---- limits, errors, ends

  async "maxTurns ends with its own result"(lab) {
    await lab.model('rule\n  call Bash {"command": "echo again"}\n');
    const talk = await lab.talk("go", { maxTurns: 2, allowedTools: ["Bash(echo *)"] });
    assert.equal(talk.result.subtype, "error_max_turns");
    assert.match(talk.error.message, /Reached max turns \(2\)/);
    assert.equal(lab.requests().length, 2);
  },
  async "maxBudgetUsd ends with its own result"(lab) {
    await lab.model('rule\n  usage input=900000 output=20000\n  call Bash {"command": "echo again"}\n');
    const talk = await lab.talk("go", { maxBudgetUsd: 0.5, allowedTools: ["Bash(echo *)"] });
    assert.equal(talk.result.subtype, "error_max_budget_usd");
    assert.match(talk.error.message, /Reached maximum budget/);
  },
  async "partial messages come as the events of the stream"(lab) {
    await lab.model("chunk 3\n" + echo);
    const talk = await lab.talk("hello", { includePartialMessages: true });
    const events = talk.of("stream_event").map((m) => m.event.type);
    assert.equal(events[0], "message_start");
    assert.equal(events.at(-1), "message_stop");
    const text = talk.of("stream_event").map((m) => m.event.delta?.text ?? "").join("");
    assert.equal(text, talk.of("assistant")[0].message.content[0].text);
  },
  async "an error of the service is an error result that says what it was"(lab) {
    await lab.model('rule\n  status 401 authentication_error "bad key"\n');
    const talk = await lab.talk("hello").catch((error) => error);
    assert.ok(talk instanceof Error || talk.result.is_error);
    assert.match(talk instanceof Error ? talk.message : JSON.stringify(talk.result), /401|bad key/);
  },
  async "retries are told"(lab) {
    await lab.model("rule\n  nth 1\n  status 529\n" + echo);
    const talk = await lab.talk("hello");
    assert.equal(talk.of("system", "api_retry")[0].error_status, 529);
    assert.equal(talk.result.subtype, "success");
  },
  async "an assistant message with the error comes before the error result"(lab) {
    await lab.model('rule\n  status 400 invalid_request_error "too odd"\n');
    const seen = [];
    await lab.talk("hello", {}, (m) => seen.push(m)).catch(() => {});
    const message = seen.find((m) => m.type === "assistant");
    assert.equal(message.error, "invalid_request");
    assert.match(message.message.content[0].text, /too odd/);
  },
  async "the process ends by itself when its input does, and with 143 on SIGTERM"(lab) {
    await lab.model("rule\n  prompt contains \"wait\"\n  latency 600s\n  text Never.\n" + echo);
    const argv = ["--output-format", "stream-json", "--verbose", "--input-format", "stream-json"];
    const start = () => spawn(cadre, argv, { cwd: lab.work, env: lab.env, stdio: ["pipe", "pipe", "inherit"] });
    const end = (child) => new Promise((resolve) => child.on("exit", resolve));
    const first = start();
    first.stdin.end(JSON.stringify(say("hello")) + "\n");
    first.stdout.resume();
    assert.equal(await end(first), 0);
    const second = start();
    second.stdin.write(JSON.stringify(say("wait")) + "\n");
    second.stdout.once("data", () => second.kill("SIGTERM"));
    assert.equal(await end(second), 143);
  },
});
