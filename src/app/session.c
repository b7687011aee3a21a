/* SPDX-License-Identifier: MIT
 * session.c - one conversation: opened, prompted, forked, closed. */
#include "app/app_int.h"
#include <sys/stat.h>
#include "base/crash.h"
#include "io/file.h"
#include "model/catalog.h"
#include "session/lock.h"
#include "settings/git_head.h"

static void on_turn_end(struct query *q, void *data);

/* ---- making one ---------------------------------------------------------------------------------------------- */

static int find_directories(struct cadre *c, struct cadre_session *s, struct err *err)
{
	const char *config;

	if (options_directories(&c->options, &s->arena, &s->cwd, &config, err) < 0)
		return -(int)err->kind;
	if (!c->store.config_dir)
		store_init(&c->store, config);
	return 0;
}

static int find_working_dirs(struct cadre_session *s, const struct options *o, struct err *err)
{
	const char **dirs = arena_alloc(&s->arena, (o->add_dir_count + 2) * sizeof *dirs);
	struct stat st;
	size_t n = 0;

	dirs[n++] = s->cwd;
	for (size_t i = 0; i < o->add_dir_count; i++) {
		char *dir = path_absolute(&s->arena, s->cwd, str_from(o->add_dirs[i]));
		if (stat(dir, &st) < 0 || !S_ISDIR(st.st_mode))
			return err_set(err, ERR_USAGE, "--add-dir %s: not a directory", o->add_dirs[i]);
		dirs[n++] = dir;
	}
	dirs[n] = NULL;
	s->env.dirs = dirs;
	return 0;
}

/* NULL: all; "": none; "default": all; otherwise a list, in the order of the table. */
static int choose_tools(struct cadre_session *s, const char *list, struct err *err)
{
	struct tool_set all = { 0 };
	bool everything = !list || !strcmp(list, "default");
	struct map wanted = { 0 };
	int status = 0;

	for (size_t i = 0; tool_table[i]; i++)
		tool_set_add(&all, tool_table[i]);
	struct str rest = everything ? (struct str){ 0 } : str_from(list);
	while (rest.p && status == 0) {
		struct str name = str_trim(str_cut(&rest, ','));
		const struct tool *tool = name.n ? tool_set_find(&all, name) : NULL;
		if (name.n && !tool)
			status = err_set(err, ERR_USAGE, "--tools: there is no tool '" STR_FMT "'", STR_ARG(name));
		else if (tool)
			map_set(&wanted, str_from(tool->name), s);
	}
	for (size_t i = 0; i < all.count; i++)
		if (everything || map_get(&wanted, str_from(all.tools[i]->name)))
			tool_set_add(&s->tools, all.tools[i]);
	map_release(&wanted);
	tool_set_release(&all);
	return status;
}

static struct head *make_head(struct cadre *c, struct cadre_session *s)
{
	AUTO_BUF struct buf system = { 0 };
	AUTO_BUF struct buf bytes = { 0 };
	const char **tools = xcalloc(s->tools.count + 1, sizeof *tools);
	const char *limit = getenv("CLAUDE_CODE_MAX_OUTPUT_TOKENS");
	int64_t max_tokens = MIN(model_find(s->model)->max_output, 32000);

	for (size_t i = 0; i < s->tools.count; i++)
		tools[i] = s->tools.tools[i]->definition;
	if (limit && (!str_to_i64(str_from(limit), &max_tokens) || max_tokens < 1))
		max_tokens = 32000;
	context_system_prompt(&system, &c->options);
	head_write(&bytes,
		   &(struct head_spec){
			   .model = s->model, .max_tokens = max_tokens, .system = buf_str(&system), .tools = tools });
	free(tools);
	return head_intern(&c->heads, buf_str(&bytes));
}

static void set_cwd(struct tool_env *env, const char *path)
{
	struct cadre_session *s = env->owner;
	char *copy = xstrdup(path);

	free(s->moved_cwd);
	s->moved_cwd = copy;
	env->cwd = copy;
}

static void notify(struct tool_env *env, struct str text)
{
	struct cadre_session *s = env->owner;

	query_notice(&s->query, text);
	session_emit(s, &(struct event){ .kind = EVENT_NOTIFICATION, .text = text });
}

static void make_env(struct cadre_session *s, const char *project_dir)
{
	AUTO_BUF struct buf key = { 0 };
	const char *temp = getenv("CLAUDE_CODE_TMPDIR");

	store_project_key(&key, str_from(s->cwd));
	s->env.loop = s->cadre->loop;
	s->env.spawner = s->cadre->spawner;
	s->env.cwd = s->env.root = s->cwd;
	s->env.session_id = s->id;
	s->env.results_dir = arena_printf(&s->arena, "%s/%s/tool-results", project_dir, s->id);
	s->env.tasks_dir = arena_printf(&s->arena, "%s/claude-%u/%s/%s/tasks", temp && temp[0] ? temp : "/tmp",
					(unsigned)getuid(), key.p, s->id);
	s->env.envp = (const char *const *)(uintptr_t)environ;
	s->env.files = &s->files;
	s->env.shells = shell_set_new(&s->env);
	s->env.main_thread = true;
	s->env.set_cwd = set_cwd;
	s->env.notify = notify;
	s->env.owner = s;
	s->gate.ask = gate_ask;
}

static void make_permission(struct cadre_session *s, const struct options *o)
{
	struct str rest = o->allowed_tools ? str_from(o->allowed_tools) : (struct str){ 0 };

	s->permission.mode = o->permission_mode;
	s->permission.can_ask = o->interactive;
	while (rest.p) {
		struct str name = str_trim(str_cut(&rest, ','));
		if (name.n)
			permission_allow_tool(&s->permission, name);
	}
}

static unsigned parallel_calls(void)
{
	const char *text = getenv("CLAUDE_CODE_MAX_TOOL_USE_CONCURRENCY");
	uint64_t n;

	return text && str_to_u64(str_from(text), &n) && n >= 1 && n <= 1000 ? (unsigned)n : 0;
}

/* Everything but the transcript. */
static void make_query(struct cadre_session *s, struct head *head)
{
	const struct options *o = &s->cadre->options;

	s->record = (struct record_context){
		.session_id = s->id,
		.cwd = s->cwd,
		.git_branch = s->branch,
		.version = CADRE_VERSION,
		.entrypoint = o->entrypoint ? o->entrypoint : "sdk-cli",
	};
	s->recorder = (struct recorder){ .journal = s->journal, .store = &s->cadre->store, .context = &s->record };
	query_init(&s->query, &(struct query_config){
				      .loop = s->cadre->loop,
				      .endpoint = s->cadre->endpoint,
				      .head = head,
				      .tools = &s->tools,
				      .env = &s->env,
				      .gate = &s->gate,
				      .recorder = &s->recorder,
				      .session_id = s->id,
				      .agent = "",
				      .max_turns = (unsigned)MIN(o->max_turns, (int64_t)1 << 30),
				      .parallel_calls = parallel_calls(),
				      .retry_deadline_ms = (uint64_t)o->retry_deadline_s * 1000,
				      .on_event = session_emit,
				      .want_deltas = true,
				      .want_raw = o->partial_messages,
				      .on_end = on_turn_end,
				      .data = s,
			      });
	head_unref(head); /* the query has its own reference */
}

static struct cadre_session *session_new(struct cadre *c, cadre_event_fn *on_event, void *data)
{
	struct cadre_session *s = xcalloc(1, sizeof *s);

	s->cadre = c;
	s->on_event = on_event;
	s->data = data;
	return s;
}

static void link_session(struct cadre_session *s)
{
	s->next = s->cadre->sessions;
	s->cadre->sessions = s;
	s->cadre->session_count++;
	app_adjust_governor(s->cadre);
}

static int open_session(struct cadre_session *s, struct err *err)
{
	struct cadre *c = s->cadre;
	const struct options *o = &c->options;

	if (find_directories(c, s, err) < 0 || find_working_dirs(s, o, err) < 0 || choose_tools(s, o->tools, err) < 0 ||
	    model_resolve(&s->arena, o->model ? o->model : model_default(), &s->model, err) < 0 ||
	    permission_check_mode(o->permission_mode, err) < 0 || app_open_endpoint(c, err) < 0)
		return -(int)err->kind;
	const char *root = git_root(&s->arena, s->cwd);
	s->branch = root ? git_branch(&s->arena, root) : "";
	char *project_dir = store_project_dir(&s->arena, c->store.config_dir, s->cwd);
	if (session_find(s, o, project_dir, err) < 0)
		return -(int)err->kind;
	make_env(s, project_dir);
	make_permission(s, o);
	make_query(s, make_head(c, s));
	if (s->load && s->origin_id) {
		transcript_fork(&s->load->transcript,
				&s->query.transcript); /* its marks are those of every other fork */
	} else if (s->load) {
		s->query.transcript = s->load->transcript;
		s->load->transcript = (struct transcript){ 0 };
		memcpy(s->recorder.last, s->load->last, sizeof s->recorder.last);
	}
	return 0;
}

int cadre_open(struct cadre *c, cadre_event_fn *on_event, void *data, struct cadre_session **ret_session, char *why,
	       size_t why_size)
{
	struct err err = { 0 };

	if (!c || !ret_session)
		return CADRE_USAGE;
	struct cadre_session *s = session_new(c, on_event, data);
	int status = open_session(s, &err);
	if (status < 0) {
		session_free(s);
		return app_status(status, &err, why, why_size);
	}
	link_session(s);
	*ret_session = s;
	return CADRE_OK;
}

int cadre_fork(struct cadre_session *s, cadre_event_fn *on_event, void *data, struct cadre_session **ret_session,
	       char *why, size_t why_size)
{
	struct err err = { 0 };

	if (!s || !ret_session || s->running)
		return app_status(err_set(&err, ERR_BUSY, "a session is forked only while it is idle"), &err, why,
				  why_size);
	struct cadre_session *f = session_new(s->cadre, on_event, data);
	char *project_dir = store_project_dir(&f->arena, s->cadre->store.config_dir, s->cwd);
	struct options plain = { .no_persistence = s->journal == NULL };
	f->cwd = arena_strdup(&f->arena, s->cwd);
	f->model = arena_strdup(&f->arena, s->model);
	f->branch = arena_strdup(&f->arena, s->branch);
	f->env.dirs = s->env.dirs;
	for (size_t i = 0; i < s->tools.count; i++)
		tool_set_add(&f->tools, s->tools.tools[i]);
	if (session_find(f, &plain, project_dir, &err) < 0) {
		session_free(f);
		return app_status(-(int)err.kind, &err, why, why_size);
	}
	make_env(f, project_dir);
	make_permission(f, &s->cadre->options);
	make_query(f, head_ref(s->query.config.head));
	f->origin_id = arena_strdup(&f->arena, s->id);
	memcpy(f->origin_uuid, s->recorder.last, sizeof f->origin_uuid);
	transcript_fork(&s->query.transcript, &f->query.transcript);
	f->query.last_mark = s->query.last_mark;
	if (!s->fork_gate || s->forked_at != transcript_count(&s->query.transcript)) {
		fork_gate_unref(s->fork_gate);
		s->fork_gate = fork_gate_new(s->cadre->loop);
		s->forked_at = transcript_count(&s->query.transcript);
	}
	f->query.fork_gate = fork_gate_ref(s->fork_gate);
	link_session(f);
	*ret_session = f;
	return CADRE_OK;
}

/* ---- turns --------------------------------------------------------------------------------------------------- */

static int record_origin(struct cadre_session *s, struct err *err)
{
	if (!s->origin_id || s->origin_recorded || !s->journal)
		return 0;
	s->origin_recorded = true;
	return recorder_fork_origin(&s->recorder, s->origin_id, s->origin_uuid, err);
}

static int add_prompt(struct cadre_session *s, struct str text, struct err *err)
{
	AUTO_BUF struct buf context = { 0 };

	if (!transcript_count(&s->query.transcript)) {
		context_first_message(&context, s);
		struct segment *block = segment_text(buf_str(&context));
		if (query_add_user(&s->query, &block, 1, true, err) < 0)
			return -(int)err->kind;
	}
	struct segment *block = segment_text(text);
	return query_add_user(&s->query, &block, 1, false, err);
}

int cadre_has_interrupted_turn(const struct cadre_session *s)
{
	return s->load && s->load->interrupted;
}

static int prompt(struct cadre_session *s, struct str text, struct err *err)
{
	if (s->running || s->closing)
		return err_set(err, ERR_BUSY, "a turn is running");
	if (!text.p && !cadre_has_interrupted_turn(s))
		return err_set(err, ERR_USAGE, "session %s has no interrupted turn to continue: give it a prompt",
			       s->id);
	if (text.p && !str_trim(text).n)
		return err_set(err, ERR_USAGE, "the prompt is empty");
	if (record_origin(s, err) < 0 || session_take_load(s, !text.p, err) < 0)
		return -(int)err->kind;
	if (text.p && add_prompt(s, text, err) < 0)
		return -(int)err->kind;
	return 0;
}

int cadre_prompt(struct cadre_session *s, const char *text, size_t n, char *why, size_t why_size)
{
	struct err err = { 0 };
	int status = s ? prompt(s, (struct str){ text, n }, &err) : CADRE_USAGE;

	if (status < 0)
		return app_status(status, &err, why, why_size);
	s->running = true;
	gate_forget_denials(s);
	app_busy(s->cadre, 1);
	session_emit(s, &(struct event){ .kind = EVENT_SESSION_STARTED });
	query_start(&s->query);
	return CADRE_OK;
}

static void on_turn_end(struct query *q, void *data)
{
	struct cadre_session *s = data;
	AUTO_BUF struct buf scratch = { 0 };

	usage_add(&s->total_usage, &q->usage);
	s->running = false;
	session_emit(s, &(struct event){ .kind = EVENT_TURN_ENDED,
					 .text = turn_text(s, &scratch),
					 .is_error = turn_is_error(s) });
	crash_point(turn_ended);
	app_busy(s->cadre, -1);
	if (s->closing)
		cadre_close(s);
}

void cadre_interrupt(struct cadre_session *s)
{
	if (s->running)
		query_cancel(&s->query);
}

/* ---- the end ------------------------------------------------------------------------------------------------- */

void session_free(struct cadre_session *s)
{
	for (struct cadre_session **at = &s->cadre->sessions; *at; at = &(*at)->next) {
		if (*at != s)
			continue;
		*at = s->next;
		s->cadre->session_count--;
		app_adjust_governor(s->cadre);
		break;
	}
	if (s->load) {
		session_load_release(s->load);
		free(s->load);
	}
	if (s->query.config.loop)
		query_release(&s->query);
	shell_set_free(s->env.shells);
	gate_forget_denials(s);
	fork_gate_unref(s->fork_gate);
	permission_release(&s->permission);
	file_state_release(&s->files);
	tool_set_release(&s->tools);
	journal_free(s->journal);
	if (s->locked_in)
		session_unlock(&s->cadre->locks, s->locked_in, s->id);
	free(s->moved_cwd);
	arena_release(&s->arena);
	free(s);
}

void cadre_close(struct cadre_session *s)
{
	if (!s)
		return;
	s->closing = true;
	if (s->running)
		cadre_interrupt(s);
	else
		session_free(s);
}

const char *cadre_session_id(const struct cadre_session *s)
{
	return s->id;
}

const char *cadre_session_model(const struct cadre_session *s)
{
	return s->model;
}
