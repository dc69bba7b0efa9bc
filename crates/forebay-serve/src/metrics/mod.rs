//! Metrics for Prometheus. Nothing is kept for them: each scrape asks the engine for its figures.

mod devices;
mod page;
mod process;
mod table;

use std::sync::Arc;

use forebay_live::figures::BOUNDS;
use forebay_live::tree::Tree;
use hyper::header::HeaderValue;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, MetricEncoder, NoLabelSet, prometheus_text, text};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::Registry;

pub use page::page;
use process::Own;
use table::{Figure, Kind, Row, Seen, TABLE, Value};

/// The form of an answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Form {
    /// Prometheus' own text.
    Text,
    /// OpenMetrics.
    Open,
}

impl Form {
    /// The form that a client accepts: OpenMetrics if it names that.
    pub(crate) fn of(accept: Option<&HeaderValue>) -> Form {
        let accept = accept.and_then(|accept| accept.to_str().ok()).unwrap_or_default();
        if accept.contains("application/openmetrics-text") { Form::Open } else { Form::Text }
    }

    pub(crate) fn content_type(self) -> &'static str {
        match self {
            Form::Text => prometheus_text::CONTENT_TYPE,
            Form::Open => "application/openmetrics-text; version=1.0.0; charset=utf-8",
        }
    }
}

/// The metrics of a tree.
pub(crate) struct Metrics {
    tree: Arc<Tree>,
    /// Whether labels may be paths and addresses of sources.
    paths: bool,
}

impl Metrics {
    pub(crate) fn new(tree: Arc<Tree>, paths: bool) -> Metrics {
        Metrics { tree, paths }
    }

    /// All of them, as they are now.
    pub(crate) fn text(&self, form: Form) -> String {
        let figures = self.tree.figures(self.paths);
        let devices = devices::labelled(&figures);
        let mut registry = Registry::default();
        registry.register_collector(Box::new(Seen { figures, devices, own: Own::look() }));
        let mut output = String::new();
        let encoded = match form {
            Form::Text => prometheus_text::encode(&mut output, &registry),
            Form::Open => text::encode(&mut output, &registry),
        };
        // Writing to a text in memory does not fail.
        encoded.map(|()| output).unwrap_or_default()
    }
}

impl Collector for Seen {
    fn encode(&self, mut encoder: DescriptorEncoder) -> std::fmt::Result {
        for row in TABLE {
            let values = (row.values)(self);
            if values.is_empty() {
                continue;
            }
            // Both forms end the name of a counter by themselves.
            let name = row.name.strip_suffix("_total").unwrap_or(row.name);
            let mut metric = encoder.encode_descriptor(name, row.help, None, row.kind.into())?;
            for value in values {
                row.encode(&value, &mut metric)?;
            }
        }
        Ok(())
    }
}

impl Row {
    fn encode(&self, value: &Value, metric: &mut MetricEncoder<'_>) -> std::fmt::Result {
        if self.labels.is_empty() {
            return self.encode_figure(value.figure, metric);
        }
        let labels: Vec<(&str, &str)> =
            self.labels.iter().copied().zip(value.labels.iter().map(String::as_str)).collect();
        let mut labelled = metric.encode_family(&labels)?;
        self.encode_figure(value.figure, &mut labelled)
    }

    fn encode_figure(&self, figure: Figure, metric: &mut MetricEncoder<'_>) -> std::fmt::Result {
        match (self.kind, figure) {
            (Kind::Counter, Figure::Whole(count)) => metric.encode_counter::<NoLabelSet, _, u64>(&count, None),
            (Kind::Counter, Figure::Real(count)) => metric.encode_counter::<NoLabelSet, _, u64>(&count, None),
            (_, Figure::Whole(value)) => metric.encode_gauge(&value),
            (_, Figure::Real(value)) => metric.encode_gauge(&value),
            (_, Figure::Histogram(seen)) => {
                let bounds = BOUNDS.iter().map(|&bound| bound as f64 / 1e9).chain([f64::INFINITY]);
                let buckets: Vec<(f64, u64)> = bounds.zip(seen.counts).collect();
                metric.encode_histogram::<NoLabelSet>(seen.sum as f64 / 1e9, seen.count(), &buckets, None)
            }
        }
    }
}

impl From<Kind> for MetricType {
    fn from(kind: Kind) -> MetricType {
        match kind {
            Kind::Counter => MetricType::Counter,
            Kind::Gauge => MetricType::Gauge,
            Kind::Histogram => MetricType::Histogram,
        }
    }
}
