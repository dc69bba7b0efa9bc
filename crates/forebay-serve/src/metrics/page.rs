//! `docs/metrics.md`, written from the table of metrics. A test of `forebay-cli` compares the two.

use super::table::{Kind, TABLE};

const INTRODUCTION: &str = "\
<!-- Written by `cargo xtask docs`. -->

# Metrics

A mount answers at its control socket, and at an address if it is given one. `forebay serve` answers
at its port, behind its token.

```sh
curl --unix-socket $XDG_RUNTIME_DIR/forebay/PID.sock http://m/metrics   # a mount, by default
forebay mount --control 127.0.0.1:9100 s3://bucket /mnt/data   # http://127.0.0.1:9100/metrics
forebay serve s3://bucket                        # http://127.0.0.1:7680/.well-known/forebay/metrics
```

The answer is in the text format of Prometheus, or in OpenMetrics if the client accepts it.
`contrib/prometheus/` has an example of a configuration and rules for alerts, and `contrib/grafana/`
a board.

```yaml
scrape_configs:
  - job_name: forebay-mount
    static_configs: [{ targets: ['127.0.0.1:9100'] }]
  - job_name: forebay-serve
    metrics_path: /.well-known/forebay/metrics
    authorization: { credentials_file: /etc/forebay/token }
    static_configs: [{ targets: ['server:7680'] }]
```

Names and labels are stable: a later version may add some, and changes none.

## Meaning

- **A block is 4 KiB.** The hit ratio is hits by all blocks that were read: hits, misses, joined
  blocks, and prefetched blocks that were late.
- **Hits are not timed.** A read that memory answers at once takes microseconds, and a clock would
  add to each. `forebay_read_duration_seconds` has only the reads that waited for a source.
- **Requests are counted when they are over.** An attempt that fails and the one after it are two.
- **Devices are named** by the names that sources were given, as in `hot=/ssd`. A source without a
  name is `source`, and members of a set have numbers. With `--metrics-paths`, a source without a
  name is named by its path or address, and so are members of a set. From the 65th on, devices are
  counted together as `others`. No label is the name of a file.
- **A scrape** costs a few kilobytes for each device, whatever is open and read.
";

/// The page.
pub fn page() -> String {
    let mut page = INTRODUCTION.to_owned();
    page.push_str("\n## All metrics\n\n| name | kind | labels | meaning |\n| --- | --- | --- | --- |\n");
    for row in TABLE {
        let kind = match row.kind {
            Kind::Counter => "counter",
            Kind::Gauge => "gauge",
            Kind::Histogram => "histogram",
        };
        let labels: Vec<String> = row.labels.iter().map(|label| format!("`{label}`")).collect();
        page.push_str(&format!("| `{}` | {kind} | {} | {} |\n", row.name, labels.join(", "), row.help));
    }
    page
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn the_table_holds_together() {
        let mut names = HashSet::new();
        for row in TABLE {
            assert!(names.insert(row.name), "{} twice", row.name);
            assert_eq!(row.kind == Kind::Counter, row.name.ends_with("_total"), "{}", row.name);
            assert!(row.name.starts_with("forebay_") || row.name.starts_with("process_"), "{}", row.name);
            assert!(!row.help.is_empty() && !row.help.contains(['|', '\n', '\\', '"']), "{}", row.name);
        }
        assert!(page().contains("| `forebay_streams` | gauge |  |"));
    }
}
