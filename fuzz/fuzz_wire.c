/* SPDX-License-Identifier: MIT
 * fuzz_wire.c - any bytes from a client of stream-json, given in two pieces. Besides not crashing: the run comes to its end, and
 * every line that goes out is one JSON object with a type.
 *
 * A client may ask for programs to be started (servers, hooks in settings): an administrator's file forbids both here. */
#include <cadre.h>
#include <sys/stat.h>
#include "lib/base/buf.h"
#include "lib/json/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char policy[] = "{\"allowedMcpServers\":[],\"disableAllHooks\":true,\"allowManagedHooksOnly\":true}";
static const char scenario[] = "rule\n  text ok\n";

struct place {
	char dir[64], scenario[80];
};

static void write_file(const char *path, const char *text)
{
	FILE *f = fopen(path, "we");

	if (!f || fputs(text, f) == EOF || fclose(f) == EOF)
		abort();
}

static const struct place *place(void)
{
	static struct place p;

	if (p.dir[0])
		return &p;
	char file[96];
	snprintf(p.dir, sizeof p.dir, "/tmp/fuzz-wire-XXXXXX");
	if (!mkdtemp(p.dir))
		abort();
	snprintf(file, sizeof file, "%s/managed-settings.json", p.dir);
	write_file(file, policy);
	snprintf(p.scenario, sizeof p.scenario, "%s/scenario.txt", p.dir);
	write_file(p.scenario, scenario);
	return &p;
}

static void check_line(struct str line)
{
	AUTO_JSON struct json_reader reader = { .limits = { .bytes = 1 << 28, .depth = 400 } };
	const struct json *root;

	if (json_parse(&reader, line.p, line.n, &root, NULL) < 0 || !json_is(json_get(root, "type"), JSON_STRING))
		abort();
}

static void out(void *data, const char *lines, size_t n)
{
	(void)data;
	if (!n || lines[n - 1] != '\n')
		abort();
	check_line((struct str){ lines, n - 1 });
}

static struct cadre *open_runtime(const struct place *p)
{
	const char *const options[][2] = {
		{ "provider", "scripted" },
		{ "scenario", p->scenario },
		{ "no-session-persistence", "" },
		{ "config-dir", p->dir },
		{ "managed-dir", p->dir },
		{ "cwd", p->dir },
		{ "tools", "" },
		{ "setting-sources", "" },
		{ "permission-prompt-tool", "stdio" },
		{ "disable-slash-commands", "" },
	};
	struct cadre *c = cadre_new(NULL, 0);

	for (size_t i = 0; i < COUNT_OF(options); i++)
		if (cadre_set(c, options[i][0], options[i][1], NULL, 0) < 0)
			abort();
	return c;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cadre *c = open_runtime(place());
	struct cadre_wire *w = cadre_wire_new(c, out, NULL);
	size_t half = size / 2;

	cadre_wire_feed(w, (const char *)data, half);
	cadre_wire_feed(w, (const char *)data + half, size - half);
	cadre_wire_end_input(w);
	cadre_run(c);
	cadre_wire_free(w);
	cadre_free(c);
	return 0;
}
