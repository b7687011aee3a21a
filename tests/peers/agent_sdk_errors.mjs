// SPDX-License-Identifier: MIT
// agent_sdk_errors.mjs - what a program on the agent SDK sees when things go wrong: the result, the exception, the exit code. Prints TAP.
// usage: node agent_sdk_errors.mjs MODELD CADRE [WORD...]
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { Dialogue, cadre, play } from "./agent_lab.mjs";

const echo = "rule\n  text You said: {{prompt}}\n";
const again = 'rule\n  usage input=900000 output=20000\n  call Bash {"command": "echo again"}\n';
const bad = 'rule\n  status 400 invalid_request_error "too odd"\n';
const nobody = "99999999-2222-4333-8444-555555555555";

// The exit code of the process below, for one prompt on the wire.
function exitCode(lab, text, ...args) {
  const argv = ["--output-format", "stream-json", "--verbose", "--input-format", "stream-json", ...args];
  const child = spawn(cadre, argv, { cwd: lab.work, env: lab.env, stdio: ["pipe", "ignore", "ignore"] });
  child.stdin.on("error", () => {});
  child.stdin.end(JSON.stringify({ type: "user", message: { role: "user", content: text } }) + "\n");
  return new Promise((resolve) => child.on("exit", resolve));
}

function raised(talk, text) {
  assert.equal(talk.result.is_error, true);
  assert.match(talk.error?.message ?? "nothing was raised", /^Claude Code returned an error result: /);
  assert.match(talk.error.message, text);
}

await play({
  async "API error: the result says what it was, and the SDK raises it"(lab) {
    await lab.model(bad);
    const talk = await lab.talk("hello");
    assert.equal(talk.result.subtype, "success");
    assert.equal(talk.result.api_error_status, 400);
    raised(talk, /API Error: 400.*too odd/);
  },
  async "API error: exit code 1"(lab) {
    await lab.model(bad);
    assert.equal(await exitCode(lab, "hello"), 1);
  },
  async "max turns: error_max_turns, raised"(lab) {
    await lab.model(again);
    const talk = await lab.talk("go", { maxTurns: 2, allowedTools: ["Bash(echo *)"] });
    assert.equal(talk.result.subtype, "error_max_turns");
    raised(talk, /Reached max turns \(2\)/);
  },
  async "max turns: exit code 1"(lab) {
    await lab.model(again);
    assert.equal(await exitCode(lab, "go", "--max-turns", "1", "--allowedTools", "Bash(echo *)"), 1);
  },
  async "budget: error_max_budget_usd, raised"(lab) {
    await lab.model(again);
    const talk = await lab.talk("go", { maxBudgetUsd: 0.5, allowedTools: ["Bash(echo *)"] });
    assert.equal(talk.result.subtype, "error_max_budget_usd");
    raised(talk, /Reached maximum budget/);
  },
  async "budget: exit code 1"(lab) {
    await lab.model(again);
    assert.equal(await exitCode(lab, "go", "--max-budget-usd", "0.5", "--allowedTools", "Bash(echo *)"), 1);
  },
  async "an empty prompt has a result, and nothing is raised"(lab) {
    await lab.model(echo);
    const talk = await lab.talk("");
    assert.equal(talk.result.subtype, "success");
    assert.equal(talk.error, undefined);
    assert.equal(lab.requests().length, 0);
  },
  async "an empty prompt between others keeps its place"(lab) {
    await lab.model(echo);
    const dialogue = new Dialogue(lab, {});
    const last = async (text) => (await dialogue.turn(text)).at(-1).result;
    assert.match(await last("one"), /one/);
    assert.equal(await last(""), "");
    assert.match(await last("two"), /two/);
    await dialogue.over();
  },
  async "a session that is not there: an error result before anything else, raised"(lab) {
    await lab.model(echo);
    const talk = await lab.talk("hello", { resume: nobody });
    assert.equal(talk.messages[0].type, "result");
    assert.equal(talk.result.subtype, "error_during_execution");
    raised(talk, new RegExp(`No conversation found with session ID: ${nobody}`));
  },
  async "a session that is not there: exit code 1"(lab) {
    await lab.model(echo);
    assert.equal(await exitCode(lab, "hello", `--resume=${nobody}`), 1);
  },
  async "an agent that is not there: raised, with the names of those that are"(lab) {
    await lab.model(echo);
    const talk = await lab.talk("hello", { agent: "nobody" });
    raised(talk, /nobody.*general-purpose/s);
    assert.equal(lab.requests().length, 0);
  },
  async "an agent that is not there: exit code 1"(lab) {
    await lab.model(echo);
    assert.equal(await exitCode(lab, "hello", "--agent", "nobody"), 1);
  },
});
