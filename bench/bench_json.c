/* SPDX-License-Identifier: MIT
 * bench_json.c - our JSON reader beside cJSON and jansson, in one run. Each parses a text, visits every
 * string (keys too, decoded) and drops the result: a conversation of 500 KB for throughput, one stream event
 * for latency. The sum of the string lengths must be the same for all, so that none can skip work. With --json
 * the figures are one JSON object. */
#include <cjson/cJSON.h>
#include <time.h>
#include "lib/json/json.h"
#include "lib/json/json_write.h"

enum { CONVERSATION_BYTES = 500 * 1000, ROUNDS = 15, ROUND_US = 20 * 1000 };

static const char event[] = "{\"type\":\"content_block_delta\",\"index\":0,"
			    "\"delta\":{\"type\":\"text_delta\",\"text\":\"Hello\"}}";

size_t run_jansson(const char *text, size_t n); /* bench_json_jansson.c */

static struct json_reader reader;
static struct arena arena;

static size_t run_cadre(const char *text, size_t n)
{
	const struct json *root;
	size_t sum = 0;

	if (json_parse(&reader, text, n, &root, NULL) < 0)
		return 0;
	for (const struct json *v = root; v < root + root->span; v++) {
		if (json_is(v, JSON_STRING))
			sum += json_str(v, &arena).n;
	}
	arena_reset(&arena);
	return sum;
}

static size_t visit_cjson(const cJSON *v)
{
	size_t sum = cJSON_IsString(v) ? strlen(v->valuestring) : 0;

	for (const cJSON *child = v->child; child; child = child->next)
		sum += (child->string ? strlen(child->string) : 0) + visit_cjson(child);
	return sum;
}

static size_t run_cjson(const char *text, size_t n)
{
	cJSON *root = cJSON_ParseWithLength(text, n);
	size_t sum = root ? visit_cjson(root) : 0;

	cJSON_Delete(root);
	return sum;
}

static const struct parser {
	const char *name;
	size_t (*run)(const char *text, size_t n);
} parsers[] = { { "cadre", run_cadre }, { "cJSON", run_cjson }, { "jansson", run_jansson } };

static double now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

/* Microseconds per run, averaged over a round of fixed length. */
static double round_us(const struct parser *p, struct str text, unsigned batch)
{
	double start = now_us(), spent;
	unsigned runs = 0;

	do {
		for (unsigned i = 0; i < batch; i++)
			p->run(text.p, text.n);
		runs += batch;
		spent = now_us() - start;
	} while (spent < ROUND_US);
	return spent / runs;
}

/* The best of several rounds, the parsers taking turns, so that a busy machine hits all alike. */
static void measure(struct str text, unsigned batch, double us[COUNT_OF(parsers)])
{
	size_t sum = parsers[0].run(text.p, text.n);

	for (unsigned i = 0; i < ROUNDS * COUNT_OF(parsers); i++) {
		unsigned k = i % COUNT_OF(parsers);
		if (!sum || parsers[k].run(text.p, text.n) != sum) {
			fprintf(stderr, "bench_json: %s sees other strings than %s\n", parsers[k].name,
				parsers[0].name);
			exit(1);
		}
		double t = round_us(&parsers[k], text, batch);
		us[k] = i < COUNT_OF(parsers) ? t : MIN(us[k], t);
	}
}

static void add_text(struct buf *out, unsigned turn, unsigned lines)
{
	static const char *const sentences[] = {
		"The parser keeps the text of every number, so nothing is lost on the way back.\n",
		"\tif (rc < 0)\n\t\treturn err_set(err, ERR_IO, \"cannot open %s: %m\", path);\n",
		"Die Pr\xc3\xbc"
		"fung l\xc3\xa4uft \xe2\x80\x93 und sie ist gr\xc3\xbcn \xe2\x9c\x93, wie erwartet.\n",
		"src/agents/query/query.c:214: static enum step step_streaming(struct query *q)\n",
	};

	for (unsigned i = 0; i < lines; i++)
		buf_addf(out, "%6u  %s", turn + i, sentences[(turn + i) % COUNT_OF(sentences)]);
}

static void put_block(struct json_out *w, const char *type, const char *key, struct str text)
{
	json_open(w, '{');
	json_kcstr(w, "type", type);
	json_kstr(w, key, text);
	json_close(w);
}

static void put_tool_use(struct json_out *w, unsigned turn)
{
	json_open(w, '{');
	json_kcstr(w, "type", "tool_use");
	json_kcstr(w, "id", "toolu_01A09q90qw90lq917835lq9");
	json_kcstr(w, "name", "Read");
	json_key(w, "input");
	json_open(w, '{');
	json_kcstr(w, "file_path", "/home/user/project/src/query/query.c");
	json_ki64(w, "offset", turn);
	json_ki64(w, "limit", 200);
	json_close(w);
	json_close(w);
}

static void put_tool_result(struct json_out *w, struct str text)
{
	json_open(w, '{');
	json_kcstr(w, "type", "tool_result");
	json_kcstr(w, "tool_use_id", "toolu_01A09q90qw90lq917835lq9");
	json_key(w, "content");
	json_open(w, '[');
	put_block(w, "text", "text", text);
	json_close(w);
	json_kbool(w, "is_error", false);
	json_close(w);
}

static void make_conversation(struct buf *out)
{
	struct json_out w = json_out(out);
	AUTO_BUF struct buf text = { 0 };

	json_open(&w, '{');
	json_kcstr(&w, "model", "scripted");
	json_ki64(&w, "max_tokens", 32000);
	json_key(&w, "messages");
	json_open(&w, '[');
	for (unsigned turn = 0; out->n < CONVERSATION_BYTES; turn++) {
		bool user = turn % 2 == 0;
		json_open(&w, '{');
		json_kcstr(&w, "role", user ? "user" : "assistant");
		json_key(&w, "content");
		json_open(&w, '[');
		buf_clear(&text);
		add_text(&text, turn, user ? 40 : 4);
		if (user) {
			put_tool_result(&w, buf_str(&text));
		} else {
			put_block(&w, "text", "text", buf_str(&text));
			put_tool_use(&w, turn);
		}
		json_close(&w);
		json_close(&w);
	}
	json_close(&w);
	json_close(&w);
}

static void print_table(size_t bytes, const double big[], const double small[])
{
	printf("%-8s  %12s  %6s  %12s  %6s\n", "parser", "conversation", "ratio", "event", "ratio");
	for (size_t i = 0; i < COUNT_OF(parsers); i++)
		printf("%-8s  %7.0f MB/s  %5.1fx  %9.3f us  %5.1fx\n", parsers[i].name, (double)bytes / big[i],
		       big[i] / big[0], small[i], small[i] / small[0]);
}

static void print_json(size_t bytes, const double big[], const double small[])
{
	AUTO_BUF struct buf out = { 0 };
	struct json_out w = json_out(&out);

	json_open(&w, '{');
	json_ki64(&w, "conversation_bytes", (int64_t)bytes);
	json_ki64(&w, "event_bytes", sizeof event - 1);
	for (size_t i = 0; i < COUNT_OF(parsers); i++) {
		json_key(&w, parsers[i].name);
		json_open(&w, '{');
		json_key(&w, "conversation_mb_per_s");
		json_put_double(&w, (double)bytes / big[i]);
		json_key(&w, "event_us");
		json_put_double(&w, small[i]);
		json_close(&w);
	}
	json_close(&w);
	puts(out.p);
}

int main(int argc, char **argv)
{
	AUTO_BUF struct buf conversation = { 0 };
	double big[COUNT_OF(parsers)], small[COUNT_OF(parsers)];
	bool json = argc == 2 && !strcmp(argv[1], "--json");

	if (argc > 1 && !json) {
		fprintf(stderr, "usage: bench_json [--json]\n");
		return 2;
	}
	make_conversation(&conversation);
	measure(buf_str(&conversation), 1, big);
	measure(str_from(event), 256, small);
	(json ? print_json : print_table)(conversation.n, big, small);
	json_reader_release(&reader);
	arena_release(&arena);
	return 0;
}
