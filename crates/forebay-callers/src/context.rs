//! The context of an id, as a line of text:
//!
//! ```text
//! 1f0c…  /usr/bin/cscope 5bd1…  /usr/bin/cscope@5bd1…+91a4 /usr/lib/x86_64-linux-gnu/libc.so.6@7f01…+2724a …
//! id     program         build  frames, innermost first: module@build+offset        (tabs between fields)
//! ```

use crate::text::name;

/// A context: a program and a place in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Context {
    /// Its id, not 0.
    pub id: u64,
    /// The program.
    pub program: Program,
    /// The return addresses that the id is made of, innermost first.
    pub frames: Vec<Frame>,
}

/// A program that runs or ran.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Program {
    /// The executable's path.
    pub path: String,
    /// Its build id in hexadecimal; where it has none, `s`SIZE`-m`MTIME (bytes, seconds).
    pub build: String,
}

/// One return address of a stack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// The module's path as the loader has it; empty for the executable.
    pub module: String,
    /// Its build id, as in [`Program::build`].
    pub build: String,
    /// The offset in the module that the call returns to: the address less the module's load
    /// address.
    pub offset: u64,
}

impl Context {
    /// Reads a line; `None` if it is no context's, or torn.
    pub fn parse(line: &str) -> Option<Context> {
        let mut fields = line.split('\t');
        let id = u64::from_str_radix(fields.next()?, 16).ok().filter(|id| *id != 0)?;
        let program = Program { path: name(fields.next()?)?, build: name(fields.next()?)? };
        let frames = fields.next()?.split(' ').filter(|frame| !frame.is_empty()).map(Frame::parse);
        Some(Context { id, program, frames: frames.collect::<Option<_>>()? })
    }
}

impl Frame {
    fn parse(text: &str) -> Option<Frame> {
        let (module, place) = text.split_once('@')?;
        let (build, offset) = place.split_once('+')?;
        Some(Frame { module: name(module)?, build: name(build)?, offset: u64::from_str_radix(offset, 16).ok()? })
    }
}
