//! A recording has the objects that the cluster had, and a lab from one of its moments decides as the cluster did.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::batch::v1::Job;
use kube::api::DeleteParams;
use kube::{Api, Client};
use kueue_lab_import::{PagedLists, recorded_bundle};
use kueue_lab_lab::{Lab, LabConfig, ObjectFile, VirtualLab};
use kueue_lab_plan::ClusterState;
use kueue_lab_recording::{
    HistoryLimits, Moment, RecordedKind, Recorder, RecorderConfig, SharedHistory, read_recording,
};
use proptest::prelude::*;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::random_cluster::{cluster, idle, submit, with_lab, write_preset};

/// Objects by kind, namespace and name.
type Objects = BTreeMap<(String, String, String), Value>;

fn by_name(objects: impl IntoIterator<Item = Value>) -> Objects {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let named = objects.into_iter().map(|mut object| {
        let metadata = object["metadata"].as_object_mut().unwrap();
        metadata.remove("managedFields");
        let (kind, metadata) = (text(&object["kind"]), &object["metadata"]);
        let key = (kind, text(&metadata["namespace"]), text(&metadata["name"]));
        (key, object)
    });
    named.collect()
}

/// The objects of a cluster that are recorded.
async fn stored(client: &Client) -> Objects {
    let mut objects = Vec::new();
    let mut lists = PagedLists::new(client.clone());
    for kind in RecordedKind::all() {
        match lists.list(&kind.api_resource()).await {
            Ok(listed) => objects.extend(listed),
            Err(kube::Error::Api(status)) if status.code == 404 => {}
            Err(error) => panic!("{error}"),
        }
    }
    let is_recorded = |key: &(String, String, String)| {
        key.0 != "ConfigMap"
            || ["kueue-manager-config", "kueue-lab-presets"].contains(&key.2.as_str())
    };
    let mut objects = by_name(objects);
    objects.retain(|key, _| is_recorded(key));
    objects
}

fn recorded(moment: &Moment) -> Objects {
    by_name(moment.objects().map(|object| object.value.to_json()))
}

/// Waits until the recorder has seen all objects of a lab; the moment and the objects.
async fn observed(lab: &Lab, history: &SharedHistory) -> (Timestamp, Objects) {
    let limit = lab.clock().now() + SignedDuration::from_mins(10);
    loop {
        let objects = stored(&lab.client()).await;
        let latest = history.read().latest();
        let found = recorded(&latest);
        if found == objects {
            // Further changes may have the same time.
            lab.clock().sleep(Duration::from_millis(1)).await;
            if recorded(&history.read().at(latest.time)) == objects {
                return (latest.time, objects);
            }
        }
        if lab.clock().now() > limit {
            assert_eq!(found, objects);
        }
        lab.clock().sleep(Duration::from_millis(50)).await;
    }
}

/// The state of an idle lab that starts from a recorded moment.
fn state_from(moment: &Moment, folder: &Path) -> ClusterState {
    let objects = moment.objects().map(|object| object.value.to_json());
    let bundle = recorded_bundle("source", moment.time, objects.collect(), Vec::new());
    let file = ObjectFile::of_import("source", bundle.objects, bundle.time);
    let lab = VirtualLab {
        start: file.start().unwrap(),
        seed: 7,
        ..VirtualLab::default()
    };
    let config = |clock, entropy| {
        let mut config = LabConfig::embedded(clock, entropy, folder);
        config.cluster.from = Some(file);
        config
    };
    let run = async |lab: &Lab| {
        idle(lab).await;
        ClusterState::of_lab(lab).await.unwrap()
    };
    lab.run(config, run).unwrap()
}

/// What was decided on each Workload.
fn decisions(state: &ClusterState) -> Vec<String> {
    let all = state.workloads.values();
    all.map(|w| format!("{} {:?} {} {:?}", w.key, w.phase, w.flavors, w.evictions))
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig { max_shrink_iters: 8, ..ProptestConfig::with_cases(3) })]

    #[test]
    fn a_recording_has_the_objects_of_each_moment(cluster in cluster()) {
        let folder = tempfile::tempdir().unwrap();
        write_preset(folder.path(), "first", &cluster.configuration);
        let written = tempfile::tempdir().unwrap();
        let file = written.path().join("r.rec");
        let (moments, state) = with_lab(folder.path(), async |lab: &Lab| {
            let config = RecorderConfig {
                client: lab.client(),
                clock: lab.clock().clone(),
                cluster: "source".to_owned(),
                streaming_lists: true,
                history: Some(HistoryLimits::default()),
                file: Some(file.clone()),
            };
            let recorder = Recorder::start(config).await.unwrap();
            let (history, stop) = (recorder.history().unwrap(), CancellationToken::new());
            let recording = tokio::spawn(recorder.run(stop.clone()));
            let mut moments = vec![observed(lab, &history).await];
            submit(lab, &cluster.jobs).await;
            moments.push(observed(lab, &history).await);
            let jobs: Api<Job> = Api::default_namespaced(lab.client());
            let params = DeleteParams::background();
            jobs.delete("job-0", &params).await.unwrap();
            idle(lab).await;
            moments.push(observed(lab, &history).await);
            let state = ClusterState::of_lab(lab).await.unwrap();
            stop.cancel();
            let summary = recording.await.unwrap().unwrap();
            assert!(summary.entries > 0);
            (moments, state)
        });
        let recording = read_recording(&file).unwrap();
        prop_assert_eq!(recording.note, None);
        for (time, objects) in &moments {
            let moment = recording.history.at(*time);
            let found = recorded(&moment);
            let differs = |key: &&(String, String, String)| found.get(*key) != objects.get(*key);
            let keys: Vec<_> = objects.keys().chain(found.keys()).filter(differs).collect();
            prop_assert!(keys.is_empty(), "at {}: {:?}", time, keys);
        }
        let last = recording.history.at(moments.last().unwrap().0);
        let copy = state_from(&last, folder.path());
        prop_assert_eq!(decisions(&copy), decisions(&state));
    }
}
