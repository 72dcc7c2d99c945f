import Foundation
package import IncumbentRaw

/// A participant of an election, made by ``Store/campaign(_:_:)``.
///
/// It campaigns until it is closed: after a lost term it campaigns for the next. A candidate is closed once the program
/// no longer keeps it or any of its terms, holds and sequences; ``close()`` waits for that, deinitialising cannot.
public final class Candidate: Sendable {
    /// The key of the election.
    public let election: String
    /// The candidate's name.
    public let name: String

    let raw: IncumbentRaw.Candidate
    /// Keeps the store open: a store is closed once neither it nor its candidates are kept.
    private let store: Store?

    package init(_ raw: IncumbentRaw.Candidate, of store: Store?) {
        (self.raw, self.store) = (raw, store)
        (election, name) = (raw.election(), raw.name())
    }

    deinit {
        // The request is sent now; nothing waits for the answer.
        _ = raw.close(inside: true)
    }

    /// Whether this candidate leads now, by the clock.
    public var isLeader: Bool { raw.isLeader() }

    /// The state of the campaign.
    public var state: State { State(raw.state()) }

    /// The leader, as far as this candidate has seen; nil if there is none.
    public var leader: Leader? { raw.leader().map(Leader.init) }

    /// The current term; nil while this candidate does not lead.
    public var term: Term? { raw.term().map { Term($0, of: self) } }

    /// Waits for the current or the next term, or for the term after `after`, and holds it; nil once the campaign is
    /// over. Release the hold when the work is done: a drain waits for it.
    public func nextTerm(after: Term? = nil) async throws -> Hold? {
        try await raw.nextTerm(after: after?.raw).awaited().map { hold in
            Hold(hold, of: Term(hold.term(), of: self))
        }
    }

    /// Every term of this candidate, until the campaign is over or the task is cancelled.
    ///
    /// The body of the loop is work of the term: a drain waits for it. When it ends before the term does, the term
    /// continues, and the loop proceeds to the next term.
    ///
    /// ```swift
    /// for await term in candidate.terms {
    ///     try await term.run { try await work(term.token) }
    /// }
    /// ```
    public var terms: Terms { Terms(candidate: self) }

    /// The events from now on, beginning with the current state. Each loop gets every event.
    ///
    /// Reading an event does not hold its term. Slow loops delay nothing: a loop that falls 1024 events behind loses
    /// the oldest events other than ``Event/won(_:)`` and ``Event/lost(_:_:)``.
    public var events: Events { Events(candidate: self) }

    /// Runs `work` in every term of this candidate, until the campaign is over. A drain waits for it.
    ///
    /// ``Term/draining()`` returns when it is time to finish, and the task of `work` is cancelled when the term ends.
    /// The work of one term never begins before the previous term's work has returned.
    ///
    /// When it returns before the term ends, the term continues: call ``resign()`` as the last step to leave instead.
    /// When it throws, the term ends with ``Reason/handlerFailed``, `onError` gets the error, and the candidate
    /// campaigns again after a delay. An error that it throws because its term is over is ignored. Cancelling the task
    /// cancels the work and resigns.
    ///
    /// - Parameters:
    ///   - onError: Takes the errors of `work`; by default they are written to standard error.
    ///   - work: The leader's work.
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
                // The error is for this term's end; an error for the end of another term that the work used fails this
                // term.
                if case IncumbentError.termEnded = error, !term.isCurrent {
                    continue
                }
                term.fail()
                onError(error)
            }
        }
    }

    /// Gives up leadership, if this candidate leads, and keeps campaigning behind the other candidates.
    ///
    /// Returns once the work has drained and the key is released; inside that work, as soon as the term is draining.
    /// The work is the function that ``Term/run(_:)`` or ``lead(onError:_:)`` calls, with the tasks that it starts,
    /// except detached ones. It is also the body of a loop over ``terms``, but without tasks that it starts: those wait
    /// for the whole drain.
    public func resign() async throws {
        try await raw.resign(inside: isInside).awaited()
    }

    /// Hands leadership over to the candidate of that name; otherwise like ``resign()``. Other candidates hold back for a
    /// moment.
    /// - Throws: ``IncumbentError/notLeader(_:)`` if this candidate does not lead.
    public func handOver(to name: String) async throws {
        try await raw.handOver(to: name, inside: isInside).awaited()
    }

    /// Gives up leadership and ends the campaign; otherwise like ``resign()``. Closing twice is not an error.
    public func close() async throws {
        try await raw.close(inside: isInside).awaited()
    }

    /// Waits until the campaign is over, for any cause.
    public func closed() async throws {
        try await raw.closed().awaited()
    }

    /// Sets whether this candidate is healthy; it is at first. An unhealthy candidate leaves, and does not campaign.
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
        // Closing fails only if the candidate is already closed.
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
        // Nothing asks before this call or more than once, so only a closed candidate refuses.
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

/// Writes an error of a leader's work to standard error.
@Sendable
public func reportFailure(_ error: any Error) {
    FileHandle.standardError.write(Data("incumbent: the work of the leader failed: \(error)\n".utf8))
}
