"""Runs a document: writes its files, types its commands into one shell, and compares what they print.

A fenced block is either a file, named behind its language, or `console`: commands behind `$`, each
followed by what it prints to standard output. An id in the document stands for the one that licd gives
in its place, so ids that are equal there must be equal here.
"""

import difflib
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path

from busy import BusyServer

ID = re.compile(r"\b[a-z]{3}_[0-9a-z]{26}\b")
ADDRESS = "127.0.0.1:8080"
# A first run compiles what the programs depend on.
LONGEST_RUN_SECONDS = 900

# Another licd, whose rate refuses most validations at first.
LIMITED = [
    ("kill $(jobs -p) && wait $(jobs -p)", ""),
    ("licd serve --rate-limit 1/s --database-url sqlite://licd.db 2> limited.log &", ""),
    (f"curl -sS --retry 20 --retry-connrefused --retry-delay 1 http://{ADDRESS}/readyz > ready", ""),
]
# tsx runs TypeScript without a look at its types.
TYPES = [
    (
        "npx tsc --noEmit --strict --target es2022 --module nodenext --types node"
        " --allowImportingTsExtensions *.mts",
        "",
    )
]


def parse(document):
    """The files of a document, and its commands, each with its line and what it prints."""
    files, commands, block, name = {}, [], None, ""
    for number, line in enumerate(document.read_text().splitlines(), 1):
        if block is None and line.startswith("```"):
            kind, _, name = line.removeprefix("```").partition(" ")
            if not name and kind != "console":
                sys.exit(f"{document}:{number}: this block is neither a file nor `console`")
            block = []
        elif line == "```":
            if name:
                files[name] = "".join(block)
            block = None
        elif block is not None and name:
            block.append(line + "\n")
        elif block is not None and line.startswith("$ "):
            commands.append([number, line.removeprefix("$ "), ""])
            block.append(line)
        elif block:
            commands[-1][2] += line + "\n"
        elif block is not None:
            sys.exit(f"{document}:{number}: this block begins without a command")
    return files, commands


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


class Shell:
    """One bash for all commands. What is left of it and of its processes ends with it."""

    def __init__(self, folder, environment):
        self.folder = folder
        self.bash = subprocess.Popen(
            ["bash", "--norc", "--noprofile"],
            cwd=folder,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self.watch = threading.Timer(LONGEST_RUN_SECONDS, self.end)
        self.watch.start()

    def run(self, command):
        """What a command prints to standard output, its exit status, and its standard error."""
        (self.folder / "command").write_text(command + "\n")
        self.bash.stdin.write(". ./command </dev/null 2>errors; printf '\\n-- end %d\\n' $?\n")
        self.bash.stdin.flush()
        lines = []
        for line in self.bash.stdout:
            if line.startswith("-- end "):
                # The last line is the one that separates the end from what came before.
                printed = "".join(lines).removesuffix("\n")
                return printed, int(line.split()[2]), (self.folder / "errors").read_text()
            lines.append(line)
        sys.exit(f"the shell ended, or took over {LONGEST_RUN_SECONDS} seconds, in: {command}")

    def end(self):
        self.watch.cancel()
        try:
            os.killpg(self.bash.pid, signal.SIGTERM)
        except ProcessLookupError:
            pass


def environment(binaries, cache, port):
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("LICD_", "LICCTL_"))
    }
    return kept | {
        "PATH": f"{binaries}:{os.environ['PATH']}",
        "LICD_LISTEN": f"127.0.0.1:{port}",
        "LICCTL_CONFIG_DIR": str(cache / "work" / "licctl"),
        "NO_PROXY": "127.0.0.1",
        "no_proxy": "127.0.0.1",
        "CARGO_TARGET_DIR": str(cache / "cargo"),
        "GOCACHE": str(cache / "go"),
        "GOTOOLCHAIN": "local",
        "NPM_CONFIG_UPDATE_NOTIFIER": "false",
        "NPM_CONFIG_OFFLINE": "true",
    }


class Session:
    """The document's commands in a shell, and the ids that licd gave for those in the document."""

    def __init__(self, shell, port):
        self.shell = shell
        self.port = port
        self.ids = {}

    def actual(self, text):
        """Text of the document with the ids of this run."""
        return ID.sub(lambda found: self.ids.get(found[0], found[0]), text)

    def learn(self, expected, printed):
        """New ids of the document stand for those that were printed in their places."""
        for ours, theirs in zip(ID.findall(expected), ID.findall(printed)):
            if ours not in self.ids and theirs not in self.ids.values():
                self.ids[ours] = theirs

    def check(self, place, command, expected):
        address = f"127.0.0.1:{self.port}"
        printed, status, errors = self.shell.run(self.actual(command).replace(ADDRESS, address))
        self.learn(expected, printed)
        expected = self.actual(expected)
        if status == 0 and printed == expected:
            return
        lines = difflib.unified_diff(
            expected.splitlines(), printed.splitlines(), "expected", "printed", lineterm=""
        )
        sys.exit("\n".join([f"{place}: $ {command}", f"exit {status}", *lines, errors]))


def prepare(cache, files):
    """An empty folder with the files, and with what npm and cargo need."""
    folder = cache / "work"
    shutil.rmtree(folder, ignore_errors=True)
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (folder / "node_modules").symlink_to(cache / "node" / "node_modules")
    shutil.copy(Path(__file__).with_name("Cargo.lock"), folder)
    return folder


def main():
    document, binaries, cache = (Path(argument).absolute() for argument in sys.argv[1:])
    files, commands = parse(document)
    folder = prepare(cache, files)
    port = free_port()
    shell = Shell(folder, environment(binaries, cache, port))
    session = Session(shell, port)
    validations = [
        step for step in commands if re.search("gate|validate", step[1]) and step[2] and
        "LICD_SERVER=" not in step[1]
    ]
    try:
        for number, command, expected in commands:
            session.check(f"{document}:{number}", command, expected)
        busy = BusyServer(port)
        for number, command, expected in validations:
            busy.start_being_busy()
            command = f"LICD_SERVER=http://127.0.0.1:{busy.server_port} {command}"
            session.check(f"{document}:{number}, while licd is busy", command, expected)
        for command, expected in TYPES + LIMITED:
            session.check("afterwards", command, expected)
        for number, command, expected in validations:
            session.check(f"{document}:{number}, at one request in a second", command, expected)
        if "status=429" not in (folder / "limited.log").read_text():
            sys.exit("no request was refused for its rate, so nothing had to wait")
    finally:
        shell.end()
    shutil.rmtree(folder)
    print(f"{len(files)} files and {len(commands)} commands do as the document says")


main()
