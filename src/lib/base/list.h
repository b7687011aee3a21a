/* SPDX-License-Identifier: MIT
 * list.h - lists through the objects themselves: an object has members `next` and `prev`, a pointer to what points to it. */
#pragma once

/* head: a pointer to the first object, NULL at the end. */
#define list_push(head, object)                                 \
	do {                                                    \
		(object)->next = *(head);                       \
		(object)->prev = (head);                        \
		if ((object)->next)                             \
			(object)->next->prev = &(object)->next; \
		*(head) = (object);                             \
	} while (0)

#define list_remove(object)                                    \
	do {                                                   \
		*(object)->prev = (object)->next;              \
		if ((object)->next)                            \
			(object)->next->prev = (object)->prev; \
	} while (0)

/* Lists with an end, at which `end` points: first in, first out. */
#define list_append(end, object)          \
	do {                              \
		(object)->next = NULL;    \
		(object)->prev = *(end);  \
		**(end) = (object);       \
		*(end) = &(object)->next; \
	} while (0)

#define list_remove_from(end, object)            \
	do {                                     \
		if (!(object)->next)             \
			*(end) = (object)->prev; \
		list_remove(object);             \
	} while (0)
