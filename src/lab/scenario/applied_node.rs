//! The error of a power failure of an applied Node.

/// The error of a power failure of a Node that is in no pool, or of its end.
pub(crate) fn power_failure_error(node: &str, on: bool) -> String {
    let status = if on { "True" } else { "Unknown" };
    format!(
        "only nodes of pools have power failures, and {node} is an applied Node; set its condition: \
         `apply: {{apiVersion: v1, kind: Node, metadata: {{name: {node}}}, status: {{conditions: [{{type: Ready, status: {status:?}}}]}}}}`"
    )
}
