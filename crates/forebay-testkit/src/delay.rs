//! A server far away: a proxy on the loopback that waits before the first byte of each answer, and
//! can be gone for a while.

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// A proxy in front of an HTTP/1.1 server.
pub struct DelayProxy {
    address: SocketAddr,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    upstream: SocketAddr,
    delay_us: AtomicU64,
    down: AtomicBool,
    stopping: AtomicBool,
    answers: AtomicU64,
    open: Mutex<Vec<TcpStream>>,
}

impl DelayProxy {
    /// Starts a proxy in front of `upstream` that adds `delay` to each answer.
    pub fn start(upstream: SocketAddr, delay: Duration) -> io::Result<DelayProxy> {
        let listener = TcpListener::bind(("127.0.0.1", 0))?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared {
            upstream,
            delay_us: AtomicU64::new(delay.as_micros() as u64),
            down: AtomicBool::new(false),
            stopping: AtomicBool::new(false),
            answers: AtomicU64::new(0),
            open: Mutex::default(),
        });
        let accept = Arc::clone(&shared);
        let thread = thread::Builder::new().name("delay-proxy".into()).spawn(move || accept.accept(&listener))?;
        Ok(DelayProxy { address, shared, thread: Some(thread) })
    }

    /// Its address, as an endpoint.
    pub fn endpoint(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Changes the delay.
    pub fn set_delay(&self, delay: Duration) {
        self.shared.delay_us.store(delay.as_micros() as u64, Ordering::Relaxed);
    }

    /// Makes the server gone (connections break, new ones are closed at once) or back.
    pub fn set_down(&self, down: bool) {
        self.shared.down.store(down, Ordering::SeqCst);
        if down {
            self.shared.break_all();
        }
    }

    /// How many answers have passed.
    pub fn answers(&self) -> u64 {
        self.shared.answers.load(Ordering::Relaxed)
    }
}

impl Drop for DelayProxy {
    fn drop(&mut self) {
        self.shared.stopping.store(true, Ordering::SeqCst);
        // Wakes the thread that accepts.
        let _ = TcpStream::connect(self.address);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        self.shared.break_all();
    }
}

impl Shared {
    fn accept(self: &Arc<Self>, listener: &TcpListener) {
        for client in listener.incoming() {
            if self.stopping.load(Ordering::SeqCst) {
                return;
            }
            if let Ok(client) = client
                && !self.down.load(Ordering::SeqCst)
            {
                // A connection that cannot be made upstream is closed, which the client sees.
                let _ = self.connect(client);
            }
        }
    }

    fn connect(self: &Arc<Self>, client: TcpStream) -> io::Result<()> {
        let server = TcpStream::connect(self.upstream)?;
        for stream in [&client, &server] {
            stream.set_nodelay(true)?;
            self.open.lock().unwrap_or_else(PoisonError::into_inner).push(stream.try_clone()?);
        }
        let asked = Arc::new(AtomicBool::new(false));
        let (mut from_client, mut to_server) = (client.try_clone()?, server.try_clone()?);
        let request = Arc::clone(&asked);
        thread::spawn(move || pass(&mut from_client, &mut to_server, || request.store(true, Ordering::SeqCst)));
        let (mut from_server, mut to_client, shared) = (server, client, Arc::clone(self));
        thread::spawn(move || {
            pass(&mut from_server, &mut to_client, || {
                if asked.swap(false, Ordering::SeqCst) {
                    shared.answers.fetch_add(1, Ordering::Relaxed);
                    thread::sleep(Duration::from_micros(shared.delay_us.load(Ordering::Relaxed)));
                }
            });
        });
        Ok(())
    }

    fn break_all(&self) {
        for stream in self.open.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}

/// Passes bytes on until either side closes; calls `before` ahead of each piece.
fn pass(from: &mut TcpStream, to: &mut TcpStream, before: impl Fn()) {
    let mut buffer = vec![0; 64 << 10];
    while let Ok(bytes @ 1..) = from.read(&mut buffer) {
        before();
        if to.write_all(&buffer[..bytes]).is_err() {
            break;
        }
    }
    let _ = from.shutdown(Shutdown::Both);
    let _ = to.shutdown(Shutdown::Both);
}
