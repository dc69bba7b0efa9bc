//! Bare object ids, of 32 or 64 bits, in either order of bytes.

use crate::read::Decode;
use crate::{BATCH, Reading, Request, Shape};

/// How to read an id from bytes.
pub(crate) trait Id: Send {
    /// How many bytes it has.
    const BYTES: usize;
    fn of(bytes: &[u8]) -> u64;
}

macro_rules! id {
    ($name:ident, $type:ty, $from:ident) => {
        pub(crate) struct $name;

        impl Id for $name {
            const BYTES: usize = size_of::<$type>();

            #[inline]
            fn of(bytes: &[u8]) -> u64 {
                let mut own = [0; size_of::<$type>()];
                own.copy_from_slice(bytes);
                <$type>::$from(own).into()
            }
        }
    };
}

id!(U32Le, u32, from_le_bytes);
id!(U32Be, u32, from_be_bytes);
id!(U64Le, u64, from_le_bytes);
id!(U64Be, u64, from_be_bytes);

pub(crate) struct Ids<I> {
    records: u64,
    id: std::marker::PhantomData<I>,
}

impl<I: Id> Ids<I> {
    pub(crate) fn new() -> Ids<I> {
        Ids { records: 0, id: std::marker::PhantomData }
    }
}

impl<I: Id> Decode for Ids<I> {
    fn decode(&mut self, bytes: &[u8], _last: bool, batch: &mut Vec<Request>) -> Result<usize, String> {
        let records = bytes.chunks_exact(I::BYTES).take(BATCH);
        let before = batch.len();
        batch.extend(records.map(|record| Request { file: I::of(record), len: 1, ..Request::default() }));
        let records = batch.len() - before;
        self.records += records as u64;
        Ok(records * I::BYTES)
    }

    fn shape(&self) -> Shape {
        Shape::Objects
    }

    fn records(&self) -> u64 {
        self.records
    }

    fn reading(&self) -> Reading {
        Reading { without_sizes: true, ..Reading::default() }
    }
}
