/* SPDX-License-Identifier: MIT
 * runtime.h - the owner of everything: what sessions borrow, and what only the process itself needs. */
#pragma once
#include "product/session/session.h"

struct watch;

struct cadre {
	struct services services;
	struct watch *watches;
	struct cadre_writer *writers;
	bool stopped; /* cadre_stop() was called */
};

void watch_end_all(struct cadre *c); /* watch.c */
