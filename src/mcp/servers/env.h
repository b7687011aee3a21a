/* SPDX-License-Identifier: MIT
 * env.h - what connections to servers need of the process. */
#pragma once
#include "lib/io/http.h"
#include "lib/io/spawn.h"

/* What transports need of the process; all borrowed, outlives them. */
struct mcp_env {
	struct loop *loop;
	struct spawner *spawner;
	struct http *http;
	const char *const *envp;              /* of child processes */
	const char *cwd;                      /* where they start */
	const char *project_dir, *session_id; /* CLAUDE_PROJECT_DIR, CLAUDE_CODE_SESSION_ID */
	const char *auth_file;                /* where tokens are kept; NULL: nowhere */
	/* Brings a person's browser to this address; NULL: nobody is there, an authorisation that needs one fails. */
	void (*open_url)(void *data, const char *url);
	void *data;
};
