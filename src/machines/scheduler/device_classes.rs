//! The extended resources that DeviceClasses back: pods request them without a ResourceClaim.

use std::collections::BTreeSet;
use std::sync::Arc;

use kube::ResourceExt;
use kube::core::{ApiResource, DynamicObject, GroupVersionKind};

use super::scheduling_loop::Scheduler;
use kueue_lab_runtime::{Api, Informer};

const GROUP: &str = "resource.k8s.io";
const VERSION: &str = "v1";
/// The prefix of the extended resource that each DeviceClass backs.
const IMPLICIT: &str = "deviceclass.resource.kubernetes.io/";

/// Watches the DeviceClasses, if the cluster serves them.
pub(super) fn watch(scheduler: &Arc<Scheduler>) {
    let scheduler = scheduler.clone();
    let context = scheduler.context.clone();
    context.clone().tasks.spawn("device-classes", async move {
        let served = context.client.list_api_groups().await;
        let served = served.is_ok_and(|groups| {
            let mut groups = groups.groups.iter().filter(|group| group.name == GROUP);
            groups.any(|group| group.versions.iter().any(|v| v.version == VERSION))
        });
        if !served {
            return;
        }
        let kind = GroupVersionKind::gvk(GROUP, VERSION, "DeviceClass");
        let resource = ApiResource::from_gvk_with_plural(&kind, "deviceclasses");
        let api = Api::all_with(context.client.clone(), &resource);
        let classes = Informer::<DynamicObject>::builder(api).start(&context);
        let all = classes.clone();
        classes.add_event_handler(move |_| {
            let backed = all
                .list()
                .iter()
                .flat_map(|class| backed_by(class))
                .collect();
            scheduler.state.lock().set_device_resources(backed);
            scheduler.wake.notify_one();
        });
    });
}

/// The extended resources of a class.
fn backed_by(class: &DynamicObject) -> BTreeSet<String> {
    let own = class.data["spec"]["extendedResourceName"].as_str();
    let own = own.filter(|name| !name.is_empty()).map(str::to_owned);
    own.into_iter()
        .chain([format!("{IMPLICIT}{}", class.name_any())])
        .collect()
}
