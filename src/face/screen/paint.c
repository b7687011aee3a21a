/* SPDX-License-Identifier: MIT
 * paint.c - text with looks, and how wide it is on a terminal. */
#include "face/screen/paint.h"
#include <stdarg.h>
#include <utf8proc.h>
#include "face/screen/width.h"
#include "lib/base/library.h"
#include "lib/base/utf8.h"

enum { TAB_COLUMNS = 8 };

/* Is the character that this valid UTF-8 starts with one that acts on a terminal? */
static bool is_control(const unsigned char *p, size_t n, unsigned *ret_cp, size_t *ret_n)
{
	*ret_cp = p[0];
	*ret_n = 1;
	if (p[0] == 0xc2 && n > 1) {
		*ret_cp = p[1];
		*ret_n = 2;
		return p[1] < 0xa0;
	}
	if (p[0] == 0xe2 && n > 2) {
		unsigned cp = 0x2000u | (p[1] & 0x3fu) << 6 | (p[2] & 0x3fu);
		*ret_cp = cp;
		*ret_n = 3;
		return (cp >= 0x202a && cp <= 0x202e) || (cp >= 0x2066 && cp <= 0x2069);
	}
	return p[0] < 0x20 || p[0] == 0x7f;
}

static void render_bytes(struct buf *out, struct str s, bool one_line)
{
	AUTO_BUF struct buf valid = { 0 };

	utf8_add_repaired(&valid, s);
	for (size_t i = 0; i < valid.n;) {
		const unsigned char *p = (const unsigned char *)valid.p + i;
		size_t n;
		unsigned cp;

		if (!is_control(p, valid.n - i, &cp, &n))
			buf_add(out, p, n);
		else if (cp == '\t' || cp == '\n')
			buf_add(out, one_line ? " " : (const char *)p, 1);
		else if (cp != '\r' || p[1] != '\n')
			buf_addf(out, cp < 0x80 ? "\\x%02x" : "\\u%04x", cp);
		i += n;
	}
}

void render_text(struct buf *out, struct str s)
{
	render_bytes(out, s, false);
}

void render_line(struct buf *out, struct str s)
{
	render_bytes(out, s, true);
}

char *render_copy(struct str s)
{
	AUTO_BUF struct buf b = { 0 };

	render_line(&b, s);
	return buf_take(&b, NULL);
}

void styled_release(struct styled *s)
{
	buf_release(&s->text);
	buf_release(&s->looks);
}

void styled_clear(struct styled *s)
{
	buf_clear(&s->text);
	buf_clear(&s->looks);
}

static bool has_controls(struct str s)
{
	for (size_t i = 0; i < s.n; i++) {
		const unsigned char *p = (const unsigned char *)s.p + i;
		unsigned cp;
		size_t n;

		if ((*p < 0x20 || *p >= 0x7f) && is_control(p, s.n - i, &cp, &n) && cp != '\t' && cp != '\n')
			return true;
	}
	return false;
}

/* The last gate: a text that was not made harmless before becomes so here. */
void styled_add(struct styled *s, unsigned look, struct str text)
{
	AUTO_BUF struct buf safe = { 0 };

	if (has_controls(text)) {
		render_text(&safe, text);
		text = buf_str(&safe);
	}
	buf_add(&s->text, text.p, text.n);
	buf_reserve(&s->looks, text.n);
	memset(s->looks.p + s->looks.n, (int)look, text.n);
	s->looks.n += text.n;
}

void styled_addf(struct styled *s, unsigned look, const char *fmt, ...)
{
	char text[512];
	va_list args;

	va_start(args, fmt);
	int n = vsnprintf(text, sizeof text, fmt, args);
	va_end(args);
	struct str whole = utf8_cut((struct str){ text, MIN((size_t)MAX(n, 0), sizeof text - 1) }, sizeof text);
	AUTO_BUF struct buf valid = { 0 };
	if (!utf8_valid(whole)) {
		utf8_add_repaired(&valid, whole);
		whole = buf_str(&valid);
	}
	styled_add(s, look, whole);
}

void styled_add_foreign(struct styled *s, unsigned look, struct str text)
{
	AUTO_BUF struct buf safe = { 0 };

	render_line(&safe, text);
	styled_add(s, look, buf_str(&safe));
}

void styled_add_foreign_lines(struct styled *s, unsigned look, struct str text)
{
	AUTO_BUF struct buf safe = { 0 };

	render_text(&safe, text);
	styled_add(s, look, buf_str(&safe));
}

void styled_add_line(struct styled *s, unsigned look, struct str text)
{
	styled_add_foreign(s, look, text);
	styled_add(s, LOOK_PLAIN, STR("\n"));
}

void styled_add_code(struct styled *s, unsigned look, struct str text)
{
	for (struct str rest = text; rest.p;) {
		styled_add_foreign(s, look, str_cut(&rest, '\t'));
		styled_add(s, look, rest.p ? STR("\t") : STR(""));
	}
}

void styled_expand_tabs(struct styled *s)
{
	struct styled out = { 0 };
	struct str text = buf_str(&s->text);
	size_t kept = 0, line = 0;

	for (size_t i = 0; i < text.n; i++) {
		if (text.p[i] == '\n')
			line = i + 1;
		if (text.p[i] != '\t')
			continue;
		styled_append(&out, s, kept, i);
		unsigned column = cells_width((struct str){ text.p + line, i - line });
		styled_addf(&out, (unsigned char)s->looks.p[i], "%*s", (int)(TAB_COLUMNS - column % TAB_COLUMNS), "");
		kept = i + 1;
	}
	if (!kept)
		return;
	styled_append(&out, s, kept, text.n);
	styled_release(s);
	*s = out;
}

void styled_append(struct styled *s, const struct styled *other, size_t from, size_t to)
{
	if (from >= to)
		return;
	buf_add(&s->text, other->text.p + from, to - from);
	buf_add(&s->looks, other->looks.p + from, to - from);
}

bool styled_equal(const struct styled *a, const struct styled *b)
{
	return str_eq(buf_str(&a->text), buf_str(&b->text)) && str_eq(buf_str(&a->looks), buf_str(&b->looks));
}

static enum theme background = THEME_ANSI; /* whose colours of differences THEME_AUTO has */
static bool links;

void theme_set_background(bool light)
{
	background = light ? THEME_LIGHT : THEME_DARK;
}

void paint_set_links(bool on)
{
	links = on;
}

enum theme theme_find(struct str name)
{
	static const char *const names[] = { "ansi", "dark", "light", "dark-daltonized", "light-daltonized" };
	const char *colours = getenv("COLORFGBG"); /* 15;0 or 15;default;0: the last one is the background */
	const char *last = colours ? strrchr(colours, ';') : NULL;

	for (size_t i = 0; i < COUNT_OF(names); i++)
		if (str_is(name, names[i]))
			return THEME_ANSI + (enum theme)i;
	if (last)
		theme_set_background(!strcmp(last, ";7") || !strcmp(last, ";15"));
	return THEME_AUTO;
}

/* SGR of the colours: red, green, yellow, blue, magenta, cyan, orange, pink; added, removed, and the words in them */
static const char *const colours[][14] = {
	[THEME_ANSI] = { "", ";31", ";32", ";33", ";34", ";35", ";36", ";38;5;208", ";38;5;213", ";32", ";31", ";32;7",
			 ";31;7", ";34" },
	[THEME_DARK] = { "", ";38;5;203", ";38;5;114", ";38;5;221", ";38;5;75", ";38;5;176", ";38;5;80", ";38;5;208",
			 ";38;5;213", ";48;5;22", ";48;5;52", ";48;5;28", ";48;5;88", ";38;5;75" },
	[THEME_LIGHT] = { "", ";38;5;160", ";38;5;28", ";38;5;94", ";38;5;26", ";38;5;90", ";38;5;30", ";38;5;166",
			  ";38;5;162", ";48;5;194", ";48;5;224", ";48;5;157", ";48;5;217", ";38;5;26" },
	[THEME_DARK_DALTONIZED] = { "", ";38;5;208", ";38;5;75", ";38;5;221", ";38;5;111", ";38;5;176", ";38;5;80",
				    ";38;5;214", ";38;5;213", ";48;5;17", ";48;5;94", ";48;5;25", ";48;5;130",
				    ";38;5;111" },
	[THEME_LIGHT_DALTONIZED] = { "", ";38;5;166", ";38;5;26", ";38;5;94", ";38;5;25", ";38;5;90", ";38;5;30",
				     ";38;5;172", ";38;5;162", ";48;5;153", ";48;5;223", ";48;5;117", ";48;5;216",
				     ";38;5;25" },
};

static void set_look(struct buf *out, unsigned look, enum theme theme)
{
	size_t index = (look & LOOK_COLOURS) >> 4;

	if (theme == THEME_AUTO)
		theme = index >= LOOK_ADDED >> 4 && index <= LOOK_REMOVED_WORD >> 4 ? background : THEME_ANSI;
	buf_addstr(out, "\033[0");
	for (unsigned bit = 0; bit < 4; bit++)
		if (look & 1u << bit)
			buf_addf(out, ";%c", "1342"[bit]);
	if (theme && index < COUNT_OF(colours[0]))
		buf_addstr(out, colours[theme][index]);
	buf_addch(out, 'm');
}

/* The address is what stands there, also if only a part of it is written now. */
static void open_link(const struct styled *s, size_t at, struct buf *out)
{
	size_t from = at, to = at;

	while (from > 0 && ((unsigned char)s->looks.p[from - 1] & LOOK_COLOURS) == LOOK_LINK)
		from--;
	while (to < s->looks.n && ((unsigned char)s->looks.p[to] & LOOK_COLOURS) == LOOK_LINK)
		to++;
	buf_addf(out, "\033]8;;%.*s\033\\", (int)(to - from), s->text.p + from);
}

void styled_write(const struct styled *s, size_t from, size_t to, enum theme theme, struct buf *out)
{
	unsigned visible = theme == THEME_BARE ? 0 : theme ? 0xff : 0xff & ~(unsigned)LOOK_COLOURS, now = LOOK_PLAIN;

	for (size_t at = from; at < to;) {
		unsigned look = (unsigned char)s->looks.p[at] & visible;
		size_t end = at + 1;
		while (end < to && ((unsigned char)s->looks.p[end] & visible) == look)
			end++;
		if (look != now)
			set_look(out, look, theme);
		now = look;
		bool linked = links && (look & LOOK_COLOURS) == LOOK_LINK;
		if (linked)
			open_link(s, at, out);
		buf_add(out, s->text.p + at, end - at);
		if (linked)
			buf_addstr(out, "\033]8;;\033\\");
		at = end;
	}
	if (now != LOOK_PLAIN)
		buf_addstr(out, "\033[0m");
}

unsigned look_of_colour(const char *name)
{
	static const struct {
		const char *name;
		unsigned look;
	} looks[] = { { "red", LOOK_RED },       { "green", LOOK_GREEN }, { "yellow", LOOK_YELLOW },
		      { "blue", LOOK_BLUE },     { "cyan", LOOK_CYAN },   { "purple", LOOK_MAGENTA },
		      { "orange", LOOK_ORANGE }, { "pink", LOOK_PINK } };

	for (size_t i = 0; i < COUNT_OF(looks); i++)
		if (!strcmp(looks[i].name, name))
			return looks[i].look;
	return LOOK_PLAIN;
}

struct unicode {
	__typeof__(utf8proc_charwidth) *width;
	__typeof__(utf8proc_grapheme_break_stateful) *breaks;
};

/* Loaded with the first character outside ASCII; without the library both members stay NULL. */
static const struct unicode *unicode(void)
{
	static const char *const files[] = { "libutf8proc.so.2", "libutf8proc.so.3", NULL };
	static const struct library_symbol symbols[] = {
		{ "utf8proc_charwidth", offsetof(struct unicode, width) },
		{ "utf8proc_grapheme_break_stateful", offsetof(struct unicode, breaks) },
	};
	static const struct library library = { files, "libutf8proc2", symbols, COUNT_OF(symbols) };
	static struct unicode functions;
	static bool tried;
	struct err ignored = { 0 };

	if (!tried)
		(void)library_load(&library, &functions, &ignored);
	tried = true;
	return &functions;
}

size_t cells_next(struct str s, size_t at, unsigned *ret_width)
{
	unsigned char c = (unsigned char)s.p[at];
	bool next_ascii = at + 1 >= s.n || (unsigned char)s.p[at + 1] < 0x80;

	*ret_width = c == '\t' ? TAB_COLUMNS : 1;
	if (c < 0x80 && next_ascii)
		return at + 1;
	const struct unicode *u = unicode();
	utf8proc_int32_t state = 0;
	uint32_t cp, next;
	size_t end = at + utf8_decode(s.p + at, &cp);
	*ret_width =
		width_add(0, 0, cp, !u->width ? (c < 0x80 ? 1 : 2) : (unsigned)MAX(u->width((utf8proc_int32_t)cp), 0));
	while (u->breaks && end < s.n && s.p[end] != '\n') {
		size_t n = utf8_decode(s.p + end, &next);
		if (u->breaks((utf8proc_int32_t)cp, (utf8proc_int32_t)next, &state))
			break;
		*ret_width = width_add(*ret_width, cp, next, (unsigned)MAX(u->width((utf8proc_int32_t)next), 0));
		cp = next;
		end += n;
	}
	return end;
}

size_t cells_previous(struct str s, size_t at)
{
	unsigned width;
	size_t line = at;

	if (!at)
		return 0;
	if ((unsigned char)s.p[at - 1] < 0x80)
		return at - 1;
	while (line > 0 && s.p[line - 1] != '\n') /* clusters are known from the start of a line on */
		line--;
	for (size_t next; line < at; line = next) {
		next = cells_next(s, line, &width);
		if (next >= at)
			break;
	}
	return line;
}

size_t cells_fit(struct str s, unsigned columns, unsigned *ret_width)
{
	unsigned used = 0, width;
	size_t at = 0;

	while (at < s.n) {
		size_t next = cells_next(s, at, &width);
		if (used + width > columns)
			break;
		used += width;
		at = next;
	}
	if (ret_width)
		*ret_width = used;
	return at;
}

unsigned cells_width(struct str s)
{
	unsigned width;

	(void)cells_fit(s, UINT32_MAX / 2, &width);
	return width;
}

size_t cells_wrap(struct str s, size_t from, unsigned columns, size_t *ret_next)
{
	unsigned used = 0, width;
	size_t blank = 0; /* the last one that the row may end before; 0: none */

	columns = MAX(columns, 1u);
	for (size_t at = from; at < s.n;) {
		if (s.p[at] == '\n') {
			*ret_next = at + 1;
			return at;
		}
		size_t next = cells_next(s, at, &width);
		if (s.p[at] == ' ' && at > from)
			blank = at;
		if (used + width > columns && at > from) {
			size_t end = blank ? blank : at;
			*ret_next = end;
			while (*ret_next < s.n && s.p[*ret_next] == ' ')
				++*ret_next;
			if (*ret_next < s.n && s.p[*ret_next] == '\n')
				++*ret_next;
			return end;
		}
		used += width;
		at = next;
	}
	*ret_next = s.n;
	return s.n;
}
