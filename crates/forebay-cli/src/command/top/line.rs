//! A figure of a mount as a line of JSON.

use std::time::{SystemTime, UNIX_EPOCH};

use forebay_core::explain::Stream;
use forebay_live::explain::Named;
use serde::Serialize;
use serde_json::{Value, json};

use super::draw::busiest;
use super::history::{History, Rates};
use crate::command::explain::words;

/// Streams of a line.
const STREAMS: usize = 10;

/// A device, now.
#[derive(Serialize)]
struct Device<'a> {
    name: &'a str,
    #[serde(flatten)]
    rates: Rates,
    in_flight: u32,
    depth_bytes: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    partition_bytes: Option<u64>,
}

/// The latest figure, or why there is none.
pub(super) fn of(history: &History) -> Value {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64();
    let mount = history.mount.display().to_string();
    let (Some(said), None) = (history.last(), &history.gone) else {
        let why = history.gone.as_ref().map_or("it has not answered yet", |(_, why)| why);
        return json!({ "time": seconds, "mount": mount, "gone": why });
    };
    let devices = said.stats.devices.iter().enumerate().filter_map(|(number, device)| {
        let rates = history.rates(|stats| stats.devices.get(number).map(|device| device.counts));
        Some(Device {
            name: &device.name,
            rates: *rates.last()?,
            in_flight: device.in_flight,
            depth_bytes: device.depth_bytes,
            partition_bytes: device.partition.map(|partition| partition.held_bytes),
        })
    });
    let block = u64::from(said.explained.block_bytes);
    let stream = |stream: &&Named<Stream>| {
        json!({
            "file": stream.name, "device": stream.of.device, "rate_bytes": stream.of.rate,
            "piece_bytes": u64::from(stream.of.piece) * block,
            "ahead_bytes": u64::from(stream.of.remaining()) * block,
            "reason": words::of_stream(&said.explained, &stream.of),
        })
    };
    let busy = busiest(&said.explained);
    json!({
        "time": seconds,
        "mount": mount,
        "policy": said.stats.policy,
        "rates": history.now(),
        "errors": said.stats.counts.errors,
        "active_streams": said.stats.active_streams,
        "devices": devices.collect::<Vec<_>>(),
        "streams": busy.iter().take(STREAMS).map(stream).collect::<Vec<_>>(),
    })
}
