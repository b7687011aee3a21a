/* SPDX-License-Identifier: MIT
 * report.c - an answer for programs and for people. */
#include "config/catalog/catalog.h"
#include "config/catalog/frontmatter.h"
#include "product/command/report.h"

void report_row(struct cadre_report *r, enum cadre_style style, ...)
{
	va_list counted;
	va_list cells;

	struct report_row *row = xpush(r->rows, r->count, r->cap);
	*row = (struct report_row){ .style = style };
	va_start(counted, style);
	while (va_arg(counted, const char *))
		row->count++;
	va_end(counted);
	row->cells = arena_alloc(&r->arena, row->count * sizeof *row->cells);
	va_start(cells, style);
	for (size_t i = 0; i < row->count; i++)
		row->cells[i] = arena_strdup(&r->arena, va_arg(cells, const char *));
	va_end(cells);
}

void report_line(struct cadre_report *r, enum cadre_style style, const char *fmt, ...)
{
	AUTO_FREE char *text = NULL;

	PRINT_ARGS_NEW(text, fmt);
	report_row(r, style, text, NULL);
}

const char *cadre_report_json(const struct cadre_report *r, size_t *ret_n)
{
	if (ret_n)
		*ret_n = r ? r->json.n : 0;
	return r ? buf_str(&r->json).p : "";
}

size_t cadre_report_rows(const struct cadre_report *r)
{
	return r ? r->count : 0;
}

enum cadre_style cadre_report_style(const struct cadre_report *r, size_t row)
{
	return r && row < r->count ? r->rows[row].style : CADRE_PLAIN;
}

size_t cadre_report_cells(const struct cadre_report *r, size_t row)
{
	return r && row < r->count ? r->rows[row].count : 0;
}

const char *cadre_report_cell(const struct cadre_report *r, size_t row, size_t column)
{
	return column < cadre_report_cells(r, row) ? r->rows[row].cells[column] : "";
}

int cadre_report_bad(const struct cadre_report *r)
{
	return r && r->bad;
}

int cadre_report_code(const struct cadre_report *r)
{
	return r && r->code ? r->code : cadre_report_bad(r);
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

const char *report_position(struct cadre_report *r, const char *file, unsigned line)
{
	return line ? arena_printf(&r->arena, "%s:%u", file, line) : file;
}

void report_put_names(struct json_out *w, const char *key, const char *const *names, size_t count, struct buf *text)
{
	json_kopen(w, key, '[');
	for (size_t i = 0; i < count; i++) {
		json_put_cstr(w, names[i]);
		buf_addf(text, "%s%s", i ? ", " : "", names[i]);
	}
	json_close(w);
}

void report_failed_files(struct cadre_report *r, struct json_out *w, const struct catalog *catalog)
{
	json_kopen(w, "failedFiles", '[');
	for (size_t i = 0; i < catalog->failed_count; i++) {
		const struct catalog_failure *f = &catalog->failed[i];
		json_putf(w, "{path:'%s', source:'%s', line:?%u, error:'%s'}", f->path,
			  definition_source_name(f->source), f->line, f->message);
		report_line(r, CADRE_BAD, "%s: %s", report_position(r, f->path, f->line), f->message);
	}
	json_close(w);
}

void report_diagnostics(struct cadre_report *r, const char *file, const struct diagnostic *list, size_t count)
{
	static const enum cadre_style styles[] = { [DIAGNOSTIC_NOTE] = CADRE_NOTE,
						   [DIAGNOSTIC_WARNING] = CADRE_WARN,
						   [DIAGNOSTIC_LOST] = CADRE_WARN,
						   [DIAGNOSTIC_ERROR] = CADRE_BAD };

	for (size_t i = 0; i < count; i++)
		report_line(r, styles[list[i].level], "  %s: %s: %s", report_position(r, file, list[i].line),
			    diagnostic_level_name(list[i].level), list[i].message);
}
