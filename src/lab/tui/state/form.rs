//! The form for sample Jobs: fields with choices or numbers.

use super::SampleJob;
use crate::model::{ClusterData, ObjectKey, Row};

/// The fields of the form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum FieldId {
    /// The LocalQueue.
    Queue,
    /// The WorkloadPriorityClass.
    Priority,
    /// Pods of each Job.
    Pods,
    /// Request of a resource of each pod, in Gi for memory, in units for others.
    Resource(String),
    /// Run time of each pod, in seconds.
    Seconds,
    /// The number of Jobs.
    Copies,
}

/// A field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Field {
    /// Its identifier.
    pub id: FieldId,
    /// Its choices; empty for numbers.
    pub choices: Vec<String>,
    /// The index of the choice, or the number.
    pub value: u32,
    /// The minimum and maximum.
    pub range: (u32, u32),
    /// Whether the next digit replaces the number.
    pub replace_on_digit: bool,
}

impl Field {
    fn number(id: FieldId, value: u32, range: (u32, u32)) -> Self {
        Self {
            id,
            choices: Vec::new(),
            value,
            range,
            replace_on_digit: true,
        }
    }

    fn choice(id: FieldId, choices: Vec<String>, value: usize) -> Self {
        let last = choices.len().saturating_sub(1);
        Self {
            id,
            range: (0, last as u32),
            value: value.min(last) as u32,
            choices,
            replace_on_digit: true,
        }
    }

    /// The label of the field.
    pub(crate) fn label(&self) -> String {
        match &self.id {
            FieldId::Queue => "queue".to_owned(),
            FieldId::Priority => "priority class".to_owned(),
            FieldId::Pods => "pods".to_owned(),
            FieldId::Resource(name) if name == "memory" => "memory per pod (Gi)".to_owned(),
            FieldId::Resource(name) => format!("{name} per pod"),
            FieldId::Seconds => "runs for (seconds)".to_owned(),
            FieldId::Copies => "copies".to_owned(),
        }
    }

    /// The value as text.
    pub(crate) fn text(&self) -> String {
        match self.choices.get(self.value as usize) {
            Some(choice) => choice.clone(),
            None => self.value.to_string(),
        }
    }

    /// Increases or decreases the value; choices wrap around.
    pub(crate) fn step_value(&mut self, up: bool) {
        let (low, high) = self.range;
        self.replace_on_digit = true;
        self.value = match (up, self.choices.is_empty()) {
            (true, true) => self.value.saturating_add(1).min(high),
            (false, true) => self.value.saturating_sub(1).max(low),
            (true, false) if self.value >= high => low,
            (true, false) => self.value + 1,
            (false, false) if self.value <= low => high,
            (false, false) => self.value - 1,
        };
    }

    /// Appends a digit.
    pub(crate) fn digit(&mut self, digit: u32) {
        if self.choices.is_empty() {
            let before = if self.replace_on_digit { 0 } else { self.value };
            self.replace_on_digit = false;
            self.value = before
                .saturating_mul(10)
                .saturating_add(digit)
                .min(self.range.1);
        }
    }

    /// Removes the last digit.
    pub(crate) fn delete_digit(&mut self) {
        if self.choices.is_empty() {
            self.replace_on_digit = false;
            self.value /= 10;
        }
    }
}

/// The form for sample Jobs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SubmitForm {
    /// The fields.
    pub fields: Vec<Field>,
    /// Index of the focused field.
    pub focused: usize,
    queues: Vec<ObjectKey>,
}

impl SubmitForm {
    /// A form with the existing LocalQueues, the given one selected; `None` if there are none. The
    /// resources are those with quota in its ClusterQueue.
    pub(crate) fn new(data: &ClusterData, preferred: Option<&ObjectKey>) -> Option<Self> {
        let queues: Vec<ObjectKey> = data.local_queues.iter().map(|q| q.key().clone()).collect();
        if queues.is_empty() {
            return None;
        }
        let chosen = preferred
            .and_then(|key| queues.iter().position(|q| q == key))
            .unwrap_or(0);
        let mut classes = vec!["none".to_owned()];
        let mut by_value: Vec<_> = data.priority_classes.iter().collect();
        by_value.sort_by_key(|c| c.value);
        classes.extend(by_value.iter().map(|c| c.key().name.clone()));
        let mut form = Self {
            fields: vec![
                Field::choice(
                    FieldId::Queue,
                    queues.iter().map(ObjectKey::to_string).collect(),
                    chosen,
                ),
                Field::choice(FieldId::Priority, classes, 0),
                Field::number(FieldId::Pods, 1, (1, 1_000)),
                Field::number(FieldId::Seconds, 60, (1, 86_400)),
                Field::number(FieldId::Copies, 1, (1, 100)),
            ],
            focused: 0,
            queues,
        };
        form.reload_resources(data);
        Some(form)
    }

    /// The focused field.
    pub(crate) fn field_mut(&mut self) -> Option<&mut Field> {
        self.fields.get_mut(self.focused)
    }

    /// Focuses the next or previous field.
    pub(crate) fn step_field(&mut self, forward: bool) {
        let n = self.fields.len();
        self.focused = if forward {
            (self.focused + 1) % n
        } else {
            (self.focused + n - 1) % n
        };
        if let Some(field) = self.field_mut() {
            field.replace_on_digit = true;
        }
    }

    /// Replaces the resource fields by those with quota in the selected queue; values are kept.
    pub(crate) fn reload_resources(&mut self, data: &ClusterData) {
        let queue = self.queue().and_then(|key| data.local_queues.get(&key));
        let cq = queue.and_then(|q| data.cluster_queues.named(&q.cluster_queue));
        let mut names: Vec<&str> = Vec::new();
        for (fr, _) in cq.into_iter().flat_map(|cq| &cq.quotas) {
            if !names.contains(&fr.resource.as_str()) && fr.resource != "pods" {
                names.push(&fr.resource);
            }
        }
        if names.is_empty() {
            names.push("cpu");
        }
        let old = std::mem::take(&mut self.fields);
        let given = |name: &str| {
            old.iter()
                .find(|f| f.id == FieldId::Resource(name.to_owned()))
                .map(|f| f.value)
        };
        let resources: Vec<Field> = names
            .iter()
            .map(|name| {
                let value = given(name).unwrap_or(u32::from(!name.contains('/')));
                Field::number(FieldId::Resource((*name).to_owned()), value, (0, 1_000_000))
            })
            .collect();
        let (mut head, tail): (Vec<Field>, Vec<Field>) = old
            .into_iter()
            .filter(|f| !matches!(f.id, FieldId::Resource(_)))
            .partition(|f| !matches!(f.id, FieldId::Seconds | FieldId::Copies));
        head.extend(resources);
        head.extend(tail);
        self.fields = head;
        self.focused = self.focused.min(self.fields.len().saturating_sub(1));
    }

    /// The selected LocalQueue.
    pub(crate) fn queue(&self) -> Option<ObjectKey> {
        let field = self.fields.iter().find(|f| f.id == FieldId::Queue)?;
        self.queues.get(field.value as usize).cloned()
    }

    /// The Jobs to submit.
    pub(crate) fn sample_job(&self) -> Option<SampleJob> {
        let number = |id: &FieldId| {
            let field = self.fields.iter().find(|f| f.id == *id);
            field.map_or(1, |f| f.value.max(f.range.0))
        };
        let class = self.fields.iter().find(|f| f.id == FieldId::Priority)?;
        Some(SampleJob {
            queue: self.queue()?,
            pods: number(&FieldId::Pods),
            requests: self
                .fields
                .iter()
                .filter_map(|f| match &f.id {
                    FieldId::Resource(_) if f.value == 0 => None,
                    FieldId::Resource(name) if name == "memory" => {
                        Some((name.clone(), format!("{}Gi", f.value)))
                    }
                    FieldId::Resource(name) => Some((name.clone(), f.value.to_string())),
                    _ => None,
                })
                .collect(),
            priority_class: (class.value > 0).then(|| class.text()),
            seconds: number(&FieldId::Seconds),
            copies: number(&FieldId::Copies),
        })
    }
}
