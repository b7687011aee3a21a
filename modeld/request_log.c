/* SPDX-License-Identifier: MIT
 * request_log.c - writes the log of requests. */
#include "request_log.h"
#include "lib/json/json.h"
#include "lib/json/json_write.h"

struct request_log {
	FILE *file;
	struct buf line;
	struct json_reader reader;
	uint64_t count;
};

int request_log_open(const char *path, struct request_log **ret_log, struct err *err)
{
	FILE *file = fopen(path, "we");

	if (!file)
		return err_set(err, ERR_IO, "cannot open %s: %m", path);
	struct request_log *log = xcalloc(1, sizeof *log);
	log->file = file;
	*ret_log = log;
	return 0;
}

void request_log_close(struct request_log *log)
{
	if (!log)
		return;
	(void)fclose(log->file);
	buf_release(&log->line);
	json_reader_release(&log->reader);
	free(log);
}

void request_log_add(struct request_log *log, const struct http_in *in, int status, uint64_t time_ms)
{
	if (!log)
		return;
	struct json_out w = json_out(&log->line);
	buf_clear(&log->line);
	json_open(&w, '{');
	json_ki64(&w, "n", (int64_t)++log->count);
	json_ki64(&w, "time_ms", (int64_t)time_ms);
	json_kstr(&w, "method", in->head.method);
	json_kstr(&w, "path", in->head.path);
	json_kstr(&w, "agent", in->head.agent);
	json_kstr(&w, "version", in->head.version);
	json_kstr(&w, "beta", in->head.beta);
	json_kstr(&w, "content_type", in->head.content_type);
	json_kstr(&w, "user_agent", in->head.user_agent);
	json_kbool(&w, "key", in->head.has_key);
	json_ki64(&w, "status", status);
	/* A body may be JSON with line breaks in it: then it is written as a string. */
	const struct json *root;
	struct err err;
	json_key(&w, "body");
	if (in->body.n && !memchr(in->body.p, '\n', in->body.n) &&
	    json_parse(&log->reader, in->body.p, in->body.n, &root, &err) == 0)
		json_put_raw(&w, in->body);
	else
		json_put_str(&w, in->body);
	json_close(&w);
	buf_addch(&log->line, '\n');
	(void)fwrite(log->line.p, 1, log->line.n, log->file);
	(void)fflush(log->file);
}
