//! Whether a URL names a folder or a file.

use std::path::Path;

use super::look::Name;
use super::{Web, What};
use crate::Error;
use crate::remote::{Answer, Told, Trouble};

impl Web {
    /// The kind of thing that the URL names. Asks for it once, unless it ends with a slash; after
    /// trouble, again when it is needed.
    pub(crate) async fn settle(&self) -> Answer<&What> {
        self.what.get_or_try_init(|| self.find_out()).await
    }

    async fn find_out(&self) -> Answer<What> {
        if self.address.ends_with_slash() {
            return Ok(What::Folder);
        }
        let file = self.address.last_name().map_or(What::Folder, What::File);
        let url = self.address.itself().clone();
        let name = Name { path: Path::new(""), url, shown: self.description.clone() };
        let signed = name.url.query().is_some();
        // A signature for GET is valid for no other method.
        let told = if signed { self.look_by_head(&name).await } else { self.look_below(&name).await };
        match told {
            Ok(Told::Folder(_)) => Ok(What::Folder),
            Ok(Told::File(_) | Told::Unmeasured) => Ok(file),
            Err(Trouble { error: Error::NotFound(_), .. }) if !signed => {
                // A server that lists nothing may have names below all the same.
                Ok(What::Folder)
            }
            Err(trouble) => Err(trouble),
        }
    }
}
