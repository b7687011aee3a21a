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

/* The first object, taken off the list, which needs no prev; NULL: it is empty.
 * for (struct x *x; (x = list_pop(&head));) */
#define list_pop(head)                                \
	__extension__({                               \
		__typeof__(*(head)) first_ = *(head); \
		if (first_)                           \
			*(head) = first_->next;       \
		first_;                               \
	})

/* Takes an object off a list without prev, if it is there. */
#define list_drop(head, object)                  \
	do {                                     \
		__typeof__(head) at_ = (head);   \
		while (*at_ && *at_ != (object)) \
			at_ = &(*at_)->next;     \
		if (*at_)                        \
			*at_ = (object)->next;   \
	} while (0)

/* Behind the last object of a short list without prev. */
#define list_push_last(head, object)           \
	do {                                   \
		__typeof__(head) at_ = (head); \
		while (*at_)                   \
			at_ = &(*at_)->next;   \
		*at_ = (object);               \
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
