//! Plain twins of the policies with ghosts, and the same with the rules that libCacheSim adds.

use forebay_trace::Request;

/// Whose rules a twin keeps.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Rules {
    #[default]
    Paper,
    /// libCacheSim 0.3.5, which the figures in `data/` come from.
    LibCacheSim,
}

/// Objects from the oldest to the newest.
#[derive(Default)]
struct Line(Vec<Object>);

#[derive(Clone, Copy)]
struct Object {
    file: u64,
    bytes: u64,
    uses: u32,
}

impl Line {
    fn bytes(&self) -> u64 {
        self.0.iter().map(|object| object.bytes).sum()
    }

    fn find(&mut self, file: u64) -> Option<&mut Object> {
        self.0.iter_mut().find(|object| object.file == file)
    }

    fn take(&mut self, file: u64) -> Option<Object> {
        let at = self.0.iter().position(|object| object.file == file)?;
        Some(self.0.remove(at))
    }

    fn oldest(&mut self) -> Option<Object> {
        (!self.0.is_empty()).then(|| self.0.remove(0))
    }

    fn put(&mut self, object: Object) {
        self.0.push(object);
    }

    /// Puts a ghost into a line of so many bytes.
    fn remember(&mut self, object: Object, most: u64) {
        if object.bytes <= most {
            while self.bytes() + object.bytes > most {
                self.oldest();
            }
            self.put(object);
        }
    }
}

/// A cache that is asked for one object after the other; whether it had it.
pub(crate) trait Twin {
    fn refer(&mut self, object: &Request, enters: bool) -> bool;
}

fn new(request: &Request) -> Object {
    Object { file: request.file, bytes: request.len.into(), uses: 0 }
}

/// Misses, and the bytes of those.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Missed {
    pub(crate) requests: u64,
    pub(crate) bytes: u64,
}

pub(crate) fn missed(mut twin: Box<dyn Twin>, requests: &[Request], enters: impl Fn(u64) -> bool) -> Missed {
    let mut missed = Missed { requests: 0, bytes: 0 };
    for request in requests {
        if !twin.refer(request, enters(request.len.into())) {
            missed.requests += 1;
            missed.bytes += u64::from(request.len);
        }
    }
    missed
}

pub(crate) fn of(policy: &str, rules: Rules, capacity: u64) -> Box<dyn Twin> {
    match policy {
        "s3-fifo" => Box::new(S3Fifo { capacity, rules, ..S3Fifo::default() }),
        "2q" => Box::new(TwoQ { capacity, rules, ..TwoQ::default() }),
        "arc" => Box::new(Arc { capacity, rules, ..Arc::default() }),
        other => panic!("{other} has no twin"),
    }
}

#[derive(Default)]
struct S3Fifo {
    capacity: u64,
    rules: Rules,
    small: Line,
    main: Line,
    ghosts: Line,
    evicted: bool,
}

impl S3Fifo {
    fn evict(&mut self) {
        self.evicted = true;
        if self.main.bytes() <= self.capacity - self.capacity / 10 {
            while let Some(object) = self.small.oldest() {
                if object.uses < 2 {
                    // libCacheSim's 0.9 of the capacity is rounded by itself.
                    let most = match self.rules {
                        Rules::Paper => self.capacity - self.capacity / 10,
                        Rules::LibCacheSim => self.capacity * 9 / 10,
                    };
                    return self.ghosts.remember(object, most);
                }
                self.main.put(Object { uses: 0, ..object });
            }
        }
        while let Some(object) = self.main.oldest() {
            if object.uses == 0 {
                return;
            }
            self.main.put(Object { uses: object.uses.min(3) - 1, ..object });
        }
    }
}

impl Twin for S3Fifo {
    fn refer(&mut self, request: &Request, enters: bool) -> bool {
        if let Some(object) = self.small.find(request.file).or(self.main.find(request.file)) {
            object.uses += 1;
            return true;
        }
        let ghost = self.ghosts.take(request.file).is_some();
        let (object, small) = (new(request), self.capacity / 10);
        let theirs = self.rules == Rules::LibCacheSim;
        if !enters || theirs && object.bytes > small {
            return false;
        }
        while self.small.bytes() + self.main.bytes() + object.bytes > self.capacity {
            self.evict();
        }
        if theirs && !ghost && object.bytes == small {
            return false;
        }
        if ghost || theirs && !self.evicted && self.small.bytes() >= small {
            self.main.put(object);
        } else {
            self.small.put(object);
        }
        false
    }
}

#[derive(Default)]
struct TwoQ {
    capacity: u64,
    rules: Rules,
    a1_in: Line,
    a1_out: Line,
    am: Line,
}

impl Twin for TwoQ {
    fn refer(&mut self, request: &Request, enters: bool) -> bool {
        if let Some(object) = self.am.take(request.file) {
            self.am.put(object);
            return true;
        }
        if self.a1_in.find(request.file).is_some() {
            return true;
        }
        let ghost = self.a1_out.take(request.file).is_some();
        let (object, k_in) = (new(request), self.capacity / 4);
        let theirs = self.rules == Rules::LibCacheSim;
        if !enters || theirs && object.bytes > k_in {
            return false;
        }
        while self.a1_in.bytes() + self.am.bytes() + object.bytes > self.capacity {
            if self.a1_in.bytes() > k_in || self.am.0.is_empty() {
                let object = self.a1_in.oldest().expect("a cache that is full");
                self.a1_out.remember(object, self.capacity / 2);
            } else {
                self.am.oldest();
            }
        }
        if ghost {
            while theirs && self.am.bytes() + object.bytes > self.capacity - k_in {
                self.am.oldest();
            }
            self.am.put(object);
        } else {
            self.a1_in.put(object);
        }
        false
    }
}

#[derive(Default)]
struct Arc {
    capacity: u64,
    rules: Rules,
    t1: Line,
    t2: Line,
    b1: Line,
    b2: Line,
    p: f64,
}

impl Arc {
    fn replace(&mut self, in_b2: bool) {
        let t1 = self.t1.bytes() as f64;
        if self.t2.0.is_empty() || !self.t1.0.is_empty() && (t1 > self.p || in_b2 && t1 == self.p) {
            self.b1.put(self.t1.oldest().expect("a cache that is full"));
        } else {
            self.b2.put(self.t2.oldest().expect("it is not empty"));
        }
    }

    /// Case IV.
    fn replace_for_new(&mut self, bytes: u64) {
        let all = self.t1.bytes() + self.t2.bytes() + self.b1.bytes() + self.b2.bytes();
        if self.t1.bytes() + self.b1.bytes() + bytes > self.capacity {
            if self.b1.oldest().is_none() {
                self.t1.oldest();
                return;
            }
        } else if self.rules == Rules::LibCacheSim && all >= 2 * self.capacity {
            self.b2.oldest();
        }
        self.replace(false);
    }
}

impl Twin for Arc {
    fn refer(&mut self, request: &Request, enters: bool) -> bool {
        if let Some(object) = self.t1.take(request.file).or_else(|| self.t2.take(request.file)) {
            self.t2.put(object);
            return true;
        }
        let theirs = self.rules == Rules::LibCacheSim;
        let (b1, b2) = (self.b1.bytes() as f64, self.b2.bytes() as f64);
        let step = |object: Object| if theirs { 1.0 } else { object.bytes as f64 };
        let (in_b1, in_b2) = (self.b1.take(request.file), self.b2.take(request.file));
        if let Some(object) = in_b1 {
            self.p = (self.p + step(object) * (b2 / b1).max(1.0)).min(self.capacity as f64);
        }
        if let Some(object) = in_b2 {
            self.p = (self.p - step(object) * (b1 / b2).max(1.0)).max(0.0);
        }
        if !enters {
            return false;
        }
        let object = new(request);
        let known = in_b1.or(in_b2).is_some();
        while self.t1.bytes() + self.t2.bytes() + object.bytes > self.capacity {
            if known {
                self.replace(in_b2.is_some());
            } else {
                self.replace_for_new(object.bytes);
            }
        }
        if known {
            self.t2.put(object)
        } else {
            self.t1.put(object)
        }
        while !theirs && self.t1.bytes() + self.b1.bytes() > self.capacity {
            self.b1.oldest();
        }
        while !theirs && self.t1.bytes() + self.t2.bytes() + self.b1.bytes() + self.b2.bytes() > 2 * self.capacity {
            self.b2.oldest();
        }
        false
    }
}
