// SPDX-License-Identifier: MIT
// mcp_lab.mjs - cadre against programs that speak MCP: a home and a working directory for each test, a scripted model that
// calls tools, and what came of the calls. Tests run two at a time and print TAP.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";

const LIMIT_MS = 90_000;
const AT_ONCE = 2;

export const cadre = path.resolve(process.argv[2]);
// The newest node that is here: some packages want more than the machine may have.
const newer = fileURLToPath(new URL("node_modules/node/bin/node", import.meta.url));
export const node = fs.existsSync(newer) ? newer : process.execPath;
export const packageFile = (name) => fileURLToPath(new URL(`node_modules/${name}`, import.meta.url));
export const ownFile = (name) => fileURLToPath(new URL(name, import.meta.url));
const scriptFile = (script) => (path.isAbsolute(script) ? script : packageFile(script));

// Runs a program to its end.
export async function run(program, words, { input = "", ...options } = {}) {
  const child = spawn(program, words, { stdio: ["pipe", "pipe", "pipe"], ...options });
  const late = setTimeout(() => child.kill("SIGKILL"), LIMIT_MS);
  const done = { out: "", err: "" };
  child.stdout.on("data", (bytes) => (done.out += bytes));
  child.stderr.on("data", (bytes) => (done.err += bytes));
  child.stdin.on("error", () => {}); // it ended without reading
  child.stdin.end(input);
  done.code = await new Promise((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (code, signal) => resolve(code ?? signal));
  });
  clearTimeout(late);
  assert.doesNotMatch(done.err, /Sanitizer|runtime error:/);
  return done;
}

export class Lab {
  constructor() {
    this.folder = fs.mkdtempSync(path.join(os.tmpdir(), "cadre-mcp-"));
    this.work = path.join(this.folder, "work");
    fs.mkdirSync(this.work);
    this.servers = {};
    this.ends = [];
    this.env = { ...process.env, HOME: this.folder, CLAUDE_CONFIG_DIR: this.folder, CADRE_MCP_AUTH_FOLLOW: "1" };
  }

  async close() {
    for (const end of this.ends) await end();
    fs.rmSync(this.folder, { recursive: true, force: true });
  }

  file(name, text) {
    const place = path.join(this.work, name);
    fs.writeFileSync(place, text);
    return place;
  }

  // A server that is a program of one of the packages, or ours, started by cadre.
  stdio(name, script, ...args) {
    this.servers[name] = { command: node, args: [scriptFile(script), ...args] };
  }

  // One that listens; it is started here, and `ready` is what it says when it does.
  async listening(name, type, script, args, ready, address) {
    const port = await freePort();
    const child = spawn(node, [scriptFile(script), ...args], {
      env: { ...this.env, PORT: String(port) },
      stdio: ["ignore", "pipe", "pipe"],
    });
    const gone = new Promise((resolve) => child.on("close", resolve));
    this.ends.push(() => (child.kill("SIGKILL"), gone));
    await new Promise((resolve, reject) => {
      let said = "";
      const hear = (bytes) => ready.test((said += bytes)) && resolve();
      child.stdout.on("data", hear);
      child.stderr.on("data", hear);
      gone.then(() => reject(new Error(`the server ended: ${said}`)));
    });
    this.servers[name] = { type, url: `http://127.0.0.1:${port}${address}` };
  }

  // What the calls of a model that follows this scenario gave, in their order. prompts: one a turn, as a host sends them.
  async play(scenario, { settings, args = [], prompts } = {}) {
    const allow = Object.keys(this.servers).map((name) => `mcp__${name}`);
    const lines = prompts?.map((content) => JSON.stringify({ type: "user", message: { role: "user", content } }) + "\n");
    const done = await run(
      cadre,
      ["-p", "--output-format", "stream-json", "--verbose", "--provider", "scripted",
       "--scenario", this.file("scenario.txt", scenario), "--mcp-config", JSON.stringify({ mcpServers: this.servers }),
       "--settings", JSON.stringify({ permissions: { allow }, ...settings }), ...args,
       ...(prompts ? ["--input-format", "stream-json"] : ["--", "Use the tools"])],
      { cwd: this.work, env: this.env, input: lines?.join("") },
    );
    assert.equal(done.code, 0, done.err + done.out.slice(-2000));
    const frames = done.out.trim().split("\n").map((line) => JSON.parse(line));
    const results = frames
      .filter((frame) => frame.type === "user" && !frame.parent_tool_use_id)
      .flatMap((frame) => frame.message.content)
      .filter((block) => block.type === "tool_result");
    return Object.assign(results, { frames, err: done.err, init: frames.find((frame) => frame.subtype === "init") });
  }

  // The same for [tool, input] each, one a turn. A server may take its tools away meanwhile.
  async calls(list, options) {
    const rules = list.map(
      ([tool, input], i) => `rule call ${i}\n  turn ${i + 1}\n  call ${tool} ${JSON.stringify(input)}\n`,
    );
    const results = await this.play(`allow unknown-tools\n${rules.join("")}rule answer\n  text Done.\n`, options);
    assert.equal(results.length, list.length);
    return results;
  }
}

// Result blocks as one text.
export function textOf(result) {
  if (typeof result.content === "string") return result.content;
  return result.content.map((block) => block.text ?? `(${block.type})`).join("\n");
}

async function freePort() {
  const { createServer } = await import("node:net");
  const server = createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => server.on("listening", resolve));
  const { port } = server.address();
  await new Promise((resolve) => server.close(resolve));
  return port;
}

async function runOne(name, test) {
  const lab = new Lab();
  try {
    await test(lab);
    return [true, name];
  } catch (error) {
    return [false, `${name}\n${String(error.stack).replace(/^/gm, "# ")}`];
  } finally {
    await lab.close();
  }
}

export async function play(tests) {
  const waiting = Object.entries(tests);
  let number = 0;
  let failed = 0;
  const worker = async () => {
    for (let next; (next = waiting.shift()); ) {
      const [ok, text] = await runOne(...next);
      failed += !ok;
      console.log(`${ok ? "ok" : "not ok"} ${++number} - ${text}`);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  console.log(`1..${number}`);
  process.exit(failed ? 1 : 0);
}
