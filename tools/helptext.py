# SPDX-License-Identifier: Apache-2.0
"""Reads `wattgate --help` and `wattgate COMMAND --help`."""
import re
import subprocess

ROW = re.compile(r"^  (?:-(?P<letter>\w), |    )--(?P<name>[a-z0-9-]+)(?: (?P<arg>\S+))?"
                 r"(?:\s\s+(?P<text>\S.*))?$")
DEFAULT = re.compile(r"^(?P<text>.*) \[(?P<default>[^\]]*)\]$")


class Option:
    def __init__(self, letter, name, arg, text):
        self.letter, self.name, self.arg = letter, name, arg
        m = DEFAULT.match(text)
        self.text, self.default = (m["text"], m["default"]) if m else (text, None)


class Help:
    """usage: the text after "Usage: "; own and common: lists of Option."""

    def __init__(self, text):
        self.text = text
        self.usage = next((x[7:] for x in text.splitlines() if x.startswith("Usage: ")), "")
        self.own, self.common = self._options("Options:"), self._options("Common options:")

    def _options(self, heading):
        rows, inside = [], False
        for line in self.text.splitlines():
            m = ROW.match(line)
            if line == heading:
                inside = True
            elif inside and not line.startswith(" "):
                inside = False
            elif inside and m:
                rows.append([m["letter"], m["name"], m["arg"], m["text"] or ""])
            elif inside and rows:
                rows[-1][3] = (rows[-1][3] + " " + line.strip()).strip()
        return [Option(*r) for r in rows]


def output_of(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True,
                          stdin=subprocess.DEVNULL).stdout


def commands(program):
    """{name: summary}, in the order of --help."""
    found, inside = {}, False
    for line in output_of(program, "--help").splitlines():
        m = re.match(r"^  ([a-z]+)  +(\S.*)$", line)
        if line == "Commands:":
            inside = True
        elif inside and m:
            found[m[1]] = m[2]
        elif inside and not line.startswith(" "):
            inside = False
    return found


def help_of(program, command):
    return Help(output_of(program, command, "--help"))
