/* SPDX-License-Identifier: MIT
 * session_list.c - reads the files of a project. Most lines are only looked at as bytes: a file may have hundreds of
 * megabytes, and what a list shows stands in few of its lines. */
#include <dirent.h>
#include <sys/stat.h>
#include "core/store/line_file.h"
#include "core/store/session_list.h"
#include "lib/json/json_write.h"
#include "lib/json/json.h"
#include "lib/base/id.h"
#include "lib/io/dir.h"

enum { LONGEST_PROMPT = 200, MOST_NAMED = 5 };

int session_each_line(const char *path, int (*fn)(void *data, struct str line), void *data, struct err *err)
{
	struct line_file f = { 0 };
	struct line_span span;
	struct str line;

	int status = line_file_open(&f, path, err);
	while (status == 0 && line_file_next(&f, &line, &span, NULL) > 0) {
		line = str_trim(line);
		if (line.n)
			status = fn(data, line);
	}
	line_file_close(&f);
	return status;
}

struct scan {
	struct session_list *list;
	struct session_entry *entry;
	const char *text; /* NULL: not looked for */
	bool named;       /* the title is the user's */
};

static bool line_has(struct str line, const char *part)
{
	return memmem(line.p, line.n, part, strlen(part)) != NULL;
}

static void take_prompt(struct scan *s, const struct json *root)
{
	struct arena *a = &s->list->arena;
	AUTO_BUF struct buf folded = { 0 };
	const struct json *content = json_get(json_get(root, "message"), "content");
	const struct json *block = json_items(content);

	while (block &&
	       (!json_str_is(json_get(block, "type"), "text") || /* or what the user ran before, with its output */
		str_starts(json_str(json_get(block, "text"), a), STR("<bash-input>"))))
		block = json_next(content, block);
	struct str text = str_trim(json_str(block ? json_get(block, "text") : content, a));
	if (!text.n || json_bool(json_get(root, "isMeta")))
		return;
	buf_addfolded(&folded, (struct str){ text.p, MIN(text.n, (size_t)LONGEST_PROMPT) });
	s->entry->prompt = arena_str(a, str_trim(buf_str(&folded))).p;
	s->entry->cwd = json_cstr(json_get(root, "cwd"), a);
	s->entry->branch = json_cstr(json_get(root, "gitBranch"), a);
}

/* Is the text in a string of the value? Names of members do not count. */
static bool value_has(const struct json *v, const char *text, struct arena *a)
{
	if (json_is(v, JSON_STRING)) {
		const char *said = json_cstr(v, a);
		return said && strcasestr(said, text);
	}
	if (json_is(v, JSON_ARRAY)) {
		for (const struct json *one = json_first(v); one; one = json_next(v, one))
			if (value_has(one, text, a))
				return true;
	} else if (json_is(v, JSON_OBJECT)) {
		for (struct json_member m = json_members(v); m.key; m = json_member_next(v, m))
			if (value_has(m.value, text, a))
				return true;
	}
	return false;
}

/* Searches texts and thoughts, the input of calls and their results; not types, ids and the like. */
static bool line_contains(const struct json *root, const char *text)
{
	static const char *const spoken[] = { "text", "thinking", "input", "content" };
	AUTO_ARENA struct arena a = { 0 };
	const struct json *content = json_get(json_get(root, "message"), "content");

	if (json_bool(json_get(root, "isMeta")))
		return false;
	if (!json_is(content, JSON_ARRAY))
		return value_has(content, text, &a);
	for (const struct json *b = json_first(content); b; b = json_next(content, b)) {
		for (size_t i = 0; i < COUNT_OF(spoken); i++) {
			const struct json *v = json_get(b, spoken[i]);
			bool blocks = !strcmp(spoken[i], "content") && json_is(v, JSON_ARRAY);
			for (const struct json *r = blocks ? json_first(v) : NULL; r; r = json_next(v, r))
				if (value_has(json_get(r, "text"), text, &a))
					return true;
			if (!blocks && value_has(v, text, &a))
				return true;
		}
	}
	return false;
}

static int on_line(void *data, struct str line)
{
	struct scan *s = data;
	struct session_entry *entry = s->entry;
	bool of_user = line_has(line, "\"type\":\"user\""), of_model = line_has(line, "\"type\":\"assistant\"");
	bool titled = line_has(line, "\"custom-title\"") || line_has(line, "\"ai-title\"");
	AUTO_JSON struct json_reader reader = { 0 };

	entry->messages += (of_user || of_model) && !line_has(line, "\"isMeta\":true");
	entry->answers += of_model && !line_has(line, "\"isApiErrorMessage\":true");
	bool searched = s->text && (of_user || of_model) && !entry->matches;
	if (!searched && !titled && (!of_user || entry->prompt[0]))
		return 0;
	const struct json *root = json_read(&reader, line);
	if (!root)
		return 0; /* torn */
	if (searched)
		entry->matches = line_contains(root, s->text);
	if (titled) {
		bool custom = json_str_is(json_get(root, "type"), "custom-title");
		const char *title = json_cstr(json_get(root, custom ? "customTitle" : "aiTitle"), &s->list->arena);
		/* A fork's file begins with the lines of its origin, whose title is not its own. */
		const struct json *session = json_get(root, "sessionId");
		bool own = !session || json_str_is(session, entry->id);
		if (title && own && (custom || !s->named)) {
			entry->title = title;
			s->named = custom;
		}
	}
	if (json_str_is(json_get(root, "type"), "user") && !entry->prompt[0])
		take_prompt(s, root);
	return 0;
}

/* The next session file of an open directory; d NULL or at its end: false. */
static bool next_session_file(DIR *d, struct str *ret_id, struct stat *ret_st)
{
	for (struct dirent *e; d && (e = readdir(d));) {
		struct str name = str_from(e->d_name);
		*ret_id = (struct str){ name.p, name.n > 6 ? name.n - 6 : 0 };
		if (str_ends(name, STR(".jsonl")) && id_is_uuid(*ret_id) &&
		    fstatat(dirfd(d), e->d_name, ret_st, 0) == 0 && ret_st->st_size > 0)
			return true;
	}
	if (d)
		closedir(d);
	return false;
}

char *session_newest(struct arena *a, const char *dir)
{
	DIR *d = opendir(dir);
	struct timespec newest_time = { 0 };
	char *newest = NULL;
	struct stat st;
	struct str id;

	while (next_session_file(d, &id, &st)) {
		struct timespec time = st.st_mtim;
		if (newest && (time.tv_sec < newest_time.tv_sec ||
			       (time.tv_sec == newest_time.tv_sec && time.tv_nsec <= newest_time.tv_nsec)))
			continue;
		newest = arena_dup(a, id.p, id.n);
		newest_time = time;
	}
	return newest;
}

static int newest_first(const void *a, const void *b)
{
	const struct session_entry *x = a, *y = b;

	if (x->changed_ms != y->changed_ms)
		return x->changed_ms < y->changed_ms ? 1 : -1;
	return strcmp(x->id, y->id);
}

/* Each has a file that says what it is; none of them is opened. */
static unsigned count_agents(const struct session_list *l, const struct session_entry *e)
{
	AUTO_BUF struct buf path = { 0 };
	unsigned count = 0;

	buf_addf(&path, "%s/%s/subagents", l->project_dir, e->id);
	AUTO_DIR DIR *d = opendir(path.p);
	for (struct dirent *f; (f = dir_next(d));)
		count += str_starts(str_from(f->d_name), STR("agent-")) &&
			 str_ends(str_from(f->d_name), STR(".meta.json"));
	return count;
}

void session_list_read(const char *project_dir, const char *text, struct session_list *ret)
{
	DIR *d = opendir(project_dir);
	struct stat st;
	struct str id;

	ret->project_dir = arena_strdup(&ret->arena, project_dir);
	while (next_session_file(d, &id, &st)) {
		*xpush(ret->entries, ret->count, ret->cap) = (struct session_entry){
			.id = arena_str(&ret->arena, id).p,
			.path = arena_printf(&ret->arena, "%s/" STR_FMT ".jsonl", project_dir, STR_ARG(id)),
			.changed_ms = (int64_t)st.st_mtim.tv_sec * 1000 + st.st_mtim.tv_nsec / 1000000,
			.bytes = (uint64_t)st.st_size,
		};
	}
	if (ret->count)
		qsort(ret->entries, ret->count, sizeof *ret->entries, newest_first);
	for (size_t i = 0; i < ret->count; i++) {
		struct session_entry *e = &ret->entries[i];
		struct scan scan = { .list = ret, .entry = e, .text = text };
		e->title = e->prompt = "";
		e->matches = !text;
		(void)session_each_line(e->path, on_line, &scan, NULL); /* gone meanwhile: it has no lines */
		e->agents = count_agents(ret, e);
		if (text && strcasestr(e->title, text))
			e->matches = true;
		e->cwd = e->cwd ? e->cwd : "";
		e->branch = e->branch ? e->branch : "";
	}
}

void session_list_release(struct session_list *l)
{
	free(l->entries);
	arena_release(&l->arena);
	*l = (struct session_list){ 0 };
}

static bool entry_matches_name(const struct session_entry *e, const char *name)
{
	return name[0] && (str_starts(str_from(e->id), str_from(name)) || !strcasecmp(e->title, name));
}

static int refuse_several(const struct session_list *l, const char *name, size_t count, struct err *err)
{
	AUTO_BUF struct buf ids = { 0 };
	size_t named = 0;

	for (size_t i = 0; i < l->count && named < MOST_NAMED; i++) {
		const struct session_entry *e = &l->entries[i];
		if (!entry_matches_name(e, name))
			continue;
		size_t unique = 8; /* so much of the id that no other begins with it */
		for (size_t k = 0; k < l->count; k++)
			while (k != i && unique < UUID_LEN && !strncmp(l->entries[k].id, e->id, unique))
				unique++;
		buf_addf(&ids, "%s%.*s (", named++ ? ", " : "", (int)unique, e->id);
		buf_addspan(&ids, MAX(id_wall_ms() - e->changed_ms, (int64_t)0));
		buf_addstr(&ids, ")");
	}
	if (count > named)
		buf_addf(&ids, " and %zu more", count - named);
	return err_set(err, ERR_USAGE, "%zu sessions match '%.40s'; name one by its id: %s", count, name, ids.p);
}

int session_list_find(const struct session_list *l, const char *name, const struct session_entry **ret, struct err *err)
{
	const struct session_entry *found = NULL;
	size_t count = 0;

	for (size_t i = 0; i < l->count; i++) {
		const struct session_entry *e = &l->entries[i];
		if (!strcmp(e->id, name)) {
			*ret = e;
			return 0;
		}
		if (!entry_matches_name(e, name))
			continue;
		found = e;
		count++;
	}
	if (!count)
		return err_set(err, ERR_NOT_FOUND,
			       "no session of this project has the id or title '%.60s'; `cadre sessions` lists them",
			       name);
	if (count > 1)
		return refuse_several(l, name, count, err);
	*ret = found;
	return 0;
}
