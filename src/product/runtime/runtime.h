/* SPDX-License-Identifier: MIT
 * runtime.h - struct cadre: owns the services that sessions borrow, and process-wide state. */
#pragma once
#include "product/session/session.h"

struct watch;

struct cadre {
	struct services services;
	struct watch *watches;
	struct cadre_writer *writers;
	bool stopped; /* cadre_stop() was called */
};
