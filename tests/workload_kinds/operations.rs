//! The operations of a step.

use std::sync::LazyLock;

use regex::Regex;
use serde_json::{Map, Value, json};

use super::case_lab::Response;
use super::normalize::{leaves, normalize};
use super::replay::Replay;

/// Time of a request.
const REQUEST_LATENCY: f64 = 0.01;

const JSON: &str = "application/json";

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// Kind and name in `KIND/NAME`.
fn split_reference(reference: &str) -> Result<(&str, &str), String> {
    let parts = reference.split_once('/');
    parts.ok_or_else(|| format!("{reference:?} is not KIND/NAME"))
}

fn has_owner(object: &Value, kind: &str, name: &str) -> bool {
    let owners = object["metadata"]["ownerReferences"].as_array();
    let mut owners = owners.into_iter().flatten();
    owners.any(|owner| owner["kind"] == kind && (owner["name"] == name || name == "*"))
}

fn by_creation(objects: &mut [Value]) {
    objects.sort_by_key(|object| {
        let meta = &object["metadata"];
        [&meta["creationTimestamp"], &meta["name"]].map(|v| text(v).to_owned())
    });
}

/// A patch: of the object itself, its status or another subresource, and whether it is a dry run.
struct PatchRequest<'a> {
    patch: &'a Value,
    content_type: Option<&'a str>,
    subresource: &'a str,
    dry_run: bool,
}

fn dry_run_query(dry_run: bool) -> &'static str {
    if dry_run { "?dryRun=All" } else { "" }
}

impl Replay {
    /// Runs an operation; returns its result.
    ///
    /// # Errors
    /// The operation is not known, or refers to a kind that does not exist.
    pub(crate) async fn run_operation(&mut self, operation: &Value) -> Result<Value, String> {
        let dry_run = operation["dryRun"] == true;
        if let Some(seconds) = operation["sleep"].as_f64() {
            self.lab.sleep(seconds).await;
            return Ok(json!({}));
        }
        let names = [
            "create",
            "patch",
            "patchStatus",
            "delete",
            "workloadOf",
            "pods",
        ];
        let given = |name: &&str| operation.get(*name).is_some();
        let name = names.into_iter().find(given);
        let name = name.ok_or_else(|| format!("unknown operation {operation}"))?;
        let target = self.substitute(&operation[name]).await?;
        let result = match name {
            "create" => self.create(target, dry_run).await,
            "patch" | "patchStatus" => {
                let (kind, name_of_object) = split_reference(text(&target))?;
                let patch = self.substitute(&operation["with"]).await?;
                let request = PatchRequest {
                    patch: &patch,
                    content_type: None,
                    subresource: if name == "patchStatus" { "status" } else { "" },
                    dry_run,
                };
                let response = self.patch(kind, name_of_object, request).await?;
                Ok(self.result(&response))
            }
            "delete" => {
                let (kind, name) = split_reference(text(&target))?;
                let policy = operation["propagation"].as_str().unwrap_or("Background");
                let options = json!({"propagationPolicy": policy});
                let response = self.delete(kind, name, Some(&options)).await?;
                Ok(self.result(&response))
            }
            "workloadOf" => self.run_on_workloads(text(&target), operation).await,
            _ => self.run_on_pods(&target, operation).await,
        };
        self.lab.sleep(REQUEST_LATENCY).await;
        result
    }

    /// A value with the namespace, UIDs and Workload names in place of `$ns`, `$uid(KIND/NAME)` and
    /// `$wl(KIND/NAME)`.
    ///
    /// # Errors
    /// A kind does not exist.
    pub(crate) async fn substitute(&mut self, value: &Value) -> Result<Value, String> {
        static REFERENCE: LazyLock<Regex> =
            LazyLock::new(|| Regex::new(r"\$(uid|wl)\(([^)]*)\)").unwrap());
        let mut out = value.to_string().replace("$ns", &self.namespace);
        while let Some(found) = REFERENCE.captures(&out) {
            let (whole, what) = (found[0].to_owned(), found[1].to_owned());
            let reference = found[2].to_owned();
            let (kind, name) = split_reference(&reference)?;
            let known = match what.as_str() {
                "uid" => self.uid_of(kind, name).await?,
                _ => self.newest_workload(kind, name).await?,
            };
            out = out.replace(&whole, &known);
        }
        serde_json::from_str(&out).map_err(|error| error.to_string())
    }

    async fn uid_of(&self, kind: &str, name: &str) -> Result<String, String> {
        let path = self.lab.path(self.collection(kind)?, name, "").await?;
        let response = self.lab.request("GET", &path, JSON, None).await;
        let uid = response.body["metadata"]["uid"].as_str();
        Ok(uid.unwrap_or("unknown").to_owned())
    }

    async fn newest_workload(&mut self, kind: &str, name: &str) -> Result<String, String> {
        self.refresh("Workload").await?;
        let mut owned = self.live["Workload"].clone();
        owned.retain(|workload| has_owner(workload, kind, name));
        by_creation(&mut owned);
        let newest = owned
            .last()
            .map(|workload| text(&workload["metadata"]["name"]));
        Ok(newest.unwrap_or("none").to_owned())
    }

    async fn refresh(&mut self, kind: &str) -> Result<(), String> {
        let objects = self.list_objects(kind).await?;
        self.live.insert(kind.to_owned(), objects);
        Ok(())
    }

    fn result(&self, response: &Response) -> Value {
        let mut result = match response.is_success() {
            true => json!({"ok": true}),
            false => json!({"error": {
                "code": response.code,
                "reason": text(&response.body["reason"]),
                "message": self.placeholders.replace(response.message()),
            }}),
        };
        if !response.warnings.is_empty() {
            let warnings = response.warnings.iter();
            result["warnings"] = warnings.map(|w| self.placeholders.replace(w)).collect();
        }
        result
    }

    async fn create(&mut self, mut object: Value, dry_run: bool) -> Result<Value, String> {
        self.know_kind(&object);
        let (api_version, kind) = (
            text(&object["apiVersion"]).to_owned(),
            text(&object["kind"]).to_owned(),
        );
        let (_, namespaced) = self.lab.resource(&api_version, &kind).await?;
        if !dry_run && namespaced && !self.tracked.contains(&kind) {
            self.tracked.push(kind.clone());
        }
        if namespaced && object["metadata"]["namespace"].is_null() {
            object["metadata"]["namespace"] = self.namespace.clone().into();
        }
        if let Some(fields) = object.as_object_mut() {
            fields.remove("status");
        }
        let path = self.lab.path(self.collection(&kind)?, "", "").await?;
        let path = format!("{path}{}", dry_run_query(dry_run));
        let mut response = self.lab.request("POST", &path, JSON, Some(&object)).await;
        if response.is_success() && !dry_run {
            response.body["kind"] = kind.clone().into();
            self.placeholders.learn(&response.body);
            self.live
                .entry(kind)
                .or_default()
                .push(response.body.clone());
        }
        let mut result = self.result(&response);
        if response.is_success() && dry_run {
            result["changed"] = self.changed_values(&object, &response.body);
        }
        Ok(result)
    }

    /// The values of a stored object that admission and defaults changed.
    fn changed_values(&self, sent: &Value, stored: &Value) -> Value {
        let leaves_of = |object: &Value| -> Map<String, Value> {
            leaves(&normalize(object, &self.placeholders))
                .into_iter()
                .collect()
        };
        let (sent, stored) = (leaves_of(sent), leaves_of(stored));
        let mut changed = Map::new();
        for path in sent.keys().chain(stored.keys()) {
            let left_out = path.starts_with("metadata.namespace") || path.starts_with("status");
            let value = |of: &Map<String, Value>| of.get(path).cloned().unwrap_or_default();
            if !left_out && value(&sent) != value(&stored) {
                changed.insert(path.clone(), value(&stored));
            }
        }
        changed.into()
    }

    async fn patch(
        &self,
        kind: &str,
        name: &str,
        request: PatchRequest<'_>,
    ) -> Result<Response, String> {
        let path = self
            .lab
            .path(self.collection(kind)?, name, request.subresource)
            .await?;
        let path = format!("{path}{}", dry_run_query(request.dry_run));
        let content_type = request
            .content_type
            .unwrap_or(match request.patch.is_array() {
                true => "application/json-patch+json",
                false => "application/merge-patch+json",
            });
        Ok(self
            .lab
            .request("PATCH", &path, content_type, Some(request.patch))
            .await)
    }

    async fn delete(
        &self,
        kind: &str,
        name: &str,
        options: Option<&Value>,
    ) -> Result<Response, String> {
        let path = self.lab.path(self.collection(kind)?, name, "").await?;
        Ok(self.lab.request("DELETE", &path, JSON, options).await)
    }

    /// Patches or deletes the Workloads of an owner.
    async fn run_on_workloads(&mut self, owner: &str, operation: &Value) -> Result<Value, String> {
        let (kind, name) = split_reference(owner)?;
        self.refresh("Workload").await?;
        let mut workloads = self.live["Workload"].clone();
        workloads.retain(|workload| {
            let itself = kind == "Workload" && workload["metadata"]["name"] == name;
            itself || has_owner(workload, kind, name)
        });
        by_creation(&mut workloads);
        if !operation["index"].is_null() {
            let group = Regex::new(&format!("-{}-[0-9a-f]{{5}}$", operation["index"]));
            let group = group.map_err(|error| error.to_string())?;
            workloads.retain(|workload| group.is_match(text(&workload["metadata"]["name"])));
        }
        if operation["newest"] == true {
            workloads = workloads.split_off(workloads.len().saturating_sub(1));
        }
        let patch = self.substitute(&operation["with"]).await?;
        let mut results = Vec::new();
        for workload in &workloads {
            let name = text(&workload["metadata"]["name"]);
            let response = match operation["do"] == "delete" {
                true => self.delete("Workload", name, None).await?,
                false => {
                    let request = PatchRequest {
                        patch: &patch,
                        content_type: None,
                        subresource: text(&operation["sub"]),
                        dry_run: operation["dryRun"] == true,
                    };
                    self.patch("Workload", name, request).await?
                }
            };
            results.push(self.result(&response));
            self.lab.sleep(REQUEST_LATENCY).await;
        }
        Ok(json!({"workloads": workloads.len(), "results": results}))
    }

    /// Patches, ends or deletes pods with these labels that have not ended.
    async fn run_on_pods(&mut self, labels: &Value, operation: &Value) -> Result<Value, String> {
        self.refresh("Pod").await?;
        let mut pods = self.live["Pod"].clone();
        pods.retain(|pod| {
            let own = &pod["metadata"]["labels"];
            let mut wanted = labels.as_object().into_iter().flatten();
            let ended = matches!(text(&pod["status"]["phase"]), "Succeeded" | "Failed");
            let terminating = !pod["metadata"]["deletionTimestamp"].is_null();
            wanted.all(|(key, value)| own[key] == *value) && !ended && !terminating
        });
        pods.sort_by_key(|pod| text(&pod["metadata"]["name"]).to_owned());
        let count = operation["count"]
            .as_u64()
            .and_then(|n| usize::try_from(n).ok());
        pods.truncate(count.unwrap_or(usize::MAX));
        for pod in &pods {
            let name = text(&pod["metadata"]["name"]);
            if operation["do"] == "delete" {
                let options = json!({"gracePeriodSeconds": 0});
                self.delete("Pod", name, Some(&options)).await?;
            } else if let Some(patch) = operation.get("with") {
                let patch = self.substitute(patch).await?;
                let request = PatchRequest {
                    patch: &patch,
                    content_type: None,
                    subresource: "",
                    dry_run: false,
                };
                self.patch("Pod", name, request).await?;
            } else {
                let unready = |type_: &str| json!({"type": type_, "status": "False", "reason": "PodCompleted"});
                let conditions = [unready("Ready"), unready("ContainersReady")];
                let patch =
                    json!({"status": {"phase": operation["phase"], "conditions": conditions}});
                let request = PatchRequest {
                    patch: &patch,
                    content_type: Some("application/strategic-merge-patch+json"),
                    subresource: "status",
                    dry_run: false,
                };
                self.patch("Pod", name, request).await?;
            }
            self.lab.sleep(REQUEST_LATENCY).await;
        }
        Ok(json!({"pods": pods.len()}))
    }
}
