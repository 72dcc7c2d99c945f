//! etcd, 3.4 and newer.

mod wire;
