/* SPDX-License-Identifier: MIT
 * expand.c - fills values into the pieces of a template. */
#include "lib/base/utf8.h"
#include "lib/json/json_write.h"
#include "core/scenario/engine_int.h"

static struct str source_text(const struct asking *a, struct source source)
{
	struct texts texts = request_texts(a->request, source, &a->engine->scratch);

	/* With a newline between two. */
	AUTO_BUF struct buf b = { 0 };
	if (texts.n == 1)
		return texts.items[0];
	for (size_t i = 0; i < texts.n; i++) {
		if (i)
			buf_addch(&b, '\n');
		buf_add(&b, texts.items[i].p, texts.items[i].n);
	}
	return arena_str(&a->engine->scratch, buf_str(&b));
}

static uint64_t count_lines(struct str s)
{
	uint64_t lines = 0;

	if (str_ends(s, STR("\n")))
		s.n--;
	for (struct str rest = s; s.n && rest.p; lines++)
		(void)str_cut(&rest, '\n');
	return lines;
}

static struct str captured_text(const struct asking *a, const struct capture *capture)
{
	const struct captured *c = a->captured;

	while (c && c->capture != capture)
		c = c->next;
	return c ? c->text : STR("");
}

static struct str number_text(const struct asking *a, uint64_t number)
{
	return str_from(arena_printf(&a->engine->scratch, "%llu", (unsigned long long)number));
}

static struct str value_of(const struct asking *a, const struct piece *piece)
{
	switch (piece->kind) {
	case PIECE_LITERAL:
		return piece->text;
	case PIECE_N:
		return number_text(a, a->n);
	case PIECE_I:
		return number_text(a, a->i);
	case PIECE_TURN:
		return number_text(a, a->request->turn);
	case PIECE_REQUEST:
		return number_text(a, a->number);
	case PIECE_LINES:
		return number_text(a, count_lines(source_text(a, piece->source)));
	case PIECE_AGENT:
		return a->ask->agent.n ? a->ask->agent : STR("main");
	case PIECE_MODEL:
		return a->request->model;
	case PIECE_SOURCE:
		return source_text(a, piece->source);
	case PIECE_CAPTURE:
		return captured_text(a, piece->capture);
	}
	return STR("");
}

void expand(const struct asking *a, const struct text_template *t, struct buf *out)
{
	for (const struct piece *piece = t->pieces; piece; piece = piece->next) {
		struct str value = value_of(a, piece);
		if (piece->limit_bytes)
			value = utf8_cut(value, piece->limit_bytes);
		if (piece->quoted && piece->kind != PIECE_LITERAL)
			json_add_escaped(out, value);
		else
			buf_add(out, value.p, value.n);
	}
}
