/* SPDX-License-Identifier: MIT
 * set.c - the servers of one agent. Each kick ends with the one callback it is for, so that whoever is told may free the
 * set. */
#include "mcp/client/set.h"
#include "mcp/client/pool_int.h"

struct mcp_set {
	struct mcp_pool *pool; /* borrowed */
	struct loop *loop;
	struct mcp_link **links;
	size_t count;
	struct kick change_kick;
	void (*changed)(void *data);
	void *changed_data;
	struct kick wait_kick;
	struct timer timer;          /* until waiting is over in any case */
	void (*settled)(void *data); /* NULL: nobody waits */
	void *settled_data;
};

static void end_wait(struct mcp_set *s)
{
	void (*settled)(void *data) = s->settled;

	s->settled = NULL;
	timer_stop(s->loop, &s->timer);
	kick_cancel(&s->wait_kick);
	settled(s->settled_data);
}

static void on_time_over(struct timer *timer)
{
	end_wait(CONTAINER_OF(timer, struct mcp_set, timer));
}

static void on_wait(struct kick *kick)
{
	struct mcp_set *s = CONTAINER_OF(kick, struct mcp_set, wait_kick);

	if (s->settled && !mcp_set_settling(s))
		end_wait(s);
}

static void on_change(struct kick *kick)
{
	struct mcp_set *s = CONTAINER_OF(kick, struct mcp_set, change_kick);

	if (s->changed)
		s->changed(s->changed_data);
}

static void on_link(void *data)
{
	struct mcp_set *s = data;

	loop_kick(s->loop, &s->change_kick);
	if (s->settled)
		loop_kick(s->loop, &s->wait_kick);
}

struct mcp_set *mcp_set_new(struct mcp_pool *pool)
{
	struct mcp_set *s = xcalloc(1, sizeof *s);

	s->pool = pool;
	s->loop = mcp_pool_loop(pool);
	s->change_kick.step = on_change;
	s->wait_kick.step = on_wait;
	s->timer.fire = on_time_over;
	return s;
}

void mcp_set_free(struct mcp_set *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->count; i++)
		mcp_link_leave(s->links[i]);
	kick_cancel(&s->change_kick);
	kick_cancel(&s->wait_kick);
	timer_stop(s->loop, &s->timer);
	free(s->links);
	free(s);
}

static struct mcp_link *find_exact(const struct mcp_set *s, struct str name)
{
	for (size_t i = 0; i < s->count; i++)
		if (str_is(name, mcp_link_server(s->links[i])->name))
			return s->links[i];
	return NULL;
}

struct mcp_link *mcp_set_find(const struct mcp_set *s, struct str name)
{
	struct mcp_link *found = find_exact(s, name);
	AUTO_BUF struct buf wanted = { 0 };

	mcp_name_add(&wanted, name, STR(""));
	for (size_t i = 0; i < s->count && !found; i++) {
		AUTO_BUF struct buf have = { 0 };
		mcp_name_add(&have, str_from(mcp_link_server(s->links[i])->name), STR(""));
		if (str_eq(buf_str(&have), buf_str(&wanted)))
			found = s->links[i];
	}
	return found;
}

struct mcp_link *mcp_set_join(struct mcp_set *s, struct mcp_server *server)
{
	struct mcp_link *there = find_exact(s, str_from(server->name));

	if (there)
		return there;
	s->links = xrealloc(s->links, (s->count + 1) * sizeof *s->links);
	s->links[s->count] = mcp_pool_join(s->pool, server, on_link, s);
	return s->links[s->count++];
}

struct mcp_link *mcp_set_share(struct mcp_set *s, const struct mcp_set *other, struct str name)
{
	struct mcp_link *l = mcp_set_find(other, name);

	return l ? mcp_set_join(s, l->server) : NULL;
}

void mcp_set_leave(struct mcp_set *s, struct str name)
{
	for (size_t i = 0; i < s->count; i++)
		if (str_is(name, mcp_link_server(s->links[i])->name)) {
			mcp_link_leave(s->links[i]);
			s->count--;
			memmove(&s->links[i], &s->links[i + 1], (s->count - i) * sizeof *s->links);
			on_link(s);
			return;
		}
}

size_t mcp_set_count(const struct mcp_set *s)
{
	return s->count;
}

struct mcp_link *mcp_set_at(const struct mcp_set *s, size_t i)
{
	return s->links[i];
}

void mcp_set_tools(struct mcp_set *s, struct tool_set *out)
{
	for (size_t i = 0; i < s->count; i++)
		mcp_link_tools(s->links[i], out);
}

bool mcp_set_has_resources(const struct mcp_set *s)
{
	bool has = false;

	for (size_t i = 0; i < s->count && !has; i++) {
		struct mcp_catalog *catalog = mcp_link_catalog(s->links[i]);
		has = catalog && catalog->has_resources;
		mcp_catalog_unref(catalog);
	}
	return has;
}

bool mcp_set_settling(const struct mcp_set *s)
{
	for (size_t i = 0; i < s->count; i++)
		if (mcp_link_settling(s->links[i]))
			return true;
	return false;
}

void mcp_set_wait(struct mcp_set *s, uint64_t ms, void (*done)(void *data), void *data)
{
	s->settled = done;
	s->settled_data = data;
	timer_start(s->loop, &s->timer, ms);
	loop_kick(s->loop, &s->wait_kick);
}

void mcp_set_on_change(struct mcp_set *s, void (*changed)(void *data), void *data)
{
	s->changed = changed;
	s->changed_data = data;
}
