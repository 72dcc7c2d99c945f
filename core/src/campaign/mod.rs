//! The lease campaign over a key-value store.
