// SPDX-License-Identifier: MIT
// modeld_openai.mjs - the official client of chat completions and of the Responses API against modeld. Prints TAP.
// usage: node modeld_openai.mjs MODELD
import assert from "node:assert/strict";
import OpenAI from "openai";
import { play } from "./peer.mjs";

const tools = [
  {
    type: "function",
    function: {
      name: "get_weather",
      description: "The weather of a town",
      parameters: { type: "object", properties: { town: { type: "string" }, days: { type: "number" } } },
    },
  },
];
const model = "some-model";
const said = (content) => ({ model, messages: [{ role: "user", content }] });

// The tool loop as a user of the client writes it: the answer goes back as it came.
async function talk(client, prompt) {
  const messages = [{ role: "system", content: "Be brief." }, { role: "user", content: prompt }];
  for (;;) {
    const stream = client.chat.completions.stream({ model, tools, messages, stream_options: { include_usage: true } });
    const { choices, usage } = await stream.finalChatCompletion();
    const { content, tool_calls } = choices[0].message;
    messages.push({ role: "assistant", content, ...(tool_calls?.length ? { tool_calls: tool_calls.map(plain) } : {}) });
    if (choices[0].finish_reason !== "tool_calls") return { choice: choices[0], usage, messages };
    for (const call of tool_calls)
      messages.push({
        role: "tool",
        tool_call_id: call.id,
        content: `${JSON.parse(call.function.arguments).town} is "dry"`,
      });
  }
}

const plain = ({ id, type, function: { name, arguments: text } }) => ({ id, type, function: { name, arguments: text } });

// The same in the Responses API, stateless: the items of an answer go back as they came.
async function talkInItems(client, prompt) {
  const input = [{ role: "user", content: prompt }];
  const flat = tools.map(({ type, function: f }) => ({ type, ...f, strict: false }));
  for (;;) {
    const stream = client.responses.stream({
      model,
      tools: flat,
      instructions: "Be brief.",
      input,
      store: false,
      include: ["reasoning.encrypted_content"],
    });
    const kinds = [];
    stream.on("event", (event) => kinds.push(event.type));
    const response = await stream.finalResponse();
    input.push(...response.output.map(({ parsed_arguments, ...item }) => item));
    const calls = response.output.filter((item) => item.type === "function_call");
    if (!calls.length) return { response, input, kinds };
    for (const call of calls)
      input.push({
        type: "function_call_output",
        call_id: call.call_id,
        output: `${JSON.parse(call.arguments).town} is "dry"`,
      });
  }
}

await play((address) => new OpenAI({ baseURL: `${address}/v1`, apiKey: "key", maxRetries: 2 }), {
  async "a streamed conversation with parallel calls and a retry comes to its end"(client) {
    const { choice, usage, messages } = await talk(client, "the weather, please");
    assert.equal(choice.finish_reason, "stop");
    assert.equal(
      choice.message.content,
      'The weather: Ulm is "dry", Köln "am Rhein" is "dry", Köln "am Rhein" is "dry" is "dry".',
    );
    assert.equal(messages[2].content, "I ask for both.");
    assert.equal(messages[2].tool_calls.length, 2);
    assert.deepEqual(JSON.parse(messages[2].tool_calls[1].function.arguments), { town: 'Köln "am Rhein"' });
    assert.equal(usage.total_tokens, usage.prompt_tokens + usage.completion_tokens);
    assert.ok(usage.completion_tokens > 0 && usage.prompt_tokens > 0);
  },
  async "a completion without stream has its content and usage"(client) {
    const completion = await client.chat.completions.create(said("hello"));
    assert.equal(completion.choices[0].message.content, "You said: hello");
    assert.equal(completion.choices[0].finish_reason, "stop");
    assert.ok(completion.id.startsWith("chatcmpl-"));
    assert.ok(completion._request_id.startsWith("req_"));
    assert.ok(completion.usage.total_tokens > 0);
  },
  async "an error status becomes the client's error with type and request id"(client) {
    await assert.rejects(client.chat.completions.create(said("forbidden")), (error) => {
      assert.ok(error instanceof OpenAI.PermissionDeniedError);
      assert.equal(error.type, "permission_error");
      assert.match(error.message, /not for you/);
      assert.ok(error.requestID.startsWith("req_"));
      return true;
    });
  },
  async "an invalid request is a bad request that says where"(client) {
    const messages = [
      { role: "user", content: "a" },
      { role: "user", content: "b" },
    ];
    await assert.rejects(client.chat.completions.create({ model, messages }), (error) => {
      assert.ok(error instanceof OpenAI.BadRequestError);
      assert.match(error.message, /messages\.1: role/);
      return true;
    });
  },
  async "an error in the stream reaches the caller"(client) {
    const stream = await client.chat.completions.create({ ...said("broken"), stream: true });
    await assert.rejects(async () => {
      for await (const chunk of stream) assert.ok(chunk.id);
    }, /busy now/);
  },
  async "a stream gives deltas, and usage only to who asks for it"(client) {
    const stream = await client.chat.completions.create({ ...said("hello"), stream: true });
    let text = "";
    for await (const chunk of stream) {
      text += chunk.choices[0].delta.content ?? "";
      assert.equal(chunk.usage ?? null, null);
    }
    assert.equal(text, "You said: hello");
  },
  async "the Responses API: a streamed conversation with reasoning and parallel calls comes to its end"(client) {
    await fetch(`${client.baseURL.replace(/\/v1$/, "")}/reset`, { method: "POST" });
    const { response, input, kinds } = await talkInItems(client, "the weather, please");
    assert.equal(response.status, "completed");
    assert.equal(
      response.output_text,
      'The weather: Ulm is "dry", Köln "am Rhein" is "dry", Köln "am Rhein" is "dry" is "dry".',
    );
    assert.deepEqual(
      input.slice(1, 6).map((item) => item.type),
      ["reasoning", "reasoning", "message", "function_call", "function_call"],
    );
    assert.ok(input[1].encrypted_content && input[1].summary[0].text.startsWith("I need"));
    assert.deepEqual(JSON.parse(input[5].arguments), { town: 'Köln "am Rhein"' });
    for (const kind of ["created", "output_item.added", "output_text.delta", "output_item.done", "completed"])
      assert.ok(kinds.includes(`response.${kind}`), kind);
    assert.equal(response.usage.total_tokens, response.usage.input_tokens + response.usage.output_tokens);
  },
  async "the Responses API: an answer without stream, and errors"(client) {
    const response = await client.responses.create({ model, input: "hello" });
    assert.equal(response.output_text, "You said: hello");
    await assert.rejects(client.responses.create({ model, input: "forbidden" }), (error) => {
      assert.ok(error instanceof OpenAI.PermissionDeniedError);
      assert.match(error.message, /not for you/);
      return true;
    });
    let failed;
    for await (const event of await client.responses.create({ model, input: "broken", stream: true }))
      if (event.type === "response.failed") failed = event.response.error;
    assert.deepEqual(failed, { code: "overloaded_error", message: "busy now" });
  },
  async "the Responses API: reasoning that was changed is refused"(client) {
    const item = { type: "reasoning", id: "rs_1", summary: [], encrypted_content: "enc.AAAA" };
    const input = [{ role: "user", content: "a" }, item, { role: "user", content: "b" }];
    await assert.rejects(client.responses.create({ model, input }), /invalid_encrypted_content/);
  },
});
