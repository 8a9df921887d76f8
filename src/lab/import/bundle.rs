//! [`Bundle`]: the imported objects of a cluster, and their file.

use std::fmt::Write as _;

use jiff::Timestamp;
use serde_json::{Value, json};

/// The apiVersion of the first document of a bundle's file.
const BUNDLE_API_VERSION: &str = "kueue-lab.dev/v1alpha1";
/// The kind of the first document of a bundle's file.
const BUNDLE_KIND: &str = "Bundle";

/// The last line of a bundle's file.
const BUNDLE_END: &str = "# end of the bundle";

/// The imported objects of a cluster.
#[derive(Clone, Debug)]
pub struct Bundle {
    /// The name of the cluster.
    pub cluster: String,
    /// The time of the cluster when it was read.
    pub time: Timestamp,
    /// Notes on objects that were left out, with the reasons.
    pub notes: Vec<String>,
    /// The objects, in an order in which they can be applied.
    pub objects: Vec<Value>,
}

impl Bundle {
    /// The file: one YAML document for each object, after one with the time of the import and their number.
    pub fn to_yaml(&self) -> String {
        let mut text = String::new();
        let count = self.objects.len();
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "# {count} objects of the cluster {}, written by `kueue-lab import`.",
            self.cluster
        );
        let head = json!({
            "apiVersion": BUNDLE_API_VERSION,
            "kind": BUNDLE_KIND,
            "metadata": {"name": self.cluster},
            "time": self.time.to_string(),
            "objects": count,
            "notes": self.notes,
        });
        for object in std::iter::once(&head).chain(&self.objects) {
            text.push_str("---\n");
            text.push_str(&kueue_lab_yaml::to_string(object));
        }
        let _ = writeln!(text, "{BUNDLE_END}");
        text
    }
}
