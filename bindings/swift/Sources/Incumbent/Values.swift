package import IncumbentRaw

/// The reason for which a term ended.
public enum Reason: String, CaseIterable, Hashable, Sendable {
    // generated: reasons
    /// The leader resigned.
    case resigned = "RESIGNED"
    /// The leader handed over to a named successor.
    case handedOver = "HANDED_OVER"
    /// Another candidate, or other software, wrote the key.
    case usurped = "USURPED"
    /// An operator deleted the key.
    case deleted = "DELETED"
    /// The deadline passed without a proven renewal, or the store reported that the lease expired.
    case expired = "EXPIRED"
    /// A consumer group took the leadership away.
    case revoked = "REVOKED"
    /// The candidate's health check failed, or its event loop or executor hung.
    case unhealthy = "UNHEALTHY"
    /// The work of the term failed.
    case handlerFailed = "HANDLER_FAILED"
    /// The store was replaced or restored, or lost acknowledged writes.
    case storeReset = "STORE_RESET"
    /// The campaign was closed.
    case closed = "CLOSED"

    package var raw: IncumbentRaw.Reason {
        switch self {
        case .resigned: .resigned
        case .handedOver: .handedOver
        case .usurped: .usurped
        case .deleted: .deleted
        case .expired: .expired
        case .revoked: .revoked
        case .unhealthy: .unhealthy
        case .handlerFailed: .handlerFailed
        case .storeReset: .storeReset
        case .closed: .closed
        }
    }

    package init(_ raw: IncumbentRaw.Reason) {
        self = switch raw {
        case .resigned: .resigned
        case .handedOver: .handedOver
        case .usurped: .usurped
        case .deleted: .deleted
        case .expired: .expired
        case .revoked: .revoked
        case .unhealthy: .unhealthy
        case .handlerFailed: .handlerFailed
        case .storeReset: .storeReset
        case .closed: .closed
        }
    }
    // end of reasons

    /// Whether the work of a term that ends for this reason may be finished while the lease is still held.
    public var mayDrain: Bool { IncumbentRaw.mayDrain(reason: raw) }

    /// The reason in words.
    public var explanation: String { reasonDescription(reason: raw) }
}

/// The state of a campaign.
public enum State: String, CaseIterable, Hashable, Sendable {
    // generated: states
    /// Not campaigning: not yet asked to, or unhealthy.
    case idle = "IDLE"
    /// Waiting for a random time before its first campaign.
    case splaying = "SPLAYING"
    /// Campaigning; another candidate holds the lease, or the key was not read yet.
    case waiting = "WAITING"
    /// An acquire was sent but not answered yet.
    case acquiring = "ACQUIRING"
    /// Holds the lease but does not lead yet, because a previous leader might still believe that it leads.
    case holding = "HOLDING"
    /// Leads.
    case leading = "LEADING"
    /// Leads, and is finishing its work.
    case draining = "DRAINING"
    /// No longer leads, and releases the lease once the term's work has ended.
    case releasing = "RELEASING"
    /// Over.
    case closed = "CLOSED"

    init(_ raw: IncumbentRaw.State) {
        self = switch raw {
        case .idle: .idle
        case .splaying: .splaying
        case .waiting: .waiting
        case .acquiring: .acquiring
        case .holding: .holding
        case .leading: .leading
        case .draining: .draining
        case .releasing: .releasing
        case .closed: .closed
        }
    }
    // end of states
}

/// The leader of an election.
public struct Leader: Hashable, Sendable {
    /// The name of the candidate.
    public let name: String
    /// The revision of its newest record when it was first seen as the leader.
    public let revision: UInt64
    /// The nonce of its campaign; nil for other software.
    public let nonce: String?
    /// The metadata that it publishes.
    public let metadata: [String: String]

    init(_ raw: IncumbentRaw.Leader) {
        (name, revision, nonce, metadata) = (raw.name, raw.revision, raw.nonce, raw.metadata)
    }
}

/// An election of a store, and its leader.
public struct ElectionInfo: Hashable, Sendable {
    /// The election's key.
    public let election: String
    /// The leader; nil while the key is free.
    public let leader: Leader?

    init(_ raw: IncumbentRaw.Election) {
        (election, leader) = (raw.election, raw.leader.map(Leader.init))
    }
}

/// A candidate in an election: it waits, acquires or holds the lease, leads or leaves.
public struct CandidateInfo: Hashable, Sendable {
    /// The election's key.
    public let election: String
    /// The name of the candidate.
    public let name: String
    /// The nonce of its campaign, which distinguishes candidates of the same name; nil if it is not reported.
    public let nonce: String?
    /// The time for which it has been a candidate without interruption.
    public let standingFor: Duration

    init(_ raw: IncumbentRaw.Participant) {
        (election, name, nonce) = (raw.election, raw.name, raw.nonce)
        standingFor = Duration(interval: raw.standingFor)
    }
}

/// The leader of an election, as the store shows it.
public struct Observation: Hashable, Sendable {
    /// The election's key.
    public let election: String
    /// The leader; nil while the key is free.
    public let leader: Leader?
    /// The time for which this state had lasted when it was read.
    public let age: Duration

    init(_ raw: IncumbentRaw.Seen) {
        (election, leader, age) = (raw.election, raw.leader.map(Leader.init), Duration(interval: raw.age))
    }
}

/// An event of a candidate.
public enum Event: Hashable, Sendable {
    /// This candidate leads, from now until ``lost(_:_:)``.
    case won(Term)
    /// This leader leaves of its own accord; ``Term/drainRemaining`` is the time that it still has.
    case draining(Term, Reason)
    /// This candidate no longer leads. Emitted exactly once for every ``won(_:)``.
    case lost(Term, Reason)
    /// The holder of the key changed: another candidate, or none if the leader is nil.
    case leaderChanged(Leader?)
    /// The campaign entered another state.
    case stateChanged(State)
    /// A problem that a person should look at: a stable name, and the problem with the remedy.
    case warning(code: String, message: String)

    init(_ raw: Happening, of candidate: Candidate) {
        self = switch raw {
        case .won(let term): .won(Term(term, of: candidate))
        case .draining(let term, let reason): .draining(Term(term, of: candidate), Reason(reason))
        case .lost(let term, let reason): .lost(Term(term, of: candidate), Reason(reason))
        case .leaderChanged(let leader): .leaderChanged(leader.map(Leader.init))
        case .stateChanged(let state): .stateChanged(State(state))
        case .warning(let code, let text): .warning(code: code, message: text)
        }
    }
}
