import Foundation

/// Campaigns in the election of that key, and runs `work` when this process leads.
///
/// ```swift
/// try await run("nats://localhost:4222/ELECTIONS", "billing-cron") { term in
///     try await work(term.token)
/// }
/// ```
///
/// - When `work` returns, leadership is released, and its result is returned. With `keepLeading` the process keeps
///   leading until it is stopped.
/// - When the term ends before that, `work` is cancelled, and called again in this process's next term.
/// - When it throws, the term ends with ``Reason/handlerFailed``, and the error is thrown here.
/// - The signals `stopOn`, SIGINT and SIGTERM by default, end the run: the term drains, `work` is cancelled, and the lease is
///   released when it has returned, or the drain time is over. The last result is returned, or nil. With `cancelOnStop:
///   false` the work is not cancelled before the drain time is over: it finishes when ``Term/draining()`` returns. The same
///   signal more than a second later, or a different signal, ends the process at once.
///
/// Cancelling the task cancels the work and releases leadership. Throws the errors of ``connect(_:_:)`` and
/// ``Store/campaign(_:_:)``.
@discardableResult
public func run<T: Sendable>(
    _ url: String,
    _ election: String,
    _ settings: CampaignSettings = .init(),
    storeSettings: StoreSettings = .init(),
    keepLeading: Bool = false,
    stopOn: Set<Int32> = [SIGINT, SIGTERM],
    cancelOnStop: Bool = true,
    work: @escaping @Sendable (Term) async throws -> T
) async throws -> T? {
    try await stopping(on: stopOn, cancelOnStop: cancelOnStop) { stop in
        try await withStore(url, storeSettings) { store in
            try await store.withCandidate(election, settings) { candidate in
                stop.leaves(candidate)
                return try await candidate.lead(keepLeading: keepLeading, work)
            }
        }
    }
}

/// Campaigns on an open store, and leaves it open; otherwise like
/// ``run(_:_:_:storeSettings:keepLeading:stopOn:cancelOnStop:work:)``.
@discardableResult
public func run<T: Sendable>(
    _ store: Store,
    _ election: String,
    _ settings: CampaignSettings = .init(),
    keepLeading: Bool = false,
    stopOn: Set<Int32> = [SIGINT, SIGTERM],
    cancelOnStop: Bool = true,
    work: @escaping @Sendable (Term) async throws -> T
) async throws -> T? {
    try await stopping(on: stopOn, cancelOnStop: cancelOnStop) { stop in
        try await store.withCandidate(election, settings) { candidate in
            stop.leaves(candidate)
            return try await candidate.lead(keepLeading: keepLeading, work)
        }
    }
}

/// A run, as seen by the signals.
private final class Stop: Sendable {
    private let state = Locked<(isAsked: Bool, candidate: Candidate?, leading: (@Sendable () -> Void)?)>((false, nil, nil))
    private let cancelOnStop: Bool

    init(cancelOnStop: Bool) {
        self.cancelOnStop = cancelOnStop
    }

    var isAsked: Bool { state.withLock { $0.isAsked } }

    /// Records the candidate of the run, which leaves when the run is to stop.
    func leaves(_ candidate: Candidate) {
        state.withLock { $0.candidate = candidate }
        act()
    }

    /// Records how to cancel the run.
    func cancels(_ leading: @escaping @Sendable () -> Void) {
        state.withLock { $0.leading = leading }
        act()
    }

    /// Asks the run to stop.
    func ask() {
        state.withLock { $0.isAsked = true }
        act()
    }

    /// Acts on a request as far as possible now, because it can come before the candidate exists.
    private func act() {
        let (isAsked, candidate, leading) = state.withLock { $0 }
        guard isAsked else { return }
        // Sent at once; the run waits for it at its end.
        _ = candidate?.raw.close(inside: true)
        if cancelOnStop || candidate == nil {
            leading?()
        }
    }
}

private func stopping<T: Sendable>(
    on signals: Set<Int32>,
    cancelOnStop: Bool,
    _ run: @escaping @Sendable (Stop) async throws -> T?
) async throws -> T? {
    let stop = Stop(cancelOnStop: cancelOnStop)
    let watch = StopSignals.begin(signals) { stop.ask() }
    defer { StopSignals.end(watch) }
    // A separate task, cancelled by the signals and by the caller's cancellation.
    let leading = Task { try await run(stop) }
    stop.cancels { leading.cancel() }
    return try await withTaskCancellationHandler {
        do {
            return try await leading.value
        } catch is CancellationError where stop.isAsked && !Task.isCancelled {
            return nil
        }
    } onCancel: {
        leading.cancel()
    }
}

extension Candidate {
    /// Runs `work` in this candidate's terms until it returns in one of them, or the campaign is over.
    fileprivate func lead<T: Sendable>(
        keepLeading: Bool,
        _ work: @escaping @Sendable (Term) async throws -> T
    ) async throws -> T? {
        var result: T?
        var last: Term?
        while let hold = try await nextTerm(after: last) {
            defer { hold.release() }
            let term = hold.term
            last = term
            do {
                result = try await term.run { try await work(term) }
            } catch {
                if Task.isCancelled {
                    throw error
                }
                // The error is for this term's end; an error for the end of another term that the work used fails this
                // term.
                if case IncumbentError.termEnded = error, !term.isCurrent {
                    continue
                }
                term.fail()
                throw error
            }
            // Work that finished despite being cancelled has a result.
            if Task.isCancelled || (term.isCurrent && !term.isDraining && !keepLeading) {
                break
            }
        }
        return result
    }
}
