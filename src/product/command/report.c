/* SPDX-License-Identifier: MIT
 * report.c - an answer for programs and for people. */
#include "product/command/report.h"

static struct report_row *add_row(struct cadre_report *r, enum cadre_tone tone)
{
	if (r->count == r->cap) {
		r->cap = r->cap ? r->cap * 2 : 16;
		r->rows = xrealloc(r->rows, r->cap * sizeof *r->rows);
	}
	struct report_row *row = &r->rows[r->count++];
	*row = (struct report_row){ .tone = tone };
	return row;
}

void report_row(struct cadre_report *r, enum cadre_tone tone, ...)
{
	struct report_row *row = add_row(r, tone);
	va_list counted;
	va_list cells;

	va_start(counted, tone);
	while (va_arg(counted, const char *))
		row->count++;
	va_end(counted);
	row->cells = arena_alloc(&r->arena, row->count * sizeof *row->cells);
	va_start(cells, tone);
	for (size_t i = 0; i < row->count; i++)
		row->cells[i] = arena_strdup(&r->arena, va_arg(cells, const char *));
	va_end(cells);
}

void report_line(struct cadre_report *r, enum cadre_tone tone, const char *fmt, ...)
{
	AUTO_FREE char *text = NULL;
	va_list args;

	va_start(args, fmt);
	if (vasprintf(&text, fmt, args) < 0)
		base_oom(strlen(fmt));
	va_end(args);
	report_row(r, tone, text, NULL);
}

const char *cadre_report_json(const struct cadre_report *r, size_t *ret_n)
{
	if (ret_n)
		*ret_n = r->json.n;
	return buf_str(&r->json).p;
}

size_t cadre_report_rows(const struct cadre_report *r)
{
	return r->count;
}

enum cadre_tone cadre_report_tone(const struct cadre_report *r, size_t row)
{
	return row < r->count ? r->rows[row].tone : CADRE_PLAIN;
}

size_t cadre_report_cells(const struct cadre_report *r, size_t row)
{
	return row < r->count ? r->rows[row].count : 0;
}

const char *cadre_report_cell(const struct cadre_report *r, size_t row, size_t column)
{
	return column < cadre_report_cells(r, row) ? r->rows[row].cells[column] : "";
}

int cadre_report_bad(const struct cadre_report *r)
{
	return r->bad;
}

void cadre_report_free(struct cadre_report *r)
{
	if (!r)
		return;
	buf_release(&r->json);
	free(r->rows);
	arena_release(&r->arena);
	free(r);
}

int app_give_report(int status, struct cadre_report *report, struct cadre_report **ret_report, const struct err *err,
		    char *why, size_t why_size)
{
	if (status < 0)
		cadre_report_free(report);
	else
		*ret_report = report;
	return api_status(status, err, why, why_size);
}

void app_put_line(struct json_out *w, unsigned line)
{
	json_key(w, "line");
	if (line)
		json_put_u64(w, line);
	else
		json_put_null(w);
}

void app_report_diagnostics(struct cadre_report *r, const struct agent_definition *d)
{
	static const enum cadre_tone tones[] = { CADRE_NOTE, CADRE_WARN, CADRE_BAD };

	for (size_t i = 0; i < d->diagnostic_count; i++) {
		const struct diagnostic *g = &d->diagnostics[i];
		const char *level = diagnostic_level_name(g->level);
		if (g->line)
			report_line(r, tones[g->level], "  %s:%u: %s: %s", d->file, g->line, level, g->message);
		else
			report_line(r, tones[g->level], "  %s: %s: %s", d->file, level, g->message);
	}
}
