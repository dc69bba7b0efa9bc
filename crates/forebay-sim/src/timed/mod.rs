//! Whole cores in virtual time over modelled devices.
