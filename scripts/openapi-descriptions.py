#!/usr/bin/env python3
"""Writes src/apiserver/openapi/descriptions.txt: the documentation of the Kubernetes API that OpenAPI publishes
and the crate k8s-openapi does not contain.

    scripts/openapi-descriptions.py ROOT

ROOT holds checkouts of k8s.io modules at one release: api, apimachinery, apiextensions-apiserver and
kube-aggregator. Each line is a name and a JSON object: the query parameters of the options of requests, and
the values of enumerations by the names of src/apiserver/schema/types.
"""
import importlib.util
import json
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
OPTIONS = ["ListOptions", "CreateOptions", "UpdateOptions", "PatchOptions", "DeleteOptions"]


def builtin_types():
    spec = importlib.util.spec_from_file_location("builtin_types", HERE / "builtin-types.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def option_descriptions(root):
    source = (root / "apimachinery/pkg/apis/meta/v1/types_swagger_doc_generated.go").read_text()
    for name in OPTIONS:
        body = re.search(r"var map_%s = map\[string\]string\{\n(.*?)\n\}" % name, source, re.S).group(1)
        entries = re.findall(r'^\s*("(?:[^"\\]|\\.)*"):\s*("(?:[^"\\]|\\.)*"),$', body, re.M)
        yield name, {json.loads(key): json.loads(text) for key, text in entries if key != '""'}


def value_descriptions(directory, enumerations):
    """The documentation of the constants of each enumeration of a package, as kube-openapi shortens it."""
    found = {name: {} for name in enumerations}
    for file in sorted(pathlib.Path(directory).glob("*.go")):
        if file.name.endswith("_test.go") or "generated" in file.name:
            continue
        comment = []
        for line in file.read_text().split("\n"):
            line = line.strip()
            if line.startswith("//"):
                comment.append(line[2:].strip())
                continue
            constant = re.match(r'(?:const )?(\w+)\s+(\w+)\s*=\s*("[^"]*")', line)
            if constant and constant.group(2) in found:
                text = " ".join(part for part in comment if not part.startswith("+")).strip()
                text = text.removeprefix(constant.group(1)).strip()
                found[constant.group(2)][json.loads(constant.group(3))] = re.sub(r"\s+", " ", text)
            comment = []
    return found


def main():
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    root = pathlib.Path(sys.argv[1])
    lines = [f"{name} {json.dumps(texts)}" for name, texts in option_descriptions(root)]
    types = HERE.parent / "src/apiserver/schema/types"
    for package, directory in builtin_types().PACKAGES:
        declared = (types / f"{package}.types").read_text()
        enumerations = re.findall(r"^(\w+) = string enum ", declared, re.M)
        values = value_descriptions(root / directory, enumerations)
        for name in enumerations:
            texts = {value: text for value, text in sorted(values[name].items()) if text}
            if texts:
                lines.append(f"{package}.{name} {json.dumps(texts)}")
    target = HERE.parent / "src/apiserver/openapi/descriptions.txt"
    target.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
