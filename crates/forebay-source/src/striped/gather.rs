//! Asks all members of a set the same question at once, and goes on when the last has answered.

use std::sync::Arc;

use parking_lot::Mutex;

use crate::{Result, Source, Then};

/// Called with the answers of all, in order.
type ThenAll<T> = Box<dyn FnOnce(Vec<Result<T>>) + Send>;

struct Gathering<T> {
    answers: Vec<Option<Result<T>>>,
    missing: usize,
    then: Option<ThenAll<T>>,
}

/// Calls `then` with the answers of all members, in their order.
pub(super) fn gather<T: Send + 'static>(
    members: &[Arc<dyn Source>],
    ask: impl Fn(&dyn Source, Then<T>),
    then: impl FnOnce(Vec<Result<T>>) + Send + 'static,
) {
    let gathering = Gathering {
        answers: members.iter().map(|_| None).collect(),
        missing: members.len(),
        then: Some(Box::new(then)),
    };
    let gathering = Arc::new(Mutex::new(gathering));
    for (number, member) in members.iter().enumerate() {
        let gathering = Arc::clone(&gathering);
        let answered = move |answer| {
            let mut gathering = gathering.lock();
            gathering.answers[number] = Some(answer);
            gathering.missing -= 1;
            if gathering.missing > 0 {
                return;
            }
            let (answers, then) = (std::mem::take(&mut gathering.answers), gathering.then.take());
            drop(gathering);
            if let Some(then) = then {
                then(answers.into_iter().flatten().collect());
            }
        };
        ask(&**member, Box::new(answered));
    }
}
