/* SPDX-License-Identifier: MIT
 * fuzz_team.c - any bytes, cut at NULs: config.json of others, an inbox, the text of a message, and a task. Besides not crashing: what
 * is written is JSON; our members are in it as we said, whatever stood there; others only by a name that may become a path; an entry is
 * added once; the same entry has the same id; a message cannot look like a tag of ours, and a structured one has no sender but that of
 * its envelope; an inbox that is shown has nothing marked as read but what is ours; and a task that is written is read as it was. */
#include "agents/teamfile/format.h"
#include "agents/team/team.h"
#include "tools/tasks/todo_list.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Not assert(): it must hold in release builds as well. */
static void must(bool holds)
{
	if (!holds)
		abort();
}

static const char ours[] =
	"{\"name\":\"alpha\",\"leadSessionId\":\"s\",\"members\":[{\"name\":\"team-lead\"},{\"name\":\"ann\",\"mode\":\"plan\","
	"\"agentSession\":\"s\"}]}";

static void check_config(struct str theirs)
{
	AUTO_BUF struct buf once = { 0 }, twice = { 0 };
	AUTO_JSON struct json_reader reader = { 0 };
	struct map foreign = { 0 }, again = { 0 };
	const struct json *root;

	config_merge(&once, str_from(ours), theirs, "s", &foreign);
	must(json_parse(&reader, once.p, once.n, &root, NULL) == 0);
	const struct json *members = json_get(root, "members"), *lead = json_first(members),
			  *ann = json_next(members, lead);
	must(json_str_is(json_get(root, "leadSessionId"), "s") && json_str_is(json_get(lead, "name"), TEAM_LEAD));
	must(json_str_is(json_get(ann, "name"), "ann") && json_str_is(json_get(ann, "mode"), "plan"));
	must(members->count == 2 + foreign.count);
	for (const struct map_entry *e = map_next(&foreign, NULL); e; e = map_next(&foreign, e))
		must(team_name_fits((struct str){ e->key, e->key_len }) && !memchr(e->key, '/', e->key_len) &&
		     strcasecmp(e->key, "ann") != 0 && strcasecmp(e->key, TEAM_LEAD) != 0);
	config_merge(&twice, str_from(ours), buf_str(&once), "s", &again);
	must(str_eq(buf_str(&once), buf_str(&twice)));
	map_release(&foreign);
	map_release(&again);
}

static void check_inbox(struct str inbox)
{
	AUTO_BUF struct buf more = { 0 }, none = { 0 }, entry = { 0 };
	AUTO_JSON struct json_reader reader = { 0 };
	AUTO_ARENA struct arena a = { 0 };
	struct json_out w = json_out(&entry);
	struct map seen = { 0 }, same = { 0 };
	struct inbox_entry own = { .id = "own-id", .from = "ann", .text = inbox.n > 100 ? STR("x") : STR("y") }, e, f;
	const struct json *root;
	struct err err = { 0 };

	inbox_entry_write(&w, &own, NULL, 0);
	int status = inbox_add(&more, inbox, "own-id", buf_str(&entry), &err);
	must(status <= 1 && (status == 0) == (more.n > 0));
	if (status != 0)
		return;
	must(json_parse(&reader, more.p, more.n, &root, NULL) == 0 && json_is(root, JSON_ARRAY));
	must(inbox_add(&none, buf_str(&more), "own-id", buf_str(&entry), &err) == 1 && !none.n);
	bool found = false;
	for (const struct json *v = json_first(root); v; v = json_next(root, v)) {
		bool is = json_is(v, JSON_OBJECT) && inbox_entry_read(v, &seen, &a, &e);
		must(is == (json_is(v, JSON_OBJECT) && inbox_entry_read(v, &same, &a, &f)));
		must(!is || (e.id[0] && !strcmp(e.id, f.id)));
		found = found || (is && !strcmp(e.id, "own-id"));
	}
	must(found);
	map_release(&seen);
	map_release(&same);
}

/* What others see of an inbox: their own entries that were not taken, and ours behind them */
static void check_mirror(struct str inbox)
{
	AUTO_BUF struct buf shown = { 0 }, again = { 0 };
	AUTO_JSON struct json_reader reader = { 0 };
	struct str mine = STR("[{\"msg_id\":\"own-id\",\"read\":true}]");
	const struct json *root;
	unsigned marked = 0;

	if (inbox_mirror(&shown, inbox, mine, &(struct err){ 0 }) < 0)
		return;
	must(json_parse(&reader, shown.p, shown.n, &root, NULL) == 0 && json_is(root, JSON_ARRAY));
	for (const struct json *v = json_first(root); v; v = json_next(root, v))
		marked += json_is(v, JSON_OBJECT) && json_bool(json_get(v, "read"));
	must(marked == 1);
	must(inbox_mirror(&again, buf_str(&shown), mine, &(struct err){ 0 }) == 0 &&
	     str_eq(buf_str(&shown), buf_str(&again)));
}

static void check_structured(struct str text)
{
	AUTO_BUF struct buf out = { 0 };
	AUTO_JSON struct json_reader reader = { 0 };
	AUTO_ARENA struct arena a = { 0 };
	const struct json *root;

	if (!structured_clean(&out, text, "sender")) {
		must(!out.n);
		return;
	}
	must(json_parse(&reader, out.p, out.n, &root, NULL) == 0 && json_is(root, JSON_OBJECT));
	for (struct json_member m = json_members(root); m.key; m = json_member_next(root, m)) {
		struct str key = json_str(m.key, &a), value = json_str(m.value, &a);
		bool names_sender = str_is(key, "from") || str_is(key, "assignedBy");
		bool is_id = str_is(key, "requestId") || str_is(key, "request_id");
		must(!names_sender || str_is(value, "sender"));
		must(!is_id || str_is(value, "[invalid id]") ||
		     (!memchr(value.p, '\n', value.n) && value.n <= 256 && memchr(value.p, '-', value.n)));
	}
}

static void check_message(struct str text)
{
	AUTO_BUF struct buf out = { 0 };
	AUTO_ARENA struct arena a = { 0 };
	const char *from = arena_dup(&a, text.p ? text.p : "", text.n);

	mail_write(&out, &(struct mail){ .id = "i", .from = from, .summary = text, .text = text, .unverified = true });
	struct str rest = buf_str(&out), tag = STR("teammate-message"), mark = STR(" verified=\"false\">\n");
	unsigned tags = 0;
	for (const char *p = rest.p; (p = memmem(p, (size_t)(rest.p + rest.n - p), tag.p, tag.n)); p++)
		tags += p[-1] == '<' || (p[-1] == '/' && p[-2] == '<');
	must(tags == 2); /* its own, and nothing that looks like one */
	const char *head = memchr(rest.p, '\n', rest.n);
	must(head && memmem(rest.p, (size_t)(head + 1 - rest.p), mark.p, mark.n));
	must(!memmem(rest.p, rest.n, "<system-reminder", 16) && !memmem(rest.p, rest.n, "</system-reminder", 17));
}

static bool same(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : a == b;
}

static void check_task(struct str text)
{
	AUTO_ARENA struct arena a = { 0 };
	AUTO_BUF struct buf out = { 0 };
	struct json_out w = json_out(&out);
	struct todo t, u;

	if (!todo_read_text(text, 7, &a, &t))
		return;
	must(t.id == 7 && t.subject && t.description && (unsigned)t.status < TODO_STATUS_COUNT);
	for (size_t i = 0; i < t.blocks.count; i++) { /* a number that may become a path, and each once */
		must(t.blocks.ids[i] >= 1 && t.blocks.ids[i] <= INT32_MAX);
		for (size_t k = 0; k < i; k++)
			must(t.blocks.ids[i] != t.blocks.ids[k]);
	}
	todo_put(&w, &t, true);
	must(todo_read_text(buf_str(&out), 7, &a, &u));
	must(same(t.subject, u.subject) && same(t.description, u.description) && same(t.owner, u.owner) &&
	     same(t.active_form, u.active_form) && t.status == u.status && str_eq(t.metadata, u.metadata) &&
	     t.blocks.count == u.blocks.count && t.blocked_by.count == u.blocked_by.count);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str rest = { (const char *)data, size };
	struct str config = str_cut(&rest, '\0'), inbox = rest.p ? str_cut(&rest, '\0') : (struct str){ 0 };
	struct str task = rest;

	check_config(config);
	check_inbox(inbox.p ? inbox : STR(""));
	check_mirror(inbox.p ? inbox : config);
	check_structured(rest.p ? rest : config);
	check_message(rest.p ? str_cut(&rest, '\0') : config);
	check_task(rest.p ? rest : task.p ? task : config);
	return 0;
}
