//! The worlds: what may happen in each, and how often.

/// How often each thing may happen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Budget {
    /// Requests or answers that are lost.
    pub(crate) lose: u8,
    /// Records and commits that arrive late: records without an answer, commits with the one that they find then.
    pub(crate) late: u8,
    /// Processes that are stopped for a while.
    pub(crate) pause: u8,
    /// Members that the coordinator removes at once: the session or the rebalance timeout ran out, or an operator did it.
    pub(crate) remove: u8,
    /// Owners whose place another process takes under the same static id, in the same generation.
    pub(crate) replace: u8,
    /// Rebalances that revoke the partition.
    pub(crate) revoke: u8,
    /// Leaders that are asked to resign.
    pub(crate) resign: u8,
    /// Leaders whose handler fails, and whose work goes on.
    pub(crate) fail: u8,
    /// Processes that end.
    pub(crate) crash: u8,
    /// Topics that are deleted and made again.
    pub(crate) remake: u8,
}

/// A part of the rule, taken away by answering the candidates something else than what is true.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum InductionPart {
    /// Every commit is acknowledged: a heartbeat that was appended is the proof.
    Commit,
    /// The client reports the membership of the assignment, whatever it has.
    Membership,
    /// No candidate reads what others wrote.
    Log,
    /// The claims of others are read as heartbeats.
    Claims,
    /// An inspection names the topic that the candidate knows.
    Topic,
    /// A release names the topic that there is when it is sent.
    Release,
}

/// A small world.
#[derive(Clone, Debug)]
pub struct InductionWorld {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    pub(crate) horizon: u32,
    pub(crate) budget: Budget,
    pub(crate) without: Option<InductionPart>,
}

impl InductionWorld {
    /// The name, as a command line spells it.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// What happens.
    pub fn about(&self) -> &'static str {
        self.about
    }

    /// The same world with one part of the rule taken away.
    #[must_use]
    pub fn without(mut self, part: InductionPart) -> Self {
        self.without = Some(part);
        self
    }
}

/// All worlds.
pub fn induction_worlds() -> Vec<InductionWorld> {
    let world = |name, about, horizon, budget| InductionWorld { name, about, horizon, budget, without: None };
    let none = Budget::default();
    vec![
        world("induction", "nothing goes wrong", 6, none),
        world("induction crash", "a process ends", 8, Budget { crash: 1, remove: 1, ..none }),
        world("induction removal", "members are removed at once", 6, Budget { remove: 2, ..none }),
        world(
            "induction replacement",
            "another process takes an owner's static id, in the same generation",
            5,
            Budget { replace: 2, ..none },
        ),
        world(
            "induction revocation",
            "the partition is revoked, and the leader removed while it drains",
            5,
            Budget { revoke: 1, remove: 1, ..none },
        ),
        world(
            "induction late",
            "a member is removed, and a record or a commit of it arrives late",
            4,
            Budget { late: 1, remove: 1, ..none },
        ),
        world(
            "induction stop",
            "a process is stopped, and removed",
            5,
            Budget { pause: 1, remove: 1, ..none },
        ),
        world(
            "induction empty",
            "a process is stopped, and all members are removed",
            4,
            Budget { pause: 1, remove: 2, ..none },
        ),
        world(
            "induction loss",
            "requests and answers are lost, and a member is removed",
            4,
            Budget { lose: 1, remove: 1, ..none },
        ),
        world(
            "induction resign",
            "the leader resigns, its successor is removed, and a record arrives late",
            4,
            Budget { resign: 1, late: 1, remove: 1, ..none },
        ),
        world(
            "induction remade",
            "the topic is made again, and a member is removed",
            5,
            Budget { remake: 1, remove: 1, ..none },
        ),
        world(
            "induction former term",
            "the partition is revoked, and the release lands in the next term of its author, which is removed",
            3,
            Budget { revoke: 1, late: 1, remove: 1, ..none },
        ),
        world(
            "induction former topic",
            "a leader's handler fails, and the topic is made again before its release",
            4,
            Budget { fail: 1, remake: 1, late: 1, ..none },
        ),
    ]
}
