// SPDX-License-Identifier: MIT
// mcp_changing_server.mjs - a server on the MCP SDK that does in the middle of a session what others do only at its start: it
// offers more, logs, asks its client for things, and sees calls withdrawn. On standard input and output, or with PORT over
// streamable HTTP, where the tool `forget` ends all sessions without a word. usage: [PORT=N] node mcp_changing_server.mjs [FILE]
import { randomUUID } from "node:crypto";
import fs from "node:fs";
import { createMcpExpressApp } from "@modelcontextprotocol/sdk/server/express.js";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";

const say = (text) => ({ content: [{ type: "text", text }] });
const note = (line) => fs.appendFileSync(process.argv[2], `${line}\n`);
const sessions = new Map();
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

async function open() {
  const http = new StreamableHTTPServerTransport({
    sessionIdGenerator: () => randomUUID(),
    onsessioninitialized: (id) => sessions.set(id, http),
  });
  // What it says by itself goes to the stream of a GET; before there is one the SDK would drop it.
  http.heard = new Promise((resolve) => (http.listen = resolve));
  await serve(http);
  return http;
}

if (process.env.PORT) {
  const app = createMcpExpressApp();
  app.all("/mcp", async (request, response) => {
    const id = request.headers["mcp-session-id"];
    const http = id ? sessions.get(id) : await open();
    if (http && request.method === "GET") {
      const { writeHead } = response;
      response.writeHead = (...head) => (setImmediate(http.listen), writeHead.apply(response, head));
    }
    if (http) await http.handleRequest(request, response, request.body);
    else response.status(404).json({ jsonrpc: "2.0", id: null, error: { code: -32001, message: "Session not found" } });
  });
  app.listen(Number(process.env.PORT), "127.0.0.1", () => console.log("listening"));
} else {
  await serve(new StdioServerTransport());
}
