/* SPDX-License-Identifier: MIT
 * test_event.c - the tables. */
#include "unit.h"
#include "guard/hook/event.h"
#include "tests.h"

TEST(every_event_is_found_by_its_name_and_takes_commands)
{
	for (enum hook_event i = 0; i < HOOK_EVENT_COUNT; i++) {
		const struct hook_event_info *info = &hook_events[i];
		enum hook_event found = HOOK_EVENT_COUNT;
		CHECK(info->name && hook_event_find(str_from(info->name), &found));
		CHECK_INT(found, i);
		CHECK(info->types & (1u << HOOK_COMMAND));
	}
}

TEST(other_names_are_no_events)
{
	enum hook_event event;

	CHECK(!hook_event_find(STR("pretooluse"), &event));
	CHECK(!hook_event_find(STR("MessageDisplay"), &event)); /* needs a window */
	CHECK(!hook_event_find(STR(""), &event));
}

TEST(what_exit_2_does_is_said_once_for_each_event)
{
	for (enum hook_event i = 0; i < HOOK_EVENT_COUNT; i++) {
		unsigned flags = hook_events[i].flags;
		bool blocks = flags & HOOK_CAN_BLOCK;
		bool tells = flags & HOOK_EXIT2_TO_USER;
		bool fails = flags & HOOK_NONZERO_FAILS;
		CHECK(blocks + tells + fails <= 1);
	}
}

TEST(each_type_and_each_member_has_its_own_name)
{
	enum hook_type type = HOOK_TYPE_COUNT;

	for (enum hook_type i = 0; i < HOOK_TYPE_COUNT; i++) {
		CHECK(hook_type_find(str_from(hook_types[i].name), &type));
		CHECK_INT(type, i);
		CHECK(hook_types[i].timeout_ms > 0);
	}
	for (enum hook_field i = 0; i < HOOK_FIELD_COUNT; i++)
		for (enum hook_field k = 0; k < i; k++)
			assert_string_not_equal(hook_fields[i].name, hook_fields[k].name);
}

int test_event(void)
{
	return RUN_TESTS(T(every_event_is_found_by_its_name_and_takes_commands), T(other_names_are_no_events),
			 T(what_exit_2_does_is_said_once_for_each_event),
			 T(each_type_and_each_member_has_its_own_name));
}
