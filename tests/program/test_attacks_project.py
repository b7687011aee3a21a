#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What a project that is not trusted gets by its skills, agents, links, its repository and its servers."""
import os

from lab import main
from test_attacks_files import play
from test_sandbox import write
from twenty import call

TOUCH = call("Bash", command="touch PWNED")


def skill(base, name, front, body="Do it."):
    write("%s/.claude/skills/%s/SKILL.md" % (base, name), "---\nname: %s\ndescription: d\n%s---\n%s\n" % (name, front, body))


def rules_of_a_skill_count_only_if_its_folder_is_trusted(lab):
    """Inline and as an agent of its own, typed and called, in the project and in a directory that was added to a trusted one."""
    added = lab.home + "/added"
    asks = "rule main\n  agent main\n  turn 1\n%s\nrule main ends\n  agent main\n  text ok\nrule child\n  turn 1\n%s\n" % (
        call("Skill", skill="s"), TOUCH)
    for front in ("allowed-tools: Bash\n", "allowed-tools: Bash\ncontext: fork\n"):
        for base, args in ((lab.work, ()), (added, ("--add-dir", added)), (added, ("--trust-project", "--add-dir", added))):
            skill(base, "s", front)
            play(lab, TOUCH, args=args, prompt="/s")
            lab.model(asks + "rule\n  text ok\n")
            done = lab.cadre("-p", "--allowedTools", "Skill", *args, "--", "hi")
            assert done.code == 0 and not os.path.exists(lab.work + "/PWNED"), (front, base, args, done)
            os.unlink(base + "/.claude/skills/s/SKILL.md")
        skill(lab.work, "s", front)
        play(lab, TOUCH, args=("--trust-project",), prompt="/s")
        os.unlink(lab.work + "/PWNED")
        os.unlink(lab.work + "/.claude/skills/s/SKILL.md")
        skill(added, "s", front)
        assert lab.cadre("trust", added).code == 0
        play(lab, TOUCH, args=("--trust-project", "--add-dir", added), prompt="/s")
        os.unlink(lab.work + "/PWNED")
        assert lab.cadre("trust", "--forget", added).code == 0


if __name__ == "__main__":
    main(rules_of_a_skill_count_only_if_its_folder_is_trusted)
