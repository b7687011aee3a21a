// SPDX-License-Identifier: MIT
// agent_lab.mjs - a home, a working directory and a modeld of its own for each test, and cadre below the agent SDK. Prints TAP.
import { execFileSync, spawn } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { query } from "@anthropic-ai/claude-agent-sdk";

const LIMIT_MS = 60_000;
const [modeld, cadre] = process.argv.slice(2).map((name) => path.resolve(name));

export { cadre };

// A promise with its two ends outside.
export function gate() {
  const ends = {};
  ends.passed = new Promise((resolve, reject) => Object.assign(ends, { open: resolve, fail: reject }));
  return ends;
}

export const say = (content, more) => ({
  type: "user",
  message: { role: "user", content },
  parent_tool_use_id: null,
  session_id: "",
  ...more,
});

// Prompts that are given one by one; over() ends them.
export class Prompts {
  constructor(...first) {
    this.waiting = first;
    this.more = gate();
  }
  static of(...all) {
    const prompts = new Prompts(...all);
    prompts.over();
    return prompts;
  }
  push(message) {
    this.waiting.push(message);
    this.more.open();
  }
  over() {
    this.ended = true;
    this.more.open();
  }
  async *[Symbol.asyncIterator]() {
    for (;;) {
      while (this.waiting.length) yield this.waiting.shift();
      if (this.ended) return;
      await this.more.passed;
      this.more = gate();
    }
  }
}

export class Lab {
  constructor() {
    this.folder = fs.mkdtempSync(path.join(os.tmpdir(), "cadre-sdk-"));
    this.home = path.join(this.folder, "home");
    this.work = path.join(this.folder, "work");
    this.log = path.join(this.folder, "requests");
    for (const place of [this.home, this.work]) fs.mkdirSync(place);
    this.stderr = "";
    this.queries = [];
    this.env = { HOME: this.home, ANTHROPIC_API_KEY: "key", TERM: "dumb", CLAUDE_CODE_TMPDIR: this.folder };
    for (const name of ["PATH", "LANG", "ASAN_OPTIONS", "UBSAN_OPTIONS", "LSAN_OPTIONS"])
      if (process.env[name]) this.env[name] = process.env[name];
  }

  // What the model says (docs/scenarios.md).
  async model(scenario) {
    const file = path.join(this.folder, "scenario.txt");
    fs.writeFileSync(file, scenario);
    const argv = [file, "--log", this.log, "--die-with-parent"];
    this.modeld = spawn(modeld, argv, { stdio: ["ignore", "pipe", "inherit"] });
    let text = "";
    for await (const chunk of this.modeld.stdout) {
      text += chunk;
      const match = /listening on (\S+)/.exec(text);
      if (!match) continue;
      this.env.ANTHROPIC_BASE_URL = match[1];
      return;
    }
    throw new Error("modeld ended without listening");
  }

  // Bodies of the requests that modeld has answered.
  requests() {
    const lines = fs.readFileSync(this.log, "utf8").split("\n").slice(0, -1); // the rest is being written
    return lines.map((line) => JSON.parse(line)).filter((entry) => entry.path.startsWith("/v1/messages")).map((entry) => entry.body);
  }

  file(name, text) {
    const file = path.join(this.work, name);
    fs.mkdirSync(path.dirname(file), { recursive: true });
    if (text !== undefined) fs.writeFileSync(file, text);
    return file;
  }

  read(name) {
    return fs.readFileSync(path.join(this.work, name), "utf8");
  }

  transcriptFile(session) {
    const projects = path.join(this.home, ".claude", "projects");
    return fs.readdirSync(projects).map((dir) => path.join(projects, dir, `${session}.jsonl`)).find(fs.existsSync);
  }

  // Lines of a session's file.
  transcript(session) {
    return fs.readFileSync(this.transcriptFile(session), "utf8").trim().split("\n").map((line) => JSON.parse(line));
  }

  query(prompt, options) {
    const q = query({
      prompt,
      options: {
        pathToClaudeCodeExecutable: cadre,
        cwd: this.work,
        env: this.env,
        stderr: (text) => (this.stderr += text),
        ...options,
      },
    });
    this.queries.push(q);
    return q;
  }

  // All messages of a query; seen(message) is called for each as it comes. What the SDK throws after an error result is its error.
  async talk(prompt, options = {}, seen = () => {}) {
    const q = this.query(prompt, options);
    const talk = new Talk([]);
    try {
      for await (const message of q) {
        talk.messages.push(message);
        await seen(message, q);
      }
    } catch (error) {
      if (!talk.result?.is_error || !/returned an error result/.test(error.message)) throw error;
      talk.error = error;
    }
    return talk;
  }

  // The same conversation without the SDK, on the command line.
  cadre(...args) {
    return execFileSync(cadre, args, { cwd: this.work, env: this.env, encoding: "utf8" });
  }

  async close() {
    for (const q of this.queries) q.close();
    this.modeld?.kill();
    fs.rmSync(this.folder, { recursive: true, force: true });
  }
}

class Talk {
  constructor(messages) {
    this.messages = messages;
  }
  of(type, subtype) {
    return this.messages.filter((m) => m.type === type && (subtype === undefined || m.subtype === subtype));
  }
  get init() {
    return this.of("system", "init")[0];
  }
  get results() {
    return this.of("result");
  }
  get result() {
    return this.results.at(-1);
  }
  // What tools answered, as text.
  get answers() {
    return this.of("user").flatMap((m) => (Array.isArray(m.message.content) ? m.message.content : [])).filter((b) => b.type === "tool_result")
      .map((b) => (typeof b.content === "string" ? b.content : b.content.map((c) => c.text).join("")));
  }
}

// A query that stays open between turns. turn(text) resolves to the messages up to its result.
export class Dialogue {
  constructor(lab, options) {
    this.prompts = new Prompts();
    this.query = lab.query(this.prompts, options);
  }
  async turn(text, seen = () => {}) {
    this.prompts.push(typeof text === "string" ? say(text) : text);
    return this.next(seen);
  }
  async next(seen = () => {}) {
    const messages = [];
    for (;;) {
      const { value, done } = await this.query.next();
      if (done) throw new Error("the query is over");
      messages.push(value);
      await seen(value);
      if (value.type === "result") return messages;
    }
  }
  async over() {
    this.prompts.over();
    const messages = [];
    for await (const message of this.query) messages.push(message);
    return messages;
  }
}

async function bounded(promise) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`not finished after ${LIMIT_MS / 1000} s`)), LIMIT_MS);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

async function run(test) {
  const lab = new Lab();
  try {
    await bounded(test(lab));
    if (/Sanitizer|runtime error:/.test(lab.stderr)) throw new Error(lab.stderr);
  } catch (error) {
    error.stack += `\nstandard error: ${lab.stderr.slice(-2000)}`;
    throw error;
  } finally {
    await lab.close();
  }
}

// Runs the tests, or those whose name has a word of the command line in it.
export async function play(tests) {
  const words = process.argv.slice(4);
  let number = 0;
  let failed = 0;
  for (const [name, test] of Object.entries(tests)) {
    if (words.length && !words.some((word) => name.includes(word))) continue;
    number++;
    try {
      await run(test);
      console.log(`ok ${number} - ${name}`);
    } catch (error) {
      failed++;
      console.log(`not ok ${number} - ${name}\n${String(error.stack).replace(/^/gm, "# ")}`);
    }
  }
  console.log(`1..${number}`);
  process.exit(failed ? 1 : 0);
}
