//! [`Labels`]: the labels of a series.

use std::fmt;
use std::sync::Arc;

use prometheus_client::encoding::{EncodeLabel, EncodeLabelSet, LabelSetEncoder};

/// Custom label names with their values.
pub(super) type CustomValues = Vec<(Arc<str>, String)>;

/// Label names and values, in the same order for all series of a metric: Kueue's own, then the
/// custom ones.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Labels {
    own: Vec<(&'static str, String)>,
    custom: CustomValues,
}

impl Labels {
    /// Adds custom labels.
    #[must_use]
    pub(super) fn with(mut self, custom: CustomValues) -> Self {
        self.custom.extend(custom);
        self
    }

    /// The value of one of Kueue's own labels.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        let label = self.own.iter().find(|(known, _)| *known == name);
        label.map(|(_, value)| value.as_str())
    }
}

impl From<Vec<(&'static str, String)>> for Labels {
    fn from(own: Vec<(&'static str, String)>) -> Self {
        Self {
            own,
            custom: CustomValues::new(),
        }
    }
}

impl EncodeLabelSet for Labels {
    fn encode(&self, encoder: &mut LabelSetEncoder<'_>) -> Result<(), fmt::Error> {
        for (name, value) in &self.own {
            (*name, value.as_str()).encode(encoder.encode_label())?;
        }
        for (name, value) in &self.custom {
            (&**name, value.as_str()).encode(encoder.encode_label())?;
        }
        Ok(())
    }
}
