// SPDX-License-Identifier: MIT
// messages_talk.mjs - a conversation of the Messages API, as users of the official clients write it.
import assert from "node:assert/strict";

const tools = [
  {
    name: "get_weather",
    description: "The weather of a town",
    input_schema: { type: "object", properties: { town: { type: "string" }, days: { type: "number" } } },
  },
];
export const base = { model: "claude-sonnet-5-5", max_tokens: 4096, thinking: { type: "adaptive" } };

// The tool loop as a user of the client writes it: the answer goes back as it came.
export async function talk(client, prompt) {
  const messages = [{ role: "user", content: prompt }];
  const events = [];
  for (;;) {
    const stream = client.messages.stream({ ...base, tools, messages });
    stream.on("streamEvent", (event) => events.push(event.type));
    const message = await stream.finalMessage();
    messages.push({ role: "assistant", content: message.content });
    if (message.stop_reason !== "tool_use") return { message, messages, events };
    const calls = message.content.filter((block) => block.type === "tool_use");
    const content = calls.map((call) => ({
      type: "tool_result",
      tool_use_id: call.id,
      content: `${call.input.town} is "dry"`,
    }));
    messages.push({ role: "user", content });
  }
}

// What it must have become at its end.
export function checkTalk({ message, messages, events }) {
  assert.equal(message.stop_reason, "end_turn");
  assert.equal(
    message.content[0].text,
    'The weather: Ulm is "dry", Köln "am Rhein" is "dry", Köln "am Rhein" is "dry" is "dry".',
  );
  assert.deepEqual(messages[1].content.map((b) => b.type), ["thinking", "redacted_thinking", "text", "tool_use", "tool_use"]);
  assert.deepEqual(messages[1].content[4].input, { town: 'Köln "am Rhein"' });
  assert.equal(messages[3].content[1].input.days, 3);
  assert.ok(events.includes("content_block_delta") && events.includes("message_stop"));
  assert.ok(message.usage.output_tokens > 0 && message.usage.input_tokens > 0);
}
