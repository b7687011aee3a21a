/* SPDX-License-Identifier: MIT
 * test_validate.c - every plugin of tests/plugins gets the right verdict: sound ones of each kind of component, and ones with
 * exactly one defect each. */
#include "unit.h"
#include <dirent.h>
#include "lib/io/file.h"
#include "defs/plugin/plugin.h"
#include "tests.h"

static const struct verdict {
	const char *dir;
	const char *error; /* "type FILE:LINE: message"; NULL: it is sound */
} verdicts[] = {
	{ "bad dir name",
	  "manifest-validation-error bad dir name:0: the directory's name is the plugin's name: expected "
	  "letters, digits, '-', '_' and '.', 64 at most" },
	{ "bad-author", "manifest-validation-error plugin.json:3: author: expected an object, not \"somebody\"" },
	{ "bad-author-name", "manifest-validation-error plugin.json:3: author.name: is missing" },
	{ "bad-default-enabled",
	  "manifest-validation-error plugin.json:3: defaultEnabled: expected true or false, not \"yes\"" },
	{ "bad-dependency",
	  "manifest-validation-error plugin.json:6: dependencies: x: expected a range of versions, such as ^1.2.0" },
	{ "bad-dependency-shape",
	  "manifest-validation-error plugin.json:3: dependencies: expected a list, not \"sound-agents\"" },
	{ "bad-description-type", "manifest-validation-error plugin.json:3: description: expected a text, not [" },
	{ "bad-frontmatter",
	  "component-load-failed torn.md:4: tools: its value cannot be read, so the agent is refused" },
	{ "bad-hooks-event", "hook-load-failed hooks.json:3: hooks: unknown event BeforeEverything is ignored" },
	{ "bad-hooks-handler",
	  "hook-load-failed hooks.json:6: hooks.Stop: \"command\" must be a text, so this hook does not run" },
	{ "bad-hooks-json", "hook-load-failed hooks.json:1: expected a key or '}'" },
	{ "bad-hooks-shape", "hook-load-failed hooks.json:1: expected an object with \"hooks\"" },
	{ "bad-hooks-type",
	  "manifest-validation-error plugin.json:3: hooks: expected a path that begins with ./ and has no .., an "
	  "object, or a list of such, not 3" },
	{ "bad-json", "manifest-parse-error plugin.json:4: expected a value" },
	{ "bad-keywords", "manifest-validation-error plugin.json:5: keywords: expected a list of texts, not 2" },
	{ "bad-link-out", "path-not-found agents:0: agents: is a link that leads out of the plugin" },
	{ "bad-mcp-json", "mcp-config-invalid .mcp.json:2: expected a value, but the text ends here" },
	{ "bad-mcp-server",
	  "mcp-config-invalid plugin.json:4: mcpServers.db: expected an object with a command or a url" },
	{ "bad-name",
	  "manifest-validation-error plugin.json:2: name: expected letters, digits, '-', '_' and '.', 64 at most" },
	{ "bad-name-type", "manifest-validation-error plugin.json:2: name: expected a text, not 7" },
	{ "bad-no-name",
	  "manifest-validation-error plugin.json:1: name: is missing; it is the one key that every manifest needs" },
	{ "bad-not-object", "manifest-parse-error plugin.json:1: expected an object" },
	{ "bad-option-default",
	  "manifest-validation-error plugin.json:7: userConfig.N.default: expected a number, at most 5" },
	{ "bad-option-key",
	  "manifest-validation-error plugin.json:4: userConfig: expected names of letters, digits and '_'" },
	{ "bad-option-type",
	  "manifest-validation-error plugin.json:4: userConfig.A.type: expected string, number, boolean, directory "
	  "or file" },
	{ "bad-path-absolute",
	  "manifest-validation-error plugin.json:4: skills: expected a path that begins with ./ and has no .., or "
	  "a list of such, not \"/etc\"" },
	{ "bad-path-form",
	  "manifest-validation-error plugin.json:3: commands: expected a path that begins with ./ and has no .., or a "
	  "list of such, not \"commands\"" },
	{ "bad-path-gone", "path-not-found plugin.json:4: agents: ./agents/gone.md does not exist" },
	{ "bad-path-kind",
	  "component-load-failed plugin.json:3: agents: ./agents/list.txt is neither a directory nor an .md file" },
	{ "bad-path-up",
	  "manifest-validation-error plugin.json:3: agents: expected a path that begins with ./ and has no .., or a list "
	  "of such, not \"./../other\"" },
	{ "bad-settings", "component-load-failed settings.json:2: agent: expected the name of an agent" },
	{ "bad-version-type", "manifest-validation-error plugin.json:3: version: expected a text, not 1.5" },
	{ "sound-agent-paths", NULL },
	{ "sound-agents", NULL },
	{ "sound-bare-mcp", NULL },
	{ "sound-bin", NULL },
	{ "sound-briefing", NULL },
	{ "sound-command-path", NULL },
	{ "sound-commands", NULL },
	{ "sound-crew", NULL },
	{ "sound-dependencies", NULL },
	{ "sound-empty-folder", NULL },
	{ "sound-everything", NULL },
	{ "sound-hook-files", NULL },
	{ "sound-hooks", NULL },
	{ "sound-inline-hooks", NULL },
	{ "sound-inline-mcp", NULL },
	{ "sound-inner-link", NULL },
	{ "sound-loop", NULL },
	{ "sound-mcp", NULL },
	{ "sound-no-manifest", NULL },
	{ "sound-old-place", NULL },
	{ "sound-options", NULL },
	{ "sound-root-skill", NULL },
	{ "sound-rules", NULL },
	{ "sound-settings", NULL },
	{ "sound-skill-names", NULL },
	{ "sound-skill-paths", NULL },
	{ "sound-skills", NULL },
	{ "sound-unknown-key", NULL },
	{ "sound-untidy", NULL },
	{ "sound-watch", NULL },
};

static struct plugin *read_named(const char *dir)
{
	AUTO_ARENA struct arena a = { 0 };
	struct plugin *p = plugin_read(path_join(&a, PLUGINS_DIR, dir), PLUGIN_INLINE, "inline");

	plugin_validate(p);
	return p;
}

static void describe(struct buf *out, const struct plugin *p)
{
	for (size_t i = 0; i < p->error_count; i++) {
		const struct plugin_error *e = &p->errors[i];
		const char *slash = strrchr(e->file, '/');
		buf_addf(out, "%s%s %s:%u: %s", i ? " & " : "", plugin_fault_name(e->fault),
			 slash ? slash + 1 : e->file, e->line, e->message);
	}
}

TEST(every_plugin_gets_its_verdict_and_each_defect_is_told_once)
{
	for (size_t i = 0; i < COUNT_OF(verdicts); i++) {
		AUTO_BUF struct buf found = { 0 };
		struct plugin *p = read_named(verdicts[i].dir);
		describe(&found, p);
		CHECK_STR(buf_str(&found), verdicts[i].error ? verdicts[i].error : "");
		CHECK(p->error_count == (verdicts[i].error != NULL));
		plugin_free(p);
	}
}

static int is_visible(const struct dirent *e)
{
	return e->d_name[0] != '.';
}

TEST(no_plugin_is_without_a_verdict)
{
	struct dirent **names;
	int count = scandir(PLUGINS_DIR, &names, is_visible, alphasort);

	for (int i = 0; i < count; i++) {
		bool known = false;
		for (size_t k = 0; k < COUNT_OF(verdicts); k++)
			known = known || !strcmp(verdicts[k].dir, names[i]->d_name);
		CHECK(known);
		free(names[i]);
	}
	free(names);
	CHECK_INT(count, COUNT_OF(verdicts));
}

TEST(a_key_that_is_not_known_is_a_note_with_its_line)
{
	struct plugin *p = read_named("sound-unknown-key");

	CHECK_INT(p->state, PLUGIN_ENABLED);
	CHECK_INT(p->notes.count, 2);
	CHECK_CSTR(p->notes.list[0].message, "colour: unknown key, without effect");
	CHECK_INT(p->notes.list[0].line, 3);
	plugin_free(p);
}

TEST(what_loads_all_the_same_is_a_note)
{
	struct plugin *untidy = read_named("sound-untidy");
	struct plugin *empty = read_named("sound-empty-folder");

	CHECK_INT(untidy->notes.count, 3);
	CHECK_CSTR(untidy->notes.list[0].message,
		   "agents/analyst.md:3: not YAML (mapping values are not allowed in this context); read line by line");
	CHECK_INT(empty->notes.count, 1);
	CHECK_CSTR(empty->notes.list[0].message, "skills/empty: has no SKILL.md and is skipped");
	plugin_free(untidy);
	plugin_free(empty);
}

int test_validate(void)
{
	return RUN_TESTS(T(what_loads_all_the_same_is_a_note),
			 T(every_plugin_gets_its_verdict_and_each_defect_is_told_once),
			 T(no_plugin_is_without_a_verdict), T(a_key_that_is_not_known_is_a_note_with_its_line));
}
