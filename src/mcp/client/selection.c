/* SPDX-License-Identifier: MIT
 * selection.c - the servers of one agent. Each kick ends with the one callback it is for, so that the callback may free the
 * selection. */
#include "mcp/client/pool.h"

struct mcp_selection {
	struct mcp_pool *pool; /* borrowed */
	struct loop *loop;
	struct mcp_lease **leases;
	size_t count;
	struct kick change_kick;
	void (*changed)(void *data);
	void *changed_data;
	struct kick wait_kick;
	struct timer timer; /* limit of the wait */
	bool timed_out;
	void (*settled)(void *data); /* NULL: no wait */
	void *settled_data;
};

static void on_wait_timeout(struct timer *timer)
{
	struct mcp_selection *s = CONTAINER_OF(timer, struct mcp_selection, timer);

	s->timed_out = true;
	loop_kick(s->loop, &s->wait_kick);
}

static void on_wait(struct kick *kick)
{
	struct mcp_selection *s = CONTAINER_OF(kick, struct mcp_selection, wait_kick);
	void (*settled)(void *data) = s->settled;

	if (!settled || (mcp_selection_settling(s) && !s->timed_out))
		return;
	s->settled = NULL;
	timer_stop(s->loop, &s->timer);
	settled(s->settled_data);
}

static void on_change(struct kick *kick)
{
	struct mcp_selection *s = CONTAINER_OF(kick, struct mcp_selection, change_kick);

	if (s->changed)
		s->changed(s->changed_data);
}

static void on_lease_change(void *data)
{
	struct mcp_selection *s = data;

	loop_kick(s->loop, &s->change_kick);
	if (s->settled)
		loop_kick(s->loop, &s->wait_kick);
}

struct mcp_selection *mcp_selection_new(struct mcp_pool *pool)
{
	struct mcp_selection *s = xcalloc(1, sizeof *s);

	s->pool = pool;
	s->loop = mcp_pool_loop(pool);
	s->change_kick.step = on_change;
	s->wait_kick.step = on_wait;
	s->timer.fire = on_wait_timeout;
	return s;
}

void mcp_selection_free(struct mcp_selection *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->count; i++)
		mcp_lease_leave(s->leases[i]);
	kick_cancel(&s->change_kick);
	kick_cancel(&s->wait_kick);
	timer_stop(s->loop, &s->timer);
	free(s->leases);
	free(s);
}

static struct mcp_lease *find_exact(const struct mcp_selection *s, struct str name)
{
	for (size_t i = 0; i < s->count; i++)
		if (str_is(name, mcp_lease_server(s->leases[i])->name))
			return s->leases[i];
	return NULL;
}

struct mcp_lease *mcp_selection_find(const struct mcp_selection *s, struct str name)
{
	struct mcp_lease *found = find_exact(s, name);
	AUTO_BUF struct buf wanted = { 0 };

	mcp_name_add(&wanted, name, STR(""));
	for (size_t i = 0; i < s->count && !found; i++) {
		AUTO_BUF struct buf have = { 0 };
		mcp_name_add(&have, str_from(mcp_lease_server(s->leases[i])->name), STR(""));
		if (str_eq(buf_str(&have), buf_str(&wanted)))
			found = s->leases[i];
	}
	return found;
}

struct mcp_lease *mcp_selection_join(struct mcp_selection *s, struct mcp_server *server)
{
	struct mcp_lease *there = find_exact(s, str_from(server->name));

	if (there)
		return there;
	s->leases = xrealloc(s->leases, (s->count + 1) * sizeof *s->leases);
	s->leases[s->count] = mcp_pool_join(s->pool, server, on_lease_change, s);
	return s->leases[s->count++];
}

struct mcp_lease *mcp_selection_share(struct mcp_selection *s, const struct mcp_selection *other, struct str name)
{
	struct mcp_lease *l = mcp_selection_find(other, name);

	return l ? mcp_selection_join(s, mcp_lease_server(l)) : NULL;
}

void mcp_selection_leave(struct mcp_selection *s, struct str name)
{
	for (size_t i = 0; i < s->count; i++)
		if (str_is(name, mcp_lease_server(s->leases[i])->name)) {
			mcp_lease_leave(s->leases[i]);
			s->count--;
			memmove(&s->leases[i], &s->leases[i + 1], (s->count - i) * sizeof *s->leases);
			on_lease_change(s);
			return;
		}
}

size_t mcp_selection_count(const struct mcp_selection *s)
{
	return s->count;
}

struct mcp_lease *mcp_selection_at(const struct mcp_selection *s, size_t i)
{
	return s->leases[i];
}

void mcp_selection_tools(struct mcp_selection *s, struct tool_set *out)
{
	for (size_t i = 0; i < s->count; i++)
		mcp_lease_tools(s->leases[i], out);
}

bool mcp_selection_has_resources(const struct mcp_selection *s)
{
	bool has = false;

	for (size_t i = 0; i < s->count && !has; i++) {
		struct mcp_catalog *catalog = mcp_lease_catalog(s->leases[i]);
		has = catalog && catalog->has_resources;
		mcp_catalog_unref(catalog);
	}
	return has;
}

bool mcp_selection_settling(const struct mcp_selection *s)
{
	for (size_t i = 0; i < s->count; i++)
		if (mcp_lease_settling(s->leases[i]))
			return true;
	return false;
}

void mcp_selection_wait(struct mcp_selection *s, uint64_t ms, void (*done)(void *data), void *data)
{
	s->settled = done;
	s->settled_data = data;
	s->timed_out = false;
	timer_start(s->loop, &s->timer, ms);
	loop_kick(s->loop, &s->wait_kick);
}

void mcp_selection_on_change(struct mcp_selection *s, void (*changed)(void *data), void *data)
{
	s->changed = changed;
	s->changed_data = data;
}
