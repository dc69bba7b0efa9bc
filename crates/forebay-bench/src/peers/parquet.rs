//! A query of DuckDB for three of eleven columns of a Parquet file.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, ensure};
use forebay_testkit::s3::S3;
use forebay_testkit::tools;

use super::pattern::WrongBytes;
use super::readers::Work;

/// The object.
const NAME: &str = "table.parquet";

/// Writes the table: hashes, which don't compress.
const WRITE: &str = r"
import duckdb, sys
duckdb.execute('set enable_progress_bar = false')
columns = ', '.join(f'hash(i * 11 + {k}) as c{k}' for k in range(11))
duckdb.execute(f'''copy (select {columns} from range({sys.argv[2]}) t(i)) to '{sys.argv[1]}' (format parquet)''')
";

/// Prints the seconds of the query, and the answer.
const ASK: &str = r"
import duckdb, sys, time
duckdb.execute('set enable_progress_bar = false')
question = f'''select sum(c1), sum(c4), sum(c9) from read_parquet('{sys.argv[1]}')'''
begun = time.time()
answer = duckdb.execute(question).fetchall()
print(time.time() - begun, answer, sep='\n')
";

/// The table on the server, and the expected answer.
pub(super) struct Table {
    python: PathBuf,
    answer: String,
}

impl Table {
    /// Makes the table; `None` without DuckDB.
    pub(super) fn put(s3: &S3, rows: u64, folder: &Path) -> anyhow::Result<Option<Table>> {
        let Some(python) = tools::python_with("duckdb") else {
            eprintln!("  DuckDB is missing, and Parquet left out; `cargo xtask tools` installs it");
            return Ok(None);
        };
        let path = folder.join(NAME);
        run(&python, WRITE, &path, &[&rows.to_string()])?;
        let answer = run(&python, ASK, &path, &[])?.answer;
        s3.put(NAME, &std::fs::read(&path)?)?;
        std::fs::remove_file(&path)?;
        Ok(Some(Table { python, answer }))
    }

    /// Runs the query through a mount.
    pub(super) fn ask(&self, mount: &Path) -> anyhow::Result<Work> {
        let said = run(&self.python, ASK, &mount.join(NAME), &[])?;
        if said.answer != self.answer {
            return Err(WrongBytes(format!("DuckDB says {} instead of {}", said.answer, self.answer)).into());
        }
        Ok(Work { seconds: said.seconds, bytes: 0, reads: 1 })
    }

    /// Removes the object.
    pub(super) fn remove(s3: &S3) -> anyhow::Result<()> {
        Ok(s3.delete(NAME)?)
    }
}

/// The output of a script.
#[derive(Default)]
struct Said {
    seconds: f64,
    answer: String,
}

fn run(python: &Path, script: &str, path: &Path, more: &[&str]) -> anyhow::Result<Said> {
    let mut command = Command::new(python);
    let output = command.args(["-c", script]).arg(path).args(more).stdin(Stdio::null()).output()?;
    ensure!(output.status.success(), "DuckDB: {}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8_lossy(&output.stdout);
    let Some((seconds, answer)) = text.split_once('\n') else { return Ok(Said::default()) };
    Ok(Said { seconds: seconds.parse().context("a time")?, answer: answer.trim().to_owned() })
}
