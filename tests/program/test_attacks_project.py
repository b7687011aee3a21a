#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What a project that is not trusted gets by its skills, agents, links, its repository and its servers."""
import json
import os
import shutil

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


DEFINITION = "---\nname: s\ndescription: the secret text\n---\nthe secret text\n"


def definitions_of_a_project_stay_in_it_until_it_is_trusted(lab):
    """Skills, commands, agents and styles as links: to a file, to a directory, or the directory of all of them."""
    outside, inside = lab.home + "/outside", lab.work + "/shared"
    for kind in (outside, inside):
        write(kind + "/skills/s/SKILL.md", DEFINITION)
        write(kind + "/s.md", DEFINITION)
    links = {"skills/s/SKILL.md": "skills/s/SKILL.md", "skills/s": "skills/s", "skills": "skills", "commands/s.md": "s.md",
             "commands/sub": "", "commands": "", "agents/s.md": "s.md", "agents": "", "output-styles/s.md": "s.md", "output-styles": "",
             "": ""}
    write(lab.home + "/.claude/settings.json", json.dumps({"outputStyle": "s"}))
    for name, target in links.items():
        for kind, args, seen in ((outside, (), False), (inside, (), True), (outside, ("--trust-project",), True)):
            link = os.path.normpath(lab.work + "/.claude/" + name)
            if name == "":  # the whole directory
                write(kind + "/agents/s.md", DEFINITION)
            os.makedirs(os.path.dirname(link), exist_ok=True)
            os.symlink(os.path.normpath(kind + "/" + target), link)
            sent = ""
            for prompt in ("hi", "/s", "/sub:s"):
                server = lab.model("rule\n  text ok\n", log=True)
                lab.cadre("-p", *args, "--", prompt)
                sent += json.dumps(server.bodies()) if os.path.exists(server.log) else ""
            assert ("the secret text" in sent) == seen, (name, kind, args, seen)
            os.unlink(link)
            shutil.rmtree(lab.work + "/.claude", ignore_errors=True)


if __name__ == "__main__":
    main(definitions_of_a_project_stay_in_it_until_it_is_trusted, rules_of_a_skill_count_only_if_its_folder_is_trusted)
