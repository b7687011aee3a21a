// SPDX-License-Identifier: MIT
// mcp_servers.mjs - servers from npm behind `cadre -p`: what their tools give reaches the model as it should. Prints TAP.
// usage: node mcp_servers.mjs CADRE
import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { cadre, node, packageFile, play, run, textOf } from "./mcp_lab.mjs";

const EVERYTHING = "@modelcontextprotocol/server-everything/dist/index.js";
const FILESYSTEM = "@modelcontextprotocol/server-filesystem/dist/index.js";
const MEMORY = "@modelcontextprotocol/server-memory/dist/index.js";

const transports = {
  stdio: (lab) => lab.stdio("all", EVERYTHING, "stdio"),
  "streamable HTTP": (lab) => lab.listening("all", "http", EVERYTHING, ["streamableHttp"], /listening on port/i, "/mcp"),
  "the older event stream": (lab) => lab.listening("all", "sse", EVERYTHING, ["sse"], /running on port/i, "/sse"),
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

Object.assign(tests, {
  async "server-everything: an address to visit is shown to a hook, and its consent reaches the server"(lab) {
    lab.stdio("all", EVERYTHING, "stdio");
    const url = "https://example.com/pay";
    const [yes] = await lab.calls([["mcp__all__trigger-url-elicitation", { url }]], {
      settings: { hooks: { Elicitation: answer("accept") } },
    });
    assert.match(textOf(yes), /User completed the URL elicitation flow/);
    const asked = JSON.parse(fs.readFileSync(path.join(lab.work, "asked.json")));
    assert.deepEqual([asked.mode, asked.url], ["url", url]);
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
    lab.servers.all.timeout = 1000;
    const [late, sum] = await lab.calls([
      ["mcp__all__trigger-long-running-operation", { duration: 20, steps: 2 }],
      ["mcp__all__get-sum", { a: 1, b: 2 }],
    ]);
    assert.equal(late.is_error, true);
    assert.match(textOf(late), /timed out after 1 s/);
    assert.match(textOf(sum), /3/);
  },

  async "server-everything: a prompt of it is a command"(lab) {
    lab.stdio("all", EVERYTHING, "stdio");
    const script = lab.file("scenario.txt", "rule answer\n  text I was told: {{prompt}}\n");
    const done = await run(
      cadre,
      ["-p", "--provider", "scripted", "--scenario", script, "--mcp-config", JSON.stringify({ mcpServers: lab.servers }),
       "--", "/mcp__all__args-prompt Paris France"],
      { cwd: lab.work, env: lab.env },
    );
    assert.equal(done.code, 0, done.err);
    assert.match(done.out, /What's weather in Paris, France\?/);
  },

  async "server-filesystem works inside the directories of its command line, and nowhere else"(lab) {
    lab.stdio("files", FILESYSTEM, lab.work);
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
  },

  // It asks for our roots when it was greeted and goes on meanwhile, so the model asks until it has them.
  async "server-filesystem takes our working directories in place of its own"(lab) {
    const own = fs.mkdtempSync(path.join(lab.folder, "own"));
    const more = fs.mkdtempSync(path.join(lab.folder, "more"));
    lab.stdio("files", FILESYSTEM, own);
    const results = await lab.play(
      `rule wait\n  last_result lacks "${more}"\n  call mcp__files__list_allowed_directories {}\nrule end\n  text Done.\n`,
      { args: ["--add-dir", more] },
    );
    const told = textOf(results.at(-1));
    assert.ok(told.includes(lab.work) && told.includes(more), told);
    assert.ok(!told.includes(own), told);
  },

  async "server-memory keeps its graph from one run to the next"(lab) {
    lab.stdio("memory", MEMORY);
    lab.servers.memory.env = { MEMORY_FILE_PATH: path.join(lab.work, "graph.jsonl") };
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
