//! The program contexts that a mount knows, as a table.

use serde::Deserialize;

use super::plural;
use crate::size::count;
use crate::table::{Column, Table};

/// A program context, a file or a handler: the policy decides which of them it distinguishes.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Context {
    context: u64,
    pattern: String,
    recency: Option<f64>,
    accesses: u64,
    blocks: u64,
    loop_blocks: u64,
    loop_accesses: u64,
    partition: Option<u64>,
    executable: String,
    frames: Vec<String>,
    file: Option<String>,
}

impl Context {
    /// The program, and the place in it; or the file, if the program tells no context.
    fn place(&self) -> String {
        let program = self.executable.rsplit('/').next().unwrap_or_default();
        match (&self.file, self.frames.as_slice()) {
            (Some(file), _) => format!("{program} {file}"),
            (None, []) => program.to_owned(),
            // The innermost frames are the C library's.
            (None, frames) => {
                let own = frames.iter().position(|frame| frame.starts_with(&format!("{program}+"))).unwrap_or(0);
                let shown: Vec<&str> = frames[own..].iter().take(3).map(String::as_str).collect();
                format!("{program}: {}", shown.join(" < "))
            }
        }
    }
}

/// The number of the column with the place.
const WHERE: usize = 8;

/// A table of the listed contexts, and how many of `all` it leaves out. It is empty unless the
/// policy distinguishes contexts.
pub(super) fn table(contexts: &[Context], all: u64) -> String {
    let mut table = Table::new([
        Column::right("context"),
        Column::left("pattern"),
        Column::right("recency"),
        Column::right("accesses"),
        Column::right("blocks"),
        Column::right("loop"),
        Column::right("every"),
        Column::right("part"),
        Column::left("where"),
    ]);
    for context in contexts {
        let known = |number: u64, text: String| if number > 0 { text } else { "–".into() };
        table.row([
            context.context.to_string(),
            if context.pattern == "OneShot" { "one-shot".into() } else { context.pattern.to_lowercase() },
            context.recency.map_or_else(|| "–".into(), |recency| format!("{recency:.2}")),
            count(context.accesses),
            count(context.blocks),
            known(context.loop_blocks, count(context.loop_blocks)),
            known(context.loop_accesses, count(context.loop_accesses)),
            context.partition.map_or_else(|| "–".into(), |number| number.to_string()),
            context.place(),
        ]);
    }
    match all.saturating_sub(contexts.len() as u64) {
        _ if table.is_empty() => String::new(),
        0 => table.within(super::WIDTH, WHERE).to_string(),
        more => format!("{}and {} with fewer accesses\n", table.within(super::WIDTH, WHERE), plural(more, "context")),
    }
}

#[cfg(test)]
mod tests {
    use super::super::show;

    #[test]
    fn contexts_as_text() {
        let text = show(
            r#"{"context_count": 4, "contexts": [
                {"context": 3, "pattern": "Looping", "recency": 0.0625, "accesses": 20000, "blocks": 1000, "loop_blocks": 1000,
                 "loop_accesses": 1500, "partition": 2, "id": "00ff", "executable": "/usr/bin/cscope", "build": "b",
                 "frames": ["libc.so.6+0x1", "cscope+0x10", "cscope+0x20", "libc.so.6+0x2", "cscope+0x30"]},
                {"context": 1, "pattern": "OneShot", "accesses": 7, "executable": "/bin/cp", "file": "data/x"},
                {"context": 0, "pattern": "Other", "recency": 0.5, "accesses": 1}]}"#,
            false,
        )
        .unwrap();
        for expected in [
            "context  pattern   recency  accesses  blocks   loop  every  part  where",
            "      3  looping      0.06    20,000   1,000  1,000  1,500     2  cscope: csc…e+0x20 < libc.so.6+0x2",
            "      1  one-shot        –         7       0      –      –     –  cp data/x",
            "      0  other        0.50         1       0      –      –     –\n",
            "and 1 context with fewer accesses",
        ] {
            assert!(text.contains(expected), "{expected:?} is not in\n{text}");
        }
        assert!(!show("{}", false).unwrap().contains("context"));
    }
}
