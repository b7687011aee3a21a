// SPDX-License-Identifier: MIT
// mcp_conformance_client.mjs - the client that the conformance suite of MCP looks at: the whole program, whose scripted model
// calls the one tool of the scenario. How it ended is a line of a file.
// usage: CADRE=PROGRAM CONFORMANCE_ENDS=FILE node mcp_conformance_client.mjs URL
import { spawnSync } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";

const scenario = process.env.MCP_CONFORMANCE_SCENARIO;
const context = JSON.parse(process.env.MCP_CONFORMANCE_CONTEXT ?? "{}");

const calls = {
  initialize: null,
  tools_call: ["add_numbers", { a: 5, b: 3 }],
  "elicitation-sep1034-client-defaults": ["test_client_elicitation_defaults", {}],
  "sse-retry": ["test_reconnection", {}],
};
const call = scenario in calls ? calls[scenario] : ["test-tool", {}];

const oauth = Object.fromEntries(
  Object.entries({
    clientId:
      scenario === "auth/basic-cimd" ? "https://conformance-test.local/client-metadata.json" : context.client_id,
    clientSecret: context.client_secret,
    privateKey: context.private_key_pem,
    idpTokenUrl: context.idp_token_endpoint,
    idpClientId: context.idp_client_id,
    idpToken: context.idp_id_token,
  }).filter(([, value]) => value),
);
const server = { type: "http", url: process.argv.at(-1), ...(Object.keys(oauth).length && { oauth }) };

// Whatever a form asks for is accepted as the server filled it in.
const accept = { hookSpecificOutput: { hookEventName: "Elicitation", action: "accept", content: {} } };
const settings = { hooks: { Elicitation: [{ hooks: [{ type: "command", command: `echo '${JSON.stringify(accept)}'` }] }] } };

const home = fs.mkdtempSync(path.join(os.tmpdir(), "cadre-conformance-"));
const script = path.join(home, "scenario.txt");
const rule = call ? `rule call\n  turn 1\n  call mcp__test__${call[0]} ${JSON.stringify(call[1])}\n` : "";
fs.writeFileSync(script, `${rule}rule answer\n  text The server says: {{last_result}}\n`);

const { status } = spawnSync(
  process.env.CADRE,
  ["-p", "--provider", "scripted", "--scenario", script, "--mcp-config", JSON.stringify({ mcpServers: { test: server } }),
   "--settings", JSON.stringify(settings), "--allowedTools", "mcp__test", "--", "Use the tool"],
  { cwd: home, stdio: ["ignore", "inherit", "inherit"], env: { ...process.env, HOME: home, CLAUDE_CONFIG_DIR: home } },
);
fs.appendFileSync(process.env.CONFORMANCE_ENDS, `${scenario} ${status}\n`);
fs.rmSync(home, { recursive: true, force: true });
process.exit(status ?? 1);
