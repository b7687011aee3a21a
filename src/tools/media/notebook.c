/* SPDX-License-Identifier: MIT
 * notebook.c - Jupyter notebooks: reading them, changing one cell, showing them. */
#include "tools/media/notebook.h"
#include "lib/base/base64.h"
#include "lib/base/utf8.h"
#include "lib/json/json_write.h"
#include "tools/media/image.h"

/* A hundred megabytes of "1,1,1," would need gigabytes of nodes; those of pictures need hardly any. */
static bool has_too_many_values(struct str text)
{
	size_t values = 0;
	bool quoted = false;

	for (size_t i = 0; i < text.n; i++) {
		char c = text.p[i];
		if (quoted && c == '\\')
			i++;
		else if (c == '"')
			quoted = !quoted;
		else if (!quoted && (c == ',' || c == ':' || c == '[' || c == '{'))
			values++;
	}
	return values > NOTEBOOK_VALUE_LIMIT;
}

int notebook_open(struct notebook *n, struct str text, struct err *err)
{
	*n = (struct notebook){ .reader.limits = { .bytes = NOTEBOOK_LIMIT }, .text = text };
	if (text.n > NOTEBOOK_LIMIT || has_too_many_values(text))
		return err_set(err, ERR_LIMIT, "a notebook with more than %d MB or %d million values",
			       NOTEBOOK_LIMIT >> 20, NOTEBOOK_VALUE_LIMIT >> 20);
	if (json_parse(&n->reader, text.p, text.n, &n->root, err) < 0)
		return err_wrap(err, "not a notebook, because not JSON");
	n->cells = json_get(n->root, "cells");
	if (!json_is(n->cells, JSON_ARRAY))
		return err_set(err, ERR_PARSE, "not a notebook of format 4: it has no list of cells");
	for (const struct json *c = json_first(n->cells); c; c = json_next(n->cells, c))
		if (!json_is(c, JSON_OBJECT))
			return err_set(err, ERR_PARSE, "not a notebook: one of its cells is not an object");
	return 0;
}

/* A cell's name is its id, or cell-N, counted from 0, where it has none. */
static void notebook_add_cell_name(struct buf *out, const struct json *cell, size_t index)
{
	AUTO_ARENA struct arena scratch = { 0 };
	struct str id = json_str(json_get(cell, "id"), &scratch);

	if (id.n)
		buf_append(out, id);
	else
		buf_addf(out, "cell-%zu", index);
}

const struct json *notebook_find(const struct notebook *n, struct str name)
{
	AUTO_BUF struct buf own = { 0 };
	size_t index = 0;

	for (const struct json *c = json_first(n->cells); c; c = json_next(n->cells, c), index++) {
		buf_clear(&own);
		notebook_add_cell_name(&own, c, index);
		if (str_eq(buf_str(&own), name))
			return c;
	}
	return NULL;
}

struct str notebook_language(const struct notebook *n, struct arena *arena)
{
	const struct json *metadata = json_get(n->root, "metadata");
	struct str name = json_str(json_get(json_get(metadata, "language_info"), "name"), arena);

	return name.n ? name : json_str(json_get(json_get(metadata, "kernelspec"), "language"), arena);
}

void notebook_add_text(struct buf *out, const struct json *value)
{
	AUTO_ARENA struct arena scratch = { 0 };

	bool is_list = json_is(value, JSON_ARRAY);
	for (const struct json *v = is_list ? json_first(value) : value; v; v = is_list ? json_next(value, v) : NULL) {
		buf_append(out, json_str(v, &scratch));
	}
}

bool notebook_has_ids(const struct notebook *n)
{
	int64_t major = 0, minor = 0;

	(void)json_i64(json_get(n->root, "nbformat"), &major);
	(void)json_i64(json_get(n->root, "nbformat_minor"), &minor);
	return major > 4 || (major == 4 && minor >= 5);
}

/* A notebook with one cell changed, added or removed.
 *
 * A gap is the blank text before a value or a key: "\n   " where lines are indented, " " or nothing where all is on one line.
 * It is all that there is to know about how a neighbour is laid out. */

/* How the cells of this notebook are laid out */
struct layout {
	struct buf cell; /* gap before a cell */
	struct buf key;  /* before each member of a cell */
	struct buf line; /* before each line of a source */
};

static void layout_release(struct layout *l)
{
	buf_release(&l->cell);
	buf_release(&l->key);
	buf_release(&l->line);
}

static const char *start_of(const struct json *v)
{
	return json_raw(v).p;
}

static const char *end_of(const struct json *v)
{
	struct str raw = json_raw(v);

	return raw.p + raw.n;
}

/* The gap before a value that is not the first thing in the text */
static struct str gap_before(const char *p)
{
	const char *from = p;

	while (char_in(from[-1], " \t\r\n"))
		from--;
	return str_between(from, p);
}

/* outer and inner are gaps of neighbouring levels: the next level is indented by as much again. */
static void add_deeper(struct buf *out, struct str outer, struct str inner)
{
	buf_append(out, inner);
	if (inner.n > outer.n && memchr(inner.p, '\n', inner.n))
		buf_add(out, inner.p + outer.n, inner.n - outer.n);
}

static struct layout layout_of(const struct notebook *n)
{
	const struct json *cell = json_first(n->cells);
	struct str list = gap_before(start_of(json_first(n->root))); /* of "cells" and its like, in the notebook */
	const char *line = memrchr(list.p, '\n', list.n);
	struct str line_end = { list.p, line ? (size_t)(line - list.p) + 1 : 0 };
	struct layout l = { 0 };

	if (cell)
		buf_append(&l.cell, gap_before(start_of(cell)));
	else
		add_deeper(&l.cell, line_end, list);
	if (cell && json_first(cell))
		buf_append(&l.key, gap_before(start_of(json_first(cell))));
	else
		add_deeper(&l.key, list, buf_str(&l.cell));
	add_deeper(&l.line, buf_str(&l.cell), buf_str(&l.key));
	return l;
}

/* As Jupyter writes it: a list of lines with their line ends. */
static void add_lines(struct buf *out, struct str source, struct str line_gap, struct str end_gap)
{
	size_t count = 0;

	buf_addch(out, '[');
	while (source.n) {
		const char *end = memchr(source.p, '\n', source.n);
		size_t n = end ? (size_t)(end - source.p) + 1 : source.n;
		if (count++)
			buf_addch(out, ',');
		buf_append(out, line_gap);
		json_add_quoted(out, (struct str){ source.p, n });
		source = str_tail(source, n);
	}
	if (count)
		buf_append(out, end_gap);
	buf_addch(out, ']');
}

/* count: members before it */
static void add_member(struct buf *out, size_t *count, struct str gap, const char *name, const char *value)
{
	if ((*count)++)
		buf_addch(out, ',');
	buf_append(out, gap);
	buf_addf(out, "\"%s\": %s", name, value);
}

/* The old cell, member by member */
static void add_changed_cell(struct buf *out, const struct layout *l, const struct notebook_edit *edit)
{
	const struct json *cell = edit->cell;
	bool is_code = edit->type ? !strcmp(edit->type, "code") : notebook_cell_is(cell, "code");
	size_t count = 0;

	buf_addch(out, '{');
	for (struct json_member m = json_members(cell); m.key; m = json_member_next(cell, m)) {
		if (!is_code && (json_str_is(m.key, "outputs") || json_str_is(m.key, "execution_count")))
			continue;
		if (count++)
			buf_addch(out, ',');
		buf_append(out, gap_before(start_of(m.key)));
		buf_append(out, str_between(start_of(m.key), start_of(m.value)));
		/* The value of a member after the edit. A changed cell has not been run. */
		bool is_source = json_str_is(m.key, "source");
		const struct json *line = json_items(m.value);

		/* A source keeps its form: one text, or a list. */
		if (is_source && json_is(m.value, JSON_STRING))
			json_add_quoted(out, edit->source);
		else if (is_source && line)
			add_lines(out, edit->source, gap_before(start_of(line)), gap_before(end_of(m.value) - 1));
		else if (is_source)
			add_lines(out, edit->source, buf_str(&l->line), buf_str(&l->key));
		else if (edit->type && json_str_is(m.key, "cell_type"))
			json_add_quoted(out, str_from(edit->type));
		else if (is_code && json_str_is(m.key, "outputs"))
			buf_addstr(out, "[]");
		else if (is_code && json_str_is(m.key, "execution_count"))
			buf_addstr(out, "null");
		else
			buf_append(out, json_raw(m.value));
	}
	const struct json *first = json_first(edit->cell);
	struct str gap = first ? gap_before(start_of(first)) : buf_str(&l->key);
	AUTO_BUF struct buf source = { 0 };

	if (!json_get(edit->cell, "cell_type"))
		add_member(out, &count, gap, "cell_type", is_code ? "\"code\"" : "\"markdown\"");
	if (is_code && !json_get(edit->cell, "execution_count"))
		add_member(out, &count, gap, "execution_count", "null");
	if (is_code && !json_get(edit->cell, "outputs"))
		add_member(out, &count, gap, "outputs", "[]");
	if (!json_get(edit->cell, "source")) {
		json_add_quoted(&source, edit->source);
		add_member(out, &count, gap, "source", source.p);
	}
	buf_append(out, gap_before(end_of(cell) - 1));
	buf_addch(out, '}');
}

static void add_new_cell(struct buf *out, const struct layout *l, const struct notebook_edit *edit)
{
	struct str gap = buf_str(&l->key);
	bool is_code = !strcmp(edit->type, "code");
	AUTO_BUF struct buf type = { 0 }, id = { 0 }, source = { 0 };
	size_t count = 0;

	json_add_quoted(&type, str_from(edit->type));
	json_add_quoted(&id, str_from(edit->id));
	add_lines(&source, edit->source, buf_str(&l->line), gap);
	buf_addch(out, '{');
	add_member(out, &count, gap, "cell_type", type.p);
	if (is_code)
		add_member(out, &count, gap, "execution_count", "null");
	if (edit->id)
		add_member(out, &count, gap, "id", id.p);
	add_member(out, &count, gap, "metadata", "{}");
	if (is_code)
		add_member(out, &count, gap, "outputs", "[]");
	add_member(out, &count, gap, "source", source.p);
	buf_append(out, buf_str(&l->cell));
	buf_addch(out, '}');
}

void notebook_change(const struct notebook *n, const struct notebook_edit *edit, struct buf *out)
{
	CLEANUP(layout_release) struct layout l = layout_of(n);
	const struct json *cell = edit->cell, *first = json_first(n->cells), *before = NULL, *next = NULL;
	const char *from = start_of(n->cells) + 1, *to = end_of(n->cells) - 1;
	AUTO_BUF struct buf new = { 0 }; /* in place of from..to */

	switch (edit->verb) {
	case NOTEBOOK_INSERT:
		if (cell)
			from = end_of(cell);
		buf_addstr(&new, cell ? "," : "");
		buf_append(&new, buf_str(&l.cell));
		add_new_cell(&new, &l, edit);
		buf_addstr(&new, !cell && first ? "," : "");
		if (first)
			to = from;
		else
			buf_append(&new, gap_before(start_of(json_first(n->root))));
		break;
	case NOTEBOOK_DELETE: /* with the comma that is too much without it */
		next = json_next(n->cells, cell);
		for (const struct json *c = first; c != cell; c = json_next(n->cells, c))
			before = c;
		if (next || before) {
			from = next ? start_of(cell) : end_of(before);
			to = next ? start_of(next) : end_of(cell);
		}
		break;
	case NOTEBOOK_REPLACE:
		from = start_of(cell);
		to = end_of(cell);
		add_changed_cell(&new, &l, edit);
		break;
	}
	buf_append(out, str_between(n->text.p, from));
	buf_append(out, buf_str(&new));
	buf_append(out, str_between(to, n->text.p + n->text.n));
}

enum {
	OUTPUT_LIMIT = 10000, /* bytes of text of one output */
	MOST_OUTPUTS = 100,   /* of a cell */
	MOST_PICTURES = 20,
	PICTURES_LIMIT = 8 << 20, /* bytes of base64 */
};

struct view_writer {
	struct notebook_view *view;
	struct json_out object; /* writes view->cells */
	size_t text_bytes;      /* of all cells so far */
};

static void add_cut(struct buf *out, struct str text, size_t limit)
{
	struct str head = utf8_cut(text, limit);

	buf_append(out, head);
	if (head.n < text.n)
		buf_addf(out, "\n[%zu more bytes were left out]", text.n - head.n);
}

static void show_text(struct view_writer *s, struct str type, struct str text)
{
	AUTO_BUF struct buf plain = { 0 }, shown = { 0 }, tagged = { 0 };

	/* Colours of a terminal (ESC [ ... letter) mean nothing to the model. */
	for (size_t i = 0; i < text.n; i++) {
		if (text.p[i] != '\x1b')
			buf_addch(&plain, text.p[i]);
		else if (i + 1 < text.n && text.p[i + 1] == '[')
			for (i += 2; i < text.n && (text.p[i] < '@' || text.p[i] > '~');)
				i++;
	}
	add_cut(&shown, buf_str(&plain), OUTPUT_LIMIT);
	buf_addstr(&tagged, "<output>\n");
	buf_add(&tagged, buf_str(&shown).p, shown.n);
	buf_addstr(&tagged, "\n</output>");
	read_blocks_text(&s->view->blocks, buf_str(&tagged));
	s->text_bytes += shown.n;
	json_putf(&s->object, "{output_type:'%.*s', text:'%.*s'}", STR_ARG(type), STR_ARG(buf_str(&shown)));
}

/* A picture that cannot be shown is replaced by the reason. */
static void show_picture(struct view_writer *s, const char *media_type, const struct json *data)
{
	AUTO_FITTED_IMAGE struct fitted_image image = { 0 };
	AUTO_BUF struct buf text = { 0 }, bytes = { 0 };
	struct read_blocks *blocks = &s->view->blocks;
	struct err err = { 0 };

	notebook_add_text(&text, data);
	if (blocks->media >= MOST_PICTURES || blocks->blocks.n > PICTURES_LIMIT)
		err_set(&err, ERR_LIMIT, "there are too many pictures; read fewer cells at once with offset and limit");
	else if (text.n > (size_t)base64_len(IMAGE_FILE_LIMIT))
		err_set(&err, ERR_LIMIT, "too large");
	else if (base64_decode(&bytes, buf_str(&text), &err) == 0)
		(void)image_fit(buf_str(&bytes), &image, &err);
	json_putf(&s->object, "{output_type:'display_data', media_type:'%s'}", media_type);
	if (err.kind)
		read_blocks_textf(blocks, "[%s, left out: %s]", media_type, err.text);
	else
		read_blocks_media(blocks, "image", image_media_type(image.type), buf_str(&image.bytes), "[image]");
}

/* A value that has a picture is shown as that, else as text; other forms of it are for browsers. */
static void show_data(struct view_writer *s, struct str type, const struct json *data)
{
	static const char *const pictures[] = { "image/png", "image/jpeg", "image/gif", "image/webp" };
	static const char *const texts[] = { "text/plain", "text/markdown", "text/html", "image/svg+xml" };
	AUTO_BUF struct buf text = { 0 };

	for (size_t i = 0; i < COUNT_OF(pictures); i++) {
		if (!json_get(data, pictures[i]))
			continue;
		show_picture(s, pictures[i], json_get(data, pictures[i]));
		return;
	}
	for (size_t i = 0; i < COUNT_OF(texts) && !text.n; i++)
		notebook_add_text(&text, json_get(data, texts[i]));
	if (text.n)
		show_text(s, type, buf_str(&text));
}

static void show_outputs(struct view_writer *s, const struct json *outputs)
{
	const struct json *list = json_items(outputs);
	size_t count = 0;

	json_kopen(&s->object, "outputs", '[');
	for (const struct json *o = list; o && count < MOST_OUTPUTS && s->text_bytes <= s->view->cap_bytes; count++) {
		AUTO_ARENA struct arena scratch = { 0 };
		AUTO_BUF struct buf text = { 0 };
		struct str type = json_str(json_get(o, "output_type"), &scratch);
		if (str_is(type, "stream")) {
			notebook_add_text(&text, json_get(o, "text"));
			show_text(s, type, buf_str(&text));
		} else if (str_is(type, "error")) {
			const struct json *trace = json_get(o, "traceback");
			struct str name = json_str(json_get(o, "ename"), &scratch);
			struct str value = json_str(json_get(o, "evalue"), &scratch);

			buf_addf(&text, STR_FMT ": " STR_FMT, STR_ARG(name), STR_ARG(value));
			for (const struct json *line = json_items(trace); line; line = json_next(trace, line)) {
				struct str words = json_str(line, &scratch);
				buf_addch(&text, '\n');
				buf_append(&text, words);
			}
			show_text(s, type, buf_str(&text));
		} else {
			show_data(s, type, json_get(o, "data"));
		}
		o = json_next(outputs, o);
	}
	json_close(&s->object);
	if (list && outputs->count > count)
		read_blocks_textf(&s->view->blocks, "[%zu more outputs were left out]", outputs->count - count);
}

/* False: it does not fit any more. */
static bool show_cell(struct view_writer *s, const struct json *cell, size_t index)
{
	AUTO_ARENA struct arena scratch = { 0 };
	AUTO_BUF struct buf source = { 0 }, name = { 0 }, text = { 0 };
	struct str type = json_str(json_get(cell, "cell_type"), &scratch);

	notebook_add_cell_name(&name, cell, index);
	notebook_add_text(&source, json_get(cell, "source"));
	if (s->view->shown && source.n + s->text_bytes > s->view->cap_bytes)
		return false;
	buf_addstr(&text, "<cell id=");
	json_add_quoted(&text, utf8_cut(buf_str(&name), 200));
	buf_addstr(&text, " type=");
	json_add_quoted(&text, utf8_cut(type, 40));
	buf_addstr(&text, ">\n");
	add_cut(&text, buf_str(&source), s->view->cap_bytes);
	buf_addstr(&text, "\n</cell>");
	read_blocks_text(&s->view->blocks, buf_str(&text));
	s->text_bytes += text.n;
	json_putf(&s->object, "{cell_id:'%.*s', cellType:'%.*s', source:'%.*s'", STR_ARG(buf_str(&name)), STR_ARG(type),
		  STR_ARG(buf_str(&source)));
	if (json_is(json_get(cell, "execution_count"), JSON_NUMBER))
		json_kraw(&s->object, "execution_count", json_raw(json_get(cell, "execution_count")));
	show_outputs(s, json_get(cell, "outputs"));
	json_close(&s->object);
	s->view->shown++;
	return true;
}

void notebook_show(const struct notebook *n, struct notebook_view *view)
{
	struct view_writer s = { .view = view, .object = json_out(&view->cells) };
	size_t index = 0;

	view->total = n->cells->count;
	json_open(&s.object, '[');
	for (const struct json *c = json_first(n->cells); c && !view->cut; c = json_next(n->cells, c), index++) {
		if (index + 1 < view->first || (view->limit && index + 1 >= view->first + view->limit))
			continue;
		view->cut = s.text_bytes > view->cap_bytes || !show_cell(&s, c, index);
	}
	json_close(&s.object);
}
