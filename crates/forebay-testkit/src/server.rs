//! The start of a server program: a free port, a folder, and the wait until the program listens.

use std::fs::{self, File};
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::process::Running;
use crate::scratch::Scratch;

/// A program that listens on a port of the loopback, with a folder for its files. Drop stops the
/// program and removes the folder.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    // Dropped in this order: first the program, then its files.
    running: Running,
    folder: Scratch,
}

/// The parts from which a server's command is built.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    /// The address to listen on: 127.0.0.1 and a port that was free a moment ago.
    pub address: SocketAddr,
    /// The server's own folder, which is its working directory too. The output of the program goes
    /// to the file `log` in it.
    pub folder: &'a Path,
}

impl Server {
    /// Starts the program that `command` describes, and waits until it listens. `name` appears in
    /// errors and in the name of the folder. If another program takes the port first, `command` is
    /// called again with another port.
    pub fn start(name: &str, command: impl Fn(Place) -> io::Result<Command>) -> io::Result<Server> {
        Server::start_in(name, &std::env::temp_dir(), command)
    }

    /// The same, with the folder of the program in `place`.
    pub fn start_in(name: &str, place: &Path, command: impl Fn(Place) -> io::Result<Command>) -> io::Result<Server> {
        /// Each try loses against another program only by chance.
        const TRIES: usize = 6;
        let folder = Scratch::new_in(name, place)?;
        let mut tries = 1;
        loop {
            match launch(name, &command, folder.path()) {
                Err(error) if tries < TRIES && error.kind() == io::ErrorKind::AddrInUse => tries += 1,
                Err(error) => return Err(error),
                Ok((running, address)) => return Ok(Server { address, running, folder }),
            }
        }
    }

    /// Its address.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Its address, as `http://127.0.0.1:PORT` without a slash at the end.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The server's own folder.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The id of its one process.
    pub fn id(&self) -> u32 {
        self.running.id()
    }
}

fn launch(
    name: &str,
    command: impl Fn(Place) -> io::Result<Command>,
    folder: &Path,
) -> io::Result<(Running, SocketAddr)> {
    /// Longer than it ever takes; only a hanging server gets there.
    const PATIENCE: Duration = Duration::from_secs(60);
    let address = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?;
    let log = folder.join("log");
    let mut command = command(Place { address, folder })?;
    let output = File::create(&log)?;
    command.current_dir(folder).stdin(Stdio::null()).stdout(output.try_clone()?).stderr(output);
    let running = Running::start(command)?;
    let begun = Instant::now();
    // A mere connection could reach the other program that took the port.
    while !listens(running.id(), address)? {
        let log = || fs::read_to_string(&log).unwrap_or_default();
        if let Some(status) = running.ended()? {
            let log = log();
            let kind = if log.contains("in use") { io::ErrorKind::AddrInUse } else { io::ErrorKind::Other };
            return Err(io::Error::new(kind, format!("{name} ended: {status}: {log}")));
        }
        if begun.elapsed() > PATIENCE {
            return Err(io::Error::new(io::ErrorKind::TimedOut, format!("{name} does not listen: {}", log())));
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    Ok((running, address))
}

/// Whether the process `id` itself listens on `address`, by the kernel's tables of sockets and open
/// files.
fn listens(id: u32, address: SocketAddr) -> io::Result<bool> {
    let SocketAddr::V4(address) = address else { return Ok(false) };
    // The table shows the four bytes of the address as one number of this machine.
    let local = format!("{:08X}:{:04X}", u32::from_ne_bytes(address.ip().octets()), address.port());
    let table = fs::read_to_string("/proc/net/tcp")?;
    let inode = table.lines().find_map(|line| {
        let mut fields = line.split_whitespace();
        let listening = fields.nth(1)? == local && fields.nth(1)? == "0A";
        fields.nth(5).filter(|_| listening)
    });
    let Some(inode) = inode else { return Ok(false) };
    let socket = format!("socket:[{inode}]");
    // The process may have ended, and then it has no files.
    let files = fs::read_dir(format!("/proc/{id}/fd")).into_iter().flatten().flatten();
    Ok(files.filter_map(|file| fs::read_link(file.path()).ok()).any(|file| file.as_os_str() == socket.as_str()))
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::io::BufRead;

    use super::*;
    use crate::need;

    fn python(python: &Path, place: Place) -> Command {
        let mut command = Command::new(python);
        command.args(["-m", "http.server", "--bind", "127.0.0.1"]).arg(place.address.port().to_string());
        command
    }

    #[test]
    fn a_port_that_another_program_took_is_not_the_servers() {
        let python3 = need!("python3");
        let (taken, tries) = (TcpListener::bind("127.0.0.1:0").unwrap(), Cell::new(0));
        let server = Server::start("python", |place| {
            tries.set(tries.get() + 1);
            let address = if tries.get() == 1 { taken.local_addr()? } else { place.address };
            Ok(python(&python3, Place { address, ..place }))
        });
        let server = server.unwrap();
        assert_eq!(tries.get(), 2);
        assert_ne!(server.address(), taken.local_addr().unwrap());
        assert!(!listens(server.id(), taken.local_addr().unwrap()).unwrap());
    }

    #[test]
    fn a_program_that_ends_is_an_error_with_what_it_said() {
        let server = Server::start("shell", |_| {
            let mut command = Command::new("/bin/sh");
            command.args(["-c", "echo no such luck; exit 3"]);
            Ok(command)
        });
        let error = server.unwrap_err().to_string();
        assert!(error.contains("shell ended: exit status: 3: no such luck"), "{error}");
    }

    /// Set in the process that the next test kills.
    const VICTIM: &str = "FOREBAY_TESTKIT_VICTIM";

    #[test]
    fn nothing_stays_behind_if_the_test_process_is_killed() {
        let python3 = need!("python3");
        if std::env::var_os(VICTIM).is_some() {
            let server = Server::start("victim", |place| Ok(python(&python3, place))).unwrap();
            println!("\nserver: {} {} {}", server.id(), server.address(), server.folder().display());
            std::thread::sleep(Duration::from_secs(600));
        }
        let (said, says) = io::pipe().unwrap();
        let mut victim = Command::new(std::env::current_exe().unwrap());
        victim.args(["--exact", "--nocapture", "server::tests::nothing_stays_behind_if_the_test_process_is_killed"]);
        let victim = Running::start({
            victim.env(VICTIM, "1").stdout(says);
            victim
        });
        let victim = victim.unwrap();
        let mut lines = io::BufReader::new(said).lines().map(Result::unwrap);
        let line = lines.find_map(|line| line.strip_prefix("server: ").map(str::to_owned)).unwrap();
        let (id, rest) = line.split_once(' ').unwrap();
        let (address, folder) = rest.split_once(' ').unwrap();
        let (id, address) = (id.parse().unwrap(), address.parse().unwrap());
        assert!(listens(id, address).unwrap() && Path::new(folder).join("log").exists());
        drop(victim);
        let begun = Instant::now();
        let gone = || !Path::new(folder).exists() && !listens(id, address).unwrap() && !crate::process::runs(id);
        while !gone() {
            assert!(begun.elapsed() < Duration::from_secs(60), "something is left of {line}");
            std::thread::sleep(Duration::from_millis(5));
        }
        TcpListener::bind::<SocketAddr>(address).unwrap();
    }
}
