//! Messages to the program that started this one, such as systemd for a unit with `Type=notify`:
//! sd_notify(3). Without `NOTIFY_SOCKET` in the environment they go nowhere.

use sd_notify::NotifyState;

/// The command does what it was started for; `what` describes it.
pub(crate) fn ready(what: &str) {
    send(&[NotifyState::Ready, NotifyState::Status(what.trim_end())]);
}

/// The command begins to end.
pub(crate) fn stopping() {
    send(&[NotifyState::Stopping]);
}

fn send(state: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(state) {
        log::warn!("NOTIFY_SOCKET: {error}");
    }
}
