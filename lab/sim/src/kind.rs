//! The kinds of faults, and the promise that holds under each.

use std::fmt;
use std::str::FromStr;

/// The promise that holds while faults of some kind may happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Promise {
    /// Everything.
    Full,
    /// Everything, if every candidate watched without a gap. Otherwise, for one lease, only the order of tokens.
    Watching,
    /// Fencing tokens still order the terms, but two candidates may believe that they lead.
    Tokens,
    /// Only the rules that each campaign keeps by itself.
    Nothing,
}

/// A simulated store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Store {
    /// A key of a NATS bucket.
    #[default]
    Nats,
    /// A queue of keys in etcd.
    Etcd,
    /// A consumer group of Kafka, and its topic.
    Kafka,
}

impl Store {
    /// Every store.
    pub const ALL: [Self; 3] = [Self::Nats, Self::Etcd, Self::Kafka];

    /// The store's name, as a command line spells it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Nats => "nats",
            Self::Etcd => "etcd",
            Self::Kafka => "kafka",
        }
    }
}

impl FromStr for Store {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let store = Self::ALL.into_iter().find(|store| store.name() == name);
        store.ok_or_else(|| format!("{name:?} is not simulated: the stores are nats, etcd and kafka"))
    }
}

/// The stores in which a fault happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stores {
    Nats,
    Etcd,
    Kafka,
    /// All stores except Kafka: those with one key, or one queue of keys.
    Keys,
    All,
}

macro_rules! kinds {
    ($($kind:ident $name:literal $promise:ident $stores:ident $says:literal,)*) => {
        /// A kind of fault that a script may contain.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Kind {
            $(#[doc = $says] $kind,)*
        }

        impl Kind {
            /// Every kind.
            pub const ALL: &[Self] = &[$(Self::$kind,)*];

            /// The kind's name, as a command line spells it.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$kind => $name,)* }
            }

            /// The description, in a sentence.
            pub const fn says(self) -> &'static str {
                match self { $(Self::$kind => $says,)* }
            }

            /// The promise that holds in spite of a fault of this kind.
            pub const fn promise(self) -> Promise {
                match self { $(Self::$kind => Promise::$promise,)* }
            }

            const fn stores(self) -> Stores {
                match self { $(Self::$kind => Stores::$stores,)* }
            }
        }
    };
}

kinds! {
    Loss "loss" Full All "Messages between candidates and the store are lost.",
    Delay "delay" Full All "Messages take up to twelve seconds, so they overtake each other.",
    Duplication "duplication" Full Nats "Requests and replies arrive twice, and the second copy of a write is acknowledged as a duplicate.",
    Cut "cut" Full All "A candidate is cut off from the store, in both directions.",
    CutRequests "cut-requests" Full All "What a candidate sends is lost, but it still receives.",
    CutReplies "cut-replies" Full All "What a candidate sends arrives, but it receives nothing.",
    Queue "queue" Full Nats "A candidate's client queues requests while it is cut off, and sends them afterwards.",
    SilentWatch "silent-watch" Full All "Watches silently lose what they should deliver.",
    Pause "pause" Full All "A candidate's process is stopped and continues later.",
    Suspend "suspend" Full All "All candidates of one machine are suspended, but their clocks keep counting.",
    Crash "crash" Full All "A candidate's process crashes, and another one starts in its place.",
    Starve "starve" Full All "Timers fire late.",
    Drift "drift" Full All "A candidate's clock runs at another rate, within the setting.",
    ClockBack "clock-back" Full All "A reading of the clock is older than the one before.",
    Resign "resign" Full All "A leader resigns, or hands over.",
    Illness "illness" Full All "A candidate's health check fails for a while.",
    Handler "handler" Full All "A leader's handler fails.",
    Close "close" Full All "A candidate leaves permanently, and another one joins later.",
    FailOver "fail-over" Full All "The server that leads the stream crashes, and writes in flight may commit late or never.",
    Isolate "isolate" Full Keys "The server that leads the stream is isolated, but still answers from its old state.",
    Quorum "quorum" Full Keys "The store loses its quorum, and writes in flight commit when the quorum is back.",
    SlowCommit "slow-commit" Full All "Writes stay in flight for seconds, and further writes are answered with busy.",
    Unsent "unsent" Full All "No server takes requests.",
    Denied "denied" Full All "A candidate loses its permission to publish.",
    Full "full" Full Keys "The bucket is full.",
    Skew "skew" Full Nats "The servers' clocks differ, within the setting.",
    Erase "erase" Watching Nats "The server's own marker erases a write that it has just acknowledged.",
    Delete "delete" Full Keys "An operator deletes the key.",
    Overwrite "overwrite" Full All "An operator or a Go client overwrites the key.",
    Recreate "recreate" Full All "The bucket is deleted and recreated, and its sequence may later match what a leader expects.",
    Purge "purge" Watching Nats "The stream is purged, without a tombstone.",
    LowerAge "lower-age" Watching Nats "The bucket's maximum age is lowered.",
    ClockStep "clock-step" Watching Nats "The servers' clocks are set ahead or back by ten seconds.",
    LostWrites "lost-writes" Watching Nats "The store loses writes that it had acknowledged.",
    Restore "restore" Watching Keys "The bucket is restored from a backup.",
    BadDrift "bad-drift" Tokens All "A candidate's clock drifts beyond the setting.",
    Freeze "freeze" Tokens All "A machine is paused, and its clock stops meanwhile.",
    OldIncarnation "old-incarnation" Nothing Nats "An isolated server answers from a former incarnation of the bucket.",
    RaiseAge "raise-age" Full Nats "The bucket's maximum age is raised.",
    SlowConsumer "slow-consumer" Full All "A candidate's client is slow: what its watch delivers is held or dropped, and the watch ends with a gap.",
    RecreateLower "recreate-lower" Watching Nats "The bucket is deleted and recreated with a lower maximum age.",
    RecreateNew "recreate-new" Watching Nats "The bucket is deleted and recreated, and an operator states that its name was never used.",
    Revoke "revoke" Full Etcd "An operator revokes the lease that a place shows.",
    Unleased "unleased" Full Etcd "An operator puts a place that has no lease, and deletes it later.",
    EarlyRevocation "early-revocation" Full Etcd "A former leader of the store revokes leases of an earlier raft term, whether live or not. Half of the time it is stopped first, and another leader is elected.",
    PausedLeader "paused-leader" Full Etcd "The store's leader is stopped, and continues after another was elected. It answers the waiting keep-alives from its old state.",
    Lag "lag" Full Etcd "A member lags, so its answers have an older raft term and its watches are late.",
    TokenExpiry "token-expiry" Full Etcd "The tokens of clients expire, and requests are refused until the clients authenticate again.",
    Compact "compact" Full Etcd "The store is compacted, and watches that are behind end.",
    Removal "removal" Full Kafka "An operator removes a member from its group.",
    EmptyGroup "empty-group" Full Kafka "All members are removed from the group at once, and the group then accepts commits without a generation.",
    Replacement "replacement" Full Kafka "A second process with the same static id takes a member's place, in the same generation.",
    Rebalance "rebalance" Full Kafka "The group is rebalanced, and partition zero may be assigned to another member.",
    Coordinator "coordinator" Full Kafka "The group's coordinator is unavailable, and moves.",
    CutGroup "cut-group" Full Kafka "A candidate is cut off only from the group's coordinator.",
    CutLog "cut-log" Full Kafka "A candidate is cut off only from the partition's leader.",
    HeldPoll "held-poll" Full Kafka "A candidate's client is not polled, so it reports late and may leave its group by itself.",
    DeleteGroup "delete-group" Full Kafka "All members are removed and the group is deleted, so its generations start again.",
    DeleteRecords "delete-records" Full Kafka "All records of the topic are deleted, by an operator or by a retention shorter than a lease.",
    NewProducer "new-producer" Full Kafka "A candidate's producer is replaced, and what the former one still holds is appended later, in any order.",
    RecreateAtEnd "recreate-at-end" Full Kafka "The topic is deleted and recreated as a term ends, before its release.",
    StaleTopic "stale-topic" Full Kafka "A broker answers candidates, even those that know better, with the id of the previous topic.",
    StaleEpochs "stale-epochs" Full Kafka "Brokers are restarted before the topic is recreated, and readers of the former topic fetch nothing more without noticing.",
    NoProof "no-proof" Full All "One candidate cannot prove its claim, permanently or now and then, because its requests are denied or not answered. The other candidates are well.",
    SlowProcess "slow-process" Full All "A candidate's process gets 5 to 30 % of its processor time, in slices, as under a quota or on a machine that swaps.",
}

impl Kind {
    /// Whether candidates of the Go library survive this kind of fault. They have no defence against deletions,
    /// overwritings, or a store that loses data.
    pub const fn spares_go_peers(self) -> bool {
        matches!(self.promise(), Promise::Full)
            && !matches!(self, Self::Delete | Self::Overwrite | Self::Recreate | Self::RaiseAge)
    }

    /// Whether a seed has this kind of fault only if the kind is named. Such a fault affects one candidate permanently,
    /// and would interfere with other faults.
    pub const fn is_drawn_by_name_alone(self) -> bool {
        matches!(self, Self::NoProof)
    }

    /// Whether an etcd lease may be, or look, older than the raft term after such a fault: because the store elects a
    /// leader, another store has its own terms, or a member answers with an older term.
    pub(crate) const fn ages_leases(self) -> bool {
        matches!(
            self,
            Self::FailOver
                | Self::Quorum
                | Self::Isolate
                | Self::PausedLeader
                | Self::EarlyRevocation
                | Self::Recreate
                | Self::Restore
                | Self::Lag
        )
    }

    /// Whether such a fault affects one candidate, and not the store or the network.
    pub(crate) const fn hits_one(self) -> bool {
        matches!(
            self,
            Self::Cut
                | Self::Queue
                | Self::CutRequests
                | Self::CutReplies
                | Self::CutGroup
                | Self::CutLog
                | Self::Pause
                | Self::Suspend
                | Self::Freeze
                | Self::Crash
                | Self::Denied
                | Self::Drift
                | Self::BadDrift
                | Self::SlowConsumer
                | Self::NoProof
                | Self::SlowProcess
                | Self::HeldPoll
                | Self::NewProducer
                | Self::Removal
                | Self::Replacement
                | Self::Resign
                | Self::Handler
                | Self::Illness
                | Self::Close
        )
    }

    /// Whether such a fault happens in this store.
    pub const fn is_of(self, store: Store) -> bool {
        match self.stores() {
            Stores::All => true,
            Stores::Nats => matches!(store, Store::Nats),
            Stores::Etcd => matches!(store, Store::Etcd),
            Stores::Kafka => matches!(store, Store::Kafka),
            Stores::Keys => matches!(store, Store::Nats | Store::Etcd),
        }
    }

    /// Whether such a fault leaves only the order of tokens promised, or only a campaign's own rules.
    pub const fn breaks_an_assumption(self) -> bool {
        matches!(self.promise(), Promise::Tokens | Promise::Nothing)
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Kind {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Self::ALL.iter().copied().find(|kind| kind.name() == name).ok_or_else(|| {
            let names: Vec<_> = Self::ALL.iter().map(|kind| kind.name()).collect();
            format!("there is no fault {name:?}; there are: {}", names.join(", "))
        })
    }
}
