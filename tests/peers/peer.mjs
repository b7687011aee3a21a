// SPDX-License-Identifier: MIT
// peer.mjs - plays modeld_sdk.txt with modeld and runs tests against it, printing TAP.
import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";

const scenario = fileURLToPath(new URL("modeld_sdk.txt", import.meta.url));

// Resolves to the address that modeld prints when it listens.
async function listening(modeld) {
  let text = "";
  for await (const chunk of modeld.stdout) {
    text += chunk;
    const match = /listening on (\S+)/.exec(text);
    if (match) return match[1];
  }
  throw new Error("modeld ended without listening");
}

// connect(address of modeld) makes the client that all tests use.
export async function play(connect, tests) {
  const modeld = spawn(process.argv[2], [scenario, "--die-with-parent"], { stdio: ["ignore", "pipe", "inherit"] });
  const client = connect(await listening(modeld));
  let number = 0;
  let failed = 0;
  for (const [name, run] of Object.entries(tests)) {
    number++;
    try {
      await run(client);
      console.log(`ok ${number} - ${name}`);
    } catch (error) {
      failed++;
      console.log(`not ok ${number} - ${name}`);
      console.log(String(error.stack).replace(/^/gm, "# "));
    }
  }
  console.log(`1..${number}`);
  modeld.kill();
  process.exit(failed ? 1 : 0);
}
