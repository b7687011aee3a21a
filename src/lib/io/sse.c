/* SPDX-License-Identifier: MIT
 * sse.c - server-sent events out of a byte stream.
 *
 * During a feed the name and the data of the current event are slices of the fed bytes; they move to the
 * buffers of struct sse only when a second data line comes or the feed ends inside the event. The limit
 * holds for each line and for the joined data, so that where a stream is split never decides what is an
 * error. */
#include "lib/io/sse.h"
#include "lib/base/utf8.h"

enum { DEFAULT_LIMIT_BYTES = 32 << 20 };

static const struct str byte_order_mark = { "\xEF\xBB\xBF", 3 };

struct feed {
	struct sse *sse;
	const char *at, *end;
	const char *lf, *cr;   /* the next one of each, or end: every byte is searched once for each */
	size_t lines;          /* taken so far */
	struct str name, data; /* in place; p == NULL: in sse->name, sse->payload */
	size_t limit;
	struct err *err;
};

static int too_large(const struct feed *f)
{
	return err_set(f->err, ERR_LIMIT, "event stream: an event has more than %zu bytes", f->limit);
}

static void buf_take_over(struct buf *b, struct str *in_place)
{
	if (in_place->p)
		buf_add(b, in_place->p, in_place->n);
	*in_place = (struct str){ 0 };
}

static int add_data_line(struct feed *f, struct str value)
{
	struct sse *s = f->sse;
	size_t before = s->has_data ? s->payload.n + f->data.n + 1 : 0;

	if (before + value.n > f->limit)
		return too_large(f);
	if (!s->has_data) {
		s->has_data = true;
		f->data = value;
		return 0;
	}
	buf_take_over(&s->payload, &f->data);
	buf_addch(&s->payload, '\n');
	buf_append(&s->payload, value);
	return 0;
}

/* A blank line: the event is complete. */
static int end_event(struct feed *f)
{
	struct sse *s = f->sse;
	struct str name = f->name.p ? f->name : buf_str(&s->name);
	struct str data = f->data.p ? f->data : buf_str(&s->payload);

	if (s->has_id) {
		struct buf old = s->last_id;
		s->last_id = s->id;
		s->id = old;
		s->has_id = false;
	}
	AUTO_BUF struct buf repaired = { 0 };
	if (!utf8_valid(data)) { /* a server split a character, or sends other bytes: the standard wants U+FFFD */
		utf8_add_repaired(&repaired, data);
		data = buf_str(&repaired);
	}
	int rc = s->has_data ? s->event(s->data, name, data) : 0;

	s->has_data = false;
	buf_clear(&s->name);
	buf_clear(&s->payload);
	f->name = f->data = (struct str){ 0 };
	return rc;
}

static int take_line(struct feed *f, struct str line)
{
	struct sse *s = f->sse;

	if (line.n > f->limit)
		return too_large(f);
	if (!s->started && str_starts(line, byte_order_mark))
		line = str_tail(line, byte_order_mark.n);
	s->started = true;
	if (!line.n)
		return end_event(f);

	struct str value = line;
	struct str field = str_cut(&value, ':');
	if (!value.p)
		value.p = line.p + line.n; /* no colon: the line is the field's name, its value is empty */
	else if (value.n && value.p[0] == ' ')
		value = str_tail(value, 1);
	if (str_is(field, "data"))
		return add_data_line(f, value);
	if (str_is(field, "event")) {
		buf_clear(&s->name);
		f->name = value;
	} else if (str_is(field, "retry")) { /* an invalid time is ignored */
		(void)str_to_u64(value, &s->retry_ms);
	} else if (str_is(field, "id") && !memchr(value.p, '\0', value.n)) {
		buf_clear(&s->id);
		buf_append(&s->id, value);
		s->has_id = true;
	} else if (s->bare && str_is(field, "error")) {
		return s->event(s->data, field, value);
	} else if (s->bare && line.p[0] == '{' && line.p[line.n - 1] == '}') {
		return s->event(s->data, STR(""), line);
	}
	return 0;
}

static const char *find_line_end(const char *found, char c, const struct feed *f)
{
	if (found && found >= f->at)
		return found;
	const char *hit = memchr(f->at, c, (size_t)(f->end - f->at));
	return hit ? hit : f->end;
}

/* The next line that ends in the fed bytes. */
static bool next_line(struct feed *f, struct str *ret_line)
{
	struct sse *s = f->sse;

	if (s->skip_lf && f->at < f->end) {
		f->at += *f->at == '\n';
		s->skip_lf = false;
	}
	f->lf = find_line_end(f->lf, '\n', f);
	f->cr = find_line_end(f->cr, '\r', f);
	const char *stop = MIN(f->lf, f->cr);
	if (stop == f->end)
		return false;
	*ret_line = str_between(f->at, stop);
	s->skip_lf = *stop == '\r';
	f->at = stop + 1;
	f->lines++;
	return true;
}

int sse_feed(struct sse *s, const char *p, size_t n, struct err *err)
{
	struct str line;
	int rc = 0;

	if (!n)
		return 0;
	struct feed f = { .sse = s, .at = p, .end = p + n, .err = err };
	f.limit = s->limit_bytes ? s->limit_bytes : DEFAULT_LIMIT_BYTES;
	while (!rc && next_line(&f, &line)) {
		/* The beginning of the first line may have come with an earlier feed. It stays in s->line until this
		 * feed ends, because the event may borrow it. */
		if (f.lines == 1 && s->line.n) {
			buf_append(&s->line, line);
			line = buf_str(&s->line);
		}
		rc = take_line(&f, line);
	}
	if (rc)
		return rc;
	/* Copies the part of an event and the beginning of a line, which end with this feed. */
	size_t rest = (size_t)(f.end - f.at);
	buf_take_over(&s->name, &f.name);
	buf_take_over(&s->payload, &f.data);
	if (f.lines)
		buf_clear(&s->line);
	if (s->line.n + rest > f.limit)
		return too_large(&f);
	if (rest)
		buf_add(&s->line, f.at, rest);
	return 0;
}

void sse_release(struct sse *s)
{
	buf_release(&s->line);
	buf_release(&s->payload);
	buf_release(&s->name);
	buf_release(&s->id);
	buf_release(&s->last_id);
	s->retry_ms = 0;
	s->skip_lf = s->started = s->has_data = s->has_id = false;
}
