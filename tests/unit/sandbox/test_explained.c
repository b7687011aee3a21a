/* SPDX-License-Identifier: MIT
 * test_explained.c - what is explained of random places, hosts and sockets is what the kernel and the proxy do. */
#include <arpa/inet.h>
#include <ctype.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include "jail.h"
#include "tests.h"
#include "guard/sandbox/sandbox_int.h"

enum { ROUNDS = 20, FILES = 500, DIRS = 12 };

/* A directory of the tree, or a file of it */
static const char *random_place(struct jail *j, unsigned *seed)
{
	bool file = rand_r(seed) % 3 == 0;

	return arena_printf(&j->arena, "%s/%s/d%d/e%d%s", j->dir, rand_r(seed) % 2 ? "work" : "out",
			    rand_r(seed) % DIRS, rand_r(seed) % 4,
			    file ? arena_printf(&j->arena, "/f%d", rand_r(seed) % 6) : "");
}

static const char *const *random_places(struct jail *j, unsigned *seed, struct sandbox_policy *p)
{
	struct paths list = { 0 };

	for (int n = rand_r(seed) % 5; n > 0; n--)
		paths_add(&list, &p->arena, arena_strdup(&p->arena, random_place(j, seed)));
	return list.list;
}

TEST(ten_thousand_random_paths_are_as_explained)
{
	static const char script[] =
		"while read -r p; do r=0; w=0; { true <\"$p\"; } 2>/dev/null && r=1; { true >>\"$p\"; } 2>/dev/null && w=1; "
		"echo \"$r$w $p\"; done <list";
	struct jail j;
	unsigned seed = 87;
	size_t compared = 0;
	size_t kinds[4] = { 0 };

	jail_open(&j);
	if (sandbox_strength(j.sandbox, NULL) != SANDBOX_FULL) {
		jail_close(&j);
		skip();
	}
	j.where = WHERE_IN;
	for (int d = 0; d < 2 * DIRS; d++)
		for (int f = 0; f < 24; f++)
			file_put(arena_printf(&j.arena, "%s/%s/d%d/e%d/f%d", j.dir, d % 2 ? "work" : "out", d / 2,
					      f / 6, f % 6),
				 STR("x\n"));
	for (int round = 0; round < ROUNDS; round++) {
		AUTO_BUF struct buf list = { 0 };
		struct sandbox_policy *p = xcalloc(1, sizeof *p);
		struct sandbox_held *held = NULL;
		struct err err = { 0 };
		p->enabled = true;
		p->allow_write = random_places(&j, &seed, p);
		p->deny_write = random_places(&j, &seed, p);
		p->deny_read = random_places(&j, &seed, p);
		p->allow_read = random_places(&j, &seed, p);
		sandbox_use_policy(j.sandbox, p);
		for (int i = 0; i < FILES; i++)
			buf_addf(&list, "%s/%s/d%d/e%d/f%d\n", j.dir, rand_r(&seed) % 2 ? "work" : "out",
				 rand_r(&seed) % DIRS, rand_r(&seed) % 4, rand_r(&seed) % 6);
		file_put(arena_printf(&j.arena, "%s/list", j.work), buf_str(&list));
		CHECK(jail_run(&j, script, BELIEF_NONE));
		struct sandbox_request request = { .env = &j.env, .cwd = j.work, .command = script, .where = WHERE_IN };
		CHECK_INT(sandbox_hold(j.sandbox, &request, &held, &err), 0);
		for (struct str rest = buf_str(&j.output); rest.n > 3 && rest.p[0] != '\n';) {
			struct str line = str_cut(&rest, '\n');
			if (line.n < 4 || line.p[2] != ' ')
				continue;
			const char *path = arena_dup(&j.arena, line.p + 3, line.n - 3);
			bool reads = profile_may_read(&held->profile, path);
			bool writes = reads && profile_may_write(&held->profile, path);
			if (reads != (line.p[0] == '1') || writes != (line.p[1] == '1'))
				fail_msg("%s: explained %d%d, done %.2s, round %d", path, reads, writes, line.p, round);
			kinds[2 * reads + writes]++;
			compared++;
		}
		sandbox_held_free(held);
	}
	jail_close(&j);
	CHECK_INT(compared, ROUNDS * FILES);
	CHECK(kinds[0] > 100 && kinds[2] > 100 && kinds[3] > 100);
}

/* A name that lists and attackers may write, in some spelling */
static const char *random_host(struct arena *a, unsigned *seed, bool entry)
{
	static const char *const names[] = { "x.test",  "a.x.test",         "b.a.x.test", "y.test",
					     "xx.test", "x.test.evil.test", "localhost",  "10.0.0.1",
					     "1.1.1.1", "127.0.0.1",        "0x7f.0.0.1", "a_b.y.test" };
	const char *name = names[(size_t)rand_r(seed) % COUNT_OF(names)];
	int how = rand_r(seed) % 6;

	if (entry)
		return how == 0 ? arena_printf(a, "*.%s", name) : name;
	if (how == 0) {
		char *upper = arena_strdup(a, name);
		upper[0] = (char)toupper((unsigned char)upper[0]);
		return upper;
	}
	return how == 1   ? arena_printf(a, "%s.", name)
	       : how == 2 ? arena_printf(a, "%c%s", "-.a*"[rand_r(seed) % 4], name)
			  : name;
}

static unsigned random_port(unsigned *seed)
{
	static const unsigned ports[] = { 80, 443, 22, 25, 8080, 6000, 65535 };

	return ports[(size_t)rand_r(seed) % COUNT_OF(ports)];
}

static struct host_list random_hosts(struct sandbox_policy *p, unsigned *seed, int most)
{
	size_t count = (size_t)(rand_r(seed) % most);
	struct host_entry *list = arena_alloc(&p->arena, (count + 1) * sizeof *list);

	for (size_t i = 0; i < count; i++)
		list[i] = (struct host_entry){ random_host(&p->arena, seed, true),
					       rand_r(seed) % 2 ? random_port(seed) : 0 };
	return (struct host_list){ list, count };
}

/* A proxy of the user's, which lets everything pass: what reaches it was allowed. */
static pid_t start_upstream(const struct jail *j)
{
	char buf[512];
	pid_t pid = fork();

	if (pid)
		return pid;
	while (true) {
		struct pollfd at = { j->listener, POLLIN, 0 };
		(void)poll(&at, 1, -1);
		int fd = accept(j->listener, NULL, NULL);
		if (fd >= 0 && read(fd, buf, sizeof buf) > 0)
			(void)!write(fd, "HTTP/1.1 200 ok\r\n\r\n", 19);
		close(fd);
	}
}

TEST(random_hosts_and_sockets_are_as_explained)
{
	enum { HOSTS = 200, SOCKETS = 12, REACHES = 10 };
	static const char script[] =
		"python3 -c 'import socket\nfor line in open(\"list\"):\n  h, p = line.split()\n  s = socket.socket(socket.AF_UNIX if p == \"-\" else socket.AF_INET)\n"
		"  try:\n    s.connect(h if p == \"-\" else (\"127.0.0.1\", 61080))\n"
		"    if p != \"-\": s.sendall((\"CONNECT %s:%s HTTP/1.1\\r\\n\\r\\n\" % (h, p)).encode())\n"
		"    print(int(p == \"-\" or b\" 200 \" in s.recv(99)), h, p)\n  except OSError: print(0, h, p)\n'";
	struct jail j;
	unsigned seed = 14;
	size_t kinds[4] = { 0 }; /* host or socket; reached or not */

	jail_open(&j);
	if (sandbox_strength(j.sandbox, NULL) != SANDBOX_FULL || !seccomp_can_supervise()) {
		jail_close(&j);
		skip();
	}
	j.where = WHERE_IN;
	pid_t upstream = start_upstream(&j);
	int outside[SOCKETS];
	const char *paths[2 * SOCKETS];
	for (int i = 0; i < SOCKETS; i++) {
		struct sockaddr_un at = { .sun_family = AF_UNIX };
		snprintf(at.sun_path, sizeof at.sun_path, "%s/s%d", j.out, i);
		outside[i] = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
		CHECK_INT(bind(outside[i], (struct sockaddr *)&at, sizeof at), 0);
		CHECK_INT(listen(outside[i], 64), 0);
		paths[i] = arena_strdup(&j.arena, at.sun_path);
		paths[SOCKETS + i] = arena_printf(&j.arena, "%s/l%d", j.work, i);
		CHECK_INT(symlink(paths[i], paths[SOCKETS + i]), 0);
	}
	struct sockaddr_in at;
	socklen_t n = sizeof at;
	CHECK_INT(getsockname(j.listener, (struct sockaddr *)&at, &n), 0);
	for (int round = 0; round < REACHES; round++) {
		AUTO_BUF struct buf list = { 0 };
		struct sandbox_policy *p = xcalloc(1, sizeof *p);
		struct paths allowed = { 0 };
		p->enabled = true;
		p->http_port = ntohs(at.sin_port);
		p->allowed = random_hosts(p, &seed, 20);
		p->denied = random_hosts(p, &seed, 4);
		for (int i = rand_r(&seed) % (3 * SOCKETS); i > 0; i--)
			paths_add(&allowed, &p->arena, arena_strdup(&p->arena, paths[rand_r(&seed) % (2 * SOCKETS)]));
		p->unix_sockets = allowed.list;
		sandbox_use_policy(j.sandbox, p);
		for (int i = 0; i < HOSTS; i++)
			buf_addf(&list, "%s %u\n", random_host(&j.arena, &seed, false), random_port(&seed));
		for (int i = 0; i < 2 * SOCKETS; i++)
			buf_addf(&list, "%s -\n", paths[i]);
		file_put(arena_printf(&j.arena, "%s/list", j.work), buf_str(&list));
		CHECK(jail_run(&j, script, BELIEF_NONE));
		size_t compared = 0;
		for (struct str rest = buf_str(&j.output); rest.n > 1 && rest.p[1] == ' ';) {
			struct str line = str_cut(&rest, '\n');
			bool reached = *str_cut(&line, ' ').p == '1';
			struct str what = str_cut(&line, ' ');
			bool is_host = !str_is(line, "-");
			uint64_t port = 0;
			(void)str_to_u64(line, &port);
			bool explained = is_host ? !host_refusal(p, what, (unsigned)port)
						 : sandbox_may_connect(p, arena_str(&j.arena, what).p);
			if (explained != reached)
				fail_msg(STR_FMT " %u: explained %d, done %d, round %d", STR_ARG(what), (unsigned)port,
					 explained, reached, round);
			kinds[2 * is_host + reached]++;
			compared++;
		}
		CHECK_INT(compared, HOSTS + 2 * SOCKETS);
	}
	for (int i = 0; i < SOCKETS; i++)
		close(outside[i]);
	(void)kill(upstream, SIGKILL);
	(void)waitpid(upstream, NULL, 0);
	jail_close(&j);
	if (!(kinds[0] > 20 && kinds[1] > 20 && kinds[2] > 100 && kinds[3] > 100)) /* else it shows little */
		fail_msg("sockets %zu refused, %zu reached; hosts %zu, %zu", kinds[0], kinds[1], kinds[2], kinds[3]);
}

int test_explained(void)
{
	return RUN_TESTS(T(ten_thousand_random_paths_are_as_explained), T(random_hosts_and_sockets_are_as_explained));
}
