//! [`TraceFormat`]: the formats of traces.

use super::csv_record::Header;
use super::{alibaba_v2020, helios, openb};

/// The format of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TraceFormat {
    /// CSV with a header and the columns `submit_time`, `duration`, …, or mapped ones.
    Csv,
    /// Pod lists of Alibaba's cluster-trace-gpu-v2023.
    Openb,
    /// The task table of Alibaba's cluster-trace-gpu-v2020.
    AlibabaV2020,
    /// The job logs of Helios.
    Helios,
    /// The job log of Philly.
    Philly,
    /// Workloads as `kubectl get workloads -o json` prints them.
    Workloads,
}

impl TraceFormat {
    /// The format of a text by its first characters and its header.
    pub(super) fn detect(text: &str) -> Self {
        let start = text.trim_start();
        if start.starts_with('{') {
            return Self::Workloads;
        }
        if start.starts_with('[') {
            return Self::Philly;
        }
        let first = text.lines().next().unwrap_or_default();
        if alibaba_v2020::header(first).is_some() {
            return Self::AlibabaV2020;
        }
        match Header::new(first) {
            Some(header) if openb::is_header(&header) => Self::Openb,
            Some(header) if helios::is_header(&header) => Self::Helios,
            _ => Self::Csv,
        }
    }

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Csv => "csv",
            Self::Openb => "openb",
            Self::AlibabaV2020 => "alibaba-v2020",
            Self::Helios => "helios",
            Self::Philly => "philly",
            Self::Workloads => "workloads",
        }
    }

    /// Whether the records of the format are in the order of their submission.
    pub(super) fn is_ordered(self) -> bool {
        matches!(self, Self::Csv | Self::Openb | Self::Helios)
    }
}
