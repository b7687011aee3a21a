// SPDX-License-Identifier: MIT
// mcp_servers.mjs - servers from npm behind `cadre -p`: what their tools give reaches the model as it should. Prints TAP.
// usage: node mcp_servers.mjs CADRE
import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { cadre, node, ownFile, packageFile, play, run, textOf } from "./mcp_lab.mjs";

const EVERYTHING = "@modelcontextprotocol/server-everything/dist/index.js";
const FILESYSTEM = "@modelcontextprotocol/server-filesystem/dist/index.js";
const MEMORY = "@modelcontextprotocol/server-memory/dist/index.js";

const transports = {
  stdio: (lab) => lab.stdio("all", EVERYTHING, "stdio"),
  "streamable HTTP": (lab) => lab.listening("all", "http", EVERYTHING, ["streamableHttp"], /listening on port/i, "/mcp"),
  "the older event stream": (lab) => lab.listening("all", "sse", EVERYTHING, ["sse"], /running on port/i, "/sse"),
};

// For servers that speak on standard input and output only.
const places = {
  stdio: (lab, name, script, ...args) => lab.stdio(name, script, ...args),
  "a bridge to streamable HTTP": (lab, name, script, ...args) =>
    lab.listening(name, "http", ownFile("mcp_bridge.mjs"), [packageFile(script), ...args], /listening/, "/mcp"),
};

const hook = (output) => [{ hooks: [{ type: "command", command: `cat > asked.json; echo '${JSON.stringify(output)}'` }] }];
const answer = (action, content) =>
  hook({ hookSpecificOutput: { hookEventName: "Elicitation", action, ...(content && { content }) } });

// What every transport must carry.
async function offersAll(lab) {
  const results = await lab.calls([
    ["mcp__all__echo", { message: "grüße" }],
    ["mcp__all__get-sum", { a: 20, b: 22 }],
    ["mcp__all__get-structured-content", { location: "Chicago" }],
    ["mcp__all__get-tiny-image", {}],
    ["mcp__all__get-annotated-message", { messageType: "error", includeImage: true }],
    ["mcp__all__get-resource-reference", { resourceType: "Text", resourceId: 3 }],
    ["mcp__all__get-resource-links", { count: 2 }],
    ["mcp__all__get-env", {}],
    ["mcp__all__trigger-long-running-operation", { duration: 1, steps: 4 }],
    ["ListMcpResourcesTool", { server: "all" }],
    ["ReadMcpResourceTool", { server: "all", uri: "demo://resource/static/document/features.md" }],
    ["mcp__all__get-sum", { a: "no number" }],
  ]);
  const texts = results.map(textOf);
  assert.match(texts[0], /grüße/);
  assert.match(texts[1], /42/);
  const weather = JSON.parse(texts[2].slice(texts[2].indexOf("{"), texts[2].lastIndexOf("}") + 1));
  assert.deepEqual(Object.keys(weather).sort(), ["conditions", "humidity", "temperature"]);
  const image = results[3].content.find((block) => block.type === "image");
  assert.equal(image.source.media_type, "image/png");
  assert.equal(Buffer.from(image.source.data, "base64").subarray(1, 4).toString(), "PNG");
  assert.match(texts[4], /Error/);
  assert.ok(results[4].content.some((block) => block.type === "image"));
  assert.match(texts[5], /demo:\/\/resource\/dynamic\/text\/3/);
  assert.match(texts[6], /demo:\/\/resource\/dynamic\/.*\/1/);
  assert.match(texts[7], /PATH/);
  assert.match(texts[8], /Duration: 1 seconds, Steps: 4/);
  assert.match(texts[9], /demo:\/\/resource\/static\/document\/features\.md/);
  assert.match(texts[10], /# /);
  assert.equal(results[11].is_error, true);
  for (const good of results.slice(0, 11)) assert.notEqual(good.is_error, true, textOf(good));
  const server = results.init.mcp_servers.find((s) => s.name === "all");
  assert.equal(server.status, "connected");
}

const tests = {};
for (const [name, connect] of Object.entries(transports))
  tests[`server-everything over ${name}: text, images, structured content, resources, progress, errors`] = async (lab) => {
    await connect(lab);
    await offersAll(lab);
  };

for (const name of ["stdio", "streamable HTTP"]) {
  tests[`server-everything over ${name}: a form is filled in by a hook, and another is declined`] = async (lab) => {
    await transports[name](lab);
    const content = { name: "Ada", check: true, integer: 7 };
    const [yes] = await lab.calls([["mcp__all__trigger-elicitation-request", {}]], {
      settings: { hooks: { Elicitation: answer("accept", content) } },
    });
    assert.match(textOf(yes), /Ada/);
    const asked = JSON.parse(fs.readFileSync(path.join(lab.work, "asked.json")));
    assert.equal(asked.mcp_server_name, "all");
    assert.equal(asked.requested_schema.type, "object");
    const [no] = await lab.calls([["mcp__all__trigger-elicitation-request", {}]], {
      settings: { hooks: { Elicitation: answer("decline") } },
    });
    assert.match(textOf(no), /declined/i);
  };
  tests[`server-everything over ${name}: its logging disturbs nothing, and it hears of our roots`] = async (lab) => {
    await transports[name](lab);
    const [logging, updates, , roots] = await lab.calls([
      ["mcp__all__toggle-simulated-logging", {}],
      ["mcp__all__toggle-subscriber-updates", {}],
      ["mcp__all__trigger-long-running-operation", { duration: 6, steps: 2 }],
      ["mcp__all__get-roots-list", {}],
    ]);
    assert.match(textOf(logging), /logging/i);
    assert.match(textOf(updates), /updates/i);
    assert.ok(textOf(roots).includes(`file://${lab.work}`), textOf(roots));
  };
}

for (const [name, connect] of Object.entries(places)) {
  tests[`server-filesystem over ${name} works inside its directories and nowhere else`] = async (lab) => {
    await connect(lab, "files", FILESYSTEM, lab.work);
    const inside = path.join(lab.work, "note.txt");
    const [written, text, list, outside, edited] = await lab.calls([
      ["mcp__files__write_file", { path: inside, content: "milk\n" }],
      ["mcp__files__read_text_file", { path: inside }],
      ["mcp__files__list_directory", { path: lab.work }],
      ["mcp__files__read_text_file", { path: "/etc/passwd" }],
      ["mcp__files__edit_file", { path: inside, edits: [{ oldText: "milk", newText: "bread" }] }],
    ]);
    assert.match(textOf(written), /success/i);
    assert.match(textOf(text), /milk/);
    assert.match(textOf(list), /note\.txt/);
    assert.equal(outside.is_error, true);
    assert.match(textOf(outside), /denied/i);
    assert.match(textOf(edited), /bread/);
    assert.equal(fs.readFileSync(inside, "utf8"), "bread\n");
  };

  // It asks for our roots when it was greeted and goes on meanwhile, so the model asks until it has them.
  tests[`server-filesystem over ${name} takes our working directories in place of its own`] = async (lab) => {
    const own = fs.mkdtempSync(path.join(lab.folder, "own"));
    const more = fs.mkdtempSync(path.join(lab.folder, "more"));
    await connect(lab, "files", FILESYSTEM, own);
    const results = await lab.play(
      `rule wait\n  last_result lacks "${more}"\n  call mcp__files__list_allowed_directories {}\nrule end\n  text Done.\n`,
      { args: ["--add-dir", more] },
    );
    const told = textOf(results.at(-1));
    assert.ok(told.includes(lab.work) && told.includes(more), told);
    assert.ok(!told.includes(own), told);
  };

  tests[`server-memory over ${name} keeps its graph from one run to the next`] = async (lab) => {
    lab.env.MEMORY_FILE_PATH = path.join(lab.work, "graph.jsonl");
    await connect(lab, "memory", MEMORY);
    const entities = [
      { name: "cadre", entityType: "program", observations: ["is written in C"] },
      { name: "Ada", entityType: "person", observations: ["reads it"] },
    ];
    const relations = [{ from: "Ada", to: "cadre", relationType: "uses" }];
    const [made, related] = await lab.calls([
      ["mcp__memory__create_entities", { entities }],
      ["mcp__memory__create_relations", { relations }],
    ]);
    assert.match(textOf(made), /is written in C/);
    assert.match(textOf(related), /uses/);
    const [found, graph] = await lab.calls([
      ["mcp__memory__search_nodes", { query: "reads" }],
      ["mcp__memory__read_graph", {}],
    ]);
    assert.match(textOf(found), /Ada/);
    assert.doesNotMatch(textOf(found), /is written in C/);
    assert.match(textOf(graph), /uses/);
  };
}

Object.assign(tests, {
  async "server-everything: an address to visit is shown to a hook, and its consent reaches the server"(lab) {
    lab.stdio("all", EVERYTHING, "stdio");
    const url = "https://example.com/pay";
    const ElicitationResult = [{ hooks: [{ type: "command", command: "cat > told.json" }] }];
    const [yes] = await lab.calls([["mcp__all__trigger-url-elicitation", { url, elicitationId: "pay-7" }]], {
      settings: { hooks: { Elicitation: answer("accept"), ElicitationResult } },
    });
    assert.match(textOf(yes), /User completed the URL elicitation flow/);
    const read = (name) => JSON.parse(fs.readFileSync(path.join(lab.work, name)));
    const [asked, told] = [read("asked.json"), read("told.json")];
    assert.deepEqual([asked.mode, asked.url, asked.elicitation_id], ["url", url, "pay-7"]);
    assert.deepEqual([told.action, told.mode, told.elicitation_id], ["accept", "url", "pay-7"]);
  },

  // The error names another address than the request that follows it.
  async "server-everything: a call that is refused until an address was visited is sent again when a hook agrees"(lab) {
    lab.stdio("all", EVERYTHING, "stdio");
    const input = { url: "https://example.com/pay", elicitationId: "pay-1", errorPath: true };
    const output = JSON.stringify({ hookSpecificOutput: { hookEventName: "Elicitation", action: "accept" } });
    const command = `tr -d '\\n' >> asked.jsonl; echo >> asked.jsonl; echo '${output}'`;
    const [yes] = await lab.calls([["mcp__all__trigger-url-elicitation", input]], {
      settings: { hooks: { Elicitation: [{ hooks: [{ type: "command", command }] }] } },
    });
    assert.match(textOf(yes), /User completed the URL elicitation flow/);
    const asked = fs.readFileSync(path.join(lab.work, "asked.jsonl"), "utf8").trim().split("\n").map(JSON.parse);
    assert.deepEqual(asked.map((each) => each.mode), ["url", "url"]);
    assert.match(asked[0].url, /^https:\/\/modelcontextprotocol\.io/);
    assert.equal(asked[1].url, input.url);

    const [no] = await lab.calls([["mcp__all__trigger-url-elicitation", { ...input, elicitationId: "pay-2" }]], {
      settings: { hooks: { Elicitation: answer("decline") } },
    });
    assert.equal(no.is_error, true);
    assert.match(textOf(no), /visit a URL first, and that was not accepted/);
  },

  async "server-everything: what it offers only to clients that can sample or keep tasks is not there"(lab) {
    lab.stdio("all", EVERYTHING, "stdio");
    const { init } = await lab.play("rule answer\n  text Done.\n");
    assert.ok(init.tools.includes("mcp__all__get-roots-list"));
    assert.deepEqual(init.tools.filter((tool) => /sampling|async|research/.test(tool)), []);
  },

  async "server-everything: a resource of a template is read by its address"(lab) {
    lab.stdio("all", EVERYTHING, "stdio");
    const read = (kind) => ["ReadMcpResourceTool", { server: "all", uri: `demo://resource/dynamic/${kind}/2` }];
    const [text, blob] = await lab.calls([read("text"), read("blob")]);
    assert.match(textOf(text), /Resource 2/);
    assert.notEqual(blob.is_error, true, textOf(blob));
  },

  async "server-everything: a file that it makes is listed as a resource and can be read"(lab) {
    lab.stdio("all", EVERYTHING, "stdio");
    const data = `data:text/plain;base64,${Buffer.from("squeeze me").toString("base64")}`;
    const [made, read] = await lab.calls([
      ["mcp__all__gzip-file-as-resource", { name: "note.gz", data, outputType: "resourceLink" }],
      ["ReadMcpResourceTool", { server: "all", uri: "demo://resource/session/note.gz" }],
    ]);
    assert.match(textOf(made), /demo:\/\/resource\/session\/note\.gz/);
    assert.notEqual(read.is_error, true, textOf(read));
  },

  async "server-everything: a call that takes too long is given up, and the server goes on"(lab) {
    lab.stdio("all", EVERYTHING, "stdio");
    lab.servers.all.timeout = 4000;
    const [late, sum] = await lab.calls([
      ["mcp__all__trigger-long-running-operation", { duration: 20, steps: 2 }],
      ["mcp__all__get-sum", { a: 1, b: 2 }],
    ]);
    assert.equal(late.is_error, true);
    assert.match(textOf(late), /timed out after 4 s/);
    assert.match(textOf(sum), /3/);
  },

  async "server-everything: its prompts are commands"(lab) {
    lab.stdio("all", EVERYTHING, "stdio");
    const results = await lab.play("rule answer\n  text I was told: {{prompt}}\n", {
      prompts: ["/mcp__all__args-prompt Paris France", "/mcp__all__simple-prompt", "/mcp__all__resource-prompt Text 2",
                "/mcp__all__completable-prompt Sales Ada"],
    });
    const said = results.frames.filter((frame) => frame.type === "result").map((frame) => frame.result);
    assert.match(said[0], /What's weather in Paris, France\?/);
    assert.match(said[1], /simple prompt without arguments/i);
    assert.match(said[2], /Resource 2/);
    assert.match(said[3], /Ada/);
  },

  async "cadre mcp test tells what a server offers, and fails for one that does not answer"(lab) {
    const words = ["mcp", "test", "--json", "--", node, packageFile(EVERYTHING), "stdio"];
    const good = await run(cadre, words, { cwd: lab.work, env: lab.env });
    assert.equal(good.code, 0, good.err);
    const told = JSON.parse(good.out);
    assert.equal(told.state, "connected");
    assert.equal(told.serverInfo.name, "mcp-servers/everything");
    assert.ok(told.tools.some((tool) => tool.name === "get-sum" && tool.inputSchema.required.includes("a")));
    assert.ok(told.prompts.some((prompt) => prompt.name === "args-prompt" && prompt.arguments[0].required));
    assert.ok(told.resources.some((resource) => resource.uri.startsWith("demo://")));
    const bad = await run(cadre, ["mcp", "test", "--", node, "-e", "process.exit(4)"], { cwd: lab.work, env: lab.env });
    assert.equal(bad.code, 1);
    assert.match(bad.out, /failed .*status 4/);
  },
});

await play(tests);
