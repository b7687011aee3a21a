/* SPDX-License-Identifier: MIT
 * format.c - texts of config.json and of inboxes. */
#include "agents/teamfile/format.h"
#include <strings.h>
#include "agents/teamfile/signature.h"
#include "core/store/checkpoint.h"
#include "lib/base/id.h"
#include "lib/base/utf8.h"

bool team_name_fits(struct str name)
{
	return name.n <= LONGEST_TEAM_NAME && str_is_name(name, "_-") && !char_in(name.p[0], "_-");
}

/* Two spaces a level, as the current product writes it */
static void put_pretty(struct buf *out, const struct json *v, unsigned depth)
{
	bool object = json_is(v, JSON_OBJECT), first = true;

	if ((!object && !json_is(v, JSON_ARRAY)) || !v->count) {
		struct str raw = v->type == JSON_ARRAY ? STR("[]") : object ? STR("{}") : json_raw(v);
		buf_add(out, raw.p, raw.n);
		return;
	}
	buf_addch(out, object ? '{' : '[');
	struct json_member m = json_members(object ? v : NULL);
	for (const struct json *e = object ? m.value : json_first(v); e;) {
		buf_addf(out, "%s\n%*s", first ? "" : ",", (int)(2 * depth + 2), "");
		if (object) {
			struct str key = json_raw(m.key);
			buf_addf(out, STR_FMT ": ", STR_ARG(key));
		}
		put_pretty(out, e, depth + 1);
		first = false;
		if (object) {
			m = json_member_next(v, m);
			e = m.key ? m.value : NULL;
		} else {
			e = json_next(v, e);
		}
	}
	buf_addf(out, "\n%*s%c", (int)(2 * depth), "", object ? '}' : ']');
}

static int put_pretty_text(struct buf *out, struct str text, struct err *err)
{
	AUTO_JSON struct json_reader reader = { .limits = { .bytes = LARGEST_INBOX, .depth = 32 } };
	const struct json *root;
	int status = json_parse(&reader, text.p, text.n, &root, err);

	if (status == 0)
		put_pretty(out, root, 0);
	return status;
}

static bool member_is(const struct json *e, struct str name, struct arena *a)
{
	struct str its = json_str(json_get(e, "name"), a);

	return json_is(e, JSON_OBJECT) && its.n == name.n && strncasecmp(its.p, name.p, name.n) == 0;
}

/* next: where it probably is, because both lists have mostly the same order; NULL: not known */
static const struct json *find_member(const struct json *list, const struct json *next, struct str name,
				      struct arena *a)
{
	if (next && member_is(next, name, a))
		return next;
	for (const struct json *e = json_items(list); e; e = json_next(list, e))
		if (member_is(e, name, a))
			return e;
	return NULL;
}

/* Fields of ours that we know when they are not there: what others wrote there is old. */
static const char *const own_fields[] = { "leadProcess", "isActive", "mode", "description", NULL };

static void put_members(struct json_out *w, const struct json *ours, const struct json *theirs, const char *session,
			struct map *foreign, struct arena *a)
{
	const struct json *next = json_items(theirs);

	json_open(w, '[');
	for (const struct json *e = json_first(ours); e; e = json_next(ours, e)) {
		const struct json *same = find_member(theirs, next, json_str(json_get(e, "name"), a), a);
		json_open(w, '{');
		json_put_members(w, e, NULL, NULL);
		json_put_members(w, same, own_fields, e);
		json_close(w);
		next = same ? json_next(theirs, same) : next;
	}
	for (const struct json *e = json_items(theirs); e; e = json_next(theirs, e)) {
		struct str name = json_str(json_get(e, "name"), a);
		if (!json_is(e, JSON_OBJECT) || !team_name_fits(name) ||
		    json_str_is(json_get(e, "agentSession"), session) || find_member(ours, NULL, name, a) ||
		    map_get(foreign, name))
			continue;
		map_set(foreign, name, foreign);
		json_put_raw(w, json_raw(e));
	}
	json_close(w);
}

void config_merge(struct buf *out, struct str ours, struct str theirs, const char *session, struct map *foreign)
{
	AUTO_JSON struct json_reader own = { 0 }, other = { .limits = { .bytes = LARGEST_CONFIG, .depth = 32 } };
	AUTO_ARENA struct arena a = { 0 };
	AUTO_BUF struct buf text = { 0 };
	struct json_out w = json_out(&text);
	const struct json *root = json_read(&own, ours), *before = json_read(&other, theirs);

	json_open(&w, '{');
	for (struct json_member m = json_members(root); m.key; m = json_member_next(root, m)) {
		struct str key = json_str(m.key, &a);
		json_key_str(&w, key);
		if (str_is(key, "members"))
			put_members(&w, m.value, json_get(before, "members"), session, foreign, &a);
		else
			json_put_raw(&w, json_raw(m.value));
	}
	json_put_members(&w, before, own_fields, root);
	json_close(&w);
	(void)put_pretty_text(out, buf_str(&text), NULL);
}

bool inbox_entry_read(const struct json *entry, struct map *seen, struct arena *a, struct inbox_entry *ret)
{
	const char *time = json_cstr(json_get(entry, "timestamp"), a);
	const struct json *text = json_get(entry, "text");

	*ret = (struct inbox_entry){ .id = json_cstr(json_get(entry, "msg_id"), a),
				     .from = json_cstr(json_get(entry, "from"), a),
				     .summary = json_str(json_get(entry, "summary"), a) };
	if (!ret->from || !time || !json_is(text, JSON_STRING) || json_bool(json_get(entry, "read")))
		return false;
	ret->text = json_str(text, a);
	if (ret->id && ret->id[0])
		return true;
	AUTO_BUF struct buf all = { 0 };
	buf_addf(&all, "%s%c%s%c" STR_FMT, ret->from, 0, time, 0, STR_ARG(ret->text));
	struct file_version digest = file_version_of(buf_str(&all));
	digest.sha256[16] = '\0';
	uintptr_t equal = (uintptr_t)map_get(seen, str_from(digest.sha256));
	map_set(seen, str_from(digest.sha256), (void *)(equal + 1)); /* how many equal ones stood before it */
	ret->id = arena_printf(a, "x%s-%u", digest.sha256, (unsigned)equal);
	return true;
}

void inbox_entry_write(struct json_out *w, const struct inbox_entry *e, const char *color, int64_t now_ms)
{
	char time[ISO_TIME_LEN + 1];

	id_iso_time(now_ms, time);
	json_putf(w,
		  "{from:'%s', text:'%.*s', summary?:'%.*s', timestamp:'%s', color?:'%s', msgV:1, msg_id:'%s', "
		  "type:'message', read:!!%d",
		  e->from, STR_ARG(e->text), STR_ARG(e->summary), time, color, e->id, e->read);
	if (e->key) {
		AUTO_BUF struct buf sig = { 0 };
		lead_key_sign(&sig, e->key, e, time, color);
		json_kstr(w, "lead_sig", buf_str(&sig));
	}
	json_close(w);
}

bool inbox_entry_is_bad(const struct json *entry)
{
	return !json_is(entry, JSON_OBJECT) || !json_is(json_get(entry, "from"), JSON_STRING) ||
	       !json_is(json_get(entry, "timestamp"), JSON_STRING) || !json_is(json_get(entry, "text"), JSON_STRING);
}

int inbox_mirror(struct buf *out, struct str inbox, struct str mine, struct err *err)
{
	AUTO_JSON struct json_reader reader = { .limits = { .bytes = LARGEST_INBOX, .depth = 32 } }, own = { 0 };
	AUTO_BUF struct buf text = { 0 };
	struct json_out w = json_out(&text);
	const struct json *root = NULL, *list;

	if (str_trim(inbox).n && (json_parse(&reader, inbox.p, inbox.n, &root, err) < 0 || !json_is(root, JSON_ARRAY)))
		return err_set(err, ERR_PARSE, "the inbox is not a JSON array");
	if (json_parse(&own, mine.p, mine.n, &list, err) < 0)
		return -(int)err->kind;
	json_open(&w, '[');
	for (const struct json *e = root ? json_first(root) : NULL; e; e = json_next(root, e))
		if (!json_bool(json_get(e, "read"))) /* of others, and not taken yet */
			json_put_raw(&w, json_raw(e));
	for (const struct json *e = json_first(list); e; e = json_next(list, e))
		json_put_raw(&w, json_raw(e));
	json_close(&w);
	return put_pretty_text(out, buf_str(&text), err);
}

enum { LONGEST_ID = 256 };

static bool is_digits(struct str *s, size_t most)
{
	size_t n = 0;

	while (n < s->n && s->p[n] >= '0' && s->p[n] <= '9')
		n++;
	*s = (struct str){ s->p + n, s->n - n };
	return n && n <= most;
}

/* shutdown-MS@NAME, plan_approval-MS@NAME[@TEAM], perm-MS-LETTERS */
static bool is_request_id(struct str id)
{
	static const char *const kinds[] = { "shutdown-", "plan_approval-", "perm-" };

	for (size_t i = 0; i < COUNT_OF(kinds); i++) {
		struct str rest = id, kind = str_from(kinds[i]);
		if (id.n > LONGEST_ID || !str_starts(id, kind))
			continue;
		rest = (struct str){ id.p + kind.n, id.n - kind.n };
		if (!is_digits(&rest, 20) || rest.n < 2 || rest.p[0] != (i == 2 ? '-' : '@') ||
		    memchr(rest.p, '\n', rest.n))
			return false;
		for (size_t k = 1, ats = 0; k < rest.n; k++) {
			ats += rest.p[k] == '@';
			if (i == 2 ? rest.n > 13 || !char_in(rest.p[k], "0123456789abcdefghijklmnopqrstuvwxyz")
				   : ats > 1)
				return false;
		}
		return true;
	}
	return false;
}

static bool is_time(struct str time)
{
	static const char shape[] = "0000-00-00T00:00:00";

	for (size_t i = 0; i < sizeof shape - 1; i++)
		if (i >= time.n || (shape[i] == '0' ? time.p[i] < '0' || time.p[i] > '9' : time.p[i] != shape[i]))
			return false;
	return time.n <= 30;
}

bool structured_clean(struct buf *out, struct str text, const char *sender)
{
	static const char *const types[] = { "idle_notification",      "shutdown_request",
					     "shutdown_approved",      "shutdown_rejected",
					     "plan_approval_request",  "plan_approval_response",
					     "task_assignment",        "task_completed",
					     "teammate_terminated",    "permission_request",
					     "permission_response",    "sandbox_permission_request",
					     "mode_set_request",       "sandbox_permission_response",
					     "team_permission_update", NULL };
	static const struct {
		const char *name;
		size_t most;
	} texts[] = { { "planContent", 40000 }, { "reason", 416 },        { "subject", 416 },
		      { "summary", 416 },       { "failureReason", 416 }, { "feedback", 4000 },
		      { "description", 4000 },  { "message", 4000 },      { "result", 4000 } };
	AUTO_JSON struct json_reader reader = { .limits = { .bytes = LARGEST_INBOX, .depth = 32 } };
	AUTO_ARENA struct arena a = { 0 };
	struct json_out w = json_out(out);
	const struct json *root = str_starts(str_trim(text), STR("{")) ? json_read(&reader, text) : NULL;
	const char *const *type = types;

	while (*type && !json_str_is(json_get(root, "type"), *type))
		type++;
	if (!*type)
		return false;
	json_open(&w, '{');
	for (struct json_member m = json_members(root); m.key; m = json_member_next(root, m)) {
		struct str key = json_str(m.key, &a), value = json_str(m.value, &a);
		bool is_text = json_is(m.value, JSON_STRING);
		size_t most = is_text ? LONGEST_ID : 0;
		for (size_t i = 0; i < COUNT_OF(texts); i++)
			most = is_text && str_is(key, texts[i].name) ? texts[i].most : most;
		json_key_str(&w, key);
		if (str_is(key, "from") || str_is(key, "assignedBy"))
			json_put_cstr(&w, sender);
		else if ((str_is(key, "requestId") || str_is(key, "request_id")) && !(is_text && is_request_id(value)))
			json_put_cstr(&w, "[invalid id]");
		else if (str_is(key, "timestamp") && !(is_text && is_time(value)))
			json_put_cstr(&w, "[invalid timestamp]");
		else if (most && value.n > most && !str_is(key, "planFilePath"))
			json_put_cstr(&w, arena_printf(&a, STR_FMT " [cut]", STR_ARG(utf8_cut(value, most))));
		else
			json_put_raw(&w, json_raw(m.value));
	}
	json_close(&w);
	return true;
}

int inbox_add(struct buf *out, struct str inbox, const char *id, struct str entry, struct err *err)
{
	AUTO_JSON struct json_reader reader = { .limits = { .bytes = LARGEST_INBOX, .depth = 32 } };
	AUTO_BUF struct buf text = { 0 };
	struct json_out w = json_out(&text);
	const struct json *root = NULL;

	if (str_trim(inbox).n && (json_parse(&reader, inbox.p, inbox.n, &root, err) < 0 || !json_is(root, JSON_ARRAY)))
		return err_set(err, ERR_PARSE, "the inbox is not a JSON array");
	json_open(&w, '[');
	for (const struct json *e = root ? json_first(root) : NULL; e; e = json_next(root, e)) {
		if (json_is(e, JSON_OBJECT) && json_str_is(json_get(e, "msg_id"), id))
			return 1;
		json_put_raw(&w, json_raw(e));
	}
	json_put_raw(&w, entry);
	json_close(&w);
	return put_pretty_text(out, buf_str(&text), err);
}
