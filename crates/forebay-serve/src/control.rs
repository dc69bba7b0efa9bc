//! The control socket of a mount: HTTP/1.1 over a Unix socket that only its owner can open.

use std::convert::Infallible;
use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::os::unix::net::UnixStream as Probe;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use forebay_live::tree::Tree;
use hyper::body::{Body as HttpBody, Incoming};
use hyper::header::{CONTENT_TYPE, HeaderValue, SERVER};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::UnixListener;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::Semaphore;

use crate::answer::{Answer, STATS};
use crate::body::Body;
use crate::hint::{self, HINT};
use crate::limits::{HEAD_LINES, Limits};
use crate::listing::blocking;
use crate::refusal::Refusal;

/// Why there is no control socket.
#[derive(Debug, thiserror::Error)]
pub enum ControlError {
    /// The socket cannot be made.
    #[error("{}: cannot listen there: {reason}", .path.display())]
    Listen {
        /// The socket.
        path: PathBuf,
        /// The system's answer.
        reason: io::Error,
    },
    /// Another process listens there.
    #[error("{}: another mount listens there; choose another path with --control unix:PATH", .0.display())]
    Taken(PathBuf),
    /// Something else has the name.
    #[error("{}: is there and is no socket; choose another path with --control unix:PATH", .0.display())]
    NoSocket(PathBuf),
}

/// Connections that are answered at a time; others wait.
const CONNECTIONS: usize = 64;

/// Threads that ask sources for names.
const ASKING: usize = 4;

/// How long answers under way may take to end.
const LETTING_GO: Duration = Duration::from_millis(200);

/// A control socket that is listened at. It goes when this is dropped.
#[derive(Debug)]
pub struct Control {
    path: PathBuf,
    runtime: Option<Runtime>,
}

impl Control {
    /// Listens at a path, for the tree's owner alone. A socket that nobody listens at any more is
    /// replaced.
    pub fn start(tree: Arc<Tree>, path: &Path) -> Result<Control, ControlError> {
        let refused = |reason| ControlError::Listen { path: path.to_owned(), reason };
        clear(path)?;
        let mut runtime = Builder::new_multi_thread();
        runtime.thread_name("forebay-control").worker_threads(1).max_blocking_threads(ASKING).enable_all();
        let runtime = runtime.build().map_err(refused)?;
        let listener = {
            let _entered = runtime.enter();
            UnixListener::bind(path).map_err(refused)?
        };
        let control = Control { path: path.to_owned(), runtime: Some(runtime) };
        fs::set_permissions(path, Permissions::from_mode(0o600)).map_err(refused)?;
        if let Some(runtime) = &control.runtime {
            runtime.spawn(accept(listener, Arc::clone(&tree)));
        }
        tree.listens_at(path.to_owned());
        Ok(control)
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Control {
    fn drop(&mut self) {
        // Another process may have taken its name away; then there is nothing to remove.
        let _ = fs::remove_file(&self.path);
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_timeout(LETTING_GO);
        }
    }
}

/// Removes a socket that nobody listens at.
fn clear(path: &Path) -> Result<(), ControlError> {
    let Ok(found) = fs::symlink_metadata(path) else { return Ok(()) };
    if !found.file_type().is_socket() {
        return Err(ControlError::NoSocket(path.to_owned()));
    }
    if Probe::connect(path).is_ok() {
        return Err(ControlError::Taken(path.to_owned()));
    }
    fs::remove_file(path).map_err(|reason| ControlError::Listen { path: path.to_owned(), reason })
}

async fn accept(listener: UnixListener, tree: Arc<Tree>) {
    let places = Arc::new(Semaphore::new(CONNECTIONS));
    loop {
        let Ok(place) = Arc::clone(&places).acquire_owned().await else { return };
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            Err(error) => {
                log::warn!("control socket: cannot accept a connection: {error}");
                tokio::time::sleep(Duration::from_millis(100)).await;
                continue;
            }
        };
        let tree = Arc::clone(&tree);
        tokio::spawn(async move {
            let answer = service_fn(move |request| answered(Arc::clone(&tree), request));
            let mut http = http1::Builder::new();
            let limits = Limits::default();
            http.timer(TokioTimer::new()).header_read_timeout(limits.idle).max_headers(HEAD_LINES);
            if let Err(error) = http.serve_connection(TokioIo::new(stream), answer).await {
                log::debug!("control socket: {error}");
            }
            drop(place);
        });
    }
}

async fn answered(tree: Arc<Tree>, request: Request<Incoming>) -> Result<Answer, Infallible> {
    let mut answer = done(tree, request).await.unwrap_or_else(Answer::from);
    answer.headers_mut().insert(SERVER, HeaderValue::from_static("forebay"));
    Ok(answer)
}

async fn done(tree: Arc<Tree>, request: Request<Incoming>) -> Result<Answer, Refusal> {
    let (head, body) = request.into_parts();
    match (&head.method, head.uri.path()) {
        (&Method::POST, HINT) => hint::tell(tree, head.uri.query(), body).await,
        (&Method::GET, _) if !body.is_end_stream() => Err(Refusal::body()),
        (&Method::GET, HINT) => hint::lists(tree).await,
        (&Method::GET, STATS) => {
            let mut answer = Response::new(Body::text(blocking(move || Ok(tree.stats())).await?));
            answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
            Ok(answer)
        }
        (&Method::GET, _) => Err(Refusal::not_found()),
        _ => Err(Refusal::method()),
    }
}
