import Foundation
package import IncumbentRaw

/// A store that is open for elections, made by ``connect(_:_:)``.
///
/// It has one connection and one watch for all its elections. A store is closed once the program no longer keeps it or
/// any of its candidates; ``close()`` waits for that, deinitialising cannot.
public final class Store: Sendable {
    /// The schemes of the URLs that this build opens.
    public static let stores: [String] = IncumbentRaw.stores()

    private let raw: IncumbentRaw.Store

    package init(_ raw: IncumbentRaw.Store) {
        self.raw = raw
        leaveAtExit
    }

    deinit {
        // The request is sent now; nothing waits for the answer.
        _ = raw.close(inside: true)
    }

    /// Campaigns in the election of that key. If the store does not answer yet, the candidate is created anyway, and
    /// campaigns as soon as the store answers.
    ///
    /// Swift's concurrency is watched: if something blocks its threads for a lease while the candidate leads, the
    /// candidate is unhealthy. It drains, leaves, and campaigns again when they run; see ``CampaignSettings/watch``.
    ///
    /// - Throws: ``IncumbentError``: `invalidSetting` for an unsuitable setting, `invalidName` for a key or a name that
    ///   the store cannot hold, `permissionDenied` if the store refuses, `closed` once the store is closed, and with
    ///   ``StoreSettings/failFast`` `storeUnavailable` if the store does not answer.
    public func campaign(_ election: String, _ settings: CampaignSettings = .init()) async throws -> Candidate {
        let health = settings.health
        let interval = try health.map { _ in try positive("healthInterval", settings.healthInterval) }
        let plain = try settings.plain()
        let probe = settings.watch ? ExecutorProbe() : nil
        do {
            let pending = try translating {
                try raw.campaign(election: election, settings: plain, healthInterval: interval, executor: probe)
            }
            let candidate = Candidate(try await pending.awaited(), of: self)
            candidate.attend(probe: probe, health: health)
            return candidate
        } catch {
            probe?.stop()
            throw error
        }
    }

    /// Campaigns while `body` runs; closes the candidate after it in any case.
    public func withCandidate<T: Sendable>(
        _ election: String,
        _ settings: CampaignSettings = .init(),
        isolation: isolated (any Actor)? = #isolation,
        _ body: (Candidate) async throws -> T
    ) async throws -> T {
        let candidate = try await campaign(election, settings)
        return try await closing({ await candidate.closeInAnyCase() }) { try await body(candidate) }
    }

    /// Watches the election of that key without taking part, beginning with the current leader, until the store is closed.
    public func observe(_ election: String) -> Observations {
        Observations(store: self, election: election)
    }

    /// Returns the election's current leader, read from the leader of the store; nil if there is none.
    public func leader(_ election: String) async throws -> Leader? {
        try await raw.leader(election: election).awaited().map(Leader.init)
    }

    /// Returns all elections of the store, by key.
    public func list() async throws -> [ElectionInfo] {
        try await raw.list().awaited().map(ElectionInfo.init)
    }

    /// Returns the candidates of that election on all connections to the store: the leader and the waiting candidates,
    /// oldest first; nil if the store cannot find out, or does not permit the query.
    ///
    /// Waiting candidates write nothing to the store, so this asks the other connections: on NATS that takes a quarter of a
    /// second. Candidates of other software are not found.
    public func candidates(_ election: String) async throws -> [CandidateInfo]? {
        try await raw.candidates(election: election).awaited()?.map(CandidateInfo.init)
    }

    /// Closes every candidate cleanly, and then the store. Closing twice is not an error.
    public func close() async throws {
        try await raw.close(inside: Inside.holds(nil)).awaited()
    }

    func closeInAnyCase() async {
        // Closing fails only if the store is already closed.
        try? await raw.close(inside: Inside.holds(nil)).awaitedInAnyCase()
    }

    func watching(_ election: String) -> PendingObservations {
        raw.observe(election: election)
    }
}

/// Opens the store at `url`:
///
/// - `nats://host:4222/BUCKET`: a NATS JetStream key-value bucket; also `tls://`, `ws://`, several hosts
/// - `etcd://host:2379/PREFIX`: an etcd cluster
/// - `kafka://host:9092/PREFIX`: consumer groups of a Kafka cluster, if ``Store/stores`` lists Kafka
/// - `sqlite:elections.db`: a file, for the processes of one machine
/// - `memory:` and `memory:NAME`: for one process, and for tests
///
/// A parameter of the URL can also be a setting.
///
/// - Throws: ``IncumbentError``: `invalidURL` for a URL that cannot be parsed, `invalidSetting` for an unsuitable
///   setting, `authentication` if credentials cannot be read, `notFound` if the bucket or file does not exist,
///   `unsafeStore` if an election there would be unsafe, `permissionDenied` if the store refuses, and with
///   ``StoreSettings/failFast`` `storeUnavailable` if the store does not answer.
public func connect(_ url: String, _ settings: StoreSettings = .init()) async throws -> Store {
    let plain = try settings.plain()
    let opening = try translating { try openStore(url: url, settings: plain) }
    return Store(try await opening.awaited())
}

/// Opens the store at `url` while `body` runs; closes it after it in any case.
public func withStore<T: Sendable>(
    _ url: String,
    _ settings: StoreSettings = .init(),
    isolation: isolated (any Actor)? = #isolation,
    _ body: (Store) async throws -> T
) async throws -> T {
    let store = try await connect(url, settings)
    return try await closing({ await store.closeInAnyCase() }) { try await body(store) }
}

/// Runs `body`, and closes after it, even if it throws or the task is cancelled.
func closing<T: Sendable>(
    _ close: @Sendable () async -> Void,
    isolation: isolated (any Actor)? = #isolation,
    _ body: () async throws -> T
) async throws -> T {
    let result: T
    do {
        result = try await body()
    } catch {
        await close()
        throw error
    }
    await close()
    return result
}

/// Releases held keys when the process exits through `exit` or by returning from `main`. There is no drain, because by
/// then no program code is running that could finish its work.
private let leaveAtExit: Void = {
    atexit { shutDown(limit: 3) }
}()
