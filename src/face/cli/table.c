/* SPDX-License-Identifier: MIT
 * table.c - a report for people: columns as wide as their widest cell, a blank line before each head but the first. */
#include "face/cli/command.h"
#include "face/screen/paint.h"

enum { MOST_COLUMNS = 8, GAP = 2, WIDEST = 60 };

static const char *const colours[] = {
	[CADRE_HEAD] = "\033[1m",  [CADRE_GOOD] = "\033[32m", [CADRE_NOTE] = "\033[2m",
	[CADRE_WARN] = "\033[33m", [CADRE_BAD] = "\033[31m",
};

/* Rows up to the next head belong together; a cell that is much wider than the others does not push them away. */
static size_t table_measure(const struct cadre_report *r, size_t first, size_t widths[MOST_COLUMNS])
{
	size_t rows = cadre_report_rows(r);
	size_t end = first;

	memset(widths, 0, MOST_COLUMNS * sizeof *widths);
	for (; end < rows && (end == first || cadre_report_style(r, end) != CADRE_HEAD); end++)
		for (size_t k = 0;
		     cadre_report_cells(r, end) > 1 && k + 1 < cadre_report_cells(r, end) && k < MOST_COLUMNS; k++) {
			AUTO_BUF struct buf cell = { 0 };
			render_line(&cell, str_from(cadre_report_cell(r, end, k)));
			widths[k] = MAX(widths[k], MIN(cells_width(buf_str(&cell)), (unsigned)WIDEST));
		}
	return end;
}

void table_write(struct buf *out, const struct cadre_report *report, bool colour)
{
	size_t widths[MOST_COLUMNS];
	size_t rows = cadre_report_rows(report);
	size_t end = 0;

	for (size_t row = 0; row < rows; row++) {
		const char *start = colours[cadre_report_style(report, row)];
		size_t count = cadre_report_cells(report, row);

		if (row == end)
			end = table_measure(report, row, widths);
		if (row && cadre_report_style(report, row) == CADRE_HEAD)
			buf_addch(out, '\n');
		if (colour && start)
			buf_addstr(out, start);
		if (count == 1)
			render_text(out, str_from(cadre_report_cell(report, row, 0)));
		for (size_t k = 0; count > 1 && k < count; k++) {
			size_t at = out->n;
			render_line(out, str_from(cadre_report_cell(report, row, k)));
			size_t wide = cells_width((struct str){ out->p + at, out->n - at });
			size_t column = k < MOST_COLUMNS ? widths[k] : 0;
			if (k + 1 < count)
				buf_addf(out, "%*s", (int)(GAP + (column > wide ? column - wide : 0)), "");
		}
		buf_addstr(out, colour && start ? "\033[0m\n" : "\n");
	}
}
