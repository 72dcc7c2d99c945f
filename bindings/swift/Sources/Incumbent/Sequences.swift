internal import IncumbentRaw

/// The terms of a candidate: see ``Candidate/terms``.
public struct Terms: AsyncSequence, Sendable {
    public typealias Element = Term

    let candidate: Candidate

    public func makeAsyncIterator() -> Iterator { Iterator(turn: Turn(candidate)) }

    /// A loop over terms; it holds the term that its body works for.
    public struct Iterator: AsyncIteratorProtocol, Sendable {
        fileprivate let turn: Turn

        /// Ends the body's work for the previous term, and waits for the next one.
        public mutating func next() async -> Term? {
            let after = turn.end()
            // If waiting fails, the campaign is over. A cancelled wait ends the loop.
            guard let hold = try? await turn.candidate.nextTerm(after: after) else { return nil }
            turn.begin(hold)
            return hold.term
        }
    }

    /// The body of a loop, which holds the term that it works for.
    fileprivate final class Turn: Sendable {
        let candidate: Candidate
        private let state = Locked<(hold: Hold?, task: Int?, last: Term?)>((nil, nil, nil))

        init(_ candidate: Candidate) {
            self.candidate = candidate
        }

        deinit {
            _ = end()
        }

        func begin(_ hold: Hold) {
            let task = Inside.task()
            if let task {
                Inside.begin(hold.term.token, on: task)
            }
            state.withLock { $0 = (hold, task, hold.term) }
        }

        /// Ends the work, and returns its term.
        func end() -> Term? {
            let (hold, task, last) = state.withLock { state in
                let before = state
                state = (nil, nil, before.last)
                return before
            }
            if let hold, let task {
                Inside.end(hold.term.token, on: task)
            }
            hold?.release()
            return last
        }
    }
}

/// The events of a candidate: see ``Candidate/events``.
public struct Events: AsyncSequence, Sendable {
    public typealias Element = Event

    let candidate: Candidate

    public func makeAsyncIterator() -> Iterator {
        // A candidate without events is closed.
        Iterator(candidate: candidate, feed: (try? candidate.raw.events()).map(Feed.init))
    }

    /// A loop over events; it gets the events from its creation on.
    public struct Iterator: AsyncIteratorProtocol, Sendable {
        fileprivate let candidate: Candidate
        fileprivate let feed: Feed?

        /// Waits for the next event; nil once the campaign is over or the task is cancelled.
        public mutating func next() async -> Event? {
            await feed?.next().map { Event($0, of: candidate) }
        }
    }

    /// The events as they come, for as long as an iterator is kept.
    fileprivate final class Feed: Sendable {
        private let raw: IncumbentRaw.Events

        init(_ raw: IncumbentRaw.Events) {
            self.raw = raw
        }

        deinit {
            raw.stop()
        }

        func next() async -> Happening? {
            await withTaskCancellationHandler {
                // If its events cannot be read, the campaign is over.
                (try? await raw.next()) ?? nil
            } onCancel: {
                raw.stop()
            }
        }
    }
}

/// The leaders of an election: see ``Store/observe(_:)``.
public struct Observations: AsyncSequence, Sendable {
    public typealias Element = Observation

    let store: Store
    let election: String

    public func makeAsyncIterator() -> Iterator { Iterator(store: store, election: election) }

    /// A loop over observations; it begins to watch when asked for the first one.
    public struct Iterator: AsyncIteratorProtocol, Sendable {
        fileprivate let store: Store
        fileprivate let election: String
        fileprivate var feed: Feed?

        fileprivate init(store: Store, election: String) {
            (self.store, self.election) = (store, election)
        }

        /// Waits for the next leader; nil once the store is closed or the task is cancelled.
        public mutating func next() async throws -> Observation? {
            if feed == nil {
                do {
                    feed = Feed(try await store.watching(election).awaited())
                } catch is CancellationError {
                    return nil
                }
            }
            return try await feed?.next().map(Observation.init)
        }
    }

    /// The observations as they come, for as long as an iterator is kept.
    fileprivate final class Feed: Sendable {
        private let raw: IncumbentRaw.Observations

        init(_ raw: IncumbentRaw.Observations) {
            self.raw = raw
        }

        deinit {
            raw.stop()
        }

        func next() async throws -> Seen? {
            try await withTaskCancellationHandler {
                try await translating { try await raw.next() }
            } onCancel: {
                raw.stop()
            }
        }
    }
}
