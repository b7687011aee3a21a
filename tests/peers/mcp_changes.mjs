// SPDX-License-Identifier: MIT
// mcp_changes.mjs - what a server made of the MCP SDK does in the middle of a session, and what cadre makes of it. Prints TAP.
// usage: node mcp_changes.mjs CADRE
import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { ownFile, play, textOf } from "./mcp_lab.mjs";

const SERVER = ownFile("mcp_changing_server.mjs");

const transports = {
  stdio: (lab) => lab.stdio("s", SERVER, path.join(lab.work, "notes")),
  "streamable HTTP": (lab) => lab.listening("s", "http", SERVER, [path.join(lab.work, "notes")], /listening/, "/mcp"),
};
const notes = (lab) => fs.readFileSync(path.join(lab.work, "notes"), "utf8").trim().split("\n");
const call = (name) => [`mcp__s__${name}`, {}];

// Lists are fetched behind the notice, so the model looks until it sees a change. All lists change together.
const GROW = `
rule told
  prompt contains "words of the new prompt"
  text I was told.
rule grow
  turn 1
  call mcp__s__grow {}
rule look
  last_result lacks "test://fresh"
  last_result lacks "fully grown"
  call ListMcpResourcesTool {"server": "s"}
rule use
  last_result lacks "fully grown"
  call mcp__s__grown {}
rule end
  text Done.
`;

const tests = {};
for (const [name, connect] of Object.entries(transports)) {
  // The scripted model may call only what its request offers.
  tests[`a server over ${name} offers more: the next requests have the tool, and the prompt is a command`] = async (lab) => {
    await connect(lab);
    const results = await lab.play(GROW, { prompts: ["Use the tools", "/mcp__s__later"] });
    assert.equal(textOf(results.at(-1)), "fully grown");
    assert.ok(!results.init.tools.includes("mcp__s__grown"));
    const said = results.frames.filter((frame) => frame.type === "result").map((frame) => frame.result);
    assert.deepEqual(said, ["Done.", "I was told."]);
  };

  tests[`a server over ${name} logs, pings us, and is refused what we do not offer`] = async (lab) => {
    await connect(lab);
    const results = await lab.calls([call("log"), call("ping"), call("sample")]);
    assert.deepEqual(results.map(textOf), ["logged", "pong", "refused: -32601"]);
    assert.match(results.err, /MCP server s: the disk is nearly full/);
    assert.doesNotMatch(results.err, /a detail/);
  };

  tests[`a server over ${name} hears that a call is withdrawn`] = async (lab) => {
    await connect(lab);
    lab.servers.s.timeout = 1500;
    const [late] = await lab.calls([call("wait"), call("ping"), call("ping")]);
    assert.match(textOf(late), /timed out after 1.5 s/);
    assert.deepEqual(notes(lab), ["waits, progress true", "withdrawn"]);
  };
}

tests["progress is a sign of life of a call that has an idle limit"] = async (lab) => {
  await transports.stdio(lab);
  lab.servers.s.timeout = 7000;
  lab.env.CLAUDE_CODE_MCP_TOOL_IDLE_TIMEOUT = "5000";
  const [late] = await lab.calls([call("wait")]);
  assert.match(textOf(late), /timed out after 7 s/);
};

tests["a call that meets a session that the server has forgotten is sent again in a new one, and runs once"] = async (lab) => {
  await transports["streamable HTTP"](lab);
  const results = await lab.calls([call("count"), call("forget"), call("count"), call("count")]);
  assert.deepEqual(results.map(textOf), ["ran 1 times", "forgotten", "ran 2 times", "ran 3 times"]);
};

await play(tests);
