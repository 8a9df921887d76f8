//! The QoS class of a pod, computed from the requests and limits of its containers.

use std::collections::BTreeMap;

use serde_json::Value;

use kueue_lab_json::ValueExt;
use kueue_lab_quantity::Quantity;

/// The QoS class: `Guaranteed`, `Burstable` or `BestEffort`.
pub fn class(pod: &Value) -> &'static str {
    let spec = pod.at("/spec");
    let mut requests = BTreeMap::new();
    let mut limits = BTreeMap::new();
    let mut guaranteed = true;
    let of_pod = spec.at("/resources");
    if counted(of_pod.at("/requests"))
        .chain(counted(of_pod.at("/limits")))
        .next()
        .is_some()
    {
        guaranteed = add(of_pod, &mut requests, &mut limits);
    } else {
        for container in spec
            .list("/containers")
            .iter()
            .chain(spec.list("/initContainers"))
        {
            guaranteed &= add(container.at("/resources"), &mut requests, &mut limits);
        }
    }
    match () {
        () if requests.is_empty() && limits.is_empty() => "BestEffort",
        () if guaranteed && requests == limits => "Guaranteed",
        () => "Burstable",
    }
}

/// Adds the requests and limits of one container or pod. Returns whether it limits cpu and memory.
fn add<'a>(
    resources: &'a Value,
    requests: &mut BTreeMap<&'a str, Quantity>,
    limits: &mut BTreeMap<&'a str, Quantity>,
) -> bool {
    for (name, amount) in counted(resources.at("/requests")) {
        let sum = requests.entry(name).or_insert(Quantity::ZERO);
        *sum += amount;
    }
    let mut found = 0;
    for (name, amount) in counted(resources.at("/limits")) {
        let sum = limits.entry(name).or_insert(Quantity::ZERO);
        *sum += amount;
        found += 1;
    }
    found == 2
}

/// The positive quantities of cpu and memory; other resources do not affect the QoS class.
fn counted(list: &Value) -> impl Iterator<Item = (&str, Quantity)> {
    ["cpu", "memory"].into_iter().filter_map(|name| {
        let amount = Quantity::of(list.get(name)?)?;
        (amount.is_positive()).then_some((name, amount))
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::class;

    #[test]
    fn classes() {
        let c = |r: serde_json::Value| json!({"spec": {"containers": [{"resources": r}]}});
        let full = json!({"cpu": "1", "memory": "1Gi"});
        assert_eq!(class(&c(json!({}))), "BestEffort");
        assert_eq!(
            class(&c(json!({"requests": {"nvidia.com/gpu": "1"}}))),
            "BestEffort"
        );
        assert_eq!(class(&c(json!({"requests": {"cpu": "1"}}))), "Burstable");
        assert_eq!(
            class(&c(json!({"requests": full, "limits": full}))),
            "Guaranteed"
        );
        let more = json!({"cpu": "2", "memory": "1Gi"});
        assert_eq!(
            class(&c(json!({"requests": full, "limits": more}))),
            "Burstable"
        );
        let mut two = c(json!({"requests": full, "limits": full}));
        two["spec"]["initContainers"] = json!([{"resources": {}}]);
        assert_eq!(class(&two), "Burstable");
    }
}
