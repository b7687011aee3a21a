/* SPDX-License-Identifier: MIT
 * main.c - modeld: plays a scenario as a Messages API on loopback, for tests and benchmarks. */
#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include "lib/io/file.h"
#include "server.h"

enum { LIMIT_SCENARIO = 4 << 20 };

static const char usage[] = "usage: modeld SCENARIO [options]\n"
			    "  --port N            listen on 127.0.0.1:N; 0, the default, takes a free port\n"
			    "  --port-file FILE    write the port into FILE when ready\n"
			    "  --log FILE          write each request into FILE, one JSON line each\n"
			    "  --tls CERT KEY      speak https with this certificate and key (PEM)\n"
			    "  --die-with-parent   end when the parent process ends\n"
			    "GET /stats shows what was counted, POST /reset forgets it.\n";

struct options {
	const char *scenario, *port_file, *log, *cert, *key;
	unsigned port;
	bool die_with_parent;
};

static int parse_port(const char *text, unsigned *ret, struct err *err)
{
	uint64_t port;

	if (!text || !str_to_u64(str_from(text), &port) || port > 65535)
		return err_set(err, ERR_USAGE, "--port needs a number up to 65535");
	*ret = (unsigned)port;
	return 0;
}

static int parse_options(char **argv, struct options *o, struct err *err)
{
	for (char **arg = argv + 1; *arg; arg++) {
		struct str word = str_from(*arg);
		int rc = 0;
		if (str_is(word, "--port"))
			rc = parse_port(arg[1], &o->port, err);
		else if (str_is(word, "--port-file"))
			o->port_file = arg[1];
		else if (str_is(word, "--log"))
			o->log = arg[1];
		else if (str_is(word, "--tls"))
			o->key = (o->cert = arg[1]) ? arg[2] : NULL;
		else if (str_is(word, "--die-with-parent"))
			o->die_with_parent = true;
		else if (str_starts(word, STR("-")) || o->scenario)
			return err_set(err, ERR_USAGE, "unknown argument %s", *arg);
		else
			o->scenario = *arg;
		if (rc < 0)
			return rc;
		int values =
			str_is(word, "--tls") ? 2 : str_starts(word, STR("--")) && !str_is(word, "--die-with-parent");
		for (; values; values--)
			if (!*++arg)
				return err_set(err, ERR_USAGE, STR_FMT " needs a value", STR_ARG(word));
	}
	return o->scenario ? 0 : err_set(err, ERR_USAGE, "which scenario?");
}

static void raise_descriptor_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return;
	limit.rlim_cur = limit.rlim_max;
	(void)setrlimit(RLIMIT_NOFILE, &limit);
}

static int tie_to_parent(struct err *err)
{
	pid_t parent = getppid();

	if (prctl(PR_SET_PDEATHSIG, SIGTERM) < 0)
		return err_set(err, ERR_IO, "cannot ask for the parent's death: %m");
	if (getppid() != parent) /* it died before we asked */
		(void)raise(SIGTERM);
	return 0;
}

static int load_scenario(const char *path, struct scenario **ret, struct err *err)
{
	AUTO_BUF struct buf text = { 0 };
	int rc = file_read(path, LIMIT_SCENARIO, &text, err);

	return rc < 0 ? rc : scenario_parse(path, buf_str(&text), ret, err);
}

static int announce(const struct options *o, unsigned port, struct err *err)
{
	char text[16];
	int n = snprintf(text, sizeof text, "%u\n", port);
	int rc = o->port_file ? file_replace(o->port_file, text, (size_t)n, err) : 0;

	if (rc < 0)
		return rc;
	printf("modeld: listening on %s://127.0.0.1:%u\n", o->cert ? "https" : "http", port);
	if (fflush(stdout) < 0)
		return err_set(err, ERR_IO, "cannot write to stdout: %m");
	return 0;
}

/* SIGTERM and SIGINT */
struct ending {
	uv_signal_t signals[2];
	struct server *server;
};

static void end(struct ending *e)
{
	server_stop(e->server);
	for (size_t i = 0; i < COUNT_OF(e->signals); i++)
		if (!uv_is_closing((uv_handle_t *)&e->signals[i]))
			uv_close((uv_handle_t *)&e->signals[i], NULL);
}

static void on_signal(uv_signal_t *signal, int number)
{
	(void)number;
	end(signal->data);
}

static void watch_signals(struct loop *loop, struct ending *e)
{
	static const int numbers[] = { SIGTERM, SIGINT };

	for (size_t i = 0; i < COUNT_OF(numbers); i++) {
		(void)uv_signal_init(loop_uv(loop), &e->signals[i]);
		e->signals[i].data = e;
		(void)uv_signal_start(&e->signals[i], on_signal, numbers[i]);
	}
}

static int serve(struct loop *loop, const struct options *o, const struct server_options *so, struct err *err)
{
	struct ending ending = { 0 };
	int rc = server_start(loop, so, &ending.server, err);

	if (rc < 0)
		return rc;
	watch_signals(loop, &ending);
	rc = announce(o, server_port(ending.server), err);
	if (rc < 0)
		end(&ending);
	loop_run(loop);
	server_free(ending.server);
	return rc;
}

static int run(const struct options *o, struct err *err)
{
	struct server_options so = { .port = o->port };
	struct scenario *scenario = NULL;
	int rc = load_scenario(o->scenario, &scenario, err);

	if (rc == 0 && o->log)
		rc = request_log_open(o->log, &so.log, err);
	if (rc == 0 && o->cert)
		rc = tls_server_new(o->cert, o->key, &so.tls, err);
	if (rc == 0 && o->die_with_parent)
		rc = tie_to_parent(err);
	if (rc == 0) {
		struct loop *loop = loop_new(0);
		so.engine = engine_new(scenario);
		rc = serve(loop, o, &so, err);
		engine_free(so.engine);
		loop_free(loop);
	}
	tls_server_free(so.tls);
	request_log_close(so.log);
	scenario_free(scenario);
	return rc;
}

int main(int argc, char **argv)
{
	struct options o = { 0 };
	struct err err = { 0 };

	(void)argc;
	if (parse_options(argv, &o, &err) < 0) {
		fprintf(stderr, "modeld: %s\n%s", err.text, usage);
		return 2;
	}
	(void)signal(SIGPIPE, SIG_IGN);
	raise_descriptor_limit();
	if (run(&o, &err) < 0) {
		fprintf(stderr, "modeld: %s\n", err.text);
		return 1;
	}
	return 0;
}
