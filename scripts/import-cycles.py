#!/usr/bin/env python3
"""Finds import cycles between the modules at the top of each crate of the workspace, and crates whose
dependencies differ from the lists in docs/architecture.md: that of the crates and that of the districts.

A crate is a folder src/<district>/<crate>/; its top modules are the folders and files beside lib.rs. Module a
imports b if a non-test item in a names one of b: in a `use` tree, by an inline path (crate::, super::),
or through an imported module. Prints each cycle that a folder is part of (files beside lib.rs may know
each other) with the imports in it, and each crate whose list differs; exits 1 if there is one.

Usage: scripts/import-cycles.py [--graph] [CRATE...]
"""

import os
import re
import sys
from collections import defaultdict

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "src")
# Dependencies of a crate on a district above its own that are still to be removed.
EXCEPTIONS = {("autoscaler", "api")}
USE = re.compile(r"(?m)^[ \t]*(?:pub(?:\([^)]*\))?\s+)?use\s+([^;]+);")
NOT_CODE = re.compile(
    r"""//[^\n]*|/\*.*?\*/|b?r(?P<h>\#*)".*?"(?P=h)|"(?:\\.|[^"\\])*"|'(?:\\.[^']*|[^'\\])'""",
    re.S,
)


def closing(text, start):
    """The index of the brace that closes the one at start."""
    depth = 0
    for i in range(start, len(text)):
        depth += {"{": 1, "}": -1}.get(text[i], 0)
        if depth == 0:
            return i
    return len(text)


def without_tests(text):
    """The text without comments, literals and `#[cfg(test)]` items; with the names of test modules."""
    text = NOT_CODE.sub(" ", text)
    tests = set()
    while found := re.search(r"#\[cfg\(test\)\]\s*(?:#\[[^\]]*\]\s*)*", text):
        ends = [i for i in (text.find(c, found.end()) for c in "{;") if i >= 0]
        end = min(ends, default=len(text) - 1)
        module = re.match(r"(?:pub(?:\([^)]*\))?\s+)?mod\s+(\w+)\s*;", text[found.end() :])
        if module:
            tests.add(module.group(1))
        if text[end] == "{":
            end = closing(text, end)
        text = text[: found.start()] + text[end + 1 :]
    return text, tests


def paths_of(tree):
    """All paths of a use tree, without aliases."""
    tokens = re.findall(r"\w+|[{},*]", re.sub(r"\bas\s+\w+", "", tree))
    at = 0

    def walk(prefix):
        nonlocal at
        path, found = list(prefix), []
        while at < len(tokens) and tokens[at] not in ",}":
            if tokens[at] == "{":
                at += 1
                while tokens[at] != "}":
                    found += walk(path)
                    at += tokens[at] == ","
                at += 1
                return found
            if tokens[at] not in ("self", "*") or not path:
                path.append(tokens[at])
            at += 1
        return [path]

    return walk([])


class Crate:
    """The modules of a crate and what each imports."""

    def __init__(self, base):
        self.texts, tests = {}, set()
        for folder, _, names in os.walk(base):
            for name in names:
                if not name.endswith(".rs"):
                    continue
                file = os.path.join(folder, name)
                module = tuple(os.path.relpath(file, base)[:-3].split("/"))
                if module[-1] in ("mod", "lib"):
                    module = module[:-1]
                with open(file, encoding="utf-8") as source:
                    self.texts[module], of_tests = without_tests(source.read())
                tests |= {module + (name,) for name in of_tests}
        for module in list(self.texts):
            if any(module[: len(test)] == test for test in tests):
                del self.texts[module]

    def resolve(self, module, path):
        """The module a path leads to, seen from a module; None if it leads out of the crate."""
        if path[0] == "crate":
            full = tuple(path[1:])
        elif path[0] in ("self", "super"):
            ups = sum(1 for name in path if name == "super")
            full = module[: len(module) - ups] + tuple(p for p in path if p not in ("self", "super"))
        elif module + (path[0],) in self.texts:
            full = module + tuple(path)
        else:
            return None
        while full not in self.texts:
            full = full[:-1]
        return full

    def imports(self, module):
        """(module, path) for all that a module names of other modules."""
        text = self.texts[module]
        code = USE.sub("", text)
        children = {m[-1]: m for m in self.texts if m and m[:-1] == module}
        found, names = [], dict(children)
        for tree in USE.findall(text):
            for path in paths_of(tree):
                target = self.resolve(module, path)
                if target is None:
                    continue
                found.append((target, "::".join(path)))
                if target and target[-1] == path[-1]:
                    names[path[-1]] = target
        for path in re.findall(r"(?<![\w:$])((?:crate|super)(?:::\w+)+)", code):
            found.append((self.resolve(module, path.split("::")), path))
        for path in re.findall(r"(?<![\w:.$])(\w+(?:::\w+)+)", code):
            first, *rest = path.split("::")
            if first in names:
                target = names[first] + tuple(rest)
                while target not in self.texts:
                    target = target[:-1]
                found.append((target, path))
        return found

    def is_folder(self, name):
        """Whether a top module has modules of its own."""
        return any(len(module) > 1 and module[0] == name for module in self.texts)

    def graph(self):
        """top module -> top module -> the imports between them."""
        edges = defaultdict(lambda: defaultdict(set))
        for module in self.texts:
            for target, path in self.imports(module) if module else ():
                if target and target[0] != module[0]:
                    edges[module[0]][target[0]].add(f"{'::'.join(module)} -> {path}")
        return edges


def import_cycles(edges):
    """The strongly connected components of more than one module."""
    def reach(start):
        seen, todo = set(), [start]
        while todo:
            for target in edges.get(todo.pop(), ()):
                if target not in seen:
                    seen.add(target)
                    todo.append(target)
        return seen

    reached = {module: reach(module) for module in edges}
    found = {
        frozenset(other for other in reached if other in reached[module] and module in reached[other])
        for module in reached
        if module in reached[module]
    }
    return sorted(sorted(cycle) for cycle in found)


def crate_folders():
    """crate -> its district, for each folder src/<district>/<crate>/ with a lib.rs."""
    return {
        crate: district
        for district in sorted(os.listdir(ROOT))
        if os.path.isdir(os.path.join(ROOT, district))
        for crate in sorted(os.listdir(os.path.join(ROOT, district)))
        if os.path.isfile(os.path.join(ROOT, district, crate, "lib.rs"))
    }


def dependencies_of(folder):
    """The crates of the workspace that a crate depends on, without dev-dependencies."""
    with open(os.path.join(folder, "Cargo.toml"), encoding="utf-8") as file:
        section = re.search(r"(?ms)^\[dependencies\]\n(.*?)(?=^\[|\Z)", file.read())
    names = re.findall(r"(?m)^kueue-lab-([\w-]+)", section.group(1) if section else "")
    return {name.replace("-", "_") for name in names}


def undocumented_dependencies(crates, districts):
    """A line for each crate whose dependencies differ from docs/architecture.md, or that depends on a crate of a
    district that its own may not know."""
    with open(os.path.join(ROOT, "..", "docs", "architecture.md"), encoding="utf-8") as file:
        text = file.read()
    known = {a: set(re.findall(r"\w+", b)) for a, b in re.findall(r"(?m)^(\w+) +=> (.+)$", text)}
    rows = re.findall(r"(?m)^(\w+) +-> (.+)$", text)
    listed = {crate: set(re.findall(r"\w+", names)) for crate, names in rows}
    for crate in crates:
        district = districts[crate]
        found, expected = dependencies_of(os.path.join(ROOT, district, crate)), listed.get(crate, set())
        for name in sorted(found):
            if (crate, name) not in EXCEPTIONS and districts[name] not in {district} | known.get(district, set()):
                yield f"src/{district}/{crate}: {district} may not depend on {districts[name]} ({name})"
        if found != expected:
            more, less = sorted(found - expected), sorted(expected - found)
            yield f"src/{district}/{crate}: docs/architecture.md lacks {more} and has {less} in addition"


def main(arguments):
    show = "--graph" in arguments
    districts = crate_folders()
    crates = [a for a in arguments if a != "--graph"] or sorted(districts)
    failed = False
    for crate in crates:
        modules = Crate(os.path.join(ROOT, districts[crate], crate))
        edges = modules.graph()
        if show:
            for module in sorted(edges):
                print(f"{crate}: {module} -> {', '.join(sorted(edges[module]))}")
        for cycle in import_cycles(edges):
            if not any(modules.is_folder(name) for name in cycle):
                continue
            failed = True
            print(f"src/{districts[crate]}/{crate}: import cycle of {', '.join(cycle)}")
            for module in cycle:
                for target in cycle:
                    for line in sorted(edges[module].get(target, ())):
                        print(f"    {line}")
    for line in undocumented_dependencies(crates, districts):
        failed = True
        print(line)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
