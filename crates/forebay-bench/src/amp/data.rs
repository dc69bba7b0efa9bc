//! The data of the programs: the folder that `workloads/record.sh prepare` makes, or a tiny one
//! that shows only that everything runs.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, ensure};
use forebay_testkit::tools::find;

/// The variable for the folder of prepared data, which the script uses too.
pub(super) const FOLDER: &str = "FOREBAY_WORKLOADS";
const USUAL: &str = "/var/tmp/forebay-workloads";

/// A folder like the recorded workloads'. A tiny one is removed at the end.
pub(super) struct Data {
    folder: PathBuf,
    _tiny: Option<tempfile::TempDir>,
}

/// A file of the recorded workloads.
pub(super) fn recipe(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../workloads").join(name)
}

impl Data {
    /// The prepared data, if all of it is there.
    pub(super) fn prepared<'a>(reads: impl Iterator<Item = &'a &'static str>) -> anyhow::Result<Data> {
        let folder = std::env::var_os(FOLDER).map_or_else(|| PathBuf::from(USUAL), PathBuf::from);
        for name in reads {
            ensure!(
                folder.join(name).exists(),
                "{}: no {name} there; `workloads/record.sh prepare` makes the data, and {FOLDER} says where",
                folder.display()
            );
        }
        Ok(Data { folder, _tiny: None })
    }

    /// Twenty C files that call each other, the tables of the queries with a few rows, and cscope's
    /// index.
    pub(super) fn tiny() -> anyhow::Result<Data> {
        let tiny = tempfile::tempdir()?;
        let tree = tiny.path().join("tree");
        fs::create_dir(&tree)?;
        for file in 0..20 {
            let filling = "/* nothing is said here, at some length */\n".repeat(200);
            let text =
                format!("long schedule_timeout(long);\nlong f{file}(long t)\n{{\n\treturn schedule_timeout(t);\n}}\n");
            fs::write(tree.join(format!("f{file:02}.c")), text + &filling)?;
        }
        if find("cscope").is_some() {
            succeed(Command::new("cscope").args(["-b", "-R", "-k", "-f", "../cscope.out"]).current_dir(&tree))?;
        }
        if find("sqlite3").is_some() {
            let schema = fs::File::open(recipe("programs/schema.sql"))?;
            let database = tiny.path().join("tpch.db");
            succeed(Command::new("sqlite3").arg(&database).stdin(schema))?;
            let rows = "WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 2000)
                INSERT INTO orders SELECT i, i % 100, 'O', i, '1995-01-01', '1-URGENT', 'clerk', 0, 'nothing' FROM n;";
            succeed(Command::new("sqlite3").arg(&database).arg(rows).stdin(Stdio::null()))?;
        }
        Ok(Data { folder: tiny.path().to_owned(), _tiny: Some(tiny) })
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }
}

/// Runs a program that must succeed, and discards its output.
pub(super) fn succeed(command: &mut Command) -> anyhow::Result<()> {
    let name = command.get_program().display().to_string();
    let output = command.stdout(Stdio::null()).stderr(Stdio::piped()).output();
    let output = output.with_context(|| format!("cannot run {name}"))?;
    ensure!(output.status.success(), "{name}: {}: {}", output.status, String::from_utf8_lossy(&output.stderr));
    Ok(())
}
