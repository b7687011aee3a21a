/* SPDX-License-Identifier: MIT
 * skill_text.c - finds the texts of skills in a conversation, for one that starts again. */
#include "defs/skill/skill_text.h"
#include <limits.h>
#include "lib/base/utf8.h"
#include "lib/json/json.h"

static const struct str opening = STR("<skill name=\""), closing = STR("\n</skill>"), cut = STR("\n[cut here]");

void skill_text_add(struct buf *out, const char *name, struct str text)
{
	buf_addf(out, "%s%s%s\">\n", out->n ? "\n\n" : "", opening.p, name);
	buf_add(out, text.p, text.n);
	buf_addstr(out, closing.p);
}

/* The map has the hash itself; one bit of it is set, so that it is not NULL. */
bool skill_text_note(struct map *known, const char *name, struct str text)
{
	void *mark = (void *)(uintptr_t)(str_hash(text) | 1);

	return map_set(known, str_from(name), mark) != mark;
}

struct found_skill {
	struct str text;
	unsigned used; /* number of its last use */
	bool is_cut;
};

struct search {
	struct arena arena; /* has texts and entries */
	struct map found;   /* name -> struct found_skill */
	struct map calls;   /* ids of Skill calls */
	unsigned uses;
	int step; /* from one use to the next: 1, or -1 where the latest stands first */
};

enum { MOST_ATTACHED = 1 << 16 };

static void search_add(struct search *s, struct str name, struct str text)
{
	struct found_skill *f = map_get(&s->found, name);

	if (!f) {
		f = arena_calloc(&s->arena, sizeof *f);
		map_set(&s->found, name, f);
	}
	*f = (struct found_skill){ .text = text, .used = s->uses += (unsigned)s->step, .is_cut = str_ends(text, cut) };
	if (f->is_cut)
		f->text.n -= cut.n;
}

static const char *text_find(struct str in, struct str part)
{
	return in.p && in.n ? memmem(in.p, in.n, part.p, part.n) : NULL;
}

static struct str text_from(struct str text, const char *at)
{
	return (struct str){ at, (size_t)(text.p + text.n - at) };
}

/* A text may contain the form itself: it ends before the next one that begins, or with the last end. */
static void search_tagged(struct search *s, struct str rest)
{
	while (rest.p && str_starts(rest, opening)) {
		rest = text_from(rest, rest.p + opening.n);
		const char *quote = memchr(rest.p, '"', rest.n);
		if (!quote || !str_starts(text_from(rest, quote), STR("\">\n")))
			return;
		struct str name = { rest.p, (size_t)(quote - rest.p) };
		struct str text = text_from(rest, quote + 3);
		const char *next = text_find(text, STR("\n</skill>\n\n<skill name=\""));
		rest = next ? text_from(text, next + closing.n + 2) : (struct str){ 0 };
		size_t n = next ? (size_t)(next - text.p) + closing.n : text.n;
		while (n >= closing.n && memcmp(text.p + n - closing.n, closing.p, closing.n) != 0)
			n--;
		text.n = n >= closing.n ? n - closing.n : text.n;
		search_add(s, arena_str(&s->arena, name), text);
	}
}

static void search_result(struct search *s, struct str text)
{
	static const struct str word = STR("Skill "), again = STR(": its text is in this conversation already");
	const char *colon = text_find(text, STR(":\n\n"));
	const char *line = memchr(text.p, '\n', text.n);
	const char *known = text_find((struct str){ text.p, line ? (size_t)(line - text.p) : text.n }, again);

	if (!str_starts(text, word))
		return;
	if (known) { /* its last use is this one */
		struct found_skill *f =
			map_get(&s->found, (struct str){ text.p + word.n, (size_t)(known - text.p) - word.n });
		if (f)
			f->used = s->uses += (unsigned)s->step;
	} else if (colon && line == colon + 1) {
		search_add(s, (struct str){ text.p + word.n, (size_t)(colon - text.p) - word.n },
			   text_from(text, colon + 3));
	}
}

static void search_text(struct search *s, struct str text)
{
	static const struct str reminder = STR("<system-reminder>\n"), end = STR("\n</system-reminder>");
	const char *at = text_find(text, opening);

	if (!str_starts(text, reminder) || !str_ends(text, end)) {
		search_tagged(s, text);
		return;
	}
	text.n -= end.n;
	s->uses += MOST_ATTACHED; /* attached again: the latest first */
	s->step = -1;
	search_tagged(s, at ? text_from(text, at) : STR(""));
	s->step = 1;
	s->uses += MOST_ATTACHED;
}

/* Searching the bytes for a word is cheap, and nearly no block has one. */
static bool may_have_skill(const struct search *s, const struct block *b)
{
	switch (b->kind) {
	case SEGMENT_TOOL_USE:
		return text_find(b->json, STR("\"Skill\""));
	case SEGMENT_TOOL_RESULT:
		return s->calls.count && text_find(b->json, STR("\"Skill "));
	case SEGMENT_TEXT:
		return b->role == ROLE_USER && text_find(b->json, STR("<skill name=\\\""));
	default:
		return false;
	}
}

static void search_block(struct search *s, const struct block *b)
{
	AUTO_JSON struct json_reader reader = { 0 };
	const struct json *root;

	/* What was parsed points into the block, which stays until the transcript changes. */
	if (!may_have_skill(s, b) || json_parse(&reader, b->json.p, b->json.n, &root, NULL) < 0)
		return;
	if (b->kind == SEGMENT_TEXT) {
		search_text(s, json_str(json_get(root, "text"), &s->arena));
	} else if (b->kind == SEGMENT_TOOL_USE && json_str_is(json_get(root, "name"), "Skill")) {
		map_set(&s->calls, json_str(json_get(root, "id"), &s->arena), s);
	} else if (b->kind == SEGMENT_TOOL_RESULT && !json_bool(json_get(root, "is_error")) &&
		   map_get(&s->calls, json_str(json_get(root, "tool_use_id"), &s->arena))) {
		/* A result is a text, or a list of blocks that begins with one. */
		const struct json *content = json_get(root, "content");
		if (json_is(content, JSON_ARRAY))
			content = json_get(json_first(content), "text");
		search_result(s, json_str(content, &s->arena));
	}
}

static const struct map_entry *latest_before(const struct search *s, unsigned used)
{
	const struct map_entry *found = NULL;
	unsigned best = 0;

	for (const struct map_entry *e = map_next(&s->found, NULL); e; e = map_next(&s->found, e)) {
		const struct found_skill *f = e->value;
		if (f->used < used && f->used > best) {
			found = e;
			best = f->used;
		}
	}
	return found;
}

void skill_texts_restore(struct map *known, const struct transcript *t, struct buf *out)
{
	struct search s = { .step = 1 };
	const struct map_entry *e;

	for (uint32_t i = 0; i < transcript_count(t); i++) {
		struct block b = transcript_block(t, i);
		search_block(&s, &b);
	}
	map_release(known);
	for (unsigned used = UINT_MAX; (e = latest_before(&s, used));) {
		const struct found_skill *f = e->value;
		AUTO_BUF struct buf text = { 0 };
		struct str shown = utf8_cut(f->text, SKILL_KEPT_BYTES);
		bool whole = !f->is_cut && shown.n == f->text.n;
		used = f->used;
		if (out->n + shown.n > SKILL_KEPT_TOTAL)
			continue;
		buf_add(&text, shown.p, shown.n);
		buf_addstr(&text, whole ? "" : cut.p);
		skill_text_add(out, e->key, buf_str(&text));
		if (whole)
			(void)skill_text_note(known, e->key, f->text);
	}
	map_release(&s.found);
	map_release(&s.calls);
	arena_release(&s.arena);
}
