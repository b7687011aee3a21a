/* SPDX-License-Identifier: MIT
 * oauth_challenge.h - what a server says in WWW-Authenticate (RFC 9110, RFC 6750, RFC 9728). */
#pragma once
#include "lib/base/arena.h"

/* NULL: not said */
struct oauth_challenge {
	const char *metadata_url, *scope, *error;
};

/* Reads any text and never fails: of several challenges the parts of the first Bearer one, of a repeated parameter the first
 * one. The texts are in the arena. */
struct oauth_challenge oauth_challenge_read(struct arena *arena, struct str header);
