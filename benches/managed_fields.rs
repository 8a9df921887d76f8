//! Cost of each write: parsing, decoding, field management, apply.

use divan::{Bencher, black_box};
use jiff::Timestamp;
use kueue_lab_apimachinery::fieldmanager::{
    FieldManager, SingleVersion, apply, reset_fields, update,
};
use kueue_lab_apimachinery::schema::decode::{DecodeSource, decode};
use kueue_lab_apimachinery::schema::{Schema, builtin_schema, strict_json};
use serde_json::{Value, json};

fn main() {
    divan::main();
}

/// A Job as SkyPilot or kubectl would send it, with `n` containers.
fn job(n: usize) -> Value {
    let containers: Vec<Value> = (0..n)
        .map(|i| {
            json!({
                "name": format!("c{i}"), "image": "registry.k8s.io/pause:3.9",
                "args": ["sleep", "60"],
                "env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}],
                "ports": [{"containerPort": 80}],
                "resources": {"requests": {"cpu": "1", "memory": "1Gi", "nvidia.com/gpu": "1"}},
            })
        })
        .collect();
    json!({
        "apiVersion": "batch/v1", "kind": "Job",
        "metadata": {"name": "j", "namespace": "default", "labels": {"kueue.x-k8s.io/queue-name": "q"}},
        "spec": {"parallelism": 2, "completions": 2, "suspend": true,
            "template": {"spec": {"restartPolicy": "Never", "containers": containers}}},
    })
}

fn writer<'a>(
    schema: &'a Schema,
    reset: &'a kueue_lab_apimachinery::fieldmanager::field_set::FieldSet,
) -> FieldManager<'a> {
    FieldManager {
        manager: "bench",
        api_version: "batch/v1",
        kind: "Job",
        subresource: "",
        schema,
        versions: &SingleVersion,
        reset_fields: reset,
        now: Timestamp::UNIX_EPOCH,
    }
}

fn decoded(schema: &Schema, mut object: Value) -> Value {
    let _ = decode(schema, &mut object, DecodeSource::Json);
    object
}

#[divan::bench(args = [1, 10])]
fn parse(bencher: Bencher<'_, '_>, n: usize) {
    let body = job(n).to_string();
    bencher.bench(|| strict_json::parse(black_box(body.as_bytes())));
}

#[divan::bench(args = [1, 10])]
fn decode_job(bencher: Bencher<'_, '_>, n: usize) {
    let Some(schema) = builtin_schema("batch", "v1", "Job") else {
        return;
    };
    bencher
        .with_inputs(|| job(n))
        .bench_values(|object| decoded(&schema, object));
}

#[divan::bench(args = [1, 10])]
fn managed_fields_on_create(bencher: Bencher<'_, '_>, n: usize) {
    let Some(schema) = builtin_schema("batch", "v1", "Job") else {
        return;
    };
    let reset = reset_fields(&[&["status"]]);
    let object = decoded(&schema, job(n));
    bencher
        .with_inputs(|| object.clone())
        .bench_values(|mut object| {
            update(&writer(&schema, &reset), None, &mut object);
            object
        });
}

#[divan::bench(args = [1, 10])]
fn managed_fields_on_update(bencher: Bencher<'_, '_>, n: usize) {
    let Some(schema) = builtin_schema("batch", "v1", "Job") else {
        return;
    };
    let reset = reset_fields(&[&["status"]]);
    let mut live = decoded(&schema, job(n));
    update(&writer(&schema, &reset), None, &mut live);
    let mut next = live.clone();
    next["spec"]["suspend"] = false.into();
    bencher
        .with_inputs(|| next.clone())
        .bench_values(|mut next| {
            update(&writer(&schema, &reset), Some(&live), &mut next);
            next
        });
}

/// Applies `config` to the object that the first apply created.
fn bench_second_apply(bencher: Bencher<'_, '_>, first: &Value, config: &Value) {
    let Some(schema) = builtin_schema("batch", "v1", "Job") else {
        return;
    };
    let reset = reset_fields(&[&["status"]]);
    let Ok(first) = apply(&writer(&schema, &reset), None, first, false) else {
        return;
    };
    let live = decoded(&schema, first.object);
    bencher.bench(|| {
        let writer = writer(&schema, &reset);
        apply(&writer, Some(&live), black_box(config), false)
    });
}

#[divan::bench(args = [1, 10])]
fn apply_unchanged(bencher: Bencher<'_, '_>, n: usize) {
    bench_second_apply(bencher, &job(n), &job(n));
}

#[divan::bench(args = [1, 10])]
fn apply_changed(bencher: Bencher<'_, '_>, n: usize) {
    let mut config = job(n);
    config["spec"]["template"]["spec"]["containers"][0]["env"] =
        json!([{"name": "B", "value": "3"}]);
    bench_second_apply(bencher, &job(n), &config);
}
