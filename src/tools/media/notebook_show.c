/* SPDX-License-Identifier: MIT
 * notebook_show.c - a notebook as the model sees it. */
#include "tools/media/notebook_show.h"
#include "lib/base/base64.h"
#include "lib/base/utf8.h"
#include "lib/json/json_write.h"
#include "tools/media/image_fit.h"

enum {
	OUTPUT_LIMIT = 10000, /* bytes of text of one output */
	MOST_OUTPUTS = 100,   /* of a cell */
	MOST_PICTURES = 20,
	PICTURES_LIMIT = 8 << 20, /* bytes of base64 */
};

struct shower {
	struct notebook_view *view;
	struct json_out object; /* writes view->cells */
	size_t text_bytes;      /* of all cells so far */
};

void notebook_view_release(struct notebook_view *view)
{
	read_blocks_release(&view->blocks);
	buf_release(&view->cells);
}

/* ---- texts ---- */

/* Colours of a terminal say nothing to the model. ESC [ ... letter. */
static void add_plain(struct buf *out, struct str text)
{
	for (size_t i = 0; i < text.n; i++) {
		if (text.p[i] != '\x1b') {
			buf_addch(out, text.p[i]);
			continue;
		}
		if (i + 1 < text.n && text.p[i + 1] == '[')
			for (i += 2; i < text.n && (text.p[i] < '@' || text.p[i] > '~'); i++)
				;
	}
}

static void add_cut(struct buf *out, struct str text, size_t limit)
{
	struct str head = utf8_cut(text, limit);

	buf_add(out, head.p, head.n);
	if (head.n < text.n)
		buf_addf(out, "\n[%zu more bytes were left out]", text.n - head.n);
}

static void show_text(struct shower *s, struct str type, struct str text)
{
	AUTO_BUF struct buf plain = { 0 };
	AUTO_BUF struct buf shown = { 0 };
	AUTO_BUF struct buf tagged = { 0 };

	add_plain(&plain, text);
	add_cut(&shown, buf_str(&plain), OUTPUT_LIMIT);
	buf_addstr(&tagged, "<output>\n");
	buf_add(&tagged, buf_str(&shown).p, shown.n);
	buf_addstr(&tagged, "\n</output>");
	read_blocks_text(&s->view->blocks, buf_str(&tagged));
	s->text_bytes += shown.n;
	json_open(&s->object, '{');
	json_kstr(&s->object, "output_type", type);
	json_kstr(&s->object, "text", buf_str(&shown));
	json_close(&s->object);
}

/* ---- pictures ---- */

/* Why it cannot be shown is said in its place. */
static void show_picture(struct shower *s, const char *media_type, const struct json *data)
{
	AUTO_FITTED_IMAGE struct fitted_image image = { 0 };
	AUTO_BUF struct buf text = { 0 };
	AUTO_BUF struct buf bytes = { 0 };
	struct read_blocks *blocks = &s->view->blocks;
	struct err err = { 0 };

	notebook_add_text(&text, data);
	if (blocks->media >= MOST_PICTURES || blocks->blocks.n > PICTURES_LIMIT)
		err_set(&err, ERR_LIMIT, "there are too many pictures; read fewer cells at once with offset and limit");
	else if (text.n > (size_t)base64_len(IMAGE_FILE_LIMIT))
		err_set(&err, ERR_LIMIT, "too large");
	else if (base64_decode(&bytes, buf_str(&text), &err) == 0)
		(void)image_fit(buf_str(&bytes), &image, &err);
	json_open(&s->object, '{');
	json_kcstr(&s->object, "output_type", "display_data");
	json_kcstr(&s->object, "media_type", media_type);
	json_close(&s->object);
	if (err.kind)
		read_blocks_textf(blocks, "[%s, left out: %s]", media_type, err.text);
	else
		read_blocks_media(blocks, "image", image_media_type(image.type), buf_str(&image.bytes), "[image]");
}

/* ---- outputs ---- */

/* A value that has a picture is shown as that, else as text; other forms of it are for browsers. */
static void show_data(struct shower *s, struct str type, const struct json *data)
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

static void show_error(struct shower *s, struct str type, const struct json *output)
{
	AUTO_ARENA struct arena scratch = { 0 };
	AUTO_BUF struct buf text = { 0 };
	const struct json *trace = json_get(output, "traceback");
	struct str name = json_str(json_get(output, "ename"), &scratch);
	struct str value = json_str(json_get(output, "evalue"), &scratch);

	buf_addf(&text, STR_FMT ": " STR_FMT, STR_ARG(name), STR_ARG(value));
	for (const struct json *line = json_is(trace, JSON_ARRAY) ? json_first(trace) : NULL; line;
	     line = json_next(trace, line)) {
		struct str words = json_str(line, &scratch);
		buf_addch(&text, '\n');
		buf_add(&text, words.p, words.n);
	}
	show_text(s, type, buf_str(&text));
}

static void show_output(struct shower *s, const struct json *output)
{
	AUTO_ARENA struct arena scratch = { 0 };
	AUTO_BUF struct buf text = { 0 };
	struct str type = json_str(json_get(output, "output_type"), &scratch);

	if (str_is(type, "stream")) {
		notebook_add_text(&text, json_get(output, "text"));
		show_text(s, type, buf_str(&text));
	} else if (str_is(type, "error")) {
		show_error(s, type, output);
	} else {
		show_data(s, type, json_get(output, "data"));
	}
}

static void show_outputs(struct shower *s, const struct json *outputs)
{
	const struct json *list = json_is(outputs, JSON_ARRAY) ? json_first(outputs) : NULL;
	size_t count = 0;

	json_key(&s->object, "outputs");
	json_open(&s->object, '[');
	for (const struct json *o = list; o && count < MOST_OUTPUTS && s->text_bytes <= s->view->cap_bytes; count++) {
		show_output(s, o);
		o = json_next(outputs, o);
	}
	json_close(&s->object);
	if (list && outputs->count > count)
		read_blocks_textf(&s->view->blocks, "[%zu more outputs were left out]", outputs->count - count);
}

/* ---- cells ---- */

static void put_cell(struct shower *s, const struct json *cell, struct str name, struct str type, struct str source)
{
	json_open(&s->object, '{');
	json_kstr(&s->object, "cell_id", name);
	json_kstr(&s->object, "cellType", type);
	json_kstr(&s->object, "source", source);
	if (json_is(json_get(cell, "execution_count"), JSON_NUMBER))
		json_kraw(&s->object, "execution_count", json_raw(json_get(cell, "execution_count")));
}

/* False: it does not fit any more. */
static bool show_cell(struct shower *s, const struct json *cell, size_t index)
{
	AUTO_ARENA struct arena scratch = { 0 };
	AUTO_BUF struct buf source = { 0 };
	AUTO_BUF struct buf name = { 0 };
	AUTO_BUF struct buf text = { 0 };
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
	put_cell(s, cell, buf_str(&name), type, buf_str(&source));
	show_outputs(s, json_get(cell, "outputs"));
	json_close(&s->object);
	s->view->shown++;
	return true;
}

void notebook_show(const struct notebook *n, struct notebook_view *view)
{
	struct shower s = { .view = view, .object = json_out(&view->cells) };
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
