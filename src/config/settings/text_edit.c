/* SPDX-License-Identifier: MIT
 * text_edit.c - small changes to a JSON text. */
#include "config/settings/text_edit.h"
#include "lib/json/json_write.h"

/* The text with new in place of the bytes from `from` to `to`. */
static void splice(struct buf *out, const struct buf *text, const char *from, const char *to, struct str new)
{
	buf_add(out, text->p, (size_t)(from - text->p));
	buf_add(out, new.p, new.n);
	buf_add(out, to, (size_t)(text->p + text->n - to));
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

/* One level of it, as the first indented line shows. */
static struct str indentation_step(const struct buf *text)
{
	struct str rest = { text->p, text->n };

	while (rest.p) {
		struct str line = str_cut(&rest, '\n');
		struct str step = line.n ? indentation(text, line.p) : STR("");
		if (step.n && step.n < str_trim(line).n + step.n)
			return step;
	}
	return STR("  ");
}

/* How the text around is laid out */
struct layout {
	bool lines; /* a member a line */
	struct str indent;
	const char *line_end;
	struct str step; /* one level deeper */
};

static void start_line(struct buf *out, const struct layout *layout, size_t depth)
{
	if (!layout->lines)
		return;
	buf_addf(out, "%s" STR_FMT, layout->line_end, STR_ARG(layout->indent));
	for (size_t i = 0; i < depth; i++)
		buf_add(out, layout->step.p, layout->step.n);
}

static void write_addition(struct buf *out, const struct text_addition *a, const struct layout *layout)
{
	size_t depth = a->count + a->list; /* of the brackets that are opened here, and of what they hold */

	for (size_t i = 0; i < a->count; i++) {
		start_line(out, layout, i + 1);
		json_add_quoted(out, a->names[i]);
		buf_addstr(out, i + 1 < a->count ? ": {" : a->list ? ": [" : ": ");
	}
	if (!a->count || a->list)
		start_line(out, layout, depth + !a->count);
	buf_add(out, a->value.p, a->value.n);
	for (size_t i = depth; i > 1; i--) {
		start_line(out, layout, i - 1);
		buf_addch(out, a->list && i == depth ? ']' : '}');
	}
}

void text_append(struct buf *out, const struct settings_file *file, const struct json *container,
		 const struct text_addition *addition)
{
	AUTO_BUF struct buf new = { 0 };
	struct str raw = json_raw(container);
	const char *close = raw.p + raw.n - 1;
	const char *end = close;

	while (is_blank(end[-1]))
		end--;
	const char *line = memchr(file->text.p, '\n', file->text.n);
	struct layout layout = (struct layout){
		.lines = container->count ? memchr(end, '\n', (size_t)(close - end)) != NULL : line != NULL,
		.indent = indentation(&file->text, container->count ? close : json_raw(container).p),
		.line_end = line && line > file->text.p && line[-1] == '\r' ? "\r\n" : "\n",
		.step = indentation_step(&file->text),
	};
	if (container->count)
		buf_addstr(&new, layout.lines ? "," : ", ");
	write_addition(&new, addition, &layout);
	if (!container->count)
		start_line(&new, &layout, 0);
	splice(out, &file->text, end, container->count ? end : close, buf_str(&new));
}

void text_replace_value(struct buf *out, const struct settings_file *file, const struct json *old, struct str new)
{
	struct str raw = json_raw(old);

	splice(out, &file->text, raw.p, raw.p + raw.n, new);
}

/* With the comma behind it, or if it is the last member with the one before it. */
void text_remove_member(struct buf *out, const struct settings_file *file, const struct json *object, struct str name)
{
	const struct json *value = json_get_str(object, name);
	const char *from = json_raw(value - 1).p; /* the key stands before its value */
	const char *to = json_raw(value).p + json_raw(value).n;
	const char *comma = to;

	while (is_blank(from[-1]))
		from--;
	while (is_blank(*comma))
		comma++;
	if (*comma == ',')
		to = comma + 1;
	else if (from[-1] == ',')
		from--;
	splice(out, &file->text, from, to, STR(""));
}
