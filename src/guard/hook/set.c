/* SPDX-License-Identifier: MIT
 * set.c - compiles sources of hooks into lists by event. */
#include "guard/hook/set.h"
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <assert.h>
#include "guard/hook/hook_int.h"
#include "core/tool/tool_facts.h"

unsigned hook_builder_line(struct hook_builder *b, const struct json *value)
{
	if (!b->source->lines)
		return 0;
	settings_cursor_move(&b->cursor, b->source->lines, value);
	return b->cursor.line;
}

void hook_builder_note(struct hook_builder *b, enum diagnostic_level level, const struct json *where, const char *fmt,
		       ...)
{
	char text[300];

	if (!b->diagnostics)
		return;
	unsigned line = hook_builder_line(b, where);
	PRINT_ARGS(text, fmt);
	struct diagnostic *one =
		line ? diagnostics_add(b->diagnostics, level, line, "%s:%u: %s", b->source->file, line, text)
		     : diagnostics_add(b->diagnostics, level, line, "%s: %s", b->source->file, text);
	if (one)
		one->about = b->source;
}

void hook_builder_warn(struct hook_builder *b, const struct json *where, const char *fmt, ...)
{
	const struct hook_event_info *info = &hook_events[b->event];
	char text[240];

	PRINT_ARGS(text, fmt);
	hook_builder_note(b, info->flags & HOOK_GUARDS ? DIAGNOSTIC_ERROR : DIAGNOSTIC_WARNING, where, "hooks.%s: %s",
			  info->name, text);
}

/* One entry: a matcher and its hooks. */

static bool read_matcher(struct hook_builder *b, const struct json *entry)
{
	const struct hook_event_info *info = &hook_events[b->event];
	const struct json *text = info->subject ? json_get(entry, "matcher") : NULL;
	struct hook_matcher *m = arena_calloc(&b->set->arena, sizeof *m);
	struct err err = { 0 };

	if (text && !json_is(text, JSON_STRING) && !json_is(text, JSON_NULL)) {
		hook_builder_warn(b, text, "the matcher must be a text, so its hooks do not run");
		return false;
	}
	bool narrow = info->flags & HOOK_NARROW_NAMES;
	if (hook_matcher_init(m, &b->set->arena, json_str(text, &b->set->arena), narrow, &err) < 0) {
		hook_builder_warn(b, text, "the matcher is not a regular expression (%s), so its hooks do not run",
				  err.text);
		return false;
	}
	struct hook_set *set = b->set;
	m->text = arena_str(&set->arena, json_str(text, &set->arena));
	*xpush(set->matchers, set->matcher_count, set->matcher_cap) = m;
	b->matcher = m;
	return true;
}

static void read_entry(struct hook_builder *b, const struct json *entry)
{
	const struct json *hooks = json_get(entry, "hooks");

	if (!json_is(entry, JSON_OBJECT)) {
		hook_builder_warn(b, entry, "an entry must be an object with \"hooks\" and is ignored");
		return;
	}
	if (!read_matcher(b, entry))
		return;
	if (b->source->layer == HOOK_FROM_SDK && !hooks) {
		const struct json *ids = json_get(entry, "hookCallbackIds");
		for (const struct json *id = json_first(ids); id; id = json_next(ids, id))
			hook_read_callback(b, entry, id);
		return;
	}
	if (!json_is(hooks, JSON_ARRAY)) {
		hook_builder_warn(b, entry, "an entry without a list \"hooks\" is ignored");
		return;
	}
	for (const struct json *h = json_first(hooks); h; h = json_next(hooks, h))
		hook_read(b, h);
}

static void read_source(struct hook_builder *b, const struct hook_source *source)
{
	const struct json *hooks = source->hooks;
	bool managed = source->layer == HOOK_FROM_MANAGED;

	b->source = source;
	b->cursor = (struct settings_cursor){ 0 };
	b->origin = arena_new(&b->set->arena, struct hook_origin, .layer = source->layer,
			      .file = arena_strdup(&b->set->arena, source->file),
			      .plugin_root = arena_strdup(&b->set->arena, source->plugin_root),
			      .plugin_data = arena_strdup(&b->set->arena, source->plugin_data),
			      .plugin_options = arena_strdup_list(&b->set->arena, source->plugin_options, 0),
			      .trusted = source->trusted);
	if (!hooks || json_is(hooks, JSON_NULL))
		return;
	if (!json_is(hooks, JSON_OBJECT)) {
		hook_builder_note(b, DIAGNOSTIC_WARNING, hooks, "hooks: must be an object of events and is ignored");
		return;
	}
	bool disabled = b->policy->disable_managed || (b->policy->disable_all && !managed);
	if (disabled || (b->policy->managed_only && !managed)) {
		hook_builder_note(b, DIAGNOSTIC_NOTE, hooks, "hooks: not run, because %s is set",
				  disabled ? "disableAllHooks" : "allowManagedHooksOnly");
		return;
	}
	for (struct json_member m = json_members(hooks); m.key; m = json_member_next(hooks, m)) {
		AUTO_ARENA struct arena scratch = { 0 };
		struct str name = json_str(m.key, &scratch);
		if (str_is(name, "MessageDisplay")) { /* of the original's screen */
			hook_builder_note(b, DIAGNOSTIC_NOTE, m.key,
					  "hooks: the event MessageDisplay never occurs here");
			continue;
		}
		if (!hook_event_find(name, &b->event)) {
			hook_builder_note(b, DIAGNOSTIC_WARNING, m.key, "hooks: unknown event " STR_FMT " is ignored",
					  STR_ARG(name));
			continue;
		}
		if (source->of_subagent && b->event == HOOK_STOP)
			b->event = HOOK_SUBAGENT_STOP;
		if (!json_is(m.value, JSON_ARRAY)) {
			hook_builder_warn(b, m.value, "must be a list and is ignored");
			continue;
		}
		for (const struct json *e = json_first(m.value); e; e = json_next(m.value, e))
			read_entry(b, e);
	}
}

struct hook_set *hook_set_new(const struct hook_source *sources, size_t count, const struct hook_policy *policy,
			      struct diagnostics *diagnostics)
{
	static const struct hook_policy anything;
	struct hook_set *set = xcalloc(1, sizeof *set);
	struct hook_builder b = { .set = set, .policy = policy ? policy : &anything, .diagnostics = diagnostics };

	set->refs = 1;
	for (size_t i = 0; i < HOOK_EVENT_COUNT; i++)
		b.tails[i] = &set->events[i];
	for (size_t i = 0; i < count; i++)
		read_source(&b, &sources[i]);
	if (set->count == HOOKS_LIMIT)
		hook_builder_note(&b, DIAGNOSTIC_WARNING, NULL, "hooks: more than %d; the rest is ignored",
				  HOOKS_LIMIT);
	return set;
}

struct hook_set *hook_set_parse(const struct hook_source *source, struct str hooks_json,
				const struct hook_policy *policy, struct diagnostics *diagnostics)
{
	AUTO_JSON struct json_reader reader = { .limits = { .bytes = SETTINGS_FILE_LIMIT } };
	struct hook_source with = *source;
	struct err err = { 0 };

	if (json_parse(&reader, hooks_json.p, hooks_json.n, &with.hooks, &err) < 0) {
		with.hooks = NULL;
		if (diagnostics)
			diagnostics_add(diagnostics, DIAGNOSTIC_WARNING, 0, "%s: hooks: %s", source->file, err.text);
	}
	return hook_set_new(&with, 1, policy, diagnostics);
}

void hook_set_unref(struct hook_set *set)
{
	if (!set || --set->refs)
		return;
	for (size_t i = 0; i < set->matcher_count; i++)
		hook_matcher_release(set->matchers[i]);
	free(set->matchers);
	arena_release(&set->arena);
	free(set);
}

struct hook_subject hook_subject(enum hook_event event, struct str subject)
{
	struct hook_subject s = { { subject }, 1 };

	if (!(hook_events[event].flags & HOOK_ABOUT_TOOL))
		return s;
	struct str now = tool_current_name(subject);
	if (now.p != subject.p)
		s.names[s.count++] = now;
	for (size_t i = 0; i < tool_facts_count; i++)
		if (tool_facts_table[i].now && str_is(now, tool_facts_table[i].now)) {
			assert(s.count < COUNT_OF(s.names)); /* of a table that is compiled in */
			s.names[s.count++] = str_from(tool_facts_table[i].name);
		}
	return s;
}

bool hook_fits(const struct hook *hook, const struct hook_subject *subject)
{
	for (size_t i = 0; i < subject->count; i++)
		if (hook_matcher_fits(hook->matcher, subject->names[i]))
			return true;
	return false;
}

/* Matchers: names, lists of names, and regular expressions through PCRE2 in JavaScript's dialect. */

enum {
	MATCH_LIMIT = 200000, /* backtracking points: a few milliseconds, once */
	DEPTH_LIMIT = 10000,
	HEAP_LIMIT_KB = 1024,
	TEXT_LIMIT = 4096, /* bytes of a matcher */
};

static const uint32_t javascript = PCRE2_UTF | PCRE2_MATCH_INVALID_UTF | PCRE2_ALT_BSUX | PCRE2_ALLOW_EMPTY_CLASS |
				   PCRE2_MATCH_UNSET_BACKREF | PCRE2_DOLLAR_ENDONLY | PCRE2_NEVER_BACKSLASH_C;

static void matcher_split_names(struct hook_matcher *m, struct arena *arena, struct str text)
{
	struct str copy = arena_str(arena, text);
	size_t most = 1;

	for (size_t i = 0; i < copy.n; i++)
		most += copy.p[i] == '|' || copy.p[i] == ',';
	m->names = arena_alloc(arena, most * sizeof *m->names);
	while (copy.p) {
		struct str part = str_cut(&copy, '|');
		while (part.p) {
			struct str name = str_trim(str_cut(&part, ','));
			if (name.n)
				m->names[m->name_count++] = name;
		}
	}
}

static int matcher_compile(struct hook_matcher *m, struct str text, struct err *err)
{
	int code_error = 0;
	PCRE2_SIZE at = 0;

	if (text.n > TEXT_LIMIT)
		return err_set(err, ERR_PARSE, "more than %d bytes", TEXT_LIMIT);
	m->code = pcre2_compile((PCRE2_SPTR)text.p, text.n, javascript, &code_error, &at, NULL);
	if (!m->code) {
		char why[160] = "";
		pcre2_get_error_message(code_error, (PCRE2_UCHAR *)why, sizeof why);
		return err_set(err, ERR_PARSE, "%s at character %zu", why, at);
	}
	m->scratch = pcre2_match_data_create(1, NULL);
	m->limits = pcre2_match_context_create(NULL);
	if (!m->scratch || !m->limits)
		base_oom(0);
	pcre2_set_match_limit(m->limits, MATCH_LIMIT);
	pcre2_set_depth_limit(m->limits, DEPTH_LIMIT);
	pcre2_set_heap_limit(m->limits, HEAP_LIMIT_KB);
	return 0;
}

int hook_matcher_init(struct hook_matcher *m, struct arena *arena, struct str text, bool narrow, struct err *err)
{
	*m = (struct hook_matcher){ 0 };
	if (!text.n || str_is(text, "*")) {
		m->all = true;
		return 0;
	}
	for (size_t i = 0; i < text.n; i++)
		if (!hook_is_word_char(text.p[i]) && !char_in(text.p[i], narrow ? "|" : "|- ,"))
			return matcher_compile(m, text, err);
	matcher_split_names(m, arena, text);
	return 0;
}

void hook_matcher_release(struct hook_matcher *m)
{
	pcre2_code_free(m->code);
	pcre2_match_data_free(m->scratch);
	pcre2_match_context_free(m->limits);
	*m = (struct hook_matcher){ 0 };
}

bool hook_matcher_fits(const struct hook_matcher *m, struct str subject)
{
	if (m->all)
		return true;
	for (size_t i = 0; i < m->name_count; i++)
		if (str_eq(m->names[i], subject))
			return true;
	if (!m->code)
		return false;
	PCRE2_SPTR text = (PCRE2_SPTR)(subject.n ? subject.p : "");
	return pcre2_match(m->code, text, subject.n, 0, 0, m->scratch, m->limits) != PCRE2_ERROR_NOMATCH;
}
