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

async function conform(lab, scenario, command = `${node} ${client}`) {
  const done = await run(
    node,
    [packageFile("@modelcontextprotocol/conformance/dist/index.js"), "client", "--command", command, "--scenario", scenario],
    { cwd: lab.work, env: { ...lab.env, CADRE: cadre } },
  );
  assert.equal(done.code, 0, done.out.slice(-3000) + done.err.slice(-1000));
  assert.match(done.out + done.err, /OVERALL: PASSED/);
}

const tests = scenarios.map((scenario) => [`MCP conformance: ${scenario}`, (lab) => conform(lab, scenario)]);

tests.push([
  "MCP conformance: cadre mcp login signs in, and only the user can read what it keeps",
  async (lab) => {
    await conform(lab, "auth/metadata-default", `${cadre} mcp login --url`);
    const kept = path.join(lab.folder, "cadre", "mcp-auth.json");
    assert.equal(fs.statSync(kept).mode & 0o777, 0o600);
    assert.match(fs.readFileSync(kept, "utf8"), /127\.0\.0\.1|localhost/);
  },
]);

// A scenario that a later version of the suite brings is not left out silently.
tests.push([
  "MCP conformance: every client scenario is in the list",
  async (lab) => {
    const suite = packageFile("@modelcontextprotocol/conformance/dist/index.js");
    const { out } = await run(node, [suite, "list", "--client"], { cwd: lab.work });
    const known = [...out.matchAll(/^ {2}- (\S+)/gm)].map((match) => match[1]);
    assert.deepEqual(known.sort(), [...scenarios].sort());
  },
]);

await play(Object.fromEntries(tests));
