//! A real Prometheus that scrapes what it is told to.

use std::fs;
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::server::Server;

/// A running Prometheus. Stopped when dropped.
#[derive(Debug)]
pub struct Prometheus(Server);

impl Prometheus {
    /// Starts it with a configuration, in YAML. Paths in it must be absolute.
    pub fn start(prometheus: &Path, configuration: &str) -> io::Result<Prometheus> {
        let server = Server::start("prometheus", |place| {
            let file = place.folder.join("prometheus.yml");
            fs::write(&file, configuration)?;
            let mut command = Command::new(prometheus);
            command.arg(format!("--config.file={}", file.display()));
            command.arg(format!("--storage.tsdb.path={}", place.folder.join("data").display()));
            command.arg(format!("--web.listen-address={}", place.address));
            command.args(["--log.level=warn", "--storage.tsdb.retention.time=1h"]).stdout(Stdio::null());
            Ok(command)
        })?;
        Ok(Prometheus(server))
    }

    /// The data of an answer of its interface: `path` below `/api/v1/`, with parameters.
    pub fn ask(&self, path: &str, parameters: &[(&str, &str)]) -> io::Result<Value> {
        let mut curl = Command::new("curl");
        curl.args(["--silent", "--show-error", "--get"]).arg(format!("{}/api/v1/{path}", self.0.url()));
        for (name, value) in parameters {
            curl.args(["--data-urlencode", &format!("{name}={value}")]);
        }
        let output = curl.output()?;
        let mut answer: Value = serde_json::from_slice(&output.stdout).map_err(io::Error::other)?;
        match answer["status"].as_str() {
            Some("success") => Ok(answer["data"].take()),
            _ => Err(io::Error::other(format!("{path} {parameters:?}: {answer}"))),
        }
    }

    /// The values of an expression now.
    pub fn values(&self, expression: &str) -> io::Result<Vec<f64>> {
        let data = self.ask("query", &[("query", expression)])?;
        let of = |sample: &Value| sample["value"][1].as_str().and_then(|value| value.parse().ok());
        Ok(data["result"].as_array().into_iter().flatten().filter_map(of).collect())
    }
}
