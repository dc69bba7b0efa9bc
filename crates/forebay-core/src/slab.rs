//! Slots and their lists, as replacement policies see them.
//!
//! The engine has linked lists, [`Frames`]; a replay without time can do with less, and has
//! [`Logs`](crate::logs::Logs). A policy is written once, for any [`Slab`].

use crate::frames::{Frames, ListId, Slot};
use crate::types::{BlockKey, StreamId};

macro_rules! slab {
    (
        { $($(#[$of_reads:meta])* fn $reads:ident(&self, $($in:ident: $ins:ty),*) -> $out:ty;)+ }
        { $($(#[$of_changes:meta])* fn $changes:ident(&mut self, $($with:ident: $withs:ty),*);)+ }
    ) => {
        /// The slots of a directory and the lists that they are in, as policies use them.
        pub trait Slab {
            $($(#[$of_reads])* fn $reads(&self, $($in: $ins),*) -> $out;)+
            $($(#[$of_changes])* fn $changes(&mut self, $($with: $withs),*);)+

            /// Whether nothing is in a list.
            #[inline(always)]
            fn is_empty(&self, list: ListId) -> bool {
                self.front(list).is_none()
            }
        }

        impl Slab for Frames {
            $(
                #[inline(always)]
                fn $reads(&self, $($in: $ins),*) -> $out {
                    Frames::$reads(self, $($in),*)
                }
            )+
            $(
                #[inline(always)]
                fn $changes(&mut self, $($with: $withs),*) {
                    Frames::$changes(self, $($with),*);
                }
            )+
        }
    };
}

slab! {
    {
        /// How many slots are in a list.
        fn len(&self, list: ListId) -> u32;
        /// The slot at the front of a list that a policy owns: logs do not name free ones.
        fn front(&self, list: ListId) -> Option<Slot>;
        /// The slot at the back of such a list.
        fn back(&self, list: ListId) -> Option<Slot>;
        /// The first frame from the back of a list that no reader holds.
        fn unpinned_from_back(&self, list: ListId) -> Option<Slot>;
        /// The same from the front.
        fn unpinned_from_front(&self, list: ListId) -> Option<Slot>;
        /// The neighbour of a slot towards the front of its list.
        fn towards_front(&self, slot: Slot) -> Option<Slot>;
        /// The neighbour of a slot towards the back of its list.
        fn towards_back(&self, slot: Slot) -> Option<Slot>;
        /// The list that the slot is in.
        fn list(&self, slot: Slot) -> ListId;
        /// The block that the slot holds or remembers.
        fn key(&self, slot: Slot) -> BlockKey;
        /// Whether the slot remembers a block without holding it.
        fn is_ghost(&self, slot: Slot) -> bool;
        /// How many readers hold the frame.
        fn pins(&self, slot: Slot) -> u16;
        /// The stream that brought the frame, or expects it.
        fn owner(&self, slot: Slot) -> StreamId;
        /// Whether any of the [flags](crate::frames::flag) in `mask` is set.
        fn has(&self, slot: Slot, mask: u8) -> bool;
        /// The policy's own count of a slot, 0 to 15.
        fn count(&self, slot: Slot) -> u8;
        /// The policy's own word of a slot: zero until the policy sets it, and again when the slot
        /// is released.
        fn note(&self, slot: Slot) -> u64;
    }
    {
        /// Moves a slot from wherever it is to the front of `list`.
        fn move_to_front(&mut self, slot: Slot, list: ListId);
        /// Moves a slot from wherever it is to the place behind `neighbour`, towards the back of
        /// that one's list.
        fn move_behind(&mut self, slot: Slot, neighbour: Slot);
        /// Clears the flags in `mask`.
        fn clear(&mut self, slot: Slot, mask: u8);
        /// Sets the policy's own count, 0 to 15.
        fn set_count(&mut self, slot: Slot, count: u8);
        /// Sets the policy's own word.
        fn set_note(&mut self, slot: Slot, note: u64);
    }
}
