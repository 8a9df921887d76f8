//! The form for sample workloads: fields with choices or numbers.

use crate::actions::SampleJob;
use crate::model::{ClusterData, NamespacedName, Row};

/// The fields of the form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FieldId {
    /// The LocalQueue.
    Queue,
    /// The WorkloadPriorityClass.
    Priority,
    /// Pods in each workload.
    Pods,
    /// Amount of a resource for each pod; the unit is Gi for memory and one for all else.
    Resource(String),
    /// Seconds each pod runs.
    Seconds,
    /// How many workloads.
    Copies,
}

/// A field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// Which.
    pub id: FieldId,
    /// Its choices; empty for numbers.
    pub choices: Vec<String>,
    /// The choice, or the number.
    pub value: u32,
    /// The smallest and largest number.
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
    pub fn label(&self) -> String {
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
    pub fn text(&self) -> String {
        match self.choices.get(self.value as usize) {
            Some(choice) => choice.clone(),
            None => self.value.to_string(),
        }
    }

    /// One more or one less; choices go round.
    pub fn step_value(&mut self, up: bool) {
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

    /// Types a digit.
    pub fn digit(&mut self, digit: u32) {
        if self.choices.is_empty() {
            let before = if self.replace_on_digit { 0 } else { self.value };
            self.replace_on_digit = false;
            self.value = before
                .saturating_mul(10)
                .saturating_add(digit)
                .min(self.range.1);
        }
    }

    /// Takes back a digit.
    pub fn delete_digit(&mut self) {
        if self.choices.is_empty() {
            self.replace_on_digit = false;
            self.value /= 10;
        }
    }
}

/// The form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SubmitForm {
    /// The fields.
    pub fields: Vec<Field>,
    /// The field that keys go to.
    pub focused: usize,
    queues: Vec<NamespacedName>,
}

impl SubmitForm {
    /// A form for the queues there are, with the given one chosen; `None` where there is none.
    /// Resources are those the queue has quota for.
    pub fn new(data: &ClusterData, preferred: Option<&NamespacedName>) -> Option<Self> {
        let queues: Vec<NamespacedName> =
            data.local_queues.iter().map(|q| q.key().clone()).collect();
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
                    queues.iter().map(NamespacedName::to_string).collect(),
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

    /// The field that keys go to.
    pub fn field_mut(&mut self) -> Option<&mut Field> {
        self.fields.get_mut(self.focused)
    }

    /// Goes to the next field or the one before.
    pub fn step_field(&mut self, forward: bool) {
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

    /// Offers the resources that the chosen queue has quota for, and keeps numbers given before.
    pub fn reload_resources(&mut self, data: &ClusterData) {
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

    /// The chosen queue.
    pub fn queue(&self) -> Option<NamespacedName> {
        let field = self.fields.iter().find(|f| f.id == FieldId::Queue)?;
        self.queues.get(field.value as usize).cloned()
    }

    /// What is asked for.
    pub fn sample_job(&self) -> Option<SampleJob> {
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
