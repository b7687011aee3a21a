// SPDX-License-Identifier: MIT
// mcp_changing_server.mjs - a server on the MCP SDK that does in the middle of a session what others do only at its start: it
// offers more, logs, asks its client for things, and sees calls withdrawn. On standard input and output, or with PORT over
// streamable HTTP, where the tool `forget` ends all sessions without a word. usage: [PORT=N] node mcp_changing_server.mjs [FILE]
import fs from "node:fs";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { listen, sessions } from "./mcp_http.mjs";

const say = (text) => ({ content: [{ type: "text", text }] });
const note = (line) => fs.appendFileSync(process.argv[2], `${line}\n`);
let ran = 0;

const tools = {
  grow: (server) => {
    server.registerTool("grown", { description: "New" }, async () => say("fully grown"));
    server.registerPrompt("later", { description: "New" }, () => ({
      messages: [{ role: "user", content: { type: "text", text: "words of the new prompt" } }],
    }));
    server.registerResource("fresh", "test://fresh", {}, async () => ({ contents: [{ uri: "test://fresh", text: "new text" }] }));
    return say("It offers more now.");
  },
  log: async (server) => {
    await server.sendLoggingMessage({ level: "error", data: "the disk is nearly full" });
    await server.sendLoggingMessage({ level: "debug", data: "a detail" });
    return say("logged");
  },
  sample: async (server) => {
    const messages = [{ role: "user", content: { type: "text", text: "hi" } }];
    return server.server.createMessage({ messages, maxTokens: 10 }).then(
      () => say("it was sampled"),
      (error) => say(`refused: ${error.code}`),
    );
  },
  ping: async (server) => (await server.server.ping(), say("pong")),
  // Signs of life until its call is withdrawn, which is all that ends it.
  wait: (server, { signal, sendNotification, _meta }) =>
    new Promise((resolve) => {
      let progress = 0;
      const tick = () =>
        sendNotification({ method: "notifications/progress", params: { progressToken: _meta.progressToken, progress: ++progress } });
      const clock = setInterval(tick, 100);
      note(`waits, progress ${_meta.progressToken !== undefined}`);
      signal.addEventListener("abort", () => (clearInterval(clock), note("withdrawn"), resolve(say(""))));
    }),
  forget: () => {
    setImmediate(() => sessions.clear());
    return say("forgotten");
  },
  count: () => say(`ran ${++ran} times`),
};

async function serve(transport) {
  const server = new McpServer({ name: "changing", version: "1" }, { capabilities: { logging: {}, resources: {}, prompts: {} } });
  for (const [name, run] of Object.entries(tools))
    server.registerTool(name, { description: name }, async (extra) => (await transport.heard, run(server, extra)));
  server.registerPrompt("now", {}, () => ({ messages: [] }));
  server.registerResource("old", "test://old", {}, async () => ({ contents: [{ uri: "test://old", text: "old text" }] }));
  await server.connect(transport);
}

if (process.env.PORT)
  listen((http) => {
    http.heard = new Promise((resolve) => (http.listen = resolve));
    return serve(http);
  });
else await serve(new StdioServerTransport());
