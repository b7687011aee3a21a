/* SPDX-License-Identifier: MIT
 * result.c - from content blocks of MCP to the result of a call. Text is collected in order; an image ends a run of text and
 * becomes a block of its own. Without an image the result is plain text. Content that is neither text nor an image that the
 * model can see becomes a file, which tools can read. */
#include "mcp/client/result.h"
#include "lib/base/base64.h"
#include "lib/base/utf8.h"
#include "lib/io/file.h"
#include "lib/json/json_write.h"

/* ---- files ---- */

enum { FILES_LIMIT = 50 }; /* of one call */

static const struct {
	const char *mime, *extension;
} file_types[] = {
	{ "application/gzip", "gz" }, { "application/json", "json" }, { "application/pdf", "pdf" },
	{ "application/zip", "zip" }, { "audio/mpeg", "mp3" },        { "audio/ogg", "ogg" },
	{ "audio/wav", "wav" },       { "image/bmp", "bmp" },         { "image/gif", "gif" },
	{ "image/jpeg", "jpg" },      { "image/png", "png" },         { "image/svg+xml", "svg" },
	{ "image/webp", "webp" },     { "text/html", "html" },        { "text/plain", "txt" },
	{ "video/mp4", "mp4" },
};

static const char *extension_of(struct str mime)
{
	for (size_t i = 0; i < COUNT_OF(file_types); i++)
		if (str_is_nocase(mime, file_types[i].mime))
			return file_types[i].extension;
	return "bin";
}

static bool is_base64(struct str s)
{
	size_t end = s.n - (s.n < 2 || s.p[s.n - 1] != '=' ? 0 : s.p[s.n - 2] == '=' ? 2 : 1);

	for (size_t i = 0; i < end; i++) {
		char c = s.p[i];
		if (!((c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '+' ||
		      c == '/'))
			return false;
	}
	return s.n && s.n % 4 == 0;
}

static char *save_binary(struct tool_call *call, struct str mime, struct str data, unsigned *count)
{
	char *text_path = tool_result_path(call);
	AUTO_BUF struct buf bytes = { 0 };
	struct err err = { 0 };

	if (!text_path || *count >= FILES_LIMIT || !data.n || base64_decode(&bytes, data, NULL) < 0)
		return NULL;
	struct str stem = { text_path, strlen(text_path) - strlen(".txt") };
	char *path = arena_printf(&call->arena, STR_FMT "-%u.%s", STR_ARG(stem), ++*count, extension_of(mime));
	if (file_make_parents(path, &err) < 0 || file_replace(path, bytes.p, bytes.n, &err) < 0)
		return NULL;
	return path;
}

/* ---- results ---- */

enum {
	DEFAULT_TOKENS = 25000,
	BYTES_PER_TOKEN = 4,
	MOST_CHARS = 500000,
	IMAGE_LIMIT = 5 << 20, /* of base64, what the API takes */
	IMAGES_LIMIT = 20,
};

struct piece {
	struct str text;        /* of a run of text, in the arena; or: */
	struct str image, mime; /* base64 */
};

struct mapping {
	struct tool_call *call;
	struct buf text; /* the run that is being collected */
	struct piece *pieces;
	size_t count, cap, images;
	size_t text_bytes;
	unsigned saved; /* files so far */
};

static void add_piece(struct mapping *m, struct piece piece)
{
	if (m->count == m->cap) {
		m->cap = m->cap ? m->cap * 2 : 8;
		m->pieces = xrealloc(m->pieces, m->cap * sizeof *m->pieces);
	}
	m->pieces[m->count++] = piece;
}

static void end_run(struct mapping *m)
{
	if (!m->text.n)
		return;
	m->text_bytes += m->text.n;
	add_piece(m, (struct piece){ .text = arena_str(&m->call->arena, buf_str(&m->text)) });
	buf_clear(&m->text);
}

static void next_line(struct mapping *m)
{
	if (m->text.n)
		buf_addch(&m->text, '\n');
}

static bool is_image_type(struct str mime)
{
	static const char *const types[] = { "image/png", "image/jpeg", "image/gif", "image/webp" };

	for (size_t i = 0; i < COUNT_OF(types); i++)
		if (str_is_nocase(mime, types[i]))
			return true;
	return false;
}

const char *mcp_image_refusal(struct str mime, struct str data)
{
	return !is_image_type(mime)   ? "left out: the model cannot see this type"
	       : !is_base64(data)     ? "left out: not base64"
	       : data.n > IMAGE_LIMIT ? "left out: too large"
				      : NULL;
}

static void note_binary(struct mapping *m, const char *what, struct str mime, struct str data, const char *why)
{
	char *path = save_binary(m->call, mime, data, &m->saved);

	next_line(m);
	buf_addf(&m->text, "[%s, " STR_FMT ", ", what, STR_ARG(mime));
	buf_addsize(&m->text, data.n / 4 * 3);
	buf_addf(&m->text, ", %s%s%s]", why, path ? "; saved to " : "", path ? path : "");
}

static void add_image(struct mapping *m, struct str mime, struct str data)
{
	const char *why = m->images >= IMAGES_LIMIT ? "left out: too many images" : mcp_image_refusal(mime, data);

	if (why) {
		note_binary(m, "image", mime, data, why);
		return;
	}
	end_run(m);
	m->images++;
	add_piece(m, (struct piece){ .image = data, .mime = mime });
}

static void add_text(struct mapping *m, struct str text)
{
	next_line(m);
	buf_add(&m->text, text.p, text.n);
}

/* What a resource holds: text, or base64 in "blob". */
static void add_contents(struct mapping *m, const struct json *resource)
{
	struct arena *a = &m->call->arena;
	struct str uri = json_str(json_get(resource, "uri"), a);
	struct str mime = json_str(json_get(resource, "mimeType"), a);
	const struct json *blob = json_get(resource, "blob");

	next_line(m);
	buf_addf(&m->text, "[Resource " STR_FMT "]", STR_ARG(uri));
	if (json_is(blob, JSON_STRING) && is_image_type(mime))
		add_image(m, mime, json_str(blob, a));
	else if (json_is(blob, JSON_STRING))
		note_binary(m, "binary content", mime, json_str(blob, a), "not text");
	else
		add_text(m, json_str(json_get(resource, "text"), a));
}

static void add_link(struct mapping *m, const struct json *block)
{
	struct arena *a = &m->call->arena;
	struct str description = json_str(json_get(block, "description"), a);

	next_line(m);
	buf_addf(&m->text, "[Resource link: " STR_FMT "] " STR_FMT, STR_ARG(json_str(json_get(block, "name"), a)),
		 STR_ARG(json_str(json_get(block, "uri"), a)));
	if (description.n)
		buf_addf(&m->text, " (" STR_FMT ")", STR_ARG(description));
}

static void add_block(struct mapping *m, const struct json *block)
{
	struct arena *a = &m->call->arena;
	const struct json *type = json_get(block, "type");
	struct str mime = json_str(json_get(block, "mimeType"), a);

	if (json_str_is(type, "text"))
		add_text(m, json_str(json_get(block, "text"), a));
	else if (json_str_is(type, "image"))
		add_image(m, mime, json_str(json_get(block, "data"), a));
	else if (json_str_is(type, "audio"))
		note_binary(m, "audio", mime, json_str(json_get(block, "data"), a), "left out: the model cannot hear");
	else if (json_str_is(type, "resource"))
		add_contents(m, json_get(block, "resource"));
	else if (json_str_is(type, "resource_link"))
		add_link(m, block);
	else
		add_text(m, json_raw(block));
}

static size_t text_limit(size_t most_chars)
{
	const char *text = getenv("MAX_MCP_OUTPUT_TOKENS");
	uint64_t tokens = DEFAULT_TOKENS;

	if (most_chars)
		return MIN(most_chars, MOST_CHARS);
	if (!text || !str_to_u64(str_from(text), &tokens) || !tokens)
		tokens = DEFAULT_TOKENS;
	return (size_t)MIN(tokens, UINT32_MAX) * BYTES_PER_TOKEN;
}

static void join_texts(const struct mapping *m, struct buf *out)
{
	for (size_t i = 0; i < m->count; i++) {
		struct str text = m->pieces[i].text;
		if (out->n && text.n)
			buf_addch(out, '\n');
		buf_add(out, text.p, text.n);
	}
}

/* All runs of text become one notice with the place of the file; images stay. */
static void persist_text(struct mapping *m)
{
	AUTO_BUF struct buf text = { 0 };
	AUTO_BUF struct buf notice = { 0 };
	size_t kept = 1;

	join_texts(m, &text);
	tool_persist(m->call, buf_str(&text), &notice);
	struct piece *old = m->pieces;
	size_t count = m->count;
	m->pieces = xcalloc(count + 1, sizeof *m->pieces);
	m->pieces[0].text = arena_str(&m->call->arena, buf_str(&notice));
	for (size_t i = 0; i < count; i++)
		if (old[i].image.n)
			m->pieces[kept++] = old[i];
	m->count = kept;
	free(old);
}

static void put_piece(struct json_out *w, const struct piece *p)
{
	json_open(w, '{');
	json_kcstr(w, "type", p->image.n ? "image" : "text");
	if (p->image.n) {
		json_key(w, "source");
		json_open(w, '{');
		json_kcstr(w, "type", "base64");
		json_kstr(w, "media_type", p->mime);
		json_kstr(w, "data", p->image);
		json_close(w);
	} else {
		json_kstr(w, "text", p->text);
	}
	json_close(w);
}

/* People read of an image that there is one. */
static void put_words(const struct mapping *m)
{
	struct buf *out = &m->call->result;

	for (size_t i = 0; i < m->count; i++) {
		const struct piece *p = &m->pieces[i];
		if (out->n)
			buf_addch(out, '\n');
		if (p->image.n)
			buf_addf(out, "[image, " STR_FMT "]", STR_ARG(p->mime));
		else
			buf_add(out, p->text.p, p->text.n);
	}
}

static void finish_result(struct mapping *m, size_t limit, bool is_error)
{
	end_run(m);
	if (m->text_bytes > limit)
		persist_text(m);
	if (m->images) {
		struct json_out w = json_out(&m->call->result_blocks);
		json_open(&w, '[');
		for (size_t i = 0; i < m->count; i++)
			put_piece(&w, &m->pieces[i]);
		json_close(&w);
	}
	put_words(m);
	buf_release(&m->text);
	free(m->pieces);
	tool_call_end(m->call, is_error);
}

void mcp_result_finish(struct tool_call *call, const struct json *result, size_t most_chars)
{
	struct mapping m = { .call = call };
	const struct json *structured = json_get(result, "structuredContent");
	const struct json *content = json_get(result, "content");

	if (json_is(structured, JSON_OBJECT) || json_is(structured, JSON_ARRAY))
		add_text(&m, json_raw(structured));
	else if (json_is(content, JSON_ARRAY))
		for (const struct json *v = json_first(content); v; v = json_next(content, v))
			add_block(&m, v);
	else
		add_text(&m, json_raw(result)); /* servers before 2024-11-05 had a result of another form */
	finish_result(&m, text_limit(most_chars), json_bool(json_get(result, "isError")));
}

void mcp_result_finish_resource(struct tool_call *call, const struct json *result)
{
	struct mapping m = { .call = call };
	const struct json *contents = json_get(result, "contents");

	for (const struct json *v = json_first(contents); json_is(contents, JSON_ARRAY) && v;
	     v = json_next(contents, v))
		add_contents(&m, v);
	if (!m.count && !m.text.n)
		add_text(&m, STR("(the resource is empty)"));
	finish_result(&m, text_limit(0), false);
}
