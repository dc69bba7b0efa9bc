//! Real web servers over a folder, beside [nginx](crate::nginx): each runs as one process on a free
//! port of the loopback, and is stopped when its value is dropped.

pub mod apache;
pub mod python;
pub mod rclone;
pub mod wsgidav;

#[cfg(test)]
mod tests;
