//! One description, two drivers: a workload's tasks make the same reads live and in the simulator,
//! request by request.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::sync::Mutex;

use forebay_core::{Action, DeviceCost, DeviceId, Event, EventKind};
use forebay_device::device;
use forebay_live::engine::{Config, Engine};
use forebay_play::{Content, Files, Folder, InProcess, Play, lay};
use forebay_sim::Unwatched;
use forebay_sim::timed::{Record, Setup, Workload, run_recorded};
use forebay_source::local::LocalSource;
use forebay_trace::generate::{Given, named};

/// File, offset, bytes.
type Read = (u64, u64, usize);

/// The reads of each handler, in order.
type Reads = BTreeMap<u32, Vec<Read>>;

struct Simulated<'a>(&'a Workload, Reads);

impl Record for Simulated<'_> {
    fn record(&mut self, _level: usize, event: Event, _actions: &[Action]) {
        if let EventKind::Read { handler, file, offset, len, .. } = event.kind {
            let name = self.0.file_table()[file.index()].name;
            self.1.entry(handler.0).or_default().push((name, offset, len as usize));
        }
    }
}

struct Recorded<F>(F, Mutex<Reads>);

impl<F: Files> Files for Recorded<F> {
    type Open = (F::Open, u64);

    fn name(&self, file: u64) -> String {
        self.0.name(file)
    }

    fn open(&self, file: u64) -> io::Result<Self::Open> {
        Ok((self.0.open(file)?, file))
    }

    fn read(&self, open: &Self::Open, handler: u32, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        self.1.lock().unwrap().entry(handler).or_default().push((open.1, offset, buffer.len()));
        self.0.read(&open.0, handler, offset, buffer)
    }
}

fn live(workload: &Workload, files: impl Files, handlers: u32) -> Reads {
    let files = Recorded(files, Mutex::default());
    let play = Play { verify: Some(Content::Pattern), ..Play::new(handlers) };
    let outcome = play.run(workload, &files, &|_, _| false).unwrap();
    assert_eq!(outcome.requests, workload.requests());
    files.1.into_inner().unwrap()
}

#[test]
fn the_same_workload_gives_the_same_reads() {
    let micro = "tasks=12,files=9,bytes=300000,request=65536";
    let kinds = [
        ("one-whole-0", micro),
        ("one-rand-10", micro),
        ("two-rand-0", micro),
        ("four-64kb-0", micro),
        ("index-search", "tasks=12,mapping=1M,index=16M,keywords=100,longest=512k"),
        ("media-clips", "tasks=30,files=20"),
        ("blast", "tasks=3,volumes=2,bytes=1M"),
        ("zipf", "objects=200,requests=500"),
    ];
    for (kind, parameters) in kinds {
        let workload = Workload::load(&mut named(kind, &Given::list(parameters).unwrap(), 1).unwrap()).unwrap();
        let mut setup = Setup::new("competitive".parse().unwrap(), 8 << 20, device("ibm-10k").unwrap(), 5);
        setup.seed = 1;
        let mut simulated = Simulated(&workload, Reads::new());
        run_recorded(&setup, &workload, &Unwatched, &mut simulated).unwrap();
        let folder = tempfile::tempdir().unwrap();
        lay(&workload, folder.path(), Content::Pattern, &|_, _| false).unwrap();
        // Files of a folder do not know their handlers, so requests of several threads come in any
        // order.
        let handlers = if simulated.1.len() > 1 { 5 } else { 1 };
        assert!(live(&workload, Folder::new(folder.path()), handlers) == simulated.1, "{kind}");
        let config = Config {
            memory: 24 << 20,
            policy: "competitive".parse().unwrap(),
            referenced: Default::default(),
            record: None,
        };
        let engine = Engine::start(config, vec![DeviceCost::flat(100_000, 100_000_000, 4)]).unwrap();
        let source = Arc::new(LocalSource::new(folder.path()).unwrap());
        assert!(live(&workload, InProcess::new(engine, source, DeviceId(0)), handlers) == simulated.1, "{kind}");
    }
}
