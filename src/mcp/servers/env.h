/* SPDX-License-Identifier: MIT
 * env.h - process environment of server connections. */
#pragma once
#include "lib/io/change_queue.h"
#include "lib/io/http.h"
#include "lib/io/spawn.h"

/* All borrowed; outlives the transports. */
struct mcp_env {
	struct loop *loop;
	struct spawner *spawner;
	struct http *http;
	const char *const *envp;              /* of child processes */
	const char *cwd;                      /* their working directory */
	const char *project_dir, *session_id; /* CLAUDE_PROJECT_DIR, CLAUDE_CODE_SESSION_ID */
	const char *auth_file;                /* token store; NULL: none */
	struct change_queue *changes;         /* for it; NULL: its lock is waited for */
	/* Opens the user's browser at this URL; NULL: interactive authorisation fails. */
	void (*open_url)(void *data, const char *url);
	void *data;
};
