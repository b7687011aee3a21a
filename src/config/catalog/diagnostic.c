/* SPDX-License-Identifier: MIT
 * diagnostic.c - a growing list of complaints in an arena. */
#include "config/catalog/diagnostic.h"
#include "lib/base/utf8.h"

static void make_room(struct diagnostics *d)
{
	if (d->count < d->cap)
		return;
	d->cap = d->cap ? d->cap * 2 : 8;
	struct diagnostic *list = arena_alloc(d->arena, d->cap * sizeof *list);
	if (d->count)
		memcpy(list, d->list, d->count * sizeof *list);
	d->list = list;
}

/* Messages quote foreign text: they are kept to one line of valid UTF-8, whatever stood in the file. */
static const char *tidy(struct arena *arena, char *text)
{
	AUTO_BUF struct buf out = { 0 };

	for (char *p = text; *p; p++)
		if ((unsigned char)*p < 0x20)
			*p = ' ';
	utf8_add_repaired(&out, str_from(text));
	return arena_dup(arena, out.p, out.n);
}

void diagnostics_addv(struct diagnostics *d, enum diagnostic_level level, unsigned line, const char *fmt, va_list args)
{
	char text[400];

	if (d->count >= DIAGNOSTICS_LIMIT * (level == DIAGNOSTIC_ERROR ? 2 : 1))
		return;
	vsnprintf(text, sizeof text, fmt, args);
	make_room(d);
	d->list[d->count++] = (struct diagnostic){ level, line, tidy(d->arena, text) };
}

void diagnostics_add(struct diagnostics *d, enum diagnostic_level level, unsigned line, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	diagnostics_addv(d, level, line, fmt, args);
	va_end(args);
}

const char *diagnostic_level_name(enum diagnostic_level level)
{
	static const char *const names[] = { "note", "warning", "error" };

	return names[level];
}
