#!/usr/bin/env python3
"""Writes src/kubernetes/apiserver/protobuf/descriptors.binpb.gz from the .proto and Go files of the Kubernetes API.

    pip install grpcio-tools
    scripts/protobuf-descriptors.py ROOT

ROOT holds checkouts of k8s.io modules at one release: api, apimachinery, apiextensions-apiserver and
kube-aggregator. The output is a compressed FileDescriptorSet without comments and options. `json_name`
of a field is its name in the JSON form, from the Go tags:

  NAME    the field NAME
  >NAME   the fields of the message are fields of the outer object (`json:",inline"`)
  *       the only field of a list type, which stands for the whole message
  -       a field that is not in the JSON form
"""
import gzip
import importlib.util
import pathlib
import re
import subprocess
import sys
import tempfile

from google.protobuf import descriptor_pb2

HERE = pathlib.Path(__file__).resolve().parent
OUTPUT = HERE.parent / "src/kubernetes/apiserver/protobuf/descriptors.binpb.gz"
# Packages without served kinds of their own that the others refer to.
COMMON = ["apimachinery/pkg/api/resource", "apimachinery/pkg/runtime", "apimachinery/pkg/runtime/schema",
          "apimachinery/pkg/util/intstr"]


def packages():
    """The directories of the packages of served kinds, as in builtin-types.py."""
    spec = importlib.util.spec_from_file_location("builtin_types", HERE / "builtin-types.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return [directory for _, directory in module.PACKAGES] + COMMON


def descriptor_set(root, directories):
    with tempfile.TemporaryDirectory() as temporary:
        temporary = pathlib.Path(temporary)
        (temporary / "k8s.io").symlink_to(root, target_is_directory=True)
        output = temporary / "out"
        files = [f"k8s.io/{directory}/generated.proto" for directory in directories]
        protoc = [sys.executable, "-m", "grpc_tools.protoc", f"-I{temporary}", "--include_imports",
                  f"--descriptor_set_out={output}", *files]
        # The files import more than they use; protoc warns of each.
        run = subprocess.run(protoc, stderr=subprocess.PIPE, text=True)
        if run.returncode:
            sys.exit(run.stderr)
        return descriptor_pb2.FileDescriptorSet.FromString(output.read_bytes())


def json_names(directory):
    """{(message, field of the .proto file): JSON name}, and the list types."""
    names, lists = {}, set()
    for file in sorted(directory.glob("*.go")):
        if file.name.endswith("_test.go") or "generated" in file.name:
            continue
        source = file.read_text()
        lists.update(re.findall(r"^type (\w+) \[\]", source, re.M))
        for name, body in re.findall(r"^type (\w+) struct ?\{\n(.*?)^\}", source, re.M | re.S):
            for go, tags in re.findall(r"^\s*([\w. \t*\[\]{}]*)`(.*)`", body, re.M):
                json = re.search(r'json:"([^",]*)(,[^"]*)?"', tags)
                if not json or "protobuf:" not in tags:
                    continue
                proto = re.search(r'protobuf:"[^"]*\bname=(\w+)', tags)
                # Embedded fields may have no name: that of the type.
                embedded = go.split()[0].split(".")[-1]
                proto = proto.group(1) if proto else embedded[0].lower() + embedded[1:]
                inline = not json.group(1) and "inline" in (json.group(2) or "")
                names[name, proto] = ">" + proto if inline else json.group(1)
    return names, lists


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    descriptors = descriptor_set(root, packages())
    for file in descriptors.file:
        names, lists = json_names(root / pathlib.Path(file.name).parent.relative_to("k8s.io"))
        file.ClearField("source_code_info")
        file.ClearField("options")
        for message in file.message_type:
            for field in message.field:
                field.ClearField("options")
                field.json_name = names.get((message.name, field.name), field.name)
                if message.name in lists and [f.name for f in message.field] == ["items"]:
                    field.json_name = "*"
    text = descriptors.SerializeToString(deterministic=True)
    OUTPUT.write_bytes(gzip.compress(text, 9, mtime=0))
    print(f"{len(descriptors.file)} files, {len(text)} bytes, {OUTPUT.stat().st_size} bytes compressed")


if __name__ == "__main__":
    main()
