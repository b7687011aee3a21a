/* SPDX-License-Identifier: MIT
 * line_diff.c - the difference of two texts as hunks of lines: the greedy algorithm of Myers (1986) on the part between
 * the common head and the common tail. */
#include "tools/files/text_file.h"

enum { CONTEXT = 3, MAX_EDITS = 1000 };

struct lines {
	struct str *at; /* each with its line end */
	bool *changed;  /* removed from the old text, added in the new one */
	size_t count;
};

static struct lines lines_split(struct str text)
{
	size_t count = text.n && text.p[text.n - 1] != '\n';
	for (size_t i = 0; i < text.n; i++)
		count += text.p[i] == '\n';

	struct lines l = { xcalloc(count + 1, sizeof *l.at), xcalloc(count + 1, sizeof *l.changed), 0 };
	while (text.n) {
		const char *end = memchr(text.p, '\n', text.n);
		size_t n = end ? (size_t)(end - text.p) + 1 : text.n;
		l.at[l.count++] = (struct str){ text.p, n };
		text = str_tail(text, n);
	}
	return l;
}

static void lines_release(struct lines *l)
{
	free(l->at);
	free(l->changed);
}

/* The changed part: lines from .. from + count. */
struct part {
	struct lines *lines;
	size_t from, count;
};

/* How far each diagonal k reaches after d edits is kept for all d at the index d * d + d + k: the way back needs it. */
static size_t reach_index(long d, long k)
{
	return (size_t)(d * d + d + k);
}

static void mark_way_back(struct part *a, struct part *b, const uint32_t *reach, long d)
{
	long x = (long)a->count;
	long y = (long)b->count;

	for (; d > 0; d--) {
		long k = x - y;
		bool down = k == -d || (k != d && reach[reach_index(d - 1, k - 1)] < reach[reach_index(d - 1, k + 1)]);
		long from_k = down ? k + 1 : k - 1;
		long from_x = (long)reach[reach_index(d - 1, from_k)];
		long from_y = from_x - from_k;
		if (down)
			b->lines->changed[b->from + (size_t)from_y] = true;
		else
			a->lines->changed[a->from + (size_t)from_x] = true;
		x = from_x;
		y = from_y;
	}
}

/* One round of the search; true when the end of both parts is reached. */
static bool search_round(const struct part *a, const struct part *b, uint32_t *reach, long d)
{
	for (long k = -d; k <= d; k += 2) {
		long x = 0;
		if (d > 0) {
			bool down = k == -d ||
				    (k != d && reach[reach_index(d - 1, k - 1)] < reach[reach_index(d - 1, k + 1)]);
			x = down ? (long)reach[reach_index(d - 1, k + 1)] : (long)reach[reach_index(d - 1, k - 1)] + 1;
		}
		long y = x - k;
		while (x < (long)a->count && y >= 0 && y < (long)b->count &&
		       str_eq(a->lines->at[a->from + (size_t)x], b->lines->at[b->from + (size_t)y])) {
			x++;
			y++;
		}
		reach[reach_index(d, k)] = (uint32_t)x;
		if (x >= (long)a->count && y >= (long)b->count)
			return true;
	}
	return false;
}

static bool mark_shortest(struct part *a, struct part *b)
{
	long most = (long)MIN(a->count + b->count, (size_t)MAX_EDITS);
	AUTO_FREE uint32_t *reach = NULL;
	size_t room = 0;

	for (long d = 0; d <= most; d++) {
		if (reach_index(d, d) >= room) {
			room = reach_index(d, d) * 2 + 64;
			reach = xrealloc(reach, room * sizeof *reach);
		}
		if (search_round(a, b, reach, d)) {
			mark_way_back(a, b, reach, d);
			return true;
		}
	}
	return false;
}

static void mark_changes(struct lines *old, struct lines *new)
{
	size_t head = 0;
	size_t tail = 0;
	size_t shorter = MIN(old->count, new->count);

	while (head < shorter && str_eq(old->at[head], new->at[head]))
		head++;
	while (tail < shorter - head && str_eq(old->at[old->count - 1 - tail], new->at[new->count - 1 - tail]))
		tail++;
	struct part a = { old, head, old->count - head - tail };
	struct part b = { new, head, new->count - head - tail };
	if (a.count && b.count && mark_shortest(&a, &b))
		return;
	memset(old->changed + a.from, true, a.count);
	memset(new->changed + b.from, true, b.count);
}

static void put_line(struct json_out *w, char sign, struct str line)
{
	AUTO_BUF struct buf text = { 0 };
	bool ended = line.p[line.n - 1] == '\n';

	buf_addch(&text, sign);
	buf_add(&text, line.p, line.n - ended);
	json_put_str(w, buf_str(&text));
	if (!ended)
		json_put_cstr(w, "\\ No newline at end of file");
}

struct hunk {
	size_t old_from, old_to, new_from, new_to;
};

static void put_hunk(struct json_out *w, const struct lines *old, const struct lines *new, struct hunk h)
{
	size_t x = h.old_from;
	size_t y = h.new_from;

	json_putf(w, "{oldStart:%lld, oldLines:%lld, newStart:%lld, newLines:%lld, lines:[",
		  (long long)h.old_from + (h.old_to > h.old_from), (long long)(h.old_to - h.old_from),
		  (long long)h.new_from + (h.new_to > h.new_from), (long long)(h.new_to - h.new_from));
	while (x < h.old_to || y < h.new_to) {
		if (x < h.old_to && old->changed[x])
			put_line(w, '-', old->at[x++]);
		else if (y < h.new_to && new->changed[y])
			put_line(w, '+', new->at[y++]);
		else {
			put_line(w, ' ', old->at[x++]);
			y++;
		}
	}
	json_putf(w, "]}");
}

/* The hunk that begins with the change at x, y: changes with at most two contexts of same lines between them. */
static struct hunk take_hunk(const struct lines *old, const struct lines *new, size_t *x, size_t *y)
{
	size_t lead = MIN(*x, (size_t)CONTEXT);
	struct hunk h = { .old_from = *x - lead, .new_from = *y - lead };

	for (;;) {
		while (*x < old->count && old->changed[*x])
			(*x)++;
		while (*y < new->count &&new->changed[*y])
			(*y)++;
		size_t same = 0;
		while (*x + same < old->count && *y + same < new->count && !old->changed[*x + same] &&
		       !new->changed[*y + same])
			same++;
		bool at_end = *x + same >= old->count && *y + same >= new->count;
		if (at_end || same > 2 * CONTEXT) {
			h.old_to = *x + MIN(same, (size_t)CONTEXT);
			h.new_to = *y + MIN(same, (size_t)CONTEXT);
			*x += same;
			*y += same;
			return h;
		}
		*x += same;
		*y += same;
	}
}

void line_diff_put(struct json_out *w, struct str old_text, struct str new_text)
{
	CLEANUP(lines_release) struct lines old = lines_split(old_text);
	CLEANUP(lines_release) struct lines new = lines_split(new_text);
	size_t x = 0;
	size_t y = 0;

	mark_changes(&old, &new);
	json_open(w, '[');
	while (x < old.count && y < new.count && !old.changed[x] && !new.changed[y]) {
		x++;
		y++;
	}
	while (x < old.count || y < new.count)
		put_hunk(w, &old, &new, take_hunk(&old, &new, &x, &y));
	json_close(w);
}

static size_t count_changed(const struct lines *l)
{
	size_t count = 0;

	for (size_t i = 0; i < l->count; i++)
		count += l->changed[i];
	return count;
}

void line_diff_count(struct str old_text, struct str new_text, size_t *ret_added, size_t *ret_removed)
{
	CLEANUP(lines_release) struct lines old = lines_split(old_text);
	CLEANUP(lines_release) struct lines new = lines_split(new_text);

	mark_changes(&old, &new);
	*ret_added = count_changed(&new);
	*ret_removed = count_changed(&old);
}
