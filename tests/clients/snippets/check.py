"""Runs pages: saves their files, types their commands into one shell, and compares what they print.

A fenced block is either a file, named behind its language, or `console`: commands behind `$`, each
followed by what it prints to standard output. An id in a page stands for the one that licd gives in its
place, so ids that are equal there must be equal here.

Afterwards the programs that guard a feature run again while things go wrong, as in scenarios.py.
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

import scenarios
from stand_in import StandIn

ID = re.compile(r"\b[a-z]{3}_[0-9a-z]{26}\b")
ADDRESS = "127.0.0.1:8080"
# On which a page has programs of its reader listen.
RECEIVER_PORTS = ["8090", "8091", "8092", "8093", "8094", "8095"]
# A first run compiles what the programs depend on.
LONGEST_RUN_SECONDS = 900

# Another licd, whose rate refuses most validations at first.
LIMITED = [
    ("kill $(jobs -p) && wait $(jobs -p)", ""),
    ("licd serve --rate-limit 1/s --database-url sqlite://licd.db 2> limited.log &", ""),
    (f"curl -sS --retry 20 --retry-connrefused --retry-delay 1 http://{ADDRESS}/readyz > ready", ""),
]
HERE = Path(__file__).parent
# What the reader has next to a file: cargo writes its own, and Gson is downloaded.
COMPANIONS = {
    "Cargo.toml": HERE / "Cargo.lock",
    "Licd.java": Path("/usr/share/java/gson.jar"),
}
AFTERWARDS = [
    # tsx runs TypeScript without a look at its types.
    (
        "npx --yes tsc --noEmit --strict --target es2022 --module nodenext --types node"
        " --rewriteRelativeImportExtensions *.mts",
        "",
    ),
    # A lease of the last page, by libraries that the page does not use.
    (f"cp {HERE}/lease.cjs . && node lease.cjs noa.lease signing-keys.json", "noa\n"),
    (
        f"GO111MODULE=off GOPATH=/usr/share/gocode go run {HERE}/lease.go noa.lease signing-keys.json",
        "noa\n",
    ),
    # The application's variables are none of licd's.
    ("LICD_DATABASE_URL=sqlite://licd.db licd doctor | grep -c '^ok  *settings'", "1\n"),
]


def parse(page):
    """The steps of a page: each its place, a file's name or none, and its text or a command and what it
    prints."""
    steps, block, name = [], None, ""
    for number, line in enumerate(page.read_text().splitlines(), 1):
        if block is None and line.startswith("```"):
            kind, _, name = line.removeprefix("```").partition(" ")
            if not name and kind != "console":
                sys.exit(f"{page}:{number}: this block is neither a file nor `console`")
            block, start = [], number
        elif line == "```":
            if name:
                steps.append([f"{page}:{start}", name, "".join(block)])
            block = None
        elif block is not None and name:
            block.append(line + "\n")
        elif block is not None and line.startswith("$ "):
            steps.append([f"{page}:{number}", None, line.removeprefix("$ "), ""])
            block.append(line)
        elif block:
            steps[-1][3] += line + "\n"
        elif block is not None:
            sys.exit(f"{page}:{number}: this block begins without a command")
    return steps


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
        files = f"'{self.folder}/command' </dev/null 2>'{self.folder}/errors'"
        self.bash.stdin.write(f". {files}; printf '\\n-- end %d\\n' $?\n")
        self.bash.stdin.flush()
        lines = []
        for line in self.bash.stdout:
            if line.startswith("-- end "):
                # The last line is the one that separates the end from what came before.
                printed = "".join(lines).removesuffix("\n")
                return printed, int(line.split()[2]), (self.folder / "errors").read_text()
            lines.append(line)
        sys.exit(f"the shell ended, or took over {LONGEST_RUN_SECONDS} seconds, in: {command}")

    def current_folder(self):
        return Path(os.readlink(f"/proc/{self.bash.pid}/cwd"))

    def end(self):
        self.watch.cancel()
        try:
            os.killpg(self.bash.pid, signal.SIGTERM)
        except ProcessLookupError:
            pass

    def wait(self):
        """Until every process has closed its standard output, as each does at its end."""
        self.bash.stdout.read()


def environment(binaries, cache, port):
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("LICD_", "LICCTL_"))
    }
    return kept | {
        "PATH": f"{binaries}:{cache}/python/bin:{os.environ['PATH']}",
        "LICD_LISTEN": f"127.0.0.1:{port}",
        "LICCTL_CONFIG_DIR": str(cache / "work" / "licctl"),
        "NO_PROXY": "127.0.0.1",
        "no_proxy": "127.0.0.1",
        "CARGO_TARGET_DIR": str(cache / "cargo"),
        "GOCACHE": str(cache / "go"),
        "GOTOOLCHAIN": "local",
        "NPM_CONFIG_UPDATE_NOTIFIER": "false",
        # It warns of settings of this machine that a later npm will refuse.
        "NPM_CONFIG_LOGLEVEL": "error",
        "NPM_CONFIG_OFFLINE": "true",
    }


class Session:
    """The pages' commands in a shell, and the ids that licd gave for those in the pages."""

    def __init__(self, shell, port):
        self.shell = shell
        self.port = port
        self.ports = {port: str(free_port()) for port in RECEIVER_PORTS}
        self.ids = {}

    def actual(self, text):
        """Text of a page with the ids of this run."""
        return ID.sub(lambda found: self.ids.get(found[0], found[0]), text)

    def with_ports(self, text):
        """Text of a page with the ports of this run."""
        for page, actual in self.ports.items():
            text = re.sub(rf"\b{page}\b", actual, text)
        return text

    def learn(self, expected, printed):
        """New ids of a page stand for those that were printed in their places."""
        for ours, theirs in zip(ID.findall(expected), ID.findall(printed)):
            if ours not in self.ids and theirs not in self.ids.values():
                self.ids[ours] = theirs

    def folder(self):
        return self.shell.current_folder()

    def save(self, name, text):
        path = self.folder() / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(self.with_ports(text))
        if name in COMPANIONS:
            shutil.copy(COMPANIONS[name], path.parent)

    def forget(self, kept=None):
        """The programs' last answers are these, or none."""
        path = self.folder() / "answers.json"
        path.unlink(missing_ok=True)
        if kept is not None:
            path.write_text(kept)

    def check(self, place, command, expected):
        """What the command writes to standard error, if it prints what is expected."""
        address = f"127.0.0.1:{self.port}"
        command = self.with_ports(command.replace(ADDRESS, address))
        printed, status, errors = self.shell.run(self.actual(command))
        self.learn(expected, printed)
        expected = self.actual(expected)
        if status == 0 and printed == expected:
            return errors
        lines = difflib.unified_diff(
            expected.splitlines(), printed.splitlines(), "expected", "printed", lineterm=""
        )
        sys.exit("\n".join([f"{place}: $ {command}", f"exit {status}", *lines, errors]))


def prepare(cache):
    """An empty folder, where npm finds its packages."""
    folder = cache / "work"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    (folder / "node_modules").symlink_to(cache / "node" / "node_modules")
    return folder


def main():
    binaries, cache = (Path(argument).absolute() for argument in sys.argv[1:3])
    # The default of several distributions: folders that the user's group may write.
    os.umask(0o002)
    steps = [step for page in sys.argv[3:] for step in parse(Path(f"{page}.md"))]
    port = free_port()
    shell = Shell(prepare(cache), environment(binaries, cache, port))
    session = Session(shell, port)
    stand_in = StandIn(port)
    validations = [
        (step[0], step[2], step[3])
        for step in steps
        if not step[1] and step[3] and re.search(r"\b([Gg]ate|check|has_feature)\b", step[2])
        and "APP_LICENSE_SERVER=" not in step[2]
    ]
    try:
        for place, name, *step in steps:
            if name:
                session.save(name, *step)
                continue
            if (place, *step) in validations:
                session.forget()
            session.check(place, *step)
        for command, expected in AFTERWARDS:
            session.check("afterwards", command, expected)
        read_key = shell.run("licctl keys create --name reader --role read -q")[0].strip()
        for place, command, expected in validations:
            if re.search(r"\b([Gg]ate|has_feature)\b", command):
                gate = scenarios.Gate(session, stand_in, place, command, expected)
                scenarios.try_all(gate, read_key)
        for place, command, expected in validations:
            session.forget()
            stand_in.start_being_busy()
            command = f"(export APP_LICENSE_SERVER={stand_in.address}; {command})"
            session.check(f"{place}, while licd is busy", command, expected)
        for command, expected in LIMITED:
            session.check("afterwards", command, expected)
        for place, command, expected in validations:
            session.forget()
            session.check(f"{place}, at one request in a second", command, expected)
        if "status=429" not in (session.folder() / "limited.log").read_text():
            sys.exit("no request was refused for its rate, so nothing had to wait")
    finally:
        shell.end()
        shell.wait()
    shutil.rmtree(cache / "work")
    print(f"{len(steps)} files and commands do as the pages say")


main()
