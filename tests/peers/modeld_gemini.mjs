// SPDX-License-Identifier: MIT
// modeld_gemini.mjs - the official client of Gemini against modeld. Prints TAP.
// usage: node modeld_gemini.mjs MODELD
import assert from "node:assert/strict";
import { ApiError, GoogleGenAI } from "@google/genai";
import { play } from "./peer.mjs";

const tools = [
  {
    functionDeclarations: [
      {
        name: "get_weather",
        description: "The weather of a town",
        parametersJsonSchema: { type: "object", properties: { town: { type: "string" }, days: { type: "number" } } },
      },
    ],
  },
];
const expected = 'The weather: Ulm is "dry", Köln "am Rhein" is "dry", Köln "am Rhein" is "dry" is "dry".';

// The tool loop as a user of the client writes it: the parts go back as they came.
async function talk(client, model, prompt) {
  const contents = [{ role: "user", parts: [{ text: prompt }] }];
  for (;;) {
    let parts = [];
    let last;
    for (let tries = 0; !last; tries++) {
      parts = [];
      try {
        const stream = await client.models.generateContentStream({
          model,
          contents,
          config: { tools, systemInstruction: "Be brief.", thinkingConfig: { includeThoughts: true } },
        });
        for await (const chunk of stream) {
          parts.push(...(chunk.candidates?.[0]?.content?.parts ?? []));
          last = chunk;
        }
      } catch (error) {
        if (!(error instanceof ApiError) || error.status !== 529 || tries) throw error;
        last = undefined;
      }
    }
    contents.push({ role: "model", parts });
    const calls = parts.filter((part) => part.functionCall).map((part) => part.functionCall);
    if (!calls.length) return { last, contents, text: parts.map((part) => (part.thought ? "" : part.text)).join("") };
    contents.push({
      role: "user",
      parts: calls.map(({ id, name, args }) => ({
        functionResponse: { ...(id ? { id } : {}), name, response: { output: `${args.town} is "dry"` } },
      })),
    });
  }
}

const tests = {};
for (const model of ["gemini-3-pro-preview", "gemini-2.5-flash"]) {
  tests[`${model}: a streamed conversation with parallel calls, thoughts and a retry comes to its end`] = async (client) => {
    await fetch(`${client.address}/reset`, { method: "POST" });
    const { last, contents, text } = await talk(client, model, "the weather, please");
    assert.equal(text, expected);
    assert.equal(last.candidates[0].finishReason, "STOP");
    assert.ok(last.usageMetadata.totalTokenCount > last.usageMetadata.promptTokenCount);
    const calls = contents[1].parts.filter((part) => part.functionCall);
    assert.equal(calls.length, 2);
    assert.deepEqual(calls[1].functionCall.args, { town: 'Köln "am Rhein"' });
    assert.ok(calls[0].thoughtSignature && !calls[1].thoughtSignature);
    assert.equal(Boolean(calls[0].functionCall.id), model.startsWith("gemini-3"));
  };
}

await play(
  (address) => {
    const client = new GoogleGenAI({ apiKey: "key", httpOptions: { baseUrl: address } });
    client.address = address;
    return client;
  },
  {
    ...tests,
    async "an answer without stream has its text and usage"(client) {
      const answer = await client.models.generateContent({ model: "gemini-3-pro-preview", contents: "hello" });
      assert.equal(answer.text, "You said: hello");
      assert.ok(answer.usageMetadata.promptTokenCount > 0);
      assert.equal(answer.modelVersion, "gemini-3-pro-preview");
    },
    async "an error status becomes the client's error"(client) {
      await assert.rejects(client.models.generateContent({ model: "gemini-3-pro-preview", contents: "forbidden" }), (error) => {
        assert.ok(error instanceof ApiError);
        assert.equal(error.status, 403);
        assert.match(error.message, /not for you/);
        return true;
      });
    },
    async "a call that comes back without its signature is refused"(client) {
      const contents = [
        { role: "user", parts: [{ text: "hello" }] },
        { role: "model", parts: [{ functionCall: { name: "get_weather", args: {} } }] },
        { role: "user", parts: [{ functionResponse: { name: "get_weather", response: { output: "dry" } } }] },
      ];
      await assert.rejects(
        client.models.generateContent({ model: "gemini-3-pro-preview", contents, config: { tools } }),
        /missing a thought_signature/,
      );
    },
  },
);
