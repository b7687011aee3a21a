// SPDX-License-Identifier: MIT
// xterm_screen.mjs - the terminal of VS Code (xterm.js without a window), driven by a test: a JSON object a line comes in, one goes out.
//   {"size": [columns, rows]}   a new size
//   {"write": "BASE64"}         bytes of the program; the reply has what the terminal answers to it
//   {"last": "CHARACTERS"}      for each row: the column of the last cell that has one of them, or -1
//   {"rows": true}              all rows with the scrollback, and the cursor
import readline from "node:readline";
import headless from "@xterm/headless";

const terminal = new headless.Terminal({ cols: 80, rows: 24, scrollback: 100000, allowProposedApi: true });
let answers = "";
terminal.onData((text) => { answers += text; });
const reply = (value) => process.stdout.write(JSON.stringify(value) + "\n");

function rows() {
	const buffer = terminal.buffer.active;
	const found = [];
	for (let i = 0; i < buffer.length; i++) {
		const line = buffer.getLine(i);
		found.push({ text: line.translateToString(true), wrapped: line.isWrapped });
	}
	return { rows: found, cursor: [buffer.baseY + buffer.cursorY, buffer.cursorX], type: buffer.type, height: terminal.rows };
}

function lastColumns(characters) {
	const buffer = terminal.buffer.active;
	const found = [];
	for (let i = 0; i < buffer.length; i++) {
		let column = -1;
		for (let k = 0; k < terminal.cols; k++)
			if (buffer.getLine(i).getCell(k).getChars() && characters.includes(buffer.getLine(i).getCell(k).getChars()))
				column = k;
		found.push(column);
	}
	return { columns: found };
}

reply({ ready: true });
for await (const line of readline.createInterface({ input: process.stdin })) {
	const asked = JSON.parse(line);
	if (asked.size) {
		terminal.resize(...asked.size);
		reply({});
	} else if (asked.write !== undefined) {
		await new Promise((done) => terminal.write(Buffer.from(asked.write, "base64"), done));
		reply({ answers });
		answers = "";
	} else if (asked.last !== undefined) {
		reply(lastColumns(asked.last));
	} else {
		reply(rows());
	}
}
