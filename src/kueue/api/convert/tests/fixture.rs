//! Documents and helpers of the tests.

use serde_json::{Value, json};

use super::super::convert;

/// An object of Kueue with the given members besides its head.
pub(super) fn object(version: &str, kind: &str, body: Value) -> Value {
    let mut object = json!({
        "apiVersion": format!("kueue.x-k8s.io/{version}"), "kind": kind,
        "metadata": {"name": "x"},
    });
    for (name, member) in body.as_object().into_iter().flatten() {
        object[name] = member.clone();
    }
    object
}

pub(super) fn converted(mut object: Value, to: &str) -> Value {
    assert_eq!(convert(&mut object, to), Ok(Vec::new()));
    object
}

/// Checks the conversion of `old` to `new`, and back if it is lossless.
pub(super) fn check(kind: &str, old: Value, new: Value, back: bool) {
    let (old, new) = (object("v1beta1", kind, old), object("v1beta2", kind, new));
    assert_eq!(converted(old.clone(), "v1beta2"), new);
    if back {
        assert_eq!(converted(new, "v1beta1"), old);
    }
}
