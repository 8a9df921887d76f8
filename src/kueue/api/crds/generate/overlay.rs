//! Properties of Kubernetes' types that their published schemas lack: list types and map keys,
//! atomic values, defaults.

use serde_json::{Map, Value, json};

/// Atomic lists.
const ATOMIC_LISTS: &str = "
    Capabilities.add Capabilities.drop CephFSVolumeSource.monitors ConfigMapProjection.items
    ConfigMapVolumeSource.items Container.args Container.command Container.envFrom
    Container.resizePolicy Container.restartPolicyRules DownwardAPIProjection.items
    DownwardAPIVolumeSource.items EphemeralContainer.args EphemeralContainer.command
    EphemeralContainer.envFrom EphemeralContainer.resizePolicy
    EphemeralContainer.restartPolicyRules ExecAction.command FCVolumeSource.targetWWNs
    FCVolumeSource.wwids HTTPGetAction.httpHeaders HostAlias.hostnames ISCSIVolumeSource.portals
    LabelSelector.matchExpressions LabelSelectorRequirement.values
    NodeAffinity.preferredDuringSchedulingIgnoredDuringExecution NodeSelector.nodeSelectorTerms
    NodeSelectorRequirement.values NodeSelectorTerm.matchExpressions NodeSelectorTerm.matchFields
    PersistentVolumeClaimSpec.accessModes
    PodAffinity.preferredDuringSchedulingIgnoredDuringExecution
    PodAffinity.requiredDuringSchedulingIgnoredDuringExecution PodAffinityTerm.matchLabelKeys
    PodAffinityTerm.mismatchLabelKeys PodAffinityTerm.namespaces
    PodAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution
    PodAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution PodDNSConfig.nameservers
    PodDNSConfig.options PodDNSConfig.searches PodSecurityContext.supplementalGroups
    PodSecurityContext.sysctls PodSpec.readinessGates PodSpec.tolerations
    ProjectedVolumeSource.sources RBDVolumeSource.monitors SecretProjection.items
    SecretVolumeSource.items TopologySpreadConstraint.matchLabelKeys
";

/// Lists of type `set`.
const LIST_SETS: &str = "ContainerRestartRuleOnExitCodes.values";

/// Lists of type `map`, with their keys after the colon.
const LIST_MAPS: &str = "
    Container.env:name Container.ports:containerPort,protocol Container.volumeDevices:devicePath
    Container.volumeMounts:mountPath EphemeralContainer.env:name
    EphemeralContainer.ports:containerPort,protocol EphemeralContainer.volumeDevices:devicePath
    EphemeralContainer.volumeMounts:mountPath PodSpec.containers:name
    PodSpec.ephemeralContainers:name PodSpec.hostAliases:ip PodSpec.imagePullSecrets:name
    PodSpec.initContainers:name PodSpec.resourceClaims:name PodSpec.schedulingGates:name
    PodSpec.topologySpreadConstraints:topologyKey,whenUnsatisfiable PodSpec.volumes:name
    ResourceRequirements.claims:name
";

/// Atomic objects, as types or as fields.
const ATOMIC_OBJECTS: &str = "
    ConfigMapEnvSource ConfigMapKeySelector ConfigMapProjection ConfigMapVolumeSource
    FileKeySelector LabelSelector LocalObjectReference NodeSelector NodeSelectorTerm
    ObjectFieldSelector PodSpec.nodeSelector ResourceFieldSelector SecretEnvSource
    SecretKeySelector SecretProjection TypedLocalObjectReference
";

/// Defaults, as JSON.
const DEFAULTS: &[(&str, &str)] = &[
    ("AzureDiskVolumeSource.fsType", r#""ext4""#),
    ("AzureDiskVolumeSource.readOnly", "false"),
    ("ConfigMapEnvSource.name", r#""""#),
    ("ConfigMapKeySelector.name", r#""""#),
    ("ConfigMapProjection.name", r#""""#),
    ("ConfigMapVolumeSource.name", r#""""#),
    ("ContainerPort.protocol", r#""TCP""#),
    ("FileKeySelector.optional", "false"),
    ("GRPCAction.service", r#""""#),
    ("ISCSIVolumeSource.iscsiInterface", r#""default""#),
    ("LocalObjectReference.name", r#""""#),
    ("RBDVolumeSource.keyring", r#""/etc/ceph/keyring""#),
    ("RBDVolumeSource.pool", r#""rbd""#),
    ("RBDVolumeSource.user", r#""admin""#),
    ("ScaleIOVolumeSource.fsType", r#""xfs""#),
    ("ScaleIOVolumeSource.storageMode", r#""ThinProvisioned""#),
    ("SecretEnvSource.name", r#""""#),
    ("SecretKeySelector.name", r#""""#),
    ("SecretProjection.name", r#""""#),
];

/// Fields of the metadata of a pod template that users can set.
const TEMPLATE_METADATA: [&str; 5] = ["annotations", "finalizers", "labels", "name", "namespace"];

/// Limits of `metav1.Condition`.
fn condition(field: &str) -> Value {
    match field {
        "message" => json!({ "maxLength": 32768 }),
        "observedGeneration" => json!({ "minimum": 0 }),
        "reason" => json!({
            "maxLength": 1024,
            "minLength": 1,
            "pattern": "^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$",
        }),
        "status" => json!({ "enum": ["True", "False", "Unknown"] }),
        "type" => json!({ "maxLength": 316, "pattern": crate::schema::QUALIFIED }),
        _ => json!({}),
    }
}

/// Adds the properties of a definition by its full name.
pub(super) fn apply(name: &str, schema: &mut Value) {
    let name = super::normalise::short_name(name);
    let Some(map) = schema.as_object_mut() else {
        return;
    };
    if ATOMIC_OBJECTS.split_whitespace().any(|n| n == name) {
        map.insert("x-kubernetes-map-type".into(), json!("atomic"));
    }
    let mut not_required = Vec::new();
    if let Some(Value::Object(properties)) = map.get_mut("properties") {
        if name == "ObjectMeta" {
            properties.retain(|field, _| TEMPLATE_METADATA.contains(&field.as_str()));
        }
        for (field, value) in properties.iter_mut() {
            if let Value::Object(value) = value {
                apply_field(&name, field, value);
                if value.contains_key("default") {
                    not_required.push(field.clone());
                }
            }
        }
    }
    // A field with a default is not required, unless it is a map key of a list.
    if name != "ContainerPort"
        && let Some(Value::Array(required)) = map.get_mut("required")
    {
        required.retain(|f| !not_required.iter().any(|n| f == n));
        if required.is_empty() {
            map.remove("required");
        }
    }
}

fn apply_field(owner: &str, field: &str, value: &mut Map<String, Value>) {
    let path = format!("{owner}.{field}");
    let listed = |list: &str| list.split_whitespace().any(|n| n == path);
    if listed(ATOMIC_LISTS) {
        value.insert("x-kubernetes-list-type".into(), json!("atomic"));
    }
    if listed(LIST_SETS) {
        value.insert("x-kubernetes-list-type".into(), json!("set"));
    }
    if listed(ATOMIC_OBJECTS) {
        value.insert("x-kubernetes-map-type".into(), json!("atomic"));
    }
    let keys = LIST_MAPS
        .split_whitespace()
        .filter_map(|m| m.split_once(':'))
        .find(|(n, _)| *n == path);
    if let Some((_, keys)) = keys {
        value.insert("x-kubernetes-list-type".into(), json!("map"));
        value.insert(
            "x-kubernetes-list-map-keys".into(),
            keys.split(',').map(Value::from).collect(),
        );
    }
    if let Some((_, default)) = DEFAULTS.iter().find(|(n, _)| *n == path) {
        let default = serde_json::from_str(default).unwrap_or_else(|e| panic!("{path}: {e}"));
        value.insert("default".into(), default);
    }
    if owner == "Condition"
        && let Value::Object(limits) = condition(field)
    {
        value.extend(limits);
    }
}
