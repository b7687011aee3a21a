// SPDX-License-Identifier: MIT
// mcp_conformance.mjs - the conformance suite of MCP in client mode. The auth scenarios bring an authorisation server of their
// own; in place of a browser cadre follows its addresses (docs/internals/mcp_auth.md). usage: node mcp_conformance.mjs CADRE
import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { cadre, node, packageFile, play, run } from "./mcp_lab.mjs";

const client = fileURLToPath(new URL("mcp_conformance_client.mjs", import.meta.url));

const scenarios = [
  "initialize",
  "tools_call",
  "elicitation-sep1034-client-defaults",
  "sse-retry",
  "auth/metadata-default",
  "auth/metadata-var1",
  "auth/metadata-var2",
  "auth/metadata-var3",
  "auth/basic-cimd",
  "auth/scope-from-www-authenticate",
  "auth/scope-from-scopes-supported",
  "auth/scope-omitted-when-undefined",
  "auth/scope-step-up",
  "auth/scope-retry-limit",
  "auth/token-endpoint-auth-basic",
  "auth/token-endpoint-auth-post",
  "auth/token-endpoint-auth-none",
  "auth/pre-registration",
  "auth/2025-03-26-oauth-metadata-backcompat",
  "auth/2025-03-26-oauth-endpoint-fallback",
  "auth/resource-mismatch",
  "auth/offline-access-scope",
  "auth/offline-access-not-supported",
  "auth/client-credentials-jwt",
  "auth/client-credentials-basic",
  "auth/cross-app-access-complete-flow",
];

const suite = packageFile("@modelcontextprotocol/conformance/dist/index.js");
const refused = ["auth/resource-mismatch", "auth/scope-retry-limit"]; // here the client must end with an error

async function conform(lab, command, ...options) {
  const done = await run(node, [suite, "client", "--command", command, ...options], {
    cwd: lab.work,
    env: { ...lab.env, CADRE: cadre, CONFORMANCE_ENDS: path.join(lab.folder, "ends") },
  });
  return { ...done, said: done.out.slice(-3000) + done.err.slice(-1000) };
}

// One run of the suite plays all scenarios: each start of it takes half a second of CPU. What it does not look at then is how a
// client ended, so the client writes that down.
let played;
async function playAll(lab) {
  const done = await conform(lab, `${node} ${client}`, "--suite", "all", "--verbose", "--timeout", "80000");
  return { ...done, ends: fs.readFileSync(path.join(lab.folder, "ends"), "utf8") };
}

// It counts milliseconds: on its own, and again if the machine was busy.
async function playRetry(lab) {
  let done;
  for (let i = 0; i < 3 && done?.code !== 0; i++) done = await conform(lab, `${node} ${client}`, "--scenario", "sse-retry");
  assert.equal(done.code, 0, done.said);
  assert.match(done.out + done.err, /OVERALL: PASSED/);
}

const tests = scenarios.map((scenario) => [
  `MCP conformance: ${scenario}`,
  async (lab) => {
    if (scenario === "sse-retry") return playRetry(lab);
    const { out, said, ends } = await (played ??= playAll(lab));
    assert.match(out, new RegExp(`^✓ ${scenario}: [1-9]\\d* passed, 0 failed$`, "m"), said);
    assert.match(ends, new RegExp(`^${scenario} ${refused.includes(scenario) ? "[1-9]" : "0"}$`, "m"), said);
  },
]);

tests.push([
  "MCP conformance: cadre mcp login signs in, and only the user can read what it keeps",
  async (lab) => {
    const done = await conform(lab, `${cadre} mcp login --url`, "--scenario", "auth/metadata-default");
    assert.equal(done.code, 0, done.said);
    assert.match(done.out + done.err, /OVERALL: PASSED/);
    const kept = path.join(lab.folder, "cadre", "mcp-auth.json");
    assert.equal(fs.statSync(kept).mode & 0o777, 0o600);
    assert.match(fs.readFileSync(kept, "utf8"), /127\.0\.0\.1|localhost/);
  },
]);

// A scenario that a later version of the suite brings is not left out silently.
tests.push([
  "MCP conformance: every client scenario is in the list",
  async (lab) => {
    const { out } = await run(node, [suite, "list", "--client"], { cwd: lab.work });
    const known = [...out.matchAll(/^ {2}- (\S+)/gm)].map((match) => match[1]);
    assert.deepEqual(known.sort(), [...scenarios].sort());
  },
]);

await play(Object.fromEntries(tests));
