import Foundation
package import IncumbentRaw

/// A participant of an election, made by ``Store/campaign(_:_:)``.
///
/// It campaigns until it is closed: after a lost term it campaigns for the next. A candidate that the program keeps no
/// more, nor any of its terms, holds and sequences, is closed; ``close()`` waits for that, and deinitialising cannot.
public final class Candidate: Sendable {
    /// The key of the election.
    public let election: String
    /// The candidate's name.
    public let name: String

    let raw: IncumbentRaw.Candidate
    /// A store that the program keeps no more is closed; not as long as its candidates are kept.
    private let store: Store?

    package init(_ raw: IncumbentRaw.Candidate, of store: Store?) {
        (self.raw, self.store) = (raw, store)
        (election, name) = (raw.election(), raw.name())
    }

    deinit {
        // The request is sent now; the answer is not waited for.
        _ = raw.close(inside: true)
    }

    /// Whether this candidate leads now, by the clock.
    public var isLeader: Bool { raw.isLeader() }

    /// The state of the campaign.
    public var state: State { State(raw.state()) }

    /// The leader, as far as this candidate has seen; nil where there is none.
    public var leader: Leader? { raw.leader().map(Leader.init) }

    /// The current term; nil while this candidate does not lead.
    public var term: Term? { raw.term().map { Term($0, of: self) } }

    /// Waits for the current or the next term, or for the one after `after`, and holds it; nil once the campaign is over.
    /// Release the hold when the work is done: a drain waits for it.
    public func nextTerm(after: Term? = nil) async throws -> Hold? {
        try await raw.nextTerm(after: after?.raw).awaited().map { hold in
            Hold(hold, of: Term(hold.term(), of: self))
        }
    }

    /// Every term of this candidate, until the campaign is over or the task is cancelled.
    ///
    /// The body of the loop is work of the term: a drain waits for it. When it ends before the term does, the term goes on,
    /// and the loop continues with the next term.
    ///
    /// ```swift
    /// for await term in candidate.terms {
    ///     try await term.run { try await work(term.token) }
    /// }
    /// ```
    public var terms: Terms { Terms(candidate: self) }

    /// The events from now on, beginning with the current state. Each loop gets every event.
    ///
    /// Reading an event does not hold its term. Slow loops delay nothing: one that falls 1024 events behind loses the oldest
    /// events other than ``Event/won(_:)`` and ``Event/lost(_:_:)``.
    public var events: Events { Events(candidate: self) }

    /// Runs `work` in every term of this candidate, until the campaign is over. A drain waits for it.
    ///
    /// ``Term/draining()`` returns when it is time to finish, and the task of `work` is cancelled when the term ends. The
    /// work of one term never begins before that of the previous one has returned.
    ///
    /// When it returns before the term ends, the term goes on: call ``resign()`` as the last step to leave instead. When it
    /// throws, the term ends with ``Reason/handlerFailed``, `onError` gets the error, and the candidate campaigns again after
    /// a delay. An error that it throws because its term is over is ignored. Cancelling the task cancels the work and
    /// resigns.
    ///
    /// - Parameters:
    ///   - onError: Takes the errors of `work`; by default they are written to the standard error.
    ///   - work: The work of the leader.
    public func lead(
        onError: @escaping @Sendable (any Error) -> Void = reportFailure,
        _ work: @escaping @Sendable (Term) async throws -> Void
    ) async throws {
        var last: Term?
        while let hold = try await nextTerm(after: last) {
            defer { hold.release() }
            let term = hold.term
            last = term
            do {
                try await term.run { try await work(term) }
            } catch {
                if Task.isCancelled {
                    if term.isCurrent {
                        // Sent at once; the cancelled caller does not wait for it.
                        _ = raw.resign(inside: true)
                    }
                    throw error
                }
                // An error for this term's end; one for the end of another term that the work used fails this one.
                if case IncumbentError.termEnded = error, !term.isCurrent {
                    continue
                }
                term.fail()
                onError(error)
            }
        }
    }

    /// Gives up leadership, if this candidate leads, and campaigns on behind the other candidates.
    ///
    /// Returns once the work has drained and the key is released; inside of that work, as soon as the term is draining. The
    /// work is what ``Term/run(_:)`` and ``lead(onError:_:)`` call, with the tasks that it starts, except detached ones; and
    /// the body of a loop over ``terms``, without tasks that it starts: there, these wait for the whole drain.
    public func resign() async throws {
        try await raw.resign(inside: isInside).awaited()
    }

    /// Hands leadership over to the candidate of that name; otherwise like ``resign()``. Other candidates hold back for a
    /// moment.
    ///
    /// - Throws: ``IncumbentError/notLeader(_:)`` where this candidate does not lead.
    public func handOver(to name: String) async throws {
        try await raw.handOver(to: name, inside: isInside).awaited()
    }

    /// Gives up leadership and ends the campaign; otherwise like ``resign()``. Closing twice is no error.
    public func close() async throws {
        try await raw.close(inside: isInside).awaited()
    }

    /// Waits until the campaign is over, for any cause.
    public func closed() async throws {
        try await raw.closed().awaited()
    }

    /// Sets whether this candidate is healthy; it is at first. An unhealthy one leaves, and does not campaign.
    public func setHealthy(_ healthy: Bool) throws {
        try translating { try raw.setHealthy(healthy: healthy) }
    }

    /// Accepts that tokens may start again after the store was reset.
    public func acceptReset() throws {
        try translating { try raw.acceptReset() }
    }

    /// Whether the caller is part of work that a drain of this candidate waits for.
    private var isInside: Bool { Inside.holds(raw.term().map { Token($0.token()) }) }

    func closeInAnyCase() async {
        // An error of closing is that of a candidate which is closed.
        try? await raw.close(inside: isInside).awaitedInAnyCase()
    }

    /// Answers the questions for this candidate until its campaign is over: whether Swift's concurrency runs, and whether
    /// the program is healthy. Does not keep the candidate.
    func attend(probe: ExecutorProbe?, health: (@Sendable () async throws -> Bool)?) {
        let isOver = Locked(false)
        if let probe {
            Task.detached {
                while true {
                    await probe.asked()
                    if isOver.withLock({ $0 }) { return }
                    probe.answered()
                }
            }
        }
        // Nothing asks before this call, and none asks twice: only a closed candidate refuses.
        let questions = health.flatMap { _ in try? raw.questions() }
        if let questions, let health {
            Task.detached {
                while let question = try? await questions.next() {
                    question.answer(healthy: (try? await health()) ?? false)
                }
            }
        }
        let closed = raw.closed()
        Task.detached {
            try? await closed.answer()
            isOver.withLock { $0 = true }
            probe?.stop()
            questions?.stop()
        }
    }
}

extension Candidate: CustomStringConvertible {
    public var description: String { "Candidate(election: \(election), name: \(name))" }
}

/// Writes an error of a leader's work to the standard error.
@Sendable
public func reportFailure(_ error: any Error) {
    FileHandle.standardError.write(Data("incumbent: the work of the leader failed: \(error)\n".utf8))
}
