//! [`Checker`]: the parser and the JSON schema.

use std::fs;

use boon::{Compiler, SchemaIndex, Schemas};
use kueue_lab_yaml::{Limits, parse_one};
use tempfile::TempDir;

use crate::format::{TestFile, test_file_schema};

/// The files that the snippets name.
const FILES: [(&str, &str); 8] = [
    ("presets/q/queues.yaml", QUEUES),
    ("presets/q/kueue.yaml", CONFIGURATION),
    ("presets/q/samples/s.task.yaml", "run: sleep 5\n"),
    ("job.yaml", JOB),
    (
        "plain.yaml",
        "apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\n",
    ),
    ("task.yaml", "name: t\nrun: sleep 5\n"),
    ("kueue.yaml", CONFIGURATION),
    (
        "nodes.yaml",
        "- {name: pool, count: 1, resources: {cpu: 4, memory: 8Gi}}\n",
    ),
];

const CONFIGURATION: &str = "\
apiVersion: config.kueue.x-k8s.io/v1beta2
kind: Configuration
fairSharing: {preemptionStrategies: [LessThanOrEqualToFinalShare]}
";

const JOB: &str = "\
apiVersion: batch/v1
kind: Job
metadata: {name: s, namespace: default, labels: {kueue.x-k8s.io/queue-name: lq}}
spec:
  template:
    spec:
      restartPolicy: Never
      containers: [{name: main, image: busybox, resources: {requests: {cpu: 1}}}]
";

const QUEUES: &str = "\
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: f}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: Cohort
metadata: {name: co}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: cq}
spec:
  namespaceSelector: {}
  resourceGroups:
  - coveredResources: [cpu]
    flavors: [{name: f, resources: [{name: cpu, nominalQuota: 4}]}]
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: lq, namespace: default}
spec: {clusterQueue: cq}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: WorkloadPriorityClass
metadata: {name: high}
value: 100
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: AdmissionCheck
metadata: {name: ac}
spec: {controllerName: example.com/check}
";

/// The parser and the schema.
pub(super) struct Checker {
    folder: TempDir,
    schemas: Schemas,
    schema: SchemaIndex,
}

impl Checker {
    pub(super) fn new() -> Self {
        let folder = TempDir::new().unwrap();
        for (name, text) in FILES {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let (mut schemas, mut compiler) = (Schemas::new(), Compiler::new());
        compiler
            .add_resource("test.schema.json", test_file_schema())
            .unwrap();
        let schema = compiler.compile("test.schema.json", &mut schemas);
        Self {
            folder,
            schema: schema.unwrap_or_else(|error| panic!("{error:#}")),
            schemas,
        }
    }

    /// The error of loading a test file.
    pub(super) fn load_error(&self, text: &str) -> Option<String> {
        let path = self.folder.path().join("x.test.yaml");
        fs::write(&path, text).unwrap();
        let presets = self.folder.path().join("presets");
        TestFile::load(&path, &presets).err().map(|e| e.to_string())
    }

    /// The error of the JSON schema.
    pub(super) fn schema_error(&self, text: &str) -> Option<String> {
        let value = parse_one(text, Limits::default());
        let value = value.unwrap_or_else(|e| panic!("{text}\n{e}")).to_json();
        let validated = self.schemas.validate(&value, self.schema);
        validated.err().map(|error| error.to_string())
    }
}
