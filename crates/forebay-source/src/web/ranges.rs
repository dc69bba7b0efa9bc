//! Servers that refuse ranges, and give the files all the same.

use std::path::Path;

use reqwest::StatusCode;

use super::Web;

impl Web {
    /// Ranges of a file are refused, and the file is not.
    pub(super) fn ranges_are_refused(&self, path: &Path) {
        self.learnt.is_read_whole(path);
        self.say("ranges are refused", "; files are read whole");
    }
}

/// Whether the status may be of the range rather than of the file. The file itself tells.
pub(super) fn refuses_ranges(status: StatusCode) -> bool {
    matches!(status.as_u16(), 400 | 403 | 405 | 416 | 501)
}
