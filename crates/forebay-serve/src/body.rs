//! The bodies of answers. A file's bytes are read piece by piece, as the client takes them.

use std::collections::VecDeque;
use std::ops::Range;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use forebay_source::{Error, Label, Result};
use futures::Stream;
use hyper::body::{Body as HttpBody, Frame, SizeHint};
use tokio::sync::oneshot;

use crate::buffers::Buffers;
use crate::files::Shown;

/// Bytes that are read at a time. A client that does not take them holds two such pieces in memory:
/// one here, and one that the connection is writing.
pub(crate) const PIECE: usize = 256 << 10;

/// The body of an answer.
pub(crate) struct Body(What);

enum What {
    Text(Option<Bytes>),
    File(Box<FileBody>),
    Made(Pin<Box<dyn Stream<Item = Result<Bytes>> + Send>>),
}

impl Body {
    pub(crate) fn empty() -> Body {
        Body(What::Text(None))
    }

    /// A text in memory.
    pub(crate) fn text(text: impl Into<Bytes>) -> Body {
        let text = text.into();
        Body(What::Text(Some(text).filter(|text| !text.is_empty())))
    }

    /// A text that is made as it is taken.
    pub(crate) fn made(text: impl Stream<Item = Result<Bytes>> + Send + 'static) -> Body {
        Body(What::Made(Box::pin(text)))
    }

    /// Bytes of a file.
    pub(crate) fn file(file: FileBody) -> Body {
        Body(What::File(Box::new(file)))
    }
}

/// The segments of a file's body.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Segment {
    /// Bytes of the file.
    Bytes(Range<u64>),
    /// A text between them.
    Text(Bytes),
}

impl Segment {
    pub(crate) fn len(&self) -> u64 {
        match self {
            Segment::Bytes(range) => range.end - range.start,
            Segment::Text(text) => text.len() as u64,
        }
    }
}

/// The reader.
#[derive(Clone)]
pub(crate) struct Reader {
    /// The number of the connection.
    pub(crate) handler: u32,
    /// The memory into which pieces are copied.
    pub(crate) buffers: Arc<Buffers>,
}

/// Bytes of one version of a file. A version that is gone, or a storage that fails, is an error,
/// which cuts the connection: no other bytes ever follow those that were sent.
pub(crate) struct FileBody {
    shown: Arc<Shown>,
    reader: Reader,
    label: Option<Label>,
    segments: VecDeque<Segment>,
    left: u64,
    /// A piece that was read before it was asked for, with its length in the file.
    ahead: Option<Bytes>,
    pending: Option<oneshot::Receiver<Result<Bytes>>>,
}

impl FileBody {
    pub(crate) fn new(shown: Arc<Shown>, reader: Reader, segments: Vec<Segment>, label: Option<Label>) -> FileBody {
        let left = segments.iter().map(Segment::len).sum();
        FileBody { shown, reader, label, segments: segments.into(), left, ahead: None, pending: None }
    }

    /// Reads the first piece, so that a file that cannot be read is known before the answer begins.
    pub(crate) async fn begin(&mut self) -> Result<()> {
        if matches!(self.segments.front(), Some(Segment::Text(_))) {
            return Ok(());
        }
        if let Some(pending) = self.next() {
            self.ahead = Some(self.taken(pending.await)?);
        }
        Ok(())
    }

    /// Begins to read the next piece; `None` if the bytes of this segment have all been read.
    fn next(&mut self) -> Option<oneshot::Receiver<Result<Bytes>>> {
        let Some(Segment::Bytes(range)) = self.segments.front() else { return None };
        let piece = range.start..range.end.min(range.start.saturating_add(PIECE as u64));
        let (told, tells) = oneshot::channel();
        let buffers = Arc::clone(&self.reader.buffers);
        let len = (piece.end - piece.start) as usize;
        let label = self.label.clone();
        // The first piece carries the client's hits, once.
        if let Some(rest) = &mut self.label {
            rest.hits = 0..0;
        }
        self.shown.file.read_labelled_then(self.reader.handler, piece.start, len, label, move |outcome| {
            // If the client is gone meanwhile, nothing receives this.
            let _ = told.send(outcome.map(|lease| buffers.copy(lease.len(), lease.slices())));
        });
        Some(tells)
    }

    /// Takes a piece off the front.
    fn taken(&mut self, outcome: std::result::Result<Result<Bytes>, oneshot::error::RecvError>) -> Result<Bytes> {
        let broken = |reason: &str| Error::Storage { name: "the file".into(), reason: reason.into() };
        let bytes = outcome.map_err(|_| broken("the read was abandoned"))??;
        if bytes.is_empty() {
            return Err(broken("it ended early"));
        }
        if let Some(Segment::Bytes(range)) = self.segments.front_mut() {
            range.start += bytes.len() as u64;
            if range.start >= range.end {
                self.segments.pop_front();
            }
        }
        Ok(bytes)
    }

    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes>>> {
        if let Some(ahead) = self.ahead.take() {
            return Poll::Ready(Some(Ok(ahead)));
        }
        if let Some(Segment::Text(_)) = self.segments.front()
            && let Some(Segment::Text(text)) = self.segments.pop_front()
        {
            return Poll::Ready(Some(Ok(text)));
        }
        if self.pending.is_none() {
            self.pending = self.next();
        }
        let Some(pending) = &mut self.pending else { return Poll::Ready(None) };
        let outcome = std::task::ready!(Pin::new(pending).poll(cx));
        self.pending = None;
        Poll::Ready(Some(self.taken(outcome)))
    }
}

impl HttpBody for Body {
    type Data = Bytes;
    type Error = Error;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>>>> {
        let next = match &mut self.get_mut().0 {
            What::Text(text) => text.take().map(Ok),
            What::Made(stream) => std::task::ready!(stream.as_mut().poll_next(cx)),
            What::File(file) => {
                let next = std::task::ready!(file.poll_next(cx));
                if let Some(Ok(bytes)) = &next {
                    file.left = file.left.saturating_sub(bytes.len() as u64);
                }
                next
            }
        };
        if let Some(Err(error)) = &next {
            log::debug!("an answer is cut off: {error}");
        }
        Poll::Ready(next.map(|bytes| bytes.map(Frame::data)))
    }

    fn is_end_stream(&self) -> bool {
        match &self.0 {
            What::Text(text) => text.is_none(),
            What::File(file) => file.left == 0,
            What::Made(_) => false,
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.0 {
            What::Text(text) => SizeHint::with_exact(text.as_ref().map_or(0, |text| text.len() as u64)),
            What::File(file) => SizeHint::with_exact(file.left),
            What::Made(_) => SizeHint::default(),
        }
    }
}
