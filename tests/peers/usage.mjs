// SPDX-License-Identifier: MIT
// usage.mjs - ccusage reads the sessions that cadre wrote and finds the tokens that cadre itself reports. Prints TAP.
// usage: node usage.mjs CADRE
import assert from "node:assert/strict";
import { cadre, node, packageFile, play, run } from "./mcp_lab.mjs";

const SCENARIO = `
rule
  agent main
  turn 1
  thinking Two of them will do.
  call Agent {"description": "one", "prompt": "look", "subagent_type": "general-purpose"}
  call Agent {"description": "two", "prompt": "look too", "subagent_type": "general-purpose"}
  usage input=1000 output=20 cache_read=900 cache_write=100
rule
  agent main
  text done
  usage input=1500 output=30 cache_read=10 cache_write=7
rule
  turn 1
  call Glob {"pattern": "*"}
  usage input=200 output=5 cache_read=3 cache_write=2
rule
  text looked
  usage input=300 output=6 cache_read=4 cache_write=1
`;

// The ids of answers come from the seed, and ccusage counts each id once.
let seed = 1;

async function ask(lab, ...more) {
  const scenario = lab.file("scenario.txt", `seed ${seed++}\n${SCENARIO}`);
  const words = ["-p", "--output-format", "json", "--provider", "scripted", "--scenario", scenario, ...more];
  const done = await run(cadre, words, { cwd: lab.work, env: lab.env });
  assert.equal(done.code, 0, done.err);
  return JSON.parse(done.out);
}

function total(results) {
  const sum = { inputTokens: 0, outputTokens: 0, cacheCreationTokens: 0, cacheReadTokens: 0 };
  for (const usage of results.flatMap((result) => Object.values(result.modelUsage))) {
    sum.inputTokens += usage.inputTokens;
    sum.outputTokens += usage.outputTokens;
    sum.cacheCreationTokens += usage.cacheCreationInputTokens;
    sum.cacheReadTokens += usage.cacheReadInputTokens;
  }
  return sum;
}

async function counted(lab) {
  const done = await run(node, [packageFile("ccusage/dist/index.js"), "session", "--offline", "--json"], { cwd: lab.work, env: lab.env });
  assert.equal(done.code, 0, done.err);
  const { totalCost, totalTokens, ...tokens } = JSON.parse(done.out).totals;
  return tokens;
}

await play({
  async "ccusage counts the tokens of a session and its children as the result does"(lab) {
    const result = await ask(lab, "go");
    assert.equal(total([result]).inputTokens, 3500);
    assert.deepEqual(await counted(lab), total([result]));
  },
  async "a fork, whose file begins with the lines of its origin, is counted once"(lab) {
    const first = await ask(lab, "go");
    const second = await ask(lab, "--resume", first.session_id, "--fork-session", "go elsewhere");
    assert.notEqual(second.session_id, first.session_id);
    assert.deepEqual(await counted(lab), total([first, second]));
  },
  async "a session that goes on is counted once"(lab) {
    const first = await ask(lab, "go");
    const second = await ask(lab, "--resume", first.session_id, "go on");
    assert.deepEqual(await counted(lab), total([first, second]));
  },
});
