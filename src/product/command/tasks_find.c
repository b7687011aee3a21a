/* SPDX-License-Identifier: MIT
 * tasks_find.c - which agent is meant. */
#include "product/command/tasks.h"

enum { MOST_NAMED = 4 };

/* What was found so far, by one way of looking */
struct hits {
	struct found_task first[MOST_NAMED];
	size_t count;
};

typedef bool match_fn(const struct task_row *row, const char *agent);

bool task_is_running(const struct found_task *found)
{
	return found->session->socket && !strcmp(found->row->state, "running");
}

static bool has_id(const struct task_row *row, const char *agent)
{
	return !strcmp(row->agent, agent);
}

static bool has_name(const struct task_row *row, const char *agent)
{
	return row->name[0] && !strcmp(row->name, agent);
}

static bool begins_with(const struct task_row *row, const char *agent)
{
	return str_starts(str_from(row->agent), str_from(agent));
}

static bool session_counts(const struct task_session *s, const char *wanted)
{
	return !wanted || str_starts(str_from(s->id), str_from(wanted));
}

static void collect(const struct task_list *l, const char *agent, const char *session, match_fn *matches, bool running,
		    struct hits *ret)
{
	*ret = (struct hits){ 0 };
	for (size_t i = 0; i < l->count; i++) {
		const struct task_session *s = &l->sessions[i];
		for (size_t k = 0; session_counts(s, session) && k < s->count; k++) {
			struct found_task found = { s, &s->tasks[k] };
			if (!matches(found.row, agent) || (running && !task_is_running(&found)))
				continue;
			if (ret->count < MOST_NAMED)
				ret->first[ret->count] = found;
			ret->count++;
		}
	}
}

static int several(const struct hits *hits, const char *agent, struct err *err)
{
	AUTO_BUF struct buf names = { 0 };

	for (size_t i = 0; i < MIN(hits->count, (size_t)MOST_NAMED); i++)
		buf_addf(&names, "%s%s (%.40s)", i ? ", " : "", hits->first[i].row->agent,
			 hits->first[i].row->description);
	return err_set(err, ERR_USAGE, "several agents match '%.40s': %s%s; name one by its id", agent, names.p,
		       hits->count > MOST_NAMED ? " and more" : "");
}

/* Names are given again in later sessions: the newest is meant. */
static void newest_named(const struct task_list *l, const char *agent, const char *session, struct found_task *ret)
{
	for (size_t i = 0; i < l->count; i++) {
		const struct task_session *s = &l->sessions[i];
		for (size_t k = 0; session_counts(s, session) && k < s->count; k++)
			if (has_name(&s->tasks[k], agent) &&
			    (!ret->row || s->tasks[k].started_ms >= ret->row->started_ms))
				*ret = (struct found_task){ s, &s->tasks[k] };
	}
}

int task_list_find(const struct task_list *l, const char *agent, const char *session, struct found_task *ret,
		   struct err *err)
{
	static const struct {
		match_fn *matches;
		bool running;
	} ways[] = { { has_id, false }, { has_name, true }, { begins_with, false } };
	struct found_task named = { 0 };
	struct hits hits;

	newest_named(l, agent, session, &named);
	for (size_t i = 0; agent[0] && i < COUNT_OF(ways); i++) {
		collect(l, agent, session, ways[i].matches, ways[i].running, &hits);
		if (!hits.count && ways[i].running && named.row) {
			*ret = named;
			return 0;
		}
		if (hits.count > 1)
			return several(&hits, agent, err);
		if (hits.count == 0)
			continue;
		*ret = hits.first[0];
		return 0;
	}
	return err_set(err, ERR_NOT_FOUND,
		       "there is no agent '%.60s': expected an id, the beginning of one, or a name (cadre tasks --all "
		       "lists them)",
		       agent);
}
