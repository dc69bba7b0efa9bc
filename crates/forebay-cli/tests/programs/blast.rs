//! `blastn` on a database that `makeblastdb` made, in volumes. Several processes at once find the
//! same hits through a mount as on the plain folder.

use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use forebay_testkit::process::Signal;
use forebay_testkit::{mounts, need};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use crate::{Mount, text};

const SEQUENCES: usize = 4000;
const LENGTH: usize = 3000;

fn base(random: &mut StdRng) -> char {
    ['A', 'C', 'G', 'T'][random.random_range(0..4)]
}

/// Random sequences, as FASTA.
fn sequences(random: &mut StdRng) -> Vec<String> {
    (0..SEQUENCES).map(|_| (0..LENGTH).map(|_| base(random)).collect()).collect()
}

fn fasta<'a>(sequences: impl Iterator<Item = &'a String>) -> String {
    sequences.enumerate().fold(String::new(), |mut text, (number, sequence)| {
        let _ = writeln!(text, ">s{number} made up\n{sequence}");
        text
    })
}

/// A piece of a sequence, in which about every thirtieth base is replaced.
fn query(sequences: &[String], random: &mut StdRng) -> String {
    let sequence = &sequences[random.random_range(0..sequences.len())];
    let from = random.random_range(0..LENGTH - 600);
    let piece = &sequence[from..from + random.random_range(200..600)];
    piece.chars().map(|letter| if random.random_range(0..30) == 0 { base(random) } else { letter }).collect()
}

/// The command, with its usage report switched off.
fn command(program: &Path, args: &[&str], at: &Path) -> Command {
    let mut command = Command::new(program);
    command.args(args).current_dir(at).env("BLAST_USAGE_REPORT", "false").env("HOME", at).stdin(Stdio::null());
    command
}

fn succeed(mut command: Command) -> String {
    let output = command.output().expect("it starts");
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}

#[test]
fn blastn_finds_the_same() {
    if !mounts::possible() {
        return;
    }
    let (makeblastdb, blastn) = (need!("makeblastdb"), need!("blastn"));
    let seed = u64::from(rand::random::<u32>());
    println!("seed {seed}");
    let mut random = StdRng::seed_from_u64(seed);
    let (work, source) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
    let sequences = sequences(&mut random);
    fs::write(work.path().join("db.fa"), fasta(sequences.iter())).expect("written");
    let db = source.path().join("db");
    let input = ["-in", "db.fa", "-dbtype", "nucl", "-title", "made up", "-max_file_sz", "1MB", "-out", text(&db)];
    succeed(command(&makeblastdb, &input, work.path()));
    let volumes = fs::read_dir(source.path()).expect("a folder").flatten();
    let volumes = volumes.filter(|entry| entry.path().extension().is_some_and(|ending| ending == "nsq")).count();
    assert!(volumes >= 3, "{volumes} volumes");
    let mount = Mount::start(&[text(source.path()), "--memory", "24MiB"]);
    let queries: Vec<_> = (0..4)
        .map(|number| {
            let queries: Vec<String> = (0..5).map(|_| query(&sequences, &mut random)).collect();
            let path = work.path().join(format!("query-{number}.fa"));
            fs::write(&path, fasta(queries.iter())).expect("written");
            path
        })
        .collect();
    let search = |at: &Path, query: &Path| {
        // A name without folders: in a path, a blank would begin another database.
        let args = ["-db", "db", "-query", text(query), "-outfmt", "6", "-num_threads", "1"];
        succeed(command(&blastn, &args, at))
    };
    std::thread::scope(|scope| {
        let searches: Vec<_> = queries.iter().map(|query| scope.spawn(|| search(mount.path(), query))).collect();
        for (query, found) in queries.iter().zip(searches) {
            let expected = search(source.path(), query);
            // Each piece is found at its origin. 97 % of a random sequence is like nothing else.
            assert!(expected.lines().count() >= 5, "seed {seed}: {expected}");
            assert!(found.join().expect("it succeeds") == expected, "seed {seed}, {query:?}");
        }
    });
    assert!(mount.counter("fetched_bytes") > 0, "nobody asked the mount");
    assert_eq!(mount.end(Signal::TERM).code(), Some(0));
}
