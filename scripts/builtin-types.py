#!/usr/bin/env python3
"""Writes src/kubernetes/apimachinery/schema/types/*.types from the Go declarations of the Kubernetes API.

    scripts/builtin-types.py ROOT
    scripts/builtin-types.py --vendor KUEUE_CHECKOUT/vendor

ROOT holds checkouts of k8s.io modules at one release: api, apimachinery, apiextensions-apiserver and
kube-aggregator. With --vendor, the tables are those of the custom kinds of jobs that Kueue integrates, of
which only names, types and the omission of empty values are taken. Only facts are taken: names, types,
JSON tags, list and map types, patch strategies, defaults, enumerations. The format is described in
src/kubernetes/apimachinery/schema/builtin_types.rs.
"""
import json
import pathlib
import re
import sys

PACKAGES = [  # (short name, directory below ROOT)
    ("meta.v1", "apimachinery/pkg/apis/meta/v1"),
    ("core.v1", "api/core/v1"),
    ("apps.v1", "api/apps/v1"),
    ("batch.v1", "api/batch/v1"),
    ("autoscaling.v1", "api/autoscaling/v1"),
    ("autoscaling.v2", "api/autoscaling/v2"),
    ("policy.v1", "api/policy/v1"),
    ("rbac.v1", "api/rbac/v1"),
    ("networking.v1", "api/networking/v1"),
    ("storage.v1", "api/storage/v1"),
    ("scheduling.v1", "api/scheduling/v1"),
    ("coordination.v1", "api/coordination/v1"),
    ("node.v1", "api/node/v1"),
    ("discovery.v1", "api/discovery/v1"),
    ("events.v1", "api/events/v1"),
    ("certificates.v1", "api/certificates/v1"),
    ("flowcontrol.v1", "api/flowcontrol/v1"),
    ("resource.v1", "api/resource/v1"),
    ("authentication.v1", "api/authentication/v1"),
    ("authorization.v1", "api/authorization/v1"),
    ("admissionregistration.v1", "api/admissionregistration/v1"),
    ("apiextensions.v1", "apiextensions-apiserver/pkg/apis/apiextensions/v1"),
    ("apiregistration.v1", "kube-aggregator/pkg/apis/apiregistration/v1"),
]
# Packages of custom kinds: (short name, import path, kinds).
CUSTOM_PACKAGES = [
    ("jobset.v1alpha2", "sigs.k8s.io/jobset/api/jobset/v1alpha2", ["JobSet"]),
    ("leaderworkerset.v1", "sigs.k8s.io/lws/api/leaderworkerset/v1", ["LeaderWorkerSet"]),
    ("kubeflow.v1", "github.com/kubeflow/training-operator/pkg/apis/kubeflow.org/v1",
     ["JAXJob", "PaddleJob", "PyTorchJob", "TFJob", "XGBoostJob"]),
    ("kubeflow.v2beta1", "github.com/kubeflow/mpi-operator/pkg/apis/kubeflow/v2beta1", ["MPIJob"]),
    ("trainer.v1alpha1", "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1", ["TrainJob"]),
    ("sparkoperator.v1beta2", "github.com/kubeflow/spark-operator/v2/api/v1beta2", ["SparkApplication"]),
    ("ray.v1", "github.com/ray-project/kuberay/ray-operator/apis/ray/v1", ["RayCluster", "RayJob", "RayService"]),
    ("workload.v1beta2", "github.com/project-codeflare/appwrapper/api/v1beta2", ["AppWrapper"]),
]
# Types with a custom JSON form, by their Go names.
SPECIAL = {
    "resource.Quantity": "quantity", "intstr.IntOrString": "intorstring", "runtime.RawExtension": "raw",
    "runtime.Object": "raw", "meta.v1.Time": "time", "meta.v1.MicroTime": "microtime",
    "meta.v1.Duration": "duration", "meta.v1.FieldsV1": "json", "apiextensions.v1.JSON": "json",
    "apiextensions.v1.JSONSchemaPropsOrBool": "schemaorbool",
    "apiextensions.v1.JSONSchemaPropsOrArray": "schemaorarray",
    "apiextensions.v1.JSONSchemaPropsOrStringArray": "schemaorstrings",
    "types.UID": "string:types.UID", "types.NodeName": "string:types.NodeName", "any": "raw",
}
BUILTIN = {"string": "string", "bool": "bool", "int32": "int32", "int64": "int64", "int": "int",
           "uint16": "uint16", "uint32": "uint32", "uint64": "uint64", "float32": "float64", "float64": "float64", "byte": "byte"}
RAW = set(SPECIAL.values()) | set(BUILTIN.values()) | {"bytes"}
META_ROOTS = {"DeleteOptions"}  # other kinds of meta/v1 are only returned, not decoded


def imports(source):
    found = {}
    block = re.search(r"import \((.*?)\n\)", source, re.S)
    lines = block.group(1).split("\n") if block else re.findall(r'^import (.*)$', source, re.M)
    for line in lines:
        m = re.match(r'\s*(\w+)?\s*"([^"]+)"', line)
        if m:
            path = m.group(2)
            found[m.group(1) or path.split("/")[-1]] = path
    return found


def package_of(path):
    for short, directory in PACKAGES:
        tail = directory.replace("apimachinery/", "k8s.io/apimachinery/", 1) if directory.startswith("apimachinery") \
            else "k8s.io/" + directory
        if path == tail:
            return short
    for short, custom, _ in CUSTOM_PACKAGES:
        if path == custom:
            return short
    return path.split("/")[-1]


def parse(directory):
    """(types, consts): declarations of every non-generated file of a package."""
    types, consts = {}, {}
    for file in sorted(pathlib.Path(directory).glob("*.go")):
        if file.name.endswith("_test.go") or "generated" in file.name or file.name == "deprecated.go":
            continue
        source = re.sub(r"^\s*/\*.*?\*/\s*$", "", file.read_text(), flags=re.S | re.M)
        names = imports(source)
        lines = source.split("\n")
        comment, i = [], 0
        while i < len(lines):
            line = lines[i]
            stripped = line.strip()
            if stripped.startswith("//"):
                comment.append(stripped[2:].strip())
                i += 1
                continue
            m = re.match(r"type (\w+) struct ?\{(\s*\})?$", line)
            if m:
                body, depth = [], 1
                i += 1
                if m.group(2):
                    depth = 0
                while depth:
                    depth += lines[i].count("{") - lines[i].count("}") if not lines[i].strip().startswith("//") else 0
                    if depth:
                        body.append(lines[i])
                    i += 1
                types[m.group(1)] = ("struct", body, comment, names)
                comment = []
                continue
            m = re.match(r"type (\w+) (=\s*)?([\w\[\].*]+)\s*$", line)
            if m:
                types[m.group(1)] = ("alias", m.group(3), comment, names)
            m = re.match(r"\s*(?:const )?\w+\s+(\w+)\s*=\s*(\"[^\"]*\")", line)
            if m:
                consts.setdefault(m.group(1), []).append(json.loads(m.group(2)))
            if stripped:
                comment = []
            elif comment and not (i + 1 < len(lines) and lines[i + 1].startswith("//")):
                pass
            i += 1
    return types, consts


def marker(comment, name):
    for line in comment:
        m = re.match(r"\+" + name + r"(?:=(.*))?$", line.strip())
        if m:
            return (m.group(1) or "").strip()
    return None


def markers(comment, name):
    return [m.group(1).strip() for line in comment for m in [re.match(r"\+" + name + r"=(.*)$", line.strip())] if m]


class Writer:
    def __init__(self, directories):
        self.directories = directories
        self.parsed = {short: parse(d) for short, d in directories.items() if d.is_dir()}
        self.done = {}

    def type_text(self, package, names, text):
        if text.startswith("*"):
            return "*" + self.type_text(package, names, text[1:])
        if text == "[]byte":
            return "bytes"
        if text.startswith("[]"):
            return "[]" + self.type_text(package, names, text[2:])
        m = re.match(r"map\[([\w.]+)\](.*)$", text)
        if m:
            return "{}" + self.type_text(package, names, m.group(2))
        if text in BUILTIN:
            return BUILTIN[text]
        if "." in text:
            head, tail = text.split(".")
            short = package_of(names.get(head, head))
            full = f"{short}.{tail}"
        else:
            short, full = package, f"{package}.{text}"
        if full in SPECIAL:
            return SPECIAL[full]
        if short not in self.parsed:
            raise SystemExit(f"unknown type {full} in {package}")
        tail = full.rsplit(".", 1)[1]
        if tail not in self.parsed[short][0]:
            raise SystemExit(f"undeclared type {full}")
        return tail if short == package else full

    def fields(self, package, body, names):
        comment, out = [], []
        for line in body:
            s = line.strip()
            if s.startswith("//"):
                comment.append(s[2:].strip())
                continue
            if not s:
                comment = []
                continue
            m = re.match(r"(?:(\w+)\s+)?([\w.\[\]*]+)\s*`(.*)`", s)
            if not m:
                if re.match(r"[A-Z]", s):
                    raise SystemExit(f"{package}: cannot read field {s!r}")
                comment = []
                continue
            name, typ, tags = m.groups()
            tag = dict(re.findall(r'(\w+):"([^"]*)"', tags))
            parts = tag.get("json", "").split(",")
            if parts[0] == "-" or (not parts[0] and "inline" not in parts):
                comment = []
                continue
            if not parts[0]:
                head = typ.lstrip("*")
                where, inner = (package, head) if "." not in head else \
                    (package_of(names[head.split(".")[0]]), head.split(".")[1])
                kind, body2, _, names2 = self.parsed[where][0][inner]
                for f in self.fields(where, body2, names2):
                    out.append([f[0], self.requalify(where, package, f[1])] + f[2:])
                comment = []
                continue
            flags = []
            if "omitzero" in parts:
                flags.append("??")
            elif "omitempty" in parts:
                flags.append("?")
            list_type = marker(comment, "listType")
            keys = markers(comment, "listMapKey")
            if list_type == "map":
                flags.append("@map(%s)" % ",".join(keys))
            elif list_type:
                flags.append("@" + list_type)
            for m2 in ("mapType", "structType"):
                if marker(comment, m2):
                    flags.append("@" + marker(comment, m2))
            if tag.get("patchStrategy"):
                flags.append("patch=" + tag["patchStrategy"])
            if tag.get("patchMergeKey"):
                flags.append("key=" + tag["patchMergeKey"])
            default = marker(comment, "default")
            if default is not None:
                m3 = re.match(r"ref\((\w+)\)", default)
                if m3:
                    default = self.constant(package, m3.group(1))
                flags.append("=" + default)
            out.append([parts[0], self.type_text(package, names, typ)] + flags)
            comment = []
        return out

    def requalify(self, where, package, text):
        if where == package:
            return text
        m = re.match(r"((?:\*|\[\]|\{\})*)(.*)$", text)
        bare = m.group(2)
        if "." in bare or bare not in self.parsed[where][0]:
            return text
        return f"{m.group(1)}{where}.{bare}"

    def constant(self, package, name):
        directory = self.directories[package]
        for file in directory.glob("*.go"):
            m = re.search(r"\b" + name + r"\s+\w+\s*=\s*(\"[^\"]*\")", file.read_text())
            if m:
                return m.group(1)
        raise SystemExit(f"no constant {name}")

    def declare(self, package, name):
        """The lines of one type; remembers what it refers to."""
        if f"{package}.{name}" in self.done or f"{package}.{name}" in SPECIAL:
            return
        types, consts = self.parsed[package]
        kind, body, comment, names = types[name]
        self.done[f"{package}.{name}"] = None
        if kind == "alias":
            line = f"{name} = {self.type_text(package, names, body)}"
            if marker(comment, "enum") is not None and consts.get(name):
                line += " enum " + json.dumps(sorted(set(consts[name])), separators=(",", ":"))
            lines = [line]
        else:
            fields = self.fields(package, body, names)
            atomic = marker(comment, "structType") or marker(comment, "mapType")
            lines, seen = [name + (" @" + atomic if atomic else "")], set()
            for f in fields:
                if f[0] not in seen:
                    seen.add(f[0])
                    lines.append(" " + " ".join(f))
        self.done[f"{package}.{name}"] = lines
        for line in lines[kind != "alias":]:
            text = line.split(" ")[2 if kind == "alias" else 2]
            bare = re.sub(r"^(\*|\[\]|\{\})*", "", text)
            if bare in RAW or bare.startswith("string:"):
                continue
            where, inner = bare.rsplit(".", 1) if "." in bare else (package, bare)
            self.declare(where, inner)

    def roots(self, package):
        for name, (kind, body, _, _) in self.parsed[package][0].items():
            typed = any(re.match(r"\s*(metav1\.|v1\.)?TypeMeta\s*`", line) for line in body) if kind == "struct" else False
            if typed and not name.endswith("List") and (package != "meta.v1" or name in META_ROOTS):
                yield name

    def text(self, package):
        found = {k.rsplit(".", 1)[1]: v for k, v in self.done.items() if k.rsplit(".", 1)[0] == package}
        return "".join("\n".join(found[name]) + "\n" for name in sorted(found))


def target():
    target = pathlib.Path(__file__).resolve().parent.parent / "src/kubernetes/apimachinery/schema/types"
    target.mkdir(parents=True, exist_ok=True)
    return target


def write_builtin(root):
    writer = Writer({short: pathlib.Path(root) / d for short, d in PACKAGES})
    for short, _ in PACKAGES:
        for name in writer.roots(short):
            writer.declare(short, name)
    writer.declare("apiextensions.v1", "JSONSchemaProps")
    for short, _ in PACKAGES:
        (target() / f"{short}.types").write_text(writer.text(short))


def write_custom(vendor):
    vendor = pathlib.Path(vendor)
    directories = {short: vendor / "k8s.io" / d for short, d in PACKAGES}
    directories.update((short, vendor / d) for short, d, _ in CUSTOM_PACKAGES)
    writer = Writer(directories)
    for short, _, kinds in CUSTOM_PACKAGES:
        for name in kinds:
            writer.declare(short, name)
    for short, _, _ in CUSTOM_PACKAGES:
        lines = []
        for line in writer.text(short).splitlines():
            line = line.split(" enum ")[0].split(" @")[0] if not line.startswith(" ") else line
            words = line.split(" ")
            if line.startswith(" "):
                words = words[:3] + [word for word in words[3:4] if word in ("?", "??")]
            lines.append(" ".join(words))
        (target() / f"{short}.types").write_text("\n".join(lines) + "\n")


def main():
    match sys.argv[1:]:
        case ["--vendor", vendor]:
            write_custom(vendor)
        case [root]:
            write_builtin(root)
        case _:
            raise SystemExit(__doc__)


if __name__ == "__main__":
    main()
