import Incumbent
internal import IncumbentRaw

/// A clock that moves only when it is advanced.
public final class ManualClock: Sendable {
    fileprivate let raw = IncumbentRaw.ManualClock()

    /// Creates a clock.
    public init() {}

    /// Advances the clock.
    public func advance(by length: Duration) throws {
        raw.advance(by: try positive("by", length))
    }
}

/// A request of the code under test.
public enum Asked: Hashable, Sendable {
    /// `Candidate.resign()`
    case resign
    /// `Candidate.handOver(to:)`
    case handOver(String)
    /// `Candidate.close()`, or a candidate that the program no longer keeps
    case close
    /// `Candidate.setHealthy(_:)`
    case setHealthy(Bool)
    /// `Candidate.acceptReset()`
    case acceptReset
    /// `Term.fail()`
    case fail
}

/// A scripted election, and its only candidate, which does not lead at first.
public final class ScriptedElection: Sendable {
    /// The candidate to hand to the code under test.
    public let candidate: Incumbent.Candidate

    private let script: Script

    /// Creates an election of that key with a candidate of that name. Leases end by `clock`, or by the machine's.
    public init(election: String = "jobs", name: String = "candidate", clock: ManualClock? = nil) throws {
        script = try translating { try Script(election: election, candidate: name, clock: clock?.raw) }
        candidate = Incumbent.Candidate(script.candidate(), of: nil)
    }

    /// Lets the candidate win, with a lease or without one. When the lease expires the term ends, for the reason
    /// `Reason.expired`. Returns the token of the term.
    @discardableResult
    public func acquire(lease: Duration? = nil) throws -> Token {
        let lease = try lease.map { try positive("lease", $0) }
        return Token(try translating { try script.acquire(lease: lease) })
    }

    /// Ends the term at once, without a drain.
    public func revoke(_ reason: Incumbent.Reason = .usurped) throws {
        try translating { try script.revoke(reason: reason.raw) }
    }

    /// Lets the term drain, and end when no work holds it any longer.
    public func drain(_ reason: Incumbent.Reason = .resigned) throws {
        try translating { try script.drain(reason: reason.raw) }
    }

    /// Shows the candidate a leader of that name, or no leader.
    public func leader(_ name: String?) throws {
        try translating { try script.leader(name: name) }
    }

    /// Emits a warning.
    public func warning() throws {
        try translating { try script.warning() }
    }

    /// The requests of the code under test, in order.
    public var asked: [Asked] {
        get throws {
            try translating { try script.asked() }.map { asked in
                switch asked.what {
                case "resign": .resign
                case "hand_over": .handOver(asked.value ?? "")
                case "close": .close
                case "set_healthy": .setHealthy(asked.value == "true")
                case "accept_reset": .acceptReset
                default: .fail
                }
            }
        }
    }
}

/// A store with fault injection.
public final class FaultyStore: Sendable {
    /// The store to hand to the code under test.
    public let store: Incumbent.Store

    private let raw: IncumbentRaw.FaultyStore

    /// Opens a store with fault injection: the memory of this process, or the store at the URL.
    public static func open(
        _ url: String = "memory:",
        clock: ManualClock? = nil,
        settings: StoreSettings = .init()
    ) async throws -> FaultyStore {
        let plain = try settings.plain()
        let opening = try translating { try openFaulty(url: url, settings: plain, clock: clock?.raw) }
        return FaultyStore(try await opening.awaited())
    }

    private init(_ raw: IncumbentRaw.FaultyStore) {
        self.raw = raw
        store = Incumbent.Store(raw.store())
    }

    /// Loses the answers of the next `count` writes, which are applied.
    public func loseAnswers(_ count: UInt32 = 1) throws {
        try translating { try raw.writes(fault: .loseAnswer, count: count) }
    }

    /// Loses the next `count` writes before they reach the store; they get no answer.
    public func loseRequests(_ count: UInt32 = 1) throws {
        try translating { try raw.writes(fault: .loseRequest, count: count) }
    }

    /// Refuses the next `count` writes because another write is in flight.
    public func busy(_ count: UInt32 = 1) throws {
        try translating { try raw.writes(fault: .busy, count: count) }
    }

    /// Delays every answer from now on; zero ends the delay.
    public func delayAnswers(by delay: Duration) throws {
        let delay = try positive("delay", delay)
        try translating { try raw.delayAnswers(delay: delay) }
    }

    /// Refuses writes for that reason, until they are allowed again.
    public func denyWrites(_ reason: String = "denied by the test") throws {
        try translating { try raw.denyWrites(reason: reason) }
    }

    /// Ends ``denyWrites(_:)``.
    public func allowWrites() throws {
        try translating { try raw.denyWrites(reason: nil) }
    }

    /// Cuts the connection.
    public func partition() throws {
        try translating { try raw.partition(cut: true) }
    }

    /// Restores the connection.
    public func heal() throws {
        try translating { try raw.partition(cut: false) }
    }

    /// Silences every current watch.
    public func killWatches() throws {
        try translating { try raw.killWatches() }
    }
}
