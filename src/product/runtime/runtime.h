/* SPDX-License-Identifier: MIT
 * runtime.h - struct cadre: owns the services that sessions borrow, and process-wide state. */
#pragma once
#include "product/session/session.h"

struct watch;

struct cadre {
	struct services services;
	struct watch *watches;
	struct cadre_writer *writers;
	bool stopped;      /* cadre_stop() was called */
	bool prepares_tls; /* http_prepare() has begun tls_thread */
	uv_thread_t tls_thread;
};
