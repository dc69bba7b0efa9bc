//! The server: listens, and has each connection served, until it is told to stop.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::time::Duration;

use forebay_core::level::Labels;
use forebay_live::tree::Tree;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore, watch};

use crate::answer::Service;
use crate::at::{At, Listener, Stream};
use crate::buffers::Buffers;
use crate::connection::{self, Client, Ending};
use crate::guard::HostName;
use crate::limits::Limits;
use crate::tls::Tls;
use crate::token::Token;

/// How long tasks without an answer to give may take to end.
const LETTING_GO: Duration = Duration::from_secs(2);

/// How long a connection that is told to end may take before another one is told as well.
const MAKING_ROOM: Duration = Duration::from_millis(20);

/// Threads that ask sources for names and files, which may take their time.
const ASKING: usize = 32;

/// The content of a server.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Content {
    /// The files of a tree, and the control channel among them, in the folder
    /// [`CONTROL`](crate::CONTROL).
    Tree,
    /// The control channel alone, at the root and in that folder.
    Control,
}

/// The content that a service answers with, and where.
pub(crate) struct Serves<'a> {
    pub(crate) content: Content,
    pub(crate) at: &'a At,
    pub(crate) options: &'a Options,
}

/// A server's options.
#[derive(Clone, Debug)]
pub struct Options {
    /// Whether labels of metrics may be paths and addresses of sources.
    pub metrics_paths: bool,
    /// The labels that are taken from requests.
    pub labels: Labels,
    /// The token that clients must show, if any.
    pub token: Option<Token>,
    /// Names by which clients without a token may call the server, besides its addresses and
    /// `localhost`. A server with a token answers to any name.
    pub names: Vec<HostName>,
    /// How connections are encrypted, if they are.
    pub tls: Option<Tls>,
    /// For how long names and attributes are taken as unchanged.
    pub ttl: Duration,
    /// Limits on what clients can use up.
    pub limits: Limits,
}

impl Default for Options {
    fn default() -> Options {
        let (labels, limits) = (Labels::Hits, Limits::default());
        let (names, ttl) = (Vec::new(), Duration::from_secs(1));
        Options { metrics_paths: false, labels, token: None, names, tls: None, ttl, limits }
    }
}

impl Options {
    /// Those of a control channel alone, which has few clients and ends at once.
    pub fn control() -> Options {
        let milliseconds = Duration::from_millis;
        // Its clients are near: a request comes with the connection.
        let (young, grace) = (milliseconds(100), milliseconds(200));
        let limits = Limits { connections: 64, young, grace, ..Limits::default() };
        Options { limits, ..Options::default() }
    }
}

/// Why a server did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The server cannot listen there.
    #[error("cannot listen at {at}: {source}")]
    Listen {
        /// The address or socket.
        at: At,
        /// Why.
        source: io::Error,
    },
    /// Another process listens at the socket.
    #[error("{}: another mount listens there; choose another path with --control unix:PATH", .0.display())]
    Taken(PathBuf),
    /// Something else has the socket's name.
    #[error("{}: is there and is no socket; choose another path with --control unix:PATH", .0.display())]
    NoSocket(PathBuf),
    /// Without a token, the server listens on the loopback only: at another address everyone could
    /// read everything.
    #[error("{0} can be reached from elsewhere: a token is needed (--token-file FILE), so that not everybody may read")]
    Open(At),
    /// No threads.
    #[error("cannot start threads to serve: {0}")]
    Threads(io::Error),
}

/// A running server. It ends when it is dropped, at once; [`Server::stop`] ends it in peace.
pub struct Server {
    running: Running,
    address: SocketAddr,
}

/// The control channel of a tree that is not served. It ends when it is dropped, at once, and its
/// socket goes with it; [`Control::stop`] ends it in peace.
pub struct Control {
    running: Running,
    at: At,
}

/// Threads that serve.
struct Running {
    runtime: Option<Runtime>,
    shared: Arc<Shared>,
    socket: Option<PathBuf>,
}

struct Shared {
    service: Arc<Service>,
    options: Options,
    /// A place for each connection.
    places: Arc<Semaphore>,
    /// Tells one connection that its place is wanted.
    wanted: Notify,
    stop: watch::Sender<bool>,
    /// Connections that are open.
    open: AtomicUsize,
    /// Numbers of connections, by which readers are told apart. Zero is not used.
    next: AtomicU32,
}

impl Server {
    /// Listens at an address, at any port if that is zero, and serves a tree from then on.
    pub fn start(tree: Arc<Tree>, address: SocketAddr, options: Options) -> Result<Server, StartError> {
        let (running, at) = Running::start(tree, &At::Address(address), Content::Tree, options)?;
        let address = if let At::Address(bound) = at { bound } else { address };
        Ok(Server { running, address })
    }

    /// Its address.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Connections that are open.
    pub fn connections(&self) -> usize {
        self.running.shared.open.load(Ordering::SeqCst)
    }

    /// Accepts no more connections, waits for the answers under way, within the limit, and ends.
    /// Returns whether all answers were finished.
    pub fn stop(self) -> bool {
        self.running.stop()
    }
}

impl Control {
    /// Listens at an address as a [`Server`] does, or at a socket for the tree's owner alone,
    /// without token and encryption. The tree says where, in an extended attribute of its root.
    pub fn start(tree: Arc<Tree>, at: &At, options: Options) -> Result<Control, StartError> {
        let scheme = if options.tls.is_some() { "https" } else { "http" };
        let (running, at) = Running::start(Arc::clone(&tree), at, Content::Control, options)?;
        match &at {
            At::Socket(path) => tree.listens_at(path.clone()),
            At::Address(address) => tree.answers_at(format!("{scheme}://{address}/")),
        }
        Ok(Control { running, at })
    }

    /// Where it listens.
    pub fn at(&self) -> &At {
        &self.at
    }

    /// Ends it as [`Server::stop`] does.
    pub fn stop(self) -> bool {
        self.running.stop()
    }
}

impl Running {
    fn start(tree: Arc<Tree>, at: &At, content: Content, mut options: Options) -> Result<(Running, At), StartError> {
        if let At::Socket(_) = at {
            (options.token, options.tls) = (None, None);
        }
        if at.is_open() && options.token.is_none() {
            return Err(StartError::Open(at.clone()));
        }
        let runtime = threads(content).map_err(StartError::Threads)?;
        let (listener, at) = runtime.block_on(Listener::bind(at))?;
        let places = options.limits.connections.clamp(1, Semaphore::MAX_PERMITS);
        // Most connections have one piece under way.
        let service = Service::new(tree, Serves { content, at: &at, options: &options }, Buffers::new(places));
        let shared = Arc::new(Shared {
            service: Arc::new(service),
            places: Arc::new(Semaphore::new(places)),
            wanted: Notify::new(),
            stop: watch::Sender::new(false),
            open: AtomicUsize::new(0),
            next: AtomicU32::new(1),
            options,
        });
        runtime.spawn(Arc::clone(&shared).accept(listener));
        runtime.spawn(Arc::clone(&shared).grow_old());
        let socket = if let At::Socket(path) = &at { Some(path.clone()) } else { None };
        Ok((Running { runtime: Some(runtime), shared, socket }, at))
    }

    fn stop(mut self) -> bool {
        self.leave();
        self.shared.stop.send_replace(true);
        let Some(runtime) = self.runtime.take() else { return true };
        let all = u32::try_from(self.shared.options.limits.connections.max(1)).unwrap_or(u32::MAX);
        let ended = self.shared.places.acquire_many(all);
        let ended =
            runtime.block_on(async { tokio::time::timeout(self.shared.options.limits.grace, ended).await.is_ok() });
        // The rest are tasks that let go of the tree, so that a flight being recorded has its end.
        // A source that hangs must not keep us.
        runtime.shutdown_timeout(if ended { LETTING_GO } else { Duration::ZERO });
        ended
    }

    /// Removes the socket.
    fn leave(&self) {
        if let Some(path) = &self.socket {
            // Another process may have taken its name away; then there is nothing to remove.
            let _ = std::fs::remove_file(path);
        }
    }
}

/// The threads of a server. A control channel makes do with few.
fn threads(content: Content) -> io::Result<Runtime> {
    let mut runtime = Builder::new_multi_thread();
    match content {
        Content::Tree => runtime.thread_name("forebay-serve").max_blocking_threads(ASKING),
        Content::Control => runtime.thread_name("forebay-control").worker_threads(1).max_blocking_threads(4),
    };
    runtime.enable_all().build()
}

impl Drop for Running {
    fn drop(&mut self) {
        self.leave();
        if let Some(runtime) = self.runtime.take() {
            // A source that hangs must not keep us.
            runtime.shutdown_background();
        }
    }
}

/// An open connection, counted, in its place.
struct Open<'a> {
    count: &'a AtomicUsize,
    _place: OwnedSemaphorePermit,
}

impl Open<'_> {
    fn new(count: &AtomicUsize, place: OwnedSemaphorePermit) -> Open<'_> {
        count.fetch_add(1, Ordering::SeqCst);
        Open { count, _place: place }
    }
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        self.count.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Shared {
    async fn accept(self: Arc<Self>, listener: Listener) {
        let mut stop = self.stop.subscribe();
        loop {
            // One connection at most waits here for its place; the others wait with the kernel,
            // which holds only so many.
            let accepted = async {
                let stream = listener.accept().await?;
                Ok((stream, self.place().await))
            };
            let accepted: io::Result<_> = tokio::select! {
                _ = stop.wait_for(|stop| *stop) => return,
                accepted = accepted => accepted,
            };
            match accepted {
                Ok((stream, place)) => {
                    let client = Client { handler: self.number(), address: stream.peer() };
                    tokio::spawn(Arc::clone(&self).connection(stream, client, place));
                }
                Err(error) => {
                    // Out of descriptors, most likely; some will be given back.
                    log::warn!("cannot accept a connection: {error}");
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
            }
        }
    }

    /// A place for a connection that was accepted. While there is none, one connection after
    /// another is told to end after the answer that it has under way: otherwise clients that keep
    /// idle connections would keep all others out.
    async fn place(&self) -> OwnedSemaphorePermit {
        loop {
            if let Ok(place) = Arc::clone(&self.places).try_acquire_owned() {
                return place;
            }
            self.wanted.notify_one();
            let place = Arc::clone(&self.places).acquire_owned();
            if let Ok(Ok(place)) = tokio::time::timeout(MAKING_ROOM, place).await {
                return place;
            }
        }
    }

    fn number(&self) -> u32 {
        loop {
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            if number != 0 {
                return number;
            }
        }
    }

    async fn connection(self: Arc<Self>, stream: Stream, client: Client, place: OwnedSemaphorePermit) {
        let _open = Open::new(&self.open, place);
        let limits = &self.options.limits;
        let ending = Ending { stop: self.stop.subscribe(), wanted: &self.wanted };
        let service = Arc::clone(&self.service);
        let stream = match stream {
            Stream::Tcp(stream) => stream,
            Stream::Unix(stream) => return connection::serve(service, stream, client, limits, ending).await,
        };
        // Only answers that would wait for more bytes are hurt if it cannot be set.
        let _ = stream.set_nodelay(true);
        let Some(tls) = &self.options.tls else {
            return connection::serve(service, stream, client, limits, ending).await;
        };
        let wanted = async {
            tokio::time::sleep(limits.young).await;
            self.wanted.notified().await;
        };
        let shaken = tokio::select! {
            shaken = tokio::time::timeout(limits.request, tls.0.accept(stream)) => shaken,
            () = wanted => return log::debug!("{client}: no handshake while another wanted the place"),
        };
        match shaken {
            Ok(Ok(stream)) => connection::serve(service, stream, client, limits, ending).await,
            Ok(Err(error)) => log::debug!("{client}: {error}"),
            Err(_) => log::debug!("{client}: no handshake in time"),
        }
    }

    async fn grow_old(self: Arc<Self>) {
        let mut stop = self.stop.subscribe();
        loop {
            tokio::select! {
                _ = stop.wait_for(|stop| *stop) => return,
                () = tokio::time::sleep(self.options.limits.open) => self.service.grow_old(),
            }
        }
    }
}
