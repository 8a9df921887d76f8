//! Events: `v1` and `events.k8s.io/v1` differ in field names.

use serde_json::Value;

use super::convert::rename_field;

/// Field names in `v1` and in `events.k8s.io/v1`.
const NAMES: [(&str, &str); 7] = [
    ("involvedObject", "regarding"),
    ("message", "note"),
    ("source", "deprecatedSource"),
    ("firstTimestamp", "deprecatedFirstTimestamp"),
    ("lastTimestamp", "deprecatedLastTimestamp"),
    ("count", "deprecatedCount"),
    ("reportingComponent", "reportingController"),
];

pub(crate) fn to_events_v1(object: &mut Value) {
    let Some(fields) = object.as_object_mut() else {
        return;
    };
    NAMES
        .into_iter()
        .for_each(|(core, events)| rename_field(fields, core, events));
}

pub(crate) fn to_core_v1(object: &mut Value) {
    let Some(fields) = object.as_object_mut() else {
        return;
    };
    NAMES
        .into_iter()
        .for_each(|(core, events)| rename_field(fields, events, core));
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::conversion::convert_builtin;

    #[test]
    fn round_trip() {
        let core = json!({
            "apiVersion": "v1", "kind": "Event", "metadata": {"name": "e"},
            "involvedObject": {"kind": "Pod"}, "message": "m", "reason": "r", "count": 2,
            "source": {"component": "c"}, "firstTimestamp": null, "reportingComponent": "",
        });
        let mut event = core.clone();
        convert_builtin(&mut event, "events.k8s.io/v1");
        assert_eq!(event["apiVersion"], "events.k8s.io/v1");
        assert_eq!(
            (&event["note"], &event["deprecatedCount"]),
            (&json!("m"), &json!(2))
        );
        assert!(event.get("message").is_none());
        convert_builtin(&mut event, "v1");
        assert_eq!(event, core);
    }
}
