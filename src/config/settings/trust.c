/* SPDX-License-Identifier: MIT
 * trust.c - the folders that the user trusts. */
#include "config/settings/trust.h"
#include <fcntl.h>
#include <inttypes.h>
#include <sys/stat.h>
#include "lib/base/buf.h"
#include "lib/git/git_head.h"
#include "lib/io/file.h"
#include "config/settings/settings_store.h"

int trust_read(struct trust *t, const char *state_file, struct err *err)
{
	AUTO_SETTINGS_FILE struct settings_file file = { 0 };
	struct stat st;
	int status = stat(state_file, &st) == 0 ? file_check_own(&st, state_file, err) : 0;

	*t = (struct trust){ 0 };
	if (status == 0)
		status = settings_file_read_up_to(&file, state_file, TRUST_FILE_LIMIT, err);
	if (status < 0)
		return status;
	const struct json *projects = json_get(file.root, "projects");
	t->folders = arena_alloc(&t->arena, (projects ? projects->count + 1 : 1) * sizeof *t->folders);
	for (struct json_member m = json_members(projects); m.key; m = json_member_next(projects, m)) {
		const char *folder = json_cstr(m.key, &t->arena);
		if (folder && json_bool(json_get(m.value, "hasTrustDialogAccepted")))
			t->folders[t->count++] = folder;
	}
	return 0;
}

void trust_release(struct trust *t)
{
	arena_release(&t->arena);
	*t = (struct trust){ 0 };
}

bool trust_has(const struct trust *t, const char *folder)
{
	AUTO_FREE char *real = realpath(folder, NULL);

	for (size_t i = 0; real && i < t->count; i++)
		if (!strcmp(t->folders[i], real))
			return true;
	return false;
}

const char *trust_folder(struct arena *a, const char *dir)
{
	const char *home = getenv("HOME");
	const char *root = git_root(a, dir);
	const char *main_root = root ? git_main_checkout(a, root) : NULL;

	if (main_root)
		root = main_root;
	return root && !(home && !strcmp(root, home)) ? root : arena_strdup(a, dir);
}

bool trust_covers(const char *cwd, const char *state_file, const char *file)
{
	AUTO_ARENA struct arena a = { 0 };
	AUTO_TRUST struct trust trust = { 0 };
	const char *end = NULL;

	/* The last one: the project may lie below the configuration. */
	for (const char *at = file; (at = strstr(at, "/.claude/")); at++)
		end = at;
	const char *dir = !end ? file : end == file ? "/" : arena_dup(&a, file, (size_t)(end - file));
	const char *folder = trust_folder(&a, dir), *trusted = trust_folder(&a, cwd);
	bool is_repository = strcmp(folder, dir) != 0 || file_exists(path_join(&a, dir, ".git"));
	if (!strcmp(folder, trusted) || (!is_repository && path_is_inside(dir, trusted)))
		return true;
	/* A clone in the project, an additional directory, or the folder of the runtime's first session */
	return trust_read(&trust, state_file, NULL) == 0 && trust_has(&trust, folder);
}

int trust_record(struct arena *a, const char *state_file, const char *folder, bool trusted, const char **ret_folder,
		 bool *ret_changed, struct err *err)
{
	AUTO_FREE char *real = realpath(folder, NULL);
	struct stat st;

	if (!real || stat(real, &st) < 0)
		return err_set(err, ERR_USAGE, "%s: %m", folder);
	if (!S_ISDIR(st.st_mode))
		return err_set(err, ERR_USAGE, "%s: not a directory", folder);
	const struct str names[] = { STR("projects"), str_from(real), STR("hasTrustDialogAccepted") };
	int status = state_file_set(state_file, names, COUNT_OF(names), trusted ? STR("true") : STR("false"),
				    ret_changed, err);
	if (status == 0)
		*ret_folder = arena_strdup(a, real);
	return status;
}

static const char notes_name[] = "local-settings";

/* A line of the notes: the file, and which directory it is in. Another one of that name is not what the note is about. */
static const char *local_note(struct arena *a, const char *file)
{
	const char *dir = arena_dup(a, file, (size_t)(strrchr(file, '/') - file));
	struct statx st;

	if (statx(AT_FDCWD, dir, AT_SYMLINK_NOFOLLOW, STATX_TYPE | STATX_INO | STATX_BTIME, &st) < 0 ||
	    !S_ISDIR(st.stx_mode))
		return NULL;
	return arena_printf(a, "%s\t%" PRIu64 ".%" PRId64 ".%" PRIu32, file, (uint64_t)st.stx_ino,
			    (int64_t)st.stx_btime.tv_sec, (uint32_t)st.stx_btime.tv_nsec);
}

bool trust_made_local(const char *config_dir, const char *file)
{
	AUTO_ARENA struct arena a = { 0 };
	AUTO_BUF struct buf text = { 0 };

	if (!config_dir || file_read(path_join(&a, config_dir, notes_name), 16 << 20, &text, NULL) < 0)
		return false;
	const char *note = local_note(&a, file);
	for (struct str rest = buf_str(&text); note && rest.p;)
		if (str_is(str_cut(&rest, '\n'), note))
			return true;
	return false;
}

void trust_note_local(const char *config_dir, const char *file)
{
	AUTO_ARENA struct arena a = { 0 };

	if (!config_dir || !str_ends(str_from(file), STR("/.claude/settings.local.json")) || strchr(file, '\n') ||
	    file_exists(file))
		return;
	(void)mkdir(arena_dup(&a, file, (size_t)(strrchr(file, '/') - file)), 0777);
	const char *note = local_note(&a, file);
	if (!note || trust_made_local(config_dir, file))
		return;
	/* One write: lines of two processes do not mix. Without the note the file needs trust, and that is said. */
	AUTO_CLOSE int fd =
		open(path_join(&a, config_dir, notes_name), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
	const char *line = arena_printf(&a, "%s\n", note);
	if (fd >= 0)
		(void)file_write_all(fd, line, strlen(line));
}
