/* SPDX-License-Identifier: MIT
 * show.c - what commands show of the session: context, usage, models, servers, hooks, styles; and its past. Answers come from
 * cadre_request(), as clients of the wire get them. */
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <cadre_command.h>
#include "face/cli/view.h"
#include "face/tui/state.h"
#include "lib/base/id.h"
#include "lib/json/json.h"
#include "lib/json/json_write.h"

enum { BAR_CELLS = 40, PAST_MESSAGES = 10, MOST_LINES = 20 };

const struct json *show_request(struct tui *t, struct json_reader *reader, const char *request)
{
	const struct json *root = NULL;
	char why[240] = "";
	size_t n = 0;
	const char *answer = cadre_request(t->session, request, strlen(request), &n, why, sizeof why);

	if (!answer)
		feed_words(t, LOOK_RED, str_from(why));
	else if (json_parse(reader, answer, n, &root, NULL) < 0)
		root = NULL;
	return root;
}

const struct json *show_applied(struct tui *t, struct json_reader *reader)
{
	return json_get(show_request(t, reader, "{\"subtype\":\"get_settings\"}"), "applied");
}

static bool has_text(const struct json *list, struct str text, struct arena *a)
{
	for (const struct json *k = json_items(list); k; k = json_next(list, k))
		if (str_eq(json_str(k, a), text))
			return true;
	return false;
}

void show_carry(struct tui *t, struct cadre_session *from, struct cadre_session *to)
{
	AUTO_JSON struct json_reader before = { 0 }, after = { 0 };
	AUTO_ARENA struct arena a = { 0 };
	static const char *const options[] = { "model", "effort" };
	char why[240];

	t->session = from;
	const struct json *was = show_applied(t, &before);
	t->session = to;
	const struct json *is = show_applied(t, &after), *dirs = json_get(was, "additionalDirectories");
	if (strcmp(cadre_session_mode(from), cadre_session_mode(to)) != 0)
		(void)cadre_session_set(to, "permission-mode", cadre_session_mode(from), why, sizeof why);
	for (size_t i = 0; i < COUNT_OF(options); i++) {
		const char *value = json_cstr(json_get(was, options[i]), &a);
		if (value && !json_str_is(json_get(is, options[i]), value))
			(void)cadre_session_set(to, options[i], value, why, sizeof why);
	}
	for (const struct json *k = json_items(dirs); k; k = json_next(dirs, k))
		if (!has_text(json_get(is, "additionalDirectories"), json_str(k, &a), &a))
			(void)cadre_session_set(to, "add-dir", json_cstr(k, &a), why, sizeof why);
	if (t->thinks_not)
		(void)cadre_session_set(to, "max-thinking-tokens", "0", why, sizeof why);
}

void show_pair(struct tui *t, struct buf *out, struct str left, unsigned indent, struct str right)
{
	bool whole = t->wraps_itself || t->dumb, narrow = t->region.columns < NARROW_COLUMNS && !whole;
	unsigned columns = whole ? UINT32_MAX / 2 : t->region.columns - 1, used = 0;
	size_t next;

	indent = narrow ? 2 : indent;
	for (size_t from = 0; from < left.n; from = next) {
		size_t end = cells_wrap(left, from, columns, &next);
		buf_addf(out, "%s" STR_FMT, from ? "\n" : "", (int)(end - from), left.p + from);
		used = (unsigned)(end - from);
	}
	if (narrow || used >= indent) {
		buf_addch(out, '\n');
		used = 0;
	}
	for (size_t from = 0; from < right.n; from = next, used = 0) {
		size_t end = cells_wrap(right, from, columns - indent, &next);
		buf_addf(out, "%*s" STR_FMT "\n", (int)(indent - used), "", (int)(end - from), right.p + from);
	}
}

void show_context(struct tui *t)
{
	static const unsigned looks[] = { LOOK_BLUE,   LOOK_CYAN,  LOOK_MAGENTA, LOOK_ORANGE,
					  LOOK_YELLOW, LOOK_GREEN, LOOK_DIM };
	AUTO_JSON struct json_reader reader = { 0 };
	AUTO_ARENA struct arena a = { 0 };
	AUTO_STYLED struct styled s = { 0 }, bar = { 0 };
	AUTO_BUF struct buf b = { 0 };
	bool narrow = t->region.columns <= BAR_CELLS;
	int64_t used = 0, most = 0, tokens, at = 0, bar_cells = narrow ? (int64_t)t->region.columns - 1 : BAR_CELLS;
	size_t i = 0;
	const struct json *root = show_request(t, &reader, "{\"subtype\":\"get_context_usage\"}");

	if (!root)
		return;
	(void)json_i64(json_get(root, "totalTokens"), &used);
	(void)json_i64(json_get(root, "maxTokens"), &most);
	buf_addcount(&b, used);
	buf_addstr(&b, " of ");
	buf_addcount(&b, most);
	styled_addf(&s, LOOK_BOLD, "%s tokens (%lld%%), ", b.p, (long long)(most ? used * 100 / most : 0));
	styled_add_line(&s, LOOK_BOLD, str_from(cadre_session_model(t->session)));
	const struct json *kinds = json_get(root, "categories");
	for (const struct json *kind = json_items(kinds); kind; kind = json_next(kinds, kind)) {
		unsigned look = looks[MIN(i, COUNT_OF(looks) - 1)];
		bool free_space = json_str_is(json_get(kind, "name"), "Free space");
		tokens = 0;
		(void)json_i64(json_get(kind, "tokens"), &tokens);
		/* what is there is seen, however little it is */
		int64_t cells = free_space ? bar_cells - at
				: most     ? MAX(tokens * bar_cells / most, (int64_t)(tokens > 0))
					   : 0;
		for (; cells > 0 && at < bar_cells; cells--, at++)
			styled_add(&bar, look,
				   t->ascii     ? (free_space ? STR(".") : STR("#"))
				   : free_space ? STR("░")
						: STR("█"));
		buf_clear(&b);
		buf_addcount(&b, tokens);
		const char *name = json_cstr(json_get(kind, "name"), &a);
		if (narrow) {
			styled_addf(&s, look, "%s %s\n", name, b.p);
		} else {
			styled_addf(&s, look, "  %s ", t->ascii ? "#" : "█");
			styled_addf(&s, LOOK_PLAIN, "%-15s %8s", name, b.p);
			styled_addf(&s, LOOK_DIM, "  %4.1f%%\n", most ? (double)tokens * 100 / (double)most : 0);
		}
		i++;
	}
	styled_add(&bar, LOOK_PLAIN, STR("\n"));
	feed_styled(t, &bar);
	feed_styled(t, &s);
}

void show_usage(struct tui *t)
{
	static const struct {
		const char *name, *label;
	} parts[] = { { "inputTokens", "in" },
		      { "cacheReadInputTokens", "cache read" },
		      { "cacheCreationInputTokens", "cache written" },
		      { "outputTokens", "out" } };
	AUTO_JSON struct json_reader reader = { 0 };
	AUTO_ARENA struct arena a = { 0 };
	AUTO_STYLED struct styled s = { 0 };
	AUTO_BUF struct buf models_lines = { 0 }, agents_lines = { 0 };
	const struct json *root = show_request(t, &reader, "{\"subtype\":\"get_usage\"}");
	const struct json *models = json_get(json_get(root, "session"), "model_usage");

	if (!root)
		return;
	styled_addf(&s, LOOK_BOLD, "$%.4f of all agents so far\n",
		    json_double(json_get(json_get(root, "session"), "total_cost_usd")));
	for (struct json_member m = json_members(models); m.key; m = json_member_next(models, m)) {
		AUTO_BUF struct buf name = { 0 }, figures = { 0 };
		for (size_t i = 0; i < COUNT_OF(parts); i++) {
			int64_t tokens = 0;
			(void)json_i64(json_get(m.value, parts[i].name), &tokens);
			buf_addf(&figures, "%s%s ", i ? ", " : "", parts[i].label);
			buf_addcount(&figures, tokens);
		}
		buf_addf(&name, "  %-24s $%.4f", json_cstr(m.key, &a), json_double(json_get(m.value, "costUSD")));
		show_pair(t, &models_lines, buf_str(&name), (unsigned)name.n + 2, buf_str(&figures));
	}
	for (const struct agent_row *r = t->agents.first; r; r = r->next) {
		buf_addf(&agents_lines, "  %s %s: ", r->type, r->title);
		buf_addcount(&agents_lines, r->tokens);
		buf_addf(&agents_lines, " tokens, $%.4f\n", (double)r->cost_micros / 1e6);
	}
	feed_styled(t, &s);
	feed_foreign(t, LOOK_PLAIN, buf_str(&models_lines));
	feed_words(t, LOOK_DIM, buf_str(&agents_lines));
}

void show_models(struct tui *t, const char *option)
{
	AUTO_JSON struct json_reader reader = { 0 };
	AUTO_ARENA struct arena a = { 0 };
	const struct json *root = show_request(t, &reader, "{\"subtype\":\"list_models\"}"),
			  *list = json_get(root, "models");

	if (!root)
		return;
	bool falls_back = strcmp(option, "model") != 0;
	AUTO_BUF struct buf title = { 0 };
	buf_addf(&title, "%s . from the next request on . dollars for a million tokens, window",
		 falls_back ? "Fallback model" : "Model");
	struct page *p = page_open_list(t, title.p, NULL);
	size_t marked = 0;
	p->option = option;
	for (const struct json *m = json_items(list); m; m = json_next(list, m)) {
		const char *value = json_cstr(json_get(m, "value"), &a),
			   *id = json_cstr(json_get(m, "resolvedModel"), &a);
		const char *what = json_cstr(json_get(m, "description"), &a);
		AUTO_BUF struct buf b = { 0 };
		const struct json *price = json_get(m, "pricePerMTok");
		int64_t window = 0;
		bool now = !falls_back && id && !strcmp(id, cadre_session_model(t->session));
		buf_addf(&b, "%-12s %s%s", value, id ? id : "", now ? " (now)" : "");
		if (now && !marked++)
			p->selected = p->count;
		if (price)
			buf_addf(&b, " . $%g in, $%g out", json_double(json_get(price, "input")),
				 json_double(json_get(price, "output")));
		if (json_i64(json_get(m, "contextWindow"), &window)) {
			buf_addstr(&b, " . ");
			buf_addcount(&b, window);
		}
		if (what)
			buf_addf(&b, ": %s", what);
		page_add_item(p, str_from(value), buf_str(&b));
	}
}

void show_servers(struct tui *t)
{
	AUTO_JSON struct json_reader reader = { 0 };
	AUTO_ARENA struct arena a = { 0 };
	AUTO_STYLED struct styled s = { 0 };
	const struct json *root = show_request(t, &reader, "{\"subtype\":\"mcp_status\"}");
	const struct json *list = json_get(root, "mcpServers");

	if (!root)
		return;
	for (const struct json *m = json_items(list); m; m = json_next(list, m)) {
		const struct json *status = json_get(m, "status"), *tools = json_get(m, "tools"),
				  *info = json_get(m, "error");
		bool good = json_str_is(status, "connected"), bad = json_str_is(status, "failed");
		styled_addf(&s,
			    good  ? LOOK_GREEN
			    : bad ? LOOK_RED
				  : LOOK_DIM,
			    "%s ",
			    tui_mark(t, good  ? MARK_DONE
					: bad ? MARK_FAILED
					      : MARK_RUNS));
		styled_add_foreign(&s, LOOK_BOLD, json_str(json_get(m, "name"), &a));
		styled_addf(&s, LOOK_PLAIN, "  %s", json_cstr(status, &a));
		if (json_is(tools, JSON_ARRAY))
			styled_addf(&s, LOOK_DIM, ", %zu tool%s", (size_t)tools->count, tools->count == 1 ? "" : "s");
		if (info) {
			styled_add(&s, LOOK_DIM, STR("  "));
			styled_add_foreign(&s, LOOK_DIM, json_str(info, &a));
		}
		styled_add(&s, LOOK_PLAIN, STR("\n"));
	}
	if (!s.text.n)
		styled_add(&s, LOOK_DIM, STR("No MCP server is used. `cadre mcp add` adds one.\n"));
	feed_styled(t, &s);
}

void show_hooks(struct tui *t)
{
	AUTO_JSON struct json_reader reader = { 0 };
	AUTO_ARENA struct arena a = { 0 };
	AUTO_STYLED struct styled s = { 0 };
	const struct json *root = show_request(t, &reader, "{\"subtype\":\"get_hooks_listing\"}"),
			  *list = json_get(root, "hooks");

	if (!root)
		return;
	for (const struct json *h = json_items(list); h; h = json_next(list, h)) {
		struct str matcher = json_str(json_get(h, "matcher"), &a);
		styled_add_foreign(&s, LOOK_BOLD, json_str(json_get(h, "event"), &a));
		if (matcher.n) {
			styled_add(&s, LOOK_PLAIN, STR(" "));
			styled_add_foreign(&s, LOOK_PLAIN, matcher);
		}
		styled_addf(&s, LOOK_PLAIN, "  %s: ", json_cstr(json_get(h, "type"), &a));
		styled_add_foreign(&s, LOOK_PLAIN, json_str(json_get(h, "commandText"), &a));
		styled_addf(&s, LOOK_DIM, "  (%s%s)\n", json_cstr(json_get(h, "sourceLabel"), &a),
			    json_bool(json_get(h, "disabled")) ? ", off" : "");
	}
	if (!s.text.n)
		styled_add(&s, LOOK_DIM, STR("No hooks are set (docs/hooks.md).\n"));
	feed_styled(t, &s);
}

void show_styles(struct tui *t, page_choose_fn *choose)
{
	AUTO_JSON struct json_reader reader = { 0 };
	AUTO_ARENA struct arena a = { 0 };
	const struct json *root = show_request(t, &reader, "{\"subtype\":\"reload_output_styles\"}");
	const struct json *list = json_get(root, "available_output_styles");
	struct str now = json_str(json_get(root, "output_style"), &a);

	if (!root)
		return;
	struct page *p = page_open_list(t, "Output style", choose);
	for (const struct json *m = json_items(list); m; m = json_next(list, m)) {
		struct str name = json_str(m, &a);
		page_add_choice(p, name, name, str_eq(name, now));
	}
}

/* What the theme looks like: a difference, code, a question */
void show_theme(struct tui *t, struct page *p, const char *id, struct styled *out)
{
	p->screen.colour = view_wants_colour() ? theme_find(str_from(id)) : THEME_NONE;
	p->screen.columns = 0; /* all rows get the new colours */
	styled_add(out, LOOK_CYAN, STR("* "));
	styled_add(out, LOOK_BOLD, STR("Edit"));
	styled_add(out, LOOK_PLAIN, STR(" src/parse.c\n"));
	styled_add(out, LOOK_REMOVED, STR("  87 - while (p "));
	styled_add(out, LOOK_REMOVED_WORD, STR("<"));
	styled_add(out, LOOK_REMOVED, STR(" end)"));
	styled_add(out, LOOK_ADDED, STR("\n  87 + while (p "));
	styled_add(out, LOOK_ADDED_WORD, STR("<="));
	styled_add(out, LOOK_ADDED, STR(" end)"));
	styled_add(out, LOOK_GREEN, STR("\ndone"));
	styled_add(out, LOOK_RED, STR("  failed"));
	styled_add(out, LOOK_YELLOW, STR("  a question waits"));
	styled_add(out, LOOK_DIM, STR("  the turn took 3 s\n"));
}

void show_drop_names(struct map *names)
{
	for (struct map_entry *e = map_next(names, NULL); e; e = map_next(names, e))
		free(e->value);
	map_release(names);
	*names = (struct map){ 0 };
}

/* What a prompt names behind an @: agents, resources of servers. The files of the project come as an event. */
void show_read_mentions(struct tui *t)
{
	AUTO_JSON struct json_reader reader = { 0 };
	AUTO_ARENA struct arena a = { 0 };
	const struct json *root = show_request(t, &reader, "{\"subtype\":\"list_mentions\"}"),
			  *agents = json_get(root, "agents"), *resources = json_get(root, "resources");

	t->files_sought = root != NULL;
	show_drop_names(&t->mentions);
	for (const struct json *k = json_items(agents); k; k = json_next(agents, k)) {
		AUTO_BUF struct buf name = { 0 };
		const char *help = json_cstr(json_get(k, "description"), &a);
		buf_addf(&name, "agent-%s", json_cstr(json_get(k, "name"), &a));
		free(map_set(&t->mentions, buf_str(&name), xstrdup(help)));
	}
	for (const struct json *k = json_items(resources); k; k = json_next(resources, k)) {
		AUTO_BUF struct buf name = { 0 }, help = { 0 };
		struct str more = json_str(json_get(k, "description"), &a);
		buf_addf(&name, "%s:%s", json_cstr(json_get(k, "server"), &a), json_cstr(json_get(k, "uri"), &a));
		buf_addf(&help, "%s%s" STR_FMT, json_cstr(json_get(k, "name"), &a), more.n ? ": " : "", STR_ARG(more));
		if (!memchr(name.p, ' ', name.n)) /* a word of the prompt */
			free(map_set(&t->mentions, buf_str(&name), buf_take(&help, NULL)));
	}
}

/* What a user calls by /NAME besides our own commands: skills, commands of files, prompts of servers */
void show_read_skills(struct tui *t)
{
	AUTO_JSON struct json_reader reader = { 0 };
	AUTO_ARENA struct arena a = { 0 };
	const struct json *root = show_request(t, &reader, "{\"subtype\":\"reload_skills\"}"),
			  *list = json_get(root, "skills");

	show_drop_names(&t->skills);
	for (const struct json *k = json_items(list); k; k = json_next(list, k)) {
		const char *help = json_cstr(json_get(k, "description"), &a);
		struct str name = json_str(json_get(k, "name"), &a);
		size_t own = 0;
		while (own < slash_count && !command_is(&slash_table[own], name))
			own++;
		if (name.n && own == slash_count)
			free(map_set(&t->skills, name, xstrdup(help ? help : "")));
	}
}

/* Sets files back to before a message, or says what that would do. out: NULL: into the conversation */
void show_rewind(struct tui *t, const char *point, bool dry, struct styled *out)
{
	AUTO_JSON struct json_reader reader = { 0 };
	AUTO_ARENA struct arena a = { 0 };
	AUTO_STYLED struct styled s = { 0 };
	AUTO_BUF struct buf request = { 0 };
	struct json_out w = json_out(&request);

	json_putf(&w, "{subtype:'rewind_files', user_message_id:'%s', dry_run:!!%d}", point, dry);
	const struct json *root = show_request(t, &reader, request.p), *files = json_get(root, "filesChanged");
	int64_t added = 0, removed = 0;
	if (!root)
		return;
	(void)json_i64(json_get(root, "insertions"), &added);
	(void)json_i64(json_get(root, "deletions"), &removed);
	if (!json_bool(json_get(root, "canRewind")))
		styled_add_foreign(&s, LOOK_DIM, json_str(json_get(root, "error"), &a));
	else
		styled_addf(&s, LOOK_BOLD, "%zu file%s %s: +%lld -%lld lines", (size_t)files->count,
			    files->count == 1 ? "" : "s", dry ? "would change" : "set back", (long long)added,
			    (long long)removed);
	styled_add(&s, LOOK_PLAIN, STR("\n"));
	AUTO_FREE char *cwd = getcwd(NULL, 0);
	size_t above = cwd ? strlen(cwd) : 0;
	for (const struct json *f = json_items(files); f; f = json_next(files, f)) {
		struct str path = json_str(f, &a);
		if (above && path.n > above && !memcmp(path.p, cwd, above) && path.p[above] == '/')
			path = (struct str){ path.p + above + 1, path.n - above - 1 };
		styled_add(&s, LOOK_PLAIN, STR("  "));
		styled_add_line(&s, LOOK_PLAIN, path);
	}
	if (out)
		styled_append(out, &s, 0, s.text.n);
	else
		feed_styled(t, &s);
}

const struct json *show_command(struct tui *t, struct json_reader *reader, struct cadre_report **ret,
				const char *const *words, int count)
{
	const struct json *root = NULL;
	char why[240] = "";
	size_t n = 0;

	if (cadre_command(t->c, count, words, NULL, ret, why, sizeof why) != CADRE_OK) {
		feed_words(t, LOOK_RED, str_from(why));
		return NULL;
	}
	const char *json = cadre_report_json(*ret, &n);
	return json_parse(reader, json, n, &root, NULL) == 0 ? root : NULL;
}

/* A gateway may have it: the name is taken. */
void show_unknown_model(struct tui *t, const char *name)
{
	const char *const words[] = { "models", "show", name };
	AUTO_JSON struct json_reader reader = { 0 };
	AUTO_ARENA struct arena a = { 0 };
	AUTO_BUF struct buf b = { 0 };
	struct cadre_report *report = NULL;
	const struct json *model = show_command(t, &reader, &report, words, COUNT_OF(words));
	int64_t window = 0;

	if (json_str_is(json_get(model, "windowSource"), "assumed") && json_i64(json_get(model, "context"), &window)) {
		buf_addf(&b, "Nothing is known about %s at %s: a window of ", name,
			 json_cstr(json_get(model, "address"), &a));
		buf_addcount(&b, window);
		buf_addf(&b, " tokens is assumed. `cadre models test %s` asks the server.", name);
		feed_words(t, LOOK_YELLOW, buf_str(&b));
	}
	cadre_report_free(report);
}

/* Address and credential as `cadre models show` finds them for the session's model */
void show_status(struct tui *t)
{
	const char *const words[] = { "models", "show", cadre_session_model(t->session) };
	AUTO_FREE char *cwd = getcwd(NULL, 0);
	AUTO_BUF struct buf b = { 0 };
	AUTO_JSON struct json_reader reader = { 0 };
	AUTO_ARENA struct arena a = { 0 };
	struct cadre_report *report = NULL;
	const struct json *model = show_command(t, &reader, &report, words, COUNT_OF(words));
	static const char *const names[] = { "provider", "address", "credential" };

	buf_addf(&b, "session     %s\nfile        %s\nmodel       %s\n", cadre_session_id(t->session),
		 cadre_session_file(t->session), cadre_session_model(t->session));
	for (size_t i = 0; i < COUNT_OF(names) && model; i++)
		buf_addf(&b, "%-11s " STR_FMT "\n", names[i], STR_ARG(json_str(json_get(model, names[i]), &a)));
	buf_addf(&b, "mode        %s\nfolder      %s\nagents      %zu run\nversion     %s\n",
		 cadre_session_mode(t->session), cwd ? cwd : "?", t->agents.running, cadre_version());
	feed_foreign(t, LOOK_PLAIN, buf_str(&b));
	cadre_report_free(report);
}

void show_age(struct buf *out, struct str iso)
{
	AUTO_FREE char *text = xstrndup(iso.p, iso.n);
	int64_t then_ms;

	if (!id_parse_time(text, &then_ms))
		return;
	int64_t seconds = MAX((id_wall_ms() - then_ms) / 1000, (int64_t)0), days = seconds / 86400;
	if (days > 1)
		buf_addf(out, "%lld days", (long long)days);
	else
		buf_addspan(out, seconds * 1000);
	buf_addstr(out, " ago");
}

/* The path of a session's transcript stands behind its id: ID PATH */
static void preview_session(struct tui *t, struct page *p, const char *id, struct styled *out)
{
	struct past past = { .tui = t, .columns = p->screen.columns - 1, .out = out };
	const char *path = strchr(id, ' ');

	if (path)
		(void)past_read(&past, path + 1, PAST_MESSAGES);
	buf_release(&past.title);
}

bool show_sessions(struct tui *t, page_choose_fn *choose)
{
	static const char *const words[] = { "sessions", "list" };
	AUTO_JSON struct json_reader reader = { .limits = { .bytes = 64 << 20, .depth = 16 } };
	AUTO_ARENA struct arena a = { 0 };
	struct cadre_report *report = NULL;
	const struct json *list = show_command(t, &reader, &report, words, COUNT_OF(words));
	struct page *p = NULL;
	size_t more = 0;

	for (const struct json *e = json_items(list); e; e = json_next(list, e)) {
		AUTO_BUF struct buf id = { 0 }, text = { 0 };
		struct str title = json_str(json_get(e, "title"), &a),
			   prompt = json_str(json_get(e, "firstPrompt"), &a);
		int64_t messages = 0, agents = 0, bytes = 0;
		if (json_str_is(json_get(e, "sessionId"), cadre_session_id(t->session)))
			continue;
		more += t->lines && p && p->count == MOST_LINES; /* 2,000 are too many to read */
		if (more)
			continue;
		(void)json_i64(json_get(e, "messages"), &messages);
		(void)json_i64(json_get(e, "agents"), &agents);
		(void)json_i64(json_get(e, "bytes"), &bytes);
		show_age(&text, json_str(json_get(e, "lastModified"), &a));
		buf_addf(&text, "  " STR_FMT "  (%lld messages, ", STR_ARG(title.n ? title : prompt),
			 (long long)messages);
		if (agents)
			buf_addf(&text, "%lld agent%s, ", (long long)agents, agents == 1 ? "" : "s");
		buf_addsize(&text, (uint64_t)bytes);
		buf_addf(&text, ", %.8s)", json_cstr(json_get(e, "sessionId"), &a));
		buf_addf(&id, "%s %s", json_cstr(json_get(e, "sessionId"), &a), json_cstr(json_get(e, "path"), &a));
		if (!p) {
			p = page_open_list(t, "Sessions", choose);
			p->preview = preview_session;
			p->preview_end = true;
			p->previewed = SIZE_MAX - 1;
		}
		page_add_item(p, buf_str(&id), buf_str(&text));
	}
	cadre_report_free(report);
	if (more)
		styled_addf(&p->text, LOOK_DIM, "(the newest %d; %zu older ones by /resume and a title or an id)\n",
			    MOST_LINES, more);
	return p != NULL;
}

/* Agents that an earlier process left, as `cadre tasks` knows them */
static void on_tasks(struct tui *t, struct str output, bool ok)
{
	AUTO_JSON struct json_reader reader = { .limits = { .bytes = 16 << 20, .depth = 64 } };
	AUTO_ARENA struct arena a = { 0 };
	AUTO_STYLED struct styled s = { 0 };
	const struct json *root = NULL;

	if (!ok || json_parse(&reader, output.p, output.n, &root, NULL) < 0)
		return;
	const struct json *sessions = json_get(root, "sessions");
	for (const struct json *one = json_items(sessions); one; one = json_next(sessions, one)) {
		const struct json *tasks = json_get(one, "tasks");
		for (const struct json *k = json_items(tasks); k; k = json_next(tasks, k)) {
			if (!json_str_is(json_get(k, "state"), "interrupted") ||
			    json_str(json_get(k, "parentAgentId"), &a).n)
				continue;
			styled_addf(&s, LOOK_DIM, "%s agent continues with the next prompt: ", tui_mark(t, MARK_RUNS));
			styled_add_line(&s, LOOK_DIM, json_str(json_get(k, "description"), &a));
		}
	}
	feed_styled(t, &s);
}

void show_past(struct tui *t)
{
	AUTO_STYLED struct styled lines = { 0 }, head = { 0 };
	AUTO_BUF struct buf age = { 0 }, agents = { 0 };
	const char *path = cadre_session_file(t->session);
	struct past past = { .tui = t, .columns = t->region.columns - 1, .out = &lines, .copied = true };
	struct stat st;

	if (!path[0] || stat(path, &st) < 0 || !past_read(&past, path, PAST_MESSAGES))
		return;
	buf_addspan(&age, MAX((int64_t)(time(NULL) - st.st_mtime), (int64_t)0) * 1000);
	styled_addf(&head, LOOK_DIM, "Continuing session %s%s%s, %s old%s\n", cadre_session_id(t->session),
		    past.title.n ? ": " : "", buf_str(&past.title).p, age.p,
		    cadre_has_interrupted_turn(t->session) ? ". Its last turn was interrupted." : "");
	if (past.earlier)
		styled_addf(&head, LOOK_DIM, "%s earlier messages: ctrl+o\n", tui_mark(t, MARK_MORE));
	buf_release(&past.title);
	feed_styled(t, &head);
	for (size_t i = 0; i < lines.looks.n; i++) /* it is past: no colours */
		lines.looks.p[i] = LOOK_DIM;
	feed_styled(t, &lines);
	buf_addf(&agents, "%.*s/subagents", (int)strlen(path) - 6, path);
	if (access(agents.p, F_OK) == 0) {
		buf_clear(&agents);
		buf_addf(&agents, "%s --json", cadre_session_id(t->session));
		job_cadre(t, "tasks", buf_str(&agents), on_tasks);
	}
}
