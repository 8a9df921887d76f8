//! Updates of whole objects with Kueue's field manager, as upstream's controllers write them.

use std::fmt::Debug;
use std::sync::Arc;

use kube::Resource;
use kube::api::{PatchParams, PostParams};
use kueue_lab_codec::Codec;
use kueue_lab_controller_runtime::Api;

use super::object_meta;
use kueue_lab_api::constants as c;

/// A kind that is written with PUT.
pub(crate) trait UpdatableObject:
    Resource<DynamicType = ()> + Clone + Debug + Codec + Send + Sync + 'static
{
}

impl<K> UpdatableObject for K where
    K: Resource<DynamicType = ()> + Clone + Debug + Codec + Send + Sync + 'static
{
}

/// Parameters of create and update with Kueue's field manager.
pub(crate) fn post_params() -> PostParams {
    PostParams {
        field_manager: Some(c::KUEUE_NAME.to_owned()),
        ..Default::default()
    }
}

/// Parameters of patch with Kueue's field manager.
pub(crate) fn patch_params() -> PatchParams {
    PatchParams {
        field_manager: Some(c::KUEUE_NAME.to_owned()),
        ..Default::default()
    }
}

/// Replaces an object; a Conflict if its resourceVersion is stale.
pub(crate) async fn update<K: UpdatableObject>(api: &Api<K>, object: &K) -> kube::Result<Arc<K>> {
    api.replace(object_meta::name(object.meta()), &post_params(), object)
        .await
        .map(Arc::new)
}

/// Replaces the status of an object; a Conflict if its resourceVersion is stale.
pub(crate) async fn update_status<K: UpdatableObject>(
    api: &Api<K>,
    object: &K,
) -> kube::Result<Arc<K>> {
    api.replace_status(object_meta::name(object.meta()), &post_params(), object)
        .await
        .map(Arc::new)
}
