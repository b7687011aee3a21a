// SPDX-License-Identifier: MIT
// modeld_openai.mjs - the official client of chat completions against modeld. Prints TAP.
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
});
