#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What a project that is not trusted gets by its skills, agents, links, its repository and its servers."""
import json
import os
import shutil

from lab import main
from test_attacks import git
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


def git_of_cadre_runs_nothing_that_the_repository_names(lab):
    """A worktree is made by git itself, unconfined: filters of the checkout, what reaches a server, configuration in another place."""
    pwned = "touch %s/PWNED; false" % lab.home
    configs = ({"filter.x.smudge": pwned}, {"filter.x.process": pwned, "filter.x.required": "true"}, {"core.sshCommand": pwned},
               {"remote.origin.uploadpack": pwned}, {"credential.helper": "!" + pwned}, {"include.path": "../evil"},
               {"core.gitProxy": pwned}, {"url.ext::sh.insteadOf": "https://example.org"}, {"core.worktree": "/tmp"}, None)
    take = call("Agent", description="Work", prompt="Work", isolation="worktree")
    write(lab.home + "/.claude/settings.json", json.dumps({"worktree": {"baseRef": "fresh"}}))
    for config in configs:
        shutil.rmtree(lab.work)
        os.mkdir(lab.work)
        git(lab, "init", "-q")
        write(lab.work + "/.gitattributes", "* filter=x\n")
        git(lab, "add", ".")
        git(lab, "commit", "-qm", "first")
        git(lab, "config", "remote.origin.url", "ssh://example.org/x")
        for key, value in (config or {"filter.x.smudge": pwned}).items():
            git(lab, "config", key, value)
        if config is None:  # the configuration is where commondir says, and the one beside it is harmless
            os.mkdir(lab.work + "/common")
            for name in set(os.listdir(lab.work + "/.git")) - {"HEAD", "index"}:
                shutil.move(lab.work + "/.git/" + name, lab.work + "/common/" + name)
            write(lab.work + "/.git/commondir", "../common\n")
            write(lab.work + "/.git/config", "[core]\n\tbare = false\n")
        text = "rule\n  agent main\n  turn 1\n%s\nrule\n  agent main\n  text {{last_result}}\nrule\n  text Child.\n" % take
        lab.model(text)
        done = lab.cadre("-p", "--", "hi")
        assert "git may run a program here" in done.out, (config, done)
        assert not os.path.exists(lab.home + "/PWNED"), config
    for key in ("filter.x.smudge",):
        git(lab, "config", "--unset", key)
    done = lab.cadre("-p", "--", "hi")
    assert "Child." in done.out, done


if __name__ == "__main__":
    main(git_of_cadre_runs_nothing_that_the_repository_names,
         definitions_of_a_project_stay_in_it_until_it_is_trusted, rules_of_a_skill_count_only_if_its_folder_is_trusted)
