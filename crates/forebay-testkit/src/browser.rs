//! A real browser without a window: Chromium, driven over a pipe by its DevTools protocol.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::os::fd::AsRawFd;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};

use crate::process::Running;

/// How long an answer may take; the limit is for a browser that hangs.
const PATIENCE: Duration = Duration::from_secs(60);

/// Settings that keep the browser to itself: no sandbox, which root cannot have, and no address but
/// those of the test. Each name leads to the loopback.
const SETTINGS: [&str; 12] = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-extensions",
    "--no-first-run",
    "--hide-scrollbars",
    "--remote-debugging-pipe",
    "--host-resolver-rules=MAP * 127.0.0.1",
];

/// A running browser with one page. Ended when dropped.
pub struct Browser {
    _running: Running,
    to: File,
    from: Receiver<Value>,
    events: Vec<Value>,
    last: u64,
    session: Option<String>,
    _folder: tempfile::TempDir,
}

/// Finds texts of little contrast (WCAG 2.1, 1.4.3): a text's colour, and the colours and
/// opacities of what it stands in.
const PALE: &str = r"(() => {
  const parse = (colour) => { const [r, g, b, a = 1] = colour.match(/[\d.]+/g).map(Number); return { c: [r, g, b], a }; };
  const over = (top, alpha, below) => top.map((part, i) => part * alpha + below[i] * (1 - alpha));
  const light = (colour) => {
    const [r, g, b] = colour.map((part) => part / 255).map((part) => part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const found = [];
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const text = walk.currentNode.textContent.trim(), element = walk.currentNode.parentElement;
    if (!text || !element.getClientRects().length || element.closest('script, style, thead')) continue;
    const chain = [];
    for (let at = element; at; at = at.parentElement) chain.unshift(getComputedStyle(at));
    let ground = [255, 255, 255], alpha = 1;
    for (const style of chain) {
      alpha *= Number(style.opacity);
      const { c, a } = parse(style.backgroundColor);
      ground = over(c, a * alpha, ground);
    }
    const style = getComputedStyle(element), ink = parse(style.color);
    const [a, b] = [light(over(ink.c, ink.a * alpha, ground)), light(ground)].sort((x, y) => y - x);
    const size = parseFloat(style.fontSize), large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
    const ratio = (a + 0.05) / (b + 0.05);
    if (ratio < (large ? 3 : 4.5)) found.push(`${text}: ${ratio.toFixed(2)}`);
  }
  return found;
})()";

/// Asks axe.
const BARRIERS: &str = "axe.run(document, { resultTypes: ['violations'] }).then((found) =>
  found.violations.flatMap((rule) => rule.nodes.map((node) => `${rule.id}: ${rule.help}: ${node.html}`)))";

impl Browser {
    /// Starts it, with an empty page.
    pub fn start(chromium: &Path) -> io::Result<Browser> {
        let folder = tempfile::Builder::new().prefix("forebay browser ").tempdir()?;
        let (ours, theirs) = (io::pipe()?, io::pipe()?);
        let (reads, writes) = (ours.0.as_raw_fd(), theirs.1.as_raw_fd());
        let mut command = Command::new(chromium);
        command.args(SETTINGS).arg(format!("--user-data-dir={}", folder.path().display())).arg("about:blank");
        command.env("HOME", folder.path()).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        // SAFETY: both calls are async-signal-safe and touch no memory. The copies with high
        // numbers come first, so that neither pipe is closed by the other's new number.
        unsafe {
            command.pre_exec(move || {
                let high = |fd| libc::fcntl(fd, libc::F_DUPFD_CLOEXEC, 10);
                let (reads, writes) = (high(reads), high(writes));
                match libc::dup2(reads, 3) == 3 && libc::dup2(writes, 4) == 4 {
                    true => Ok(()),
                    false => Err(io::Error::last_os_error()),
                }
            });
        }
        let running = Running::start(command)?;
        drop((ours.0, theirs.1));
        let from = listen(theirs.0)?;
        let to = File::from(std::os::fd::OwnedFd::from(ours.1));
        let mut browser =
            Browser { _running: running, to, from, events: Vec::new(), last: 0, session: None, _folder: folder };
        let target = browser.call("Target.createTarget", json!({ "url": "about:blank" }))?;
        let attach = json!({ "targetId": target["targetId"], "flatten": true });
        let attached = browser.call("Target.attachToTarget", attach)?;
        browser.session = attached["sessionId"].as_str().map(str::to_owned);
        for domain in ["Page", "Runtime", "Log", "Audits", "Network"] {
            browser.call(&format!("{domain}.enable"), json!({}))?;
        }
        Ok(browser)
    }

    /// Calls a method of the protocol.
    pub fn call(&mut self, method: &str, params: Value) -> io::Result<Value> {
        self.last += 1;
        let mut message = json!({ "id": self.last, "method": method, "params": params });
        if let Some(session) = &self.session {
            message["sessionId"] = session.clone().into();
        }
        self.to.write_all(format!("{message}\0").as_bytes())?;
        loop {
            let gone = |_| io::Error::new(io::ErrorKind::TimedOut, format!("{method}: the browser does not answer"));
            let mut answer = self.from.recv_timeout(PATIENCE).map_err(gone)?;
            if answer["id"] != self.last {
                self.events.push(answer);
            } else if answer["error"].is_null() {
                return Ok(answer["result"].take());
            } else {
                return Err(io::Error::other(format!("{method}: {}", answer["error"])));
            }
        }
    }

    /// Gives the page so many pixels, in the light or in the dark.
    pub fn window(&mut self, width: u32, height: u32, dark: bool) -> io::Result<()> {
        let size = json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600 });
        self.call("Emulation.setDeviceMetricsOverride", size)?;
        let scheme = if dark { "dark" } else { "light" };
        let media = json!({ "features": [{ "name": "prefers-color-scheme", "value": scheme }] });
        self.call("Emulation.setEmulatedMedia", media).map(drop)
    }

    /// Goes to an address.
    pub fn open(&mut self, url: &str) -> io::Result<()> {
        let went = self.call("Page.navigate", json!({ "url": url }))?;
        match went["errorText"].as_str() {
            Some(error) => Err(io::Error::other(format!("{url}: {error}"))),
            None => Ok(()),
        }
    }

    /// The value of an expression of the page.
    pub fn value(&mut self, expression: &str) -> io::Result<Value> {
        let asked = json!({ "expression": expression, "returnByValue": true, "awaitPromise": true });
        let mut answer = self.call("Runtime.evaluate", asked)?;
        if !answer["exceptionDetails"].is_null() {
            return Err(io::Error::other(format!("{expression}: {}", answer["exceptionDetails"])));
        }
        Ok(answer["result"]["value"].take())
    }

    /// Waits until an expression of the page is true. One that fails is not: its page may be on its
    /// way.
    pub fn until(&mut self, expression: &str) -> io::Result<()> {
        let begun = Instant::now();
        while !self.value(expression).is_ok_and(|value| value == true) {
            if begun.elapsed() > PATIENCE {
                let text = self.value("document.body.innerText")?;
                return Err(io::Error::other(format!("never: {expression}\n{text}")));
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        Ok(())
    }

    /// Writes a picture of the whole page, as PNG.
    pub fn picture(&mut self, path: &Path) -> io::Result<()> {
        let shot = self.call("Page.captureScreenshot", json!({ "captureBeyondViewport": true }))?;
        let bytes = BASE64_STANDARD.decode(shot["data"].as_str().unwrap_or_default()).map_err(io::Error::other)?;
        std::fs::write(path, bytes)
    }

    /// Texts of the page that are hard to read: with less contrast than WCAG 2.1 asks for, which is
    /// 4.5 to 1, or 3 to 1 if they are large.
    pub fn pale(&mut self) -> io::Result<Vec<String>> {
        let found = self.value(PALE)?;
        Ok(found.as_array().into_iter().flatten().map(Value::to_string).collect())
    }

    /// What the page puts in the way of people who do not see it, or not well, by the rules of axe,
    /// whose script is at `axe`: the rule and the element.
    pub fn barriers(&mut self, axe: &Path) -> io::Result<Vec<String>> {
        if self.value("typeof axe")? == "undefined" {
            self.value(&format!("{}; true", std::fs::read_to_string(axe)?))?;
        }
        let found = self.value(BARRIERS)?;
        Ok(found.as_array().into_iter().flatten().map(Value::to_string).collect())
    }

    /// What the page's console has said, and what the browser found wrong: errors, refusals by the
    /// page's policy. Each once.
    pub fn complaints(&mut self) -> io::Result<Vec<String>> {
        // What has come up to now is read with the answer.
        self.value("true")?;
        let complains = |event: &Value| {
            let about = &event["params"];
            match event["method"].as_str()? {
                "Runtime.consoleAPICalled" | "Runtime.exceptionThrown" | "Log.entryAdded" | "Audits.issueAdded" => {
                    Some(about.to_string())
                }
                _ => None,
            }
        };
        Ok(std::mem::take(&mut self.events).iter().filter_map(complains).collect())
    }
}

/// The browser's messages, each ended by a zero byte.
fn listen(from: io::PipeReader) -> io::Result<Receiver<Value>> {
    let (told, tells) = channel();
    let thread = std::thread::Builder::new().name("test-browser".into());
    thread.spawn(move || {
        for message in BufReader::new(from).split(0).map_while(Result::ok) {
            let Ok(message) = serde_json::from_slice(&message) else { return };
            if told.send(message).is_err() {
                return;
            }
        }
    })?;
    Ok(tells)
}
