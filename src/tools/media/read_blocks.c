/* SPDX-License-Identifier: MIT
 * read_blocks.c - a result with more than text in it. */
#include "tools/media/read_blocks.h"
#include "lib/base/base64.h"
#include "lib/json/json_write.h"

static void add_words(struct read_blocks *b, struct str text)
{
	if (b->words.n)
		buf_addch(&b->words, '\n');
	buf_append(&b->words, text);
}

static void end_run(struct read_blocks *b)
{
	if (!b->run.n)
		return;
	buf_addch(&b->blocks, b->blocks.n ? ',' : '[');
	json_addf(&b->blocks, "{type:'text', text:'%.*s'}", STR_ARG(buf_str(&b->run)));
	buf_clear(&b->run);
}

void read_blocks_clean(struct buf *out, struct str text)
{
	while (text.p) {
		buf_append(out, str_cut(&text, '\0'));
		if (text.p)
			buf_addstr(out, "\xef\xbf\xbd");
	}
}

void read_blocks_text(struct read_blocks *b, struct str text)
{
	AUTO_BUF struct buf clean = { 0 };

	if (!text.n)
		return;
	read_blocks_clean(&clean, text);
	if (b->run.n)
		buf_addch(&b->run, '\n');
	buf_append(&b->run, buf_str(&clean));
	add_words(b, buf_str(&clean));
}

void read_blocks_textf(struct read_blocks *b, const char *fmt, ...)
{
	AUTO_FREE char *text = NULL;

	PRINT_ARGS_NEW(text, fmt);
	read_blocks_text(b, str_from(text));
}

void read_blocks_media(struct read_blocks *b, const char *kind, const char *media_type, struct str bytes,
		       const char *words)
{
	end_run(b);
	buf_addch(&b->blocks, b->blocks.n ? ',' : '[');
	buf_addf(&b->blocks, "{\"type\":\"%s\",\"source\":{\"type\":\"base64\",\"media_type\":\"%s\",\"data\":\"", kind,
		 media_type);
	base64_add(&b->blocks, bytes);
	buf_addstr(&b->blocks, "\"}}");
	b->media++;
	add_words(b, str_from(words));
}

void read_blocks_finish(struct read_blocks *b, struct tool_call *call)
{
	end_run(b);
	if (b->media) {
		buf_addch(&b->blocks, ']');
		buf_release(&call->result_blocks);
		call->result_blocks = b->blocks;
		b->blocks = (struct buf){ 0 };
	}
	buf_release(&call->result);
	call->result = b->words;
	b->words = (struct buf){ 0 };
	read_blocks_release(b);
	b->media = 0;
}
