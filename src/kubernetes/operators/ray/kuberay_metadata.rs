//! Metadata by which KubeRay's controllers recognize and mark objects.

use serde_json::Value;

/// Label of the objects that a RayJob or RayService creates: its name.
pub(super) const ORIGINATED_FROM_CR_NAME: &str = "ray.io/originated-from-cr-name";
/// Label of the objects that a RayJob or RayService creates: its kind.
pub(super) const ORIGINATED_FROM_CRD: &str = "ray.io/originated-from-crd";
/// Annotation: a finished head pod is not recreated.
pub(super) const DISABLE_HEAD_RESTART: &str = "ray.io/disable-provisioned-head-restart";
/// The labels or annotations of a child object: those of its owner and the given ones.
pub(super) fn inherited<'a>(
    own: impl Iterator<Item = (&'a String, &'a String)>,
    more: &[(&str, &str)],
) -> Value {
    let own = own.map(|(k, v)| (k.clone(), v.clone().into()));
    let more = more.iter().map(|(k, v)| ((*k).to_owned(), (*v).into()));
    Value::Object(own.chain(more).collect())
}
