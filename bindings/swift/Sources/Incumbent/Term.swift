package import IncumbentRaw

/// A fencing token: constant for a term, larger for every later term of the election.
///
/// Send it with every request, and let the resource refuse a token smaller than the largest it has seen.
public struct Token: Hashable, Comparable, Sendable, LosslessStringConvertible {
    /// The incarnation of the store in which the term was won; tokens compare by it first.
    public let incarnation: UInt64
    /// The number of the term in that incarnation.
    public let sequence: UInt64
    /// The token as text of 33 characters, which sorts as tokens do.
    public let description: String

    /// Parses the text of a token; nil for any other text.
    public init?(_ text: String) {
        guard let parts = parseToken(text: text) else { return nil }
        self.init(parts)
    }

    package init(_ parts: TokenParts) {
        (incarnation, sequence, description) = (parts.incarnation, parts.sequence, parts.text)
    }

    public static func < (one: Token, other: Token) -> Bool {
        (one.incarnation, one.sequence) < (other.incarnation, other.sequence)
    }
}

/// One uninterrupted leadership.
/// Keeping a term delays nothing; work for it in ``run(_:)``, in ``Candidate/lead(onError:_:)``, in the body of a loop
/// over ``Candidate/terms``, or with a ``hold()``. A term keeps its candidate in the race.
public struct Term: Sendable {
    /// The fencing token.
    public let token: Token
    /// The key of the election.
    public let election: String

    let raw: IncumbentRaw.Term
    /// Keeps the candidate open: a candidate is closed once neither it nor its terms are kept.
    private let candidate: Candidate

    init(_ raw: IncumbentRaw.Term, of candidate: Candidate) {
        self.raw = raw
        self.candidate = candidate
        token = Token(raw.token())
        election = raw.election()
    }

    /// The time for which the lease is proven; zero once the term is over.
    public var remaining: Duration { Duration(interval: raw.remaining()) }

    /// The time since the candidate learned that it leads.
    public var age: Duration { Duration(interval: raw.age()) }

    /// The time that a draining leader still has to finish; nil while it is not draining.
    public var drainRemaining: Duration? { raw.drainRemaining().map(Duration.init(interval:)) }

    /// Whether the leader is leaving of its own accord, and still leads.
    public var isDraining: Bool { raw.drainRemaining() != nil && isCurrent }

    /// The reason for which the term ended; nil while it lasts.
    public var reason: Reason? { raw.reason().map(Reason.init) }

    /// Whether the term still lasts, by the clock: right even if the process was stopped.
    public var isCurrent: Bool { raw.isCurrent() }

    /// Throws ``IncumbentError/termEnded(_:_:)`` once the term is over, by the clock.
    public func check() throws {
        if let reason {
            throw Self.ended(reason)
        }
    }

    /// Waits until the term is over, and returns the reason. Does not hold the term.
    public func ended() async throws -> Reason {
        Reason(try await raw.ended().awaited())
    }

    /// Waits until the leader begins to leave of its own accord, or the term is over. Does not hold the term.
    public func draining() async throws {
        try await raw.draining().awaited()
    }

    /// Holds the term: a draining term continues until every hold is released, or the drain time is over.
    public func hold() -> Hold {
        Hold(raw.hold(), of: self)
    }

    /// Reports that the work of the term is done, even with other holds: a draining term ends now.
    public func drained() {
        raw.drained()
    }

    /// Ends the term at once because its work failed, for the reason ``Reason/handlerFailed``.
    public func fail() {
        raw.fail()
    }

    /// Runs `work` for this term, in a separate task that is cancelled when the term ends. A drain waits for it.
    /// Returns the result of `work`; then the term continues.
    /// Cancellation is cooperative: code that computes for long should check ``isCurrent`` or `Task.isCancelled`. This
    /// returns when `work` has returned, even if the term ended earlier.
    /// - Throws: ``IncumbentError/termEnded(_:_:)`` if the term ended before `work` did, else the error of `work`.
    public func run<T: Sendable>(_ work: @escaping @Sendable () async throws -> T) async throws -> T {
        let hold = hold()
        defer { hold.release() }
        try check()
        let ended = raw.ended()
        return try await withThrowingTaskGroup(of: Part<T>.self) { group in
            group.addTask {
                do {
                    return .work(.success(try await Inside.during(token, work)))
                } catch {
                    return .work(.failure(error))
                }
            }
            group.addTask {
                do {
                    return .end(Reason(try await ended.awaited()))
                } catch {
                    return .end(nil)
                }
            }
            var over: Reason?
            while let part = try await group.next() {
                switch part {
                case .end(let reason):
                    // Nil if the caller was cancelled: then the work is cancelled too.
                    over = reason
                    group.cancelAll()
                case .work(let result):
                    group.cancelAll()
                    if let over {
                        throw Self.ended(over)
                    }
                    return try result.get()
                }
            }
            throw CancellationError()
        }
    }

    /// The part of ``run(_:)`` that ended first.
    private enum Part<T: Sendable>: Sendable {
        case work(Result<T, any Error>)
        case end(Reason?)
    }

    private static func ended(_ reason: Reason) -> IncumbentError {
        .termEnded(reason, .init(message: "the term ended: \(reason.explanation)", causes: []))
    }
}

extension Term: Hashable, CustomStringConvertible {
    public static func == (one: Term, other: Term) -> Bool { one.raw == other.raw }

    public func hash(into hasher: inout Hasher) { hasher.combine(token) }

    public var description: String { "Term(election: \(election), token: \(token))" }
}

/// A hold on a term, for work that a drain waits for. It ends when it is released, or no longer kept.
public final class Hold: Sendable {
    /// The held term.
    public let term: Term

    private let raw: IncumbentRaw.Hold

    init(_ raw: IncumbentRaw.Hold, of term: Term) {
        (self.raw, self.term) = (raw, term)
    }

    deinit {
        raw.release()
    }

    /// Ends the hold: the work is done. Releasing it twice is not an error.
    public func release() {
        raw.release()
    }
}
