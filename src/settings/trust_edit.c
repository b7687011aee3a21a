/* SPDX-License-Identifier: MIT
 * trust_edit.c - one answer in a text that belongs to others as well. The text is never written anew: the file holds
 * things that we do not know, some of them in an order or spelling that somebody relies on. */
#include "json/json_write.h"
#include "settings/settings_file.h"
#include "settings/trust_int.h"

static const char answer[] = "hasTrustDialogAccepted";

struct edit {
	struct buf *out;
	const struct settings_file *file;
};

static int fail_type(const struct edit *e, const struct json *value, const char *what, struct err *err)
{
	struct settings_cursor at = { 0 };

	settings_cursor_move(&at, e->file, value);
	return err_set(err, ERR_USAGE, "%s:%u:%u: %s: expected an object", e->file->path, at.line, at.column, what);
}

/* The text with new in place of the bytes from `from` to `to`. */
static void splice(const struct edit *e, const char *from, const char *to, struct str new)
{
	const struct buf *text = &e->file->text;

	buf_add(e->out, text->p, (size_t)(from - text->p));
	buf_add(e->out, new.p, new.n);
	buf_add(e->out, to, (size_t)(text->p + text->n - to));
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* The blanks with which the line of p begins. */
static struct str indentation(const struct buf *text, const char *p)
{
	size_t n = 0;

	while (p > text->p && p[-1] != '\n')
		p--;
	while (p[n] == ' ' || p[n] == '\t')
		n++;
	return (struct str){ p, n };
}

/* How the text around is laid out */
struct layout {
	bool lines; /* a member a line */
	struct str indent;
};

static void start_line(struct buf *out, const struct layout *layout, size_t depth)
{
	if (!layout->lines)
		return;
	buf_addf(out, "\n" STR_FMT, STR_ARG(layout->indent));
	for (size_t i = 0; i < depth; i++)
		buf_addstr(out, layout->indent.n && layout->indent.p[0] == '\t' ? "\t" : "  ");
}

/* The first name, and in its object the next one, down to the value. */
static void write_member(struct buf *out, const struct str *names, size_t count, const char *value,
			 const struct layout *layout)
{
	for (size_t i = 0; i < count; i++) {
		start_line(out, layout, i + 1);
		json_add_quoted(out, names[i]);
		buf_addstr(out, i + 1 < count ? ": {" : ": ");
	}
	buf_addstr(out, value);
	for (size_t i = count - 1; i > 0; i--) {
		start_line(out, layout, i);
		buf_addch(out, '}');
	}
}

/* Adds a member to the end of an object, behind the last one, in the manner of the members before it. */
static void append(const struct edit *e, const struct json *object, const struct str *names, size_t count,
		   const char *value)
{
	AUTO_BUF struct buf new = { 0 };
	const struct buf *text = &e->file->text;
	struct str raw = json_raw(object);
	const char *close = raw.p + raw.n - 1;
	const char *end = close;

	while (is_blank(end[-1]))
		end--;
	struct layout layout = {
		.lines = object->count ? memchr(end, '\n', (size_t)(close - end)) : memchr(text->p, '\n', text->n),
		.indent = indentation(text, object->count ? close : raw.p),
	};
	if (object->count)
		buf_addstr(&new, layout.lines ? "," : ", ");
	write_member(&new, names, count, value, &layout);
	if (!object->count)
		start_line(&new, &layout, 0);
	splice(e, end, object->count ? end : close, buf_str(&new));
}

static int edit(const struct edit *e, struct str folder, const char *value, bool *ret_changed, struct err *err)
{
	const struct str names[] = { STR("projects"), folder, { answer, sizeof answer - 1 } };
	const struct json *at = e->file->root;

	for (size_t i = 0; i < COUNT_OF(names); i++) {
		const struct json *next = json_get_str(at, names[i]);
		if (!next) {
			append(e, at, names + i, COUNT_OF(names) - i, value);
			return 0;
		}
		if (i + 1 < COUNT_OF(names) && !json_is(next, JSON_OBJECT))
			return fail_type(e, next, i ? "the folder's entry" : "projects", err);
		at = next;
	}
	struct str old = json_raw(at);
	*ret_changed = !str_is(old, value);
	if (*ret_changed)
		splice(e, old.p, old.p + old.n, str_from(value));
	return 0;
}

int trust_edit(struct buf *out, const char *path, struct str text, struct str folder, bool trusted, bool *ret_changed,
	       struct err *err)
{
	AUTO_SETTINGS_FILE struct settings_file file = { 0 };
	int status = settings_file_parse_up_to(&file, path, text, text.n, err);

	if (status < 0)
		return status;
	*ret_changed = true;
	return edit(&(struct edit){ out, &file }, folder, trusted ? "true" : "false", ret_changed, err);
}
