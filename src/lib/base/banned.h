/* SPDX-License-Identifier: MIT
 * banned.h - functions with a safer replacement. Using one is a compile error that names it. */
#pragma once
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define BANNED(func, instead) sorry_##func##_is_banned_use_##instead

#undef strcpy
#define strcpy(x, y) BANNED(strcpy, buf_add)
#undef strcat
#define strcat(x, y) BANNED(strcat, buf_add)
#undef strncpy
#define strncpy(x, y, n) BANNED(strncpy, buf_add)
#undef strncat
#define strncat(x, y, n) BANNED(strncat, buf_add)
#undef sprintf
#define sprintf(...) BANNED(sprintf, snprintf)
#undef vsprintf
#define vsprintf(...) BANNED(vsprintf, vsnprintf)
#undef strtok
#define strtok(x, y) BANNED(strtok, str_cut)
#undef strtod
#define strtod(x, y) BANNED(strtod, str_to_double) /* obeys the host's locale */
#undef atof
#define atof(x) BANNED(atof, str_to_double)
#undef gmtime
#define gmtime(t) BANNED(gmtime, gmtime_r)
#undef localtime
#define localtime(t) BANNED(localtime, localtime_r)
#undef ctime
#define ctime(t) BANNED(ctime, clock_iso)
#undef system
#define system(x) BANNED(system, spawn_start)
#undef popen
#define popen(x, y) BANNED(popen, spawn_start)
