//! The kinds of faults.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::scenario::StoreKind;

/// The target of a fault. The checker derives from it which elections the fault may leave without a leader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Touch {
    /// The process that leads the election.
    Leader,
    /// A process that leads nothing: no election may be affected.
    Follower,
    /// The election's key.
    Key,
    /// A candidate of other software: only its own election may be affected.
    Foreign,
    /// One server of three for the fault's duration, or each server in turn. A lease that survives the failure of one
    /// server continues.
    Server,
    /// The only server, or two of three: no client can write while it lasts.
    Store,
}

macro_rules! kinds {
    ($($kind:ident $name:literal $touch:ident $says:literal,)*) => {
        /// A kind of fault.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(rename_all = "kebab-case")]
        pub(crate) enum Kind {
            $(#[doc = $says] $kind,)*
        }

        impl Kind {
            /// Every kind.
            pub(crate) const ALL: &[Self] = &[$(Self::$kind,)*];

            /// The kind's name, in output and in logs.
            pub(crate) const fn name(self) -> &'static str {
                match self { $(Self::$kind => $name,)* }
            }

            /// Its description, in a sentence.
            pub(crate) const fn says(self) -> &'static str {
                match self { $(Self::$kind => $says,)* }
            }

            /// Its target.
            pub(crate) const fn touch(self) -> Touch {
                match self { $(Self::$kind => Touch::$touch,)* }
            }
        }
    };
}

kinds! {
    Kill "kill" Leader "The leader is killed (SIGKILL), and started again later.",
    Nap "nap" Leader "The leader is stopped (SIGSTOP), and resumed well before its deadline.",
    Freeze "freeze" Leader "The leader is stopped (SIGSTOP), and resumed when its lease is over.",
    Resign "resign" Leader "The leader resigns and stays in the race.",
    HandOver "hand-over" Leader "The leader hands over to a candidate it names.",
    Close "close" Leader "The leader leaves the election, and is started again later.",
    Cut "cut" Leader "The leader is cut off from all servers; what was sent meanwhile arrives afterwards.",
    CutRequests "cut-requests" Leader "The leader's requests do not arrive until later; it still receives.",
    CutReplies "cut-replies" Leader "The leader's requests arrive; it receives nothing until later.",
    HalfOpen "half-open" Leader "The leader's connections go dead: they stay open and silent, and what was sent is lost.",
    Slow "slow" Leader "All messages between the leader and the servers are slow.",
    KillFollower "kill-follower" Follower "A candidate that leads nothing is killed, and started again later.",
    FreezeFollower "freeze-follower" Follower "A candidate that leads nothing is stopped for longer than a lease.",
    CutFollower "cut-follower" Follower "A candidate that leads nothing is cut off from all servers.",
    Delete "delete" Key "An operator deletes the key.",
    Overwrite "overwrite" Key "An operator overwrites the key.",
    Purge "purge" Key "An operator purges the key, with a tombstone.",
    RestartServer "restart-server" Store "The only server is killed and started again.",
    PauseServer "pause-server" Store "The only server is stopped (SIGSTOP) for longer than a lease.",
    KillStreamLeader "kill-stream-leader" Server "The server that leads the bucket's stream is killed, and started again later.",
    PauseStreamLeader "pause-stream-leader" Server "The server that leads the bucket's stream is stopped (SIGSTOP).",
    IsolateStreamLeader "isolate-stream-leader" Server "The server that leads the bucket's stream is cut off from the other servers, but not from clients.",
    KillMetaLeader "kill-meta-leader" Server "The server that leads the cluster's JetStream is killed, and started again later.",
    RollingRestart "rolling-restart" Server "The servers are restarted one after the other, each once the previous one is back.",
    KillQuorum "kill-quorum" Store "Two of three servers are killed, and started again when a lease is over.",
    PauseQuorum "pause-quorum" Store "Two of three servers are stopped (SIGSTOP); writes made meanwhile commit late.",
    CutFromMember "cut-from-member" Leader "The leader is cut off from one member of etcd only.",
    Revoke "revoke" Key "An operator revokes the lease that the leader's key in etcd shows.",
    KillRaftLeader "kill-raft-leader" Server "The member that leads the etcd cluster is killed, and started again later.",
    PauseRaftLeader "pause-raft-leader" Server "The member that leads the etcd cluster is stopped (SIGSTOP).",
    IsolateRaftLeader "isolate-raft-leader" Server "The member that leads the etcd cluster is cut off from all other members, but not from clients.",
    SeparateMembers "separate-members" Server "Two members of etcd are cut off from each other; the third reaches both.",
    ResignGo "resign-go" Foreign "The candidate on etcd's Go client resigns if it leads, and enters again.",
    KillGo "kill-go" Foreign "The candidate on etcd's Go client is killed, and started again later.",
    FreezeGo "freeze-go" Foreign "The candidate on etcd's Go client is stopped for longer than its lease.",
}

impl Kind {
    /// Returns true if the fault can be made in that store, with this number of servers, one or three.
    pub(crate) fn is_possible(self, store: StoreKind, servers: usize) -> bool {
        self.only_in().is_none_or(|only| only == store)
            && match self {
                Self::RestartServer | Self::PauseServer => servers == 1,
                Self::CutFromMember => servers > 1,
                _ => servers > 1 || !matches!(self.touch(), Touch::Server | Touch::Store),
            }
    }

    /// The only store with this fault, if the other store lacks it or has it under another name.
    fn only_in(self) -> Option<StoreKind> {
        use Kind::{
            CutFromMember, IsolateRaftLeader, KillRaftLeader, PauseRaftLeader, Revoke, SeparateMembers,
        };
        use Kind::{IsolateStreamLeader, KillMetaLeader, KillStreamLeader, PauseStreamLeader, Purge};
        match self {
            KillStreamLeader | PauseStreamLeader | IsolateStreamLeader | KillMetaLeader | Purge => {
                Some(StoreKind::Nats)
            }
            CutFromMember | Revoke | KillRaftLeader | PauseRaftLeader | IsolateRaftLeader
            | SeparateMembers => Some(StoreKind::Etcd),
            _ if self.touch() == Touch::Foreign => Some(StoreKind::Etcd),
            _ => None,
        }
    }

    /// Returns true if the fault always ends the leader's term in that store. In a queue, a hand-over to a candidate
    /// that is not next is refused.
    pub(crate) fn ends_the_term(self, store: StoreKind) -> bool {
        use Kind::{Close, Delete, Freeze, HandOver, Kill, Overwrite, Purge, Resign, Revoke};
        match self {
            HandOver => store == StoreKind::Nats,
            _ => matches!(self, Close | Delete | Freeze | Kill | Overwrite | Purge | Resign | Revoke),
        }
    }

    /// Returns true if the fault's target is a server.
    pub(crate) fn is_of_servers(self) -> bool {
        matches!(self.touch(), Touch::Server | Touch::Store)
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_is_written_down_by_its_name() {
        for kind in Kind::ALL {
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.name());
        }
    }

    #[test]
    fn every_kind_is_possible_somewhere_and_those_of_a_cluster_or_a_store_only_there() {
        use StoreKind::{Etcd, Nats};
        let somewhere = |kind: &Kind| {
            [Nats, Etcd].into_iter().any(|store| kind.is_possible(store, 1) || kind.is_possible(store, 3))
        };
        assert!(Kind::ALL.iter().all(somewhere));
        assert!(!Kind::RollingRestart.is_possible(Nats, 1) && !Kind::RestartServer.is_possible(Nats, 3));
        assert!(Kind::Kill.is_possible(Nats, 1) && Kind::Kill.is_possible(Etcd, 3));
        assert!(Kind::KillRaftLeader.is_possible(Etcd, 3) && !Kind::KillRaftLeader.is_possible(Nats, 3));
        assert!(Kind::Purge.is_possible(Nats, 3) && !Kind::Purge.is_possible(Etcd, 3));
        assert!(Kind::KillGo.is_possible(Etcd, 3) && !Kind::KillGo.is_possible(Nats, 3));
    }
}
