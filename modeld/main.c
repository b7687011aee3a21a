/* SPDX-License-Identifier: MIT
 * main.c - modeld: plays a scenario as a Messages API on loopback, for tests and benchmarks. */
#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include "dialect.h"
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

static int parse_options(char **argv, struct options *o, struct err *err)
{
	for (char **arg = argv + 1; *arg; arg++) {
		struct str word = str_from(*arg);
		uint64_t port = 0;
		if (str_is(word, "--port") && (!arg[1] || !str_to_u64(str_from(arg[1]), &port) || port > 65535))
			return err_set(err, ERR_USAGE, "--port needs a number up to 65535");
		if (str_is(word, "--port"))
			o->port = (unsigned)port;
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
		int values =
			str_is(word, "--tls") ? 2 : str_starts(word, STR("--")) && !str_is(word, "--die-with-parent");
		for (; values; values--)
			if (!*++arg)
				return err_set(err, ERR_USAGE, STR_FMT " needs a value", STR_ARG(word));
	}
	return o->scenario ? 0 : err_set(err, ERR_USAGE, "which scenario?");
}

/* SIGTERM and SIGINT */
struct ending {
	uv_signal_t signals[2];
	struct server *server;
};

static void end_server(struct ending *e)
{
	server_stop(e->server);
	for (size_t i = 0; i < COUNT_OF(e->signals); i++)
		if (!uv_is_closing((uv_handle_t *)&e->signals[i]))
			uv_close((uv_handle_t *)&e->signals[i], NULL);
}

static void on_signal(uv_signal_t *signal, int number)
{
	end_server(signal->data);
}

static int serve_until_signal(struct loop *loop, const struct options *o, const struct server_options *so,
			      struct err *err)
{
	static const int numbers[] = { SIGTERM, SIGINT };
	struct ending ending = { 0 };
	int rc = server_start(loop, so, &ending.server, err);

	if (rc < 0)
		return rc;
	for (size_t i = 0; i < COUNT_OF(numbers); i++) {
		(void)uv_signal_init(loop_uv(loop), &ending.signals[i]);
		ending.signals[i].data = &ending;
		(void)uv_signal_start(&ending.signals[i], on_signal, numbers[i]);
	}
	unsigned port = server_port(ending.server);
	char text[16];
	int n = snprintf(text, sizeof text, "%u\n", port);
	if (o->port_file)
		rc = file_replace(o->port_file, text, (size_t)n, err);
	if (rc == 0)
		printf("modeld: listening on %s://127.0.0.1:%u\n", o->cert ? "https" : "http", port);
	if (rc == 0 && fflush(stdout) < 0)
		rc = err_set(err, ERR_IO, "cannot write to stdout: %m");
	if (rc < 0)
		end_server(&ending);
	loop_run(loop);
	server_free(ending.server);
	return rc;
}

static int play_scenario(const struct options *o, struct err *err)
{
	struct server_options so = { .port = o->port };
	struct scenario *scenario = NULL;
	AUTO_BUF struct buf text = { 0 };
	pid_t parent = getppid();
	int rc = file_read(o->scenario, LIMIT_SCENARIO, &text, err);

	if (rc == 0)
		rc = scenario_parse(o->scenario, buf_str(&text), &scenario, err);
	if (rc == 0 && o->log)
		rc = request_log_open(o->log, &so.log, err);
	if (rc == 0 && o->cert)
		rc = tls_server_new(o->cert, o->key, &so.tls, err);
	if (rc == 0 && o->die_with_parent && prctl(PR_SET_PDEATHSIG, SIGTERM) < 0)
		rc = err_set(err, ERR_IO, "cannot ask for the parent's death: %m");
	if (rc == 0 && o->die_with_parent && getppid() != parent) /* it died before we asked */
		(void)raise(SIGTERM);
	if (rc == 0) {
		struct loop *loop = loop_new(0);
		so.engine = engine_new(scenario, dialects);
		rc = serve_until_signal(loop, o, &so, err);
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
	struct rlimit limit;
	struct err err = { 0 };

	if (parse_options(argv, &o, &err) < 0) {
		fprintf(stderr, "modeld: %s\n%s", err.text, usage);
		return 2;
	}
	(void)signal(SIGPIPE, SIG_IGN);
	if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
		limit.rlim_cur = limit.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &limit);
	}
	if (play_scenario(&o, &err) < 0) {
		fprintf(stderr, "modeld: %s\n", err.text);
		return 1;
	}
	return 0;
}
