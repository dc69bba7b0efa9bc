//! A listener on the loopback with a thread for each connection. All of them end with its value.

use std::collections::BTreeMap;
use std::io;
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// A listener. Drop breaks its connections and waits for its threads.
#[derive(Debug)]
pub(crate) struct Acceptor {
    address: SocketAddr,
    stop: Stop,
    thread: Option<JoinHandle<()>>,
}

/// The sign for a connection's thread to end.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stop(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    stopped: Condvar,
}

#[derive(Debug, Default)]
struct State {
    stopping: bool,
    next: u64,
    open: BTreeMap<u64, TcpStream>,
}

/// A stream that breaks at the stop, until this value is dropped.
#[derive(Debug)]
pub(crate) struct Breakable {
    stop: Stop,
    number: u64,
}

impl Acceptor {
    /// Listens on a free port. Each connection is given to `serve`, in a thread of its own.
    pub(crate) fn start(name: &str, serve: impl Fn(TcpStream, &Stop) + Send + Sync + 'static) -> io::Result<Acceptor> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let (address, stop) = (listener.local_addr()?, Stop::default());
        let accept = stop.clone();
        let thread = thread::Builder::new().name(name.into()).spawn(move || accept.accept(&listener, &Arc::new(serve)));
        Ok(Acceptor { address, stop, thread: Some(thread?) })
    }

    /// Its address.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Acceptor {
    fn drop(&mut self) {
        self.stop.stop();
        // Wakes the thread that accepts.
        let _ = TcpStream::connect(self.address);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Stop {
    /// Waits for `time`; returns whether it passed before the stop.
    pub(crate) fn pause(&self, time: Duration) -> bool {
        let begun = Instant::now();
        let mut state = self.state();
        while !state.stopping {
            let Some(left) = time.checked_sub(begun.elapsed()).filter(|left| !left.is_zero()) else { return true };
            state = self.0.stopped.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        false
    }

    /// Waits until the stop.
    pub(crate) fn hang(&self) {
        while self.pause(Duration::from_secs(3600)) {}
    }

    /// Lets the stop break `stream`. After the stop, this is an error.
    pub(crate) fn breaks(&self, stream: &TcpStream) -> io::Result<Breakable> {
        let (stream, mut state) = (stream.try_clone()?, self.state());
        if state.stopping {
            return Err(io::ErrorKind::Interrupted.into());
        }
        let number = state.next;
        state.next += 1;
        state.open.insert(number, stream);
        Ok(Breakable { stop: self.clone(), number })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn stop(&self) {
        let mut state = self.state();
        state.stopping = true;
        for stream in state.open.values() {
            let _ = stream.shutdown(Shutdown::Both);
        }
        self.0.stopped.notify_all();
    }

    fn accept<S: Fn(TcpStream, &Stop) + Send + Sync + 'static>(&self, listener: &TcpListener, serve: &Arc<S>) {
        let mut threads: Vec<JoinHandle<()>> = Vec::new();
        for client in listener.incoming() {
            if self.state().stopping {
                break;
            }
            threads.retain(|thread| !thread.is_finished());
            let Ok(client) = client else { continue };
            let (stop, serve) = (self.clone(), Arc::clone(serve));
            threads.push(thread::spawn(move || {
                // The stream is dropped before its copy, so that the connection closes at the very
                // end.
                if let Ok(_breakable) = stop.breaks(&client) {
                    let _ = client.set_nodelay(true);
                    serve(client, &stop);
                }
            }));
        }
        threads.into_iter().for_each(|thread| drop(thread.join()));
    }
}

impl Drop for Breakable {
    fn drop(&mut self) {
        self.stop.state().open.remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    #[test]
    fn drop_ends_threads_that_read_and_threads_that_wait() {
        let acceptor = Acceptor::start("test", |mut client, stop| {
            let mut byte = [0];
            while client.read(&mut byte).is_ok_and(|read| read == 1 && byte[0] != b'w') {}
            stop.hang();
        });
        let acceptor = acceptor.unwrap();
        let address = acceptor.address();
        let [mut reads, mut waits] = [(); 2].map(|()| TcpStream::connect(address).unwrap());
        io::Write::write_all(&mut waits, b"w").unwrap();
        drop(acceptor);
        for client in [&mut reads, &mut waits] {
            assert_eq!(client.read(&mut [0]).unwrap_or(0), 0);
        }
        TcpListener::bind(address).unwrap();
    }
}
