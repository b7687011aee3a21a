/* SPDX-License-Identifier: MIT
 * command_list.h - every command, in alphabetical order: command.h and command.c include it with COMMAND defined.
 *
 * How to add one: 1. NAME.c with `const struct cadre_command command_NAME` and a function for each of its words; 2. its row here;
 * 3. a row for each word in tests/unit/command/test_command.c; 4. a line in the docs of its subject. Help, completion and the manual
 * page are generated from the table. */

COMMAND(agents)
COMMAND(config)
COMMAND(logs)
COMMAND(mcp)
COMMAND(models)
COMMAND(permissions)
COMMAND(plugin)
COMMAND(rewind)
COMMAND(sandbox)
COMMAND(sessions)
COMMAND(skills)
COMMAND(stop)
COMMAND(tasks)
COMMAND(team)
COMMAND(tell)
COMMAND(trust)
