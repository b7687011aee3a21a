/* SPDX-License-Identifier: MIT
 * diagnostic.c - a growing list of complaints in an arena. */
#include "config/catalog/frontmatter.h"
#include "lib/base/utf8.h"

void diagnostics_addv(struct diagnostics *d, enum diagnostic_level level, unsigned line, const char *fmt, va_list args)
{
	AUTO_BUF struct buf tidy = { 0 };
	char text[400];

	if (d->count >= DIAGNOSTICS_LIMIT * (level == DIAGNOSTIC_ERROR ? 2 : 1))
		return;
	if (d->count == d->cap) {
		d->cap = d->cap ? d->cap * 2 : 8;
		struct diagnostic *list = arena_alloc(d->arena, d->cap * sizeof *list);
		if (d->count)
			memcpy(list, d->list, d->count * sizeof *list);
		d->list = list;
	}
	/* Messages quote foreign text: they are reduced to one line of valid UTF-8. */
	vsnprintf(text, sizeof text, fmt, args);
	for (char *p = text; *p; p++)
		if ((unsigned char)*p < 0x20)
			*p = ' ';
	utf8_add_repaired(&tidy, str_from(text));
	d->list[d->count++] = (struct diagnostic){ level, line, arena_dup(d->arena, tidy.p, tidy.n) };
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
