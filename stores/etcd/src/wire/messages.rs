//! The messages of etcd's API that this adapter uses, with the field numbers of `rpc.proto`, `kv.proto` and `auth.proto`
//! (etcd 3.4 to 3.7; fields that are not listed are skipped in answers and left at their defaults in requests).
//!
//! Written by hand, because generated code needs `protoc` on every machine that builds this crate.

use prost::{Enumeration, Message, Oneof};

/// The state of the member that answered, at the time of its answer.
#[derive(Clone, Copy, PartialEq, Eq, Message)]
pub(crate) struct Header {
    #[prost(uint64, tag = "1")]
    pub cluster_id: u64,
    #[prost(uint64, tag = "2")]
    pub member_id: u64,
    /// The newest revision of the store, when the answer was made.
    #[prost(int64, tag = "3")]
    pub revision: i64,
    /// The raft term of the last entry that the member has applied.
    #[prost(uint64, tag = "4")]
    pub raft_term: u64,
}

/// A key as it is stored.
#[derive(Clone, PartialEq, Eq, Message)]
pub(crate) struct KeyValue {
    #[prost(bytes = "vec", tag = "1")]
    pub key: Vec<u8>,
    #[prost(int64, tag = "2")]
    pub create_revision: i64,
    #[prost(int64, tag = "3")]
    pub mod_revision: i64,
    #[prost(bytes = "vec", tag = "5")]
    pub value: Vec<u8>,
    /// The lease to which the key is attached; 0 for none.
    #[prost(int64, tag = "6")]
    pub lease: i64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Enumeration)]
#[repr(i32)]
pub(crate) enum Order {
    None = 0,
    Ascending = 1,
    Descending = 2,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Enumeration)]
#[repr(i32)]
pub(crate) enum SortTarget {
    Key = 0,
    Version = 1,
    CreateRevision = 2,
    ModRevision = 3,
    Value = 4,
}

/// A read; linearised unless `serializable`.
#[derive(Clone, PartialEq, Eq, Message)]
pub(crate) struct RangeRequest {
    #[prost(bytes = "vec", tag = "1")]
    pub key: Vec<u8>,
    #[prost(bytes = "vec", tag = "2")]
    pub range_end: Vec<u8>,
    #[prost(int64, tag = "3")]
    pub limit: i64,
    #[prost(int64, tag = "4")]
    pub revision: i64,
    #[prost(enumeration = "Order", tag = "5")]
    pub sort_order: i32,
    #[prost(enumeration = "SortTarget", tag = "6")]
    pub sort_target: i32,
    #[prost(bool, tag = "7")]
    pub serializable: bool,
    #[prost(bool, tag = "8")]
    pub keys_only: bool,
}

#[derive(Clone, PartialEq, Eq, Message)]
pub(crate) struct RangeResponse {
    #[prost(message, optional, tag = "1")]
    pub header: Option<Header>,
    #[prost(message, repeated, tag = "2")]
    pub kvs: Vec<KeyValue>,
    #[prost(bool, tag = "3")]
    pub more: bool,
    #[prost(int64, tag = "4")]
    pub count: i64,
}

#[derive(Clone, PartialEq, Eq, Message)]
pub(crate) struct PutRequest {
    #[prost(bytes = "vec", tag = "1")]
    pub key: Vec<u8>,
    #[prost(bytes = "vec", tag = "2")]
    pub value: Vec<u8>,
    #[prost(int64, tag = "3")]
    pub lease: i64,
    #[prost(bool, tag = "5")]
    pub ignore_value: bool,
    #[prost(bool, tag = "6")]
    pub ignore_lease: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Message)]
pub(crate) struct PutResponse {
    #[prost(message, optional, tag = "1")]
    pub header: Option<Header>,
}

#[derive(Clone, PartialEq, Eq, Message)]
pub(crate) struct DeleteRequest {
    #[prost(bytes = "vec", tag = "1")]
    pub key: Vec<u8>,
    #[prost(bytes = "vec", tag = "2")]
    pub range_end: Vec<u8>,
}

#[derive(Clone, PartialEq, Eq, Message)]
pub(crate) struct DeleteResponse {
    #[prost(message, optional, tag = "1")]
    pub header: Option<Header>,
    #[prost(int64, tag = "2")]
    pub deleted: i64,
}

/// One operation of a transaction.
#[derive(Clone, PartialEq, Eq, Message)]
pub(crate) struct Operation {
    #[prost(oneof = "OperationKind", tags = "1, 2, 3, 4")]
    pub kind: Option<OperationKind>,
}

#[derive(Clone, PartialEq, Eq, Oneof)]
pub(crate) enum OperationKind {
    #[prost(message, tag = "1")]
    Range(RangeRequest),
    #[prost(message, tag = "2")]
    Put(PutRequest),
    #[prost(message, tag = "3")]
    Delete(DeleteRequest),
    /// The inner transaction's comparisons are evaluated before any operation of the outer transaction is applied.
    #[prost(message, tag = "4")]
    Txn(TxnRequest),
}

#[derive(Clone, PartialEq, Eq, Message)]
pub(crate) struct OperationResult {
    #[prost(oneof = "OperationAnswer", tags = "1, 2, 3")]
    pub answer: Option<OperationAnswer>,
}

#[derive(Clone, PartialEq, Eq, Oneof)]
pub(crate) enum OperationAnswer {
    #[prost(message, tag = "1")]
    Range(RangeResponse),
    #[prost(message, tag = "2")]
    Put(PutResponse),
    #[prost(message, tag = "3")]
    Delete(DeleteResponse),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Enumeration)]
#[repr(i32)]
pub(crate) enum Comparison {
    Equal = 0,
    Greater = 1,
    Less = 2,
    NotEqual = 3,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Enumeration)]
#[repr(i32)]
pub(crate) enum CompareTarget {
    Version = 0,
    CreateRevision = 1,
    ModRevision = 2,
    Value = 3,
    Lease = 4,
}

/// A condition of a transaction on one key.
#[derive(Clone, PartialEq, Eq, Message)]
pub(crate) struct Compare {
    #[prost(enumeration = "Comparison", tag = "1")]
    pub result: i32,
    #[prost(enumeration = "CompareTarget", tag = "2")]
    pub target: i32,
    #[prost(bytes = "vec", tag = "3")]
    pub key: Vec<u8>,
    #[prost(oneof = "CompareValue", tags = "4, 5, 6, 7, 8")]
    pub value: Option<CompareValue>,
}

#[derive(Clone, PartialEq, Eq, Oneof)]
pub(crate) enum CompareValue {
    #[prost(int64, tag = "4")]
    Version(i64),
    #[prost(int64, tag = "5")]
    CreateRevision(i64),
    #[prost(int64, tag = "6")]
    ModRevision(i64),
    #[prost(bytes = "vec", tag = "7")]
    Value(Vec<u8>),
    #[prost(int64, tag = "8")]
    Lease(i64),
}

#[derive(Clone, PartialEq, Eq, Message)]
pub(crate) struct TxnRequest {
    #[prost(message, repeated, tag = "1")]
    pub compare: Vec<Compare>,
    #[prost(message, repeated, tag = "2")]
    pub success: Vec<Operation>,
    #[prost(message, repeated, tag = "3")]
    pub failure: Vec<Operation>,
}

#[derive(Clone, PartialEq, Eq, Message)]
pub(crate) struct TxnResponse {
    #[prost(message, optional, tag = "1")]
    pub header: Option<Header>,
    #[prost(bool, tag = "2")]
    pub succeeded: bool,
    #[prost(message, repeated, tag = "3")]
    pub responses: Vec<OperationResult>,
}

#[derive(Clone, Copy, PartialEq, Eq, Message)]
pub(crate) struct GrantRequest {
    /// Seconds.
    #[prost(int64, tag = "1")]
    pub ttl: i64,
    #[prost(int64, tag = "2")]
    pub id: i64,
}

#[derive(Clone, PartialEq, Eq, Message)]
pub(crate) struct GrantResponse {
    #[prost(message, optional, tag = "1")]
    pub header: Option<Header>,
    #[prost(int64, tag = "2")]
    pub id: i64,
    /// Seconds; a server raises a time below its minimum.
    #[prost(int64, tag = "3")]
    pub ttl: i64,
}

#[derive(Clone, Copy, PartialEq, Eq, Message)]
pub(crate) struct RevokeRequest {
    #[prost(int64, tag = "1")]
    pub id: i64,
}

#[derive(Clone, Copy, PartialEq, Eq, Message)]
pub(crate) struct RevokeResponse {
    #[prost(message, optional, tag = "1")]
    pub header: Option<Header>,
}

#[derive(Clone, Copy, PartialEq, Eq, Message)]
pub(crate) struct KeepAliveRequest {
    #[prost(int64, tag = "1")]
    pub id: i64,
}

#[derive(Clone, Copy, PartialEq, Eq, Message)]
pub(crate) struct KeepAliveResponse {
    #[prost(message, optional, tag = "1")]
    pub header: Option<Header>,
    #[prost(int64, tag = "2")]
    pub id: i64,
    /// Seconds; 0 for a lease that the member does not know.
    #[prost(int64, tag = "3")]
    pub ttl: i64,
}

#[derive(Clone, Copy, PartialEq, Eq, Message)]
pub(crate) struct TimeToLiveRequest {
    #[prost(int64, tag = "1")]
    pub id: i64,
    /// Asks for the keys that are attached to the lease.
    #[prost(bool, tag = "2")]
    pub keys: bool,
}

#[derive(Clone, PartialEq, Eq, Message)]
pub(crate) struct TimeToLiveResponse {
    #[prost(message, optional, tag = "1")]
    pub header: Option<Header>,
    /// Seconds; negative for a lease that is gone.
    #[prost(int64, tag = "3")]
    pub ttl: i64,
    #[prost(bytes = "vec", repeated, tag = "5")]
    pub keys: Vec<Vec<u8>>,
}

#[derive(Clone, PartialEq, Eq, Message)]
pub(crate) struct WatchRequest {
    #[prost(message, optional, tag = "1")]
    pub create: Option<WatchCreate>,
    #[prost(message, optional, tag = "2")]
    pub cancel: Option<WatchCancel>,
}

#[derive(Clone, PartialEq, Eq, Message)]
pub(crate) struct WatchCancel {
    #[prost(int64, tag = "1")]
    pub watch_id: i64,
}

#[derive(Clone, PartialEq, Eq, Message)]
pub(crate) struct WatchCreate {
    #[prost(bytes = "vec", tag = "1")]
    pub key: Vec<u8>,
    #[prost(bytes = "vec", tag = "2")]
    pub range_end: Vec<u8>,
    #[prost(int64, tag = "3")]
    pub start_revision: i64,
    #[prost(int64, tag = "7")]
    pub watch_id: i64,
    /// Allows the server to split an answer that is larger than a message.
    #[prost(bool, tag = "8")]
    pub fragment: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Enumeration)]
#[repr(i32)]
pub(crate) enum EventKind {
    Put = 0,
    Delete = 1,
}

#[derive(Clone, PartialEq, Eq, Message)]
pub(crate) struct Event {
    #[prost(enumeration = "EventKind", tag = "1")]
    pub kind: i32,
    #[prost(message, optional, tag = "2")]
    pub kv: Option<KeyValue>,
}

#[derive(Clone, PartialEq, Eq, Message)]
pub(crate) struct WatchResponse {
    #[prost(message, optional, tag = "1")]
    pub header: Option<Header>,
    #[prost(int64, tag = "2")]
    pub watch_id: i64,
    #[prost(bool, tag = "3")]
    pub created: bool,
    #[prost(bool, tag = "4")]
    pub canceled: bool,
    /// The oldest revision from which a watch can begin, if compaction ended this watch; otherwise 0.
    #[prost(int64, tag = "5")]
    pub compact_revision: i64,
    #[prost(string, tag = "6")]
    pub cancel_reason: String,
    /// The rest of this answer follows.
    #[prost(bool, tag = "7")]
    pub fragment: bool,
    #[prost(message, repeated, tag = "11")]
    pub events: Vec<Event>,
}

#[derive(Clone, PartialEq, Eq, Message)]
pub(crate) struct AuthenticateRequest {
    #[prost(string, tag = "1")]
    pub name: String,
    #[prost(string, tag = "2")]
    pub password: String,
}

#[derive(Clone, PartialEq, Eq, Message)]
pub(crate) struct AuthenticateResponse {
    #[prost(message, optional, tag = "1")]
    pub header: Option<Header>,
    #[prost(string, tag = "2")]
    pub token: String,
}

#[derive(Clone, Copy, PartialEq, Eq, Message)]
pub(crate) struct StatusRequest {}

#[derive(Clone, PartialEq, Eq, Message)]
pub(crate) struct StatusResponse {
    #[prost(message, optional, tag = "1")]
    pub header: Option<Header>,
    #[prost(string, tag = "2")]
    pub version: String,
    /// Bytes.
    #[prost(int64, tag = "3")]
    pub db_size: i64,
    #[prost(uint64, tag = "4")]
    pub leader: u64,
    #[prost(uint64, tag = "6")]
    pub raft_term: u64,
    #[prost(string, repeated, tag = "8")]
    pub errors: Vec<String>,
    #[prost(bool, tag = "10")]
    pub is_learner: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Message)]
pub(crate) struct MemberListRequest {}

#[derive(Clone, PartialEq, Eq, Message)]
pub(crate) struct MemberListResponse {
    /// A made-up answer of `etcd grpc-proxy` has no header.
    #[prost(message, optional, tag = "1")]
    pub header: Option<Header>,
    #[prost(message, repeated, tag = "2")]
    pub members: Vec<ClusterMember>,
}

#[derive(Clone, PartialEq, Eq, Message)]
pub(crate) struct ClusterMember {
    #[prost(uint64, tag = "1")]
    pub id: u64,
    #[prost(string, tag = "2")]
    pub name: String,
}
