import Foundation
internal import IncumbentRaw

/// The settings for preparing a store: those below, and the parameters of its URL by name. The library chooses settings
/// that are nil, and leaves them unchanged in an existing store.
///
/// ```swift
/// try await prepareStore("nats://localhost:4222/ELECTIONS", .init(lease: .seconds(10), replicas: 3))
/// ```
public struct PreparationSettings: Sendable {
    // generated: init
    /// States that no election ever ran there. Otherwise no candidate leads until the store is one lease old, because
    /// it may replace another in which a candidate still leads. Only by hand, or in a test: if a program recreates a
    /// store under a leader, there can be two leaders. Refused for a store that has been written to.
    public var new: Bool?
    /// NATS: the lease of the bucket's elections, which is its TTL; by default 30 s for a new bucket; an existing one
    /// keeps its own.
    public var lease: Duration?
    /// NATS: the number of servers that keep the bucket: 1, 3 or 5; by default 1 for a new bucket; an existing one
    /// keeps its own.
    public var replicas: Int?
    /// NATS: the bucket's size limit in bytes, if the account requires one; at least 65536; by default none for a new
    /// bucket; an existing one keeps its own.
    public var maxBytes: Int?
    /// NATS: whether watches report expiry, for a fail-over without a poll (2.11 or newer). Not for a bucket that
    /// candidates of the Go library share.
    public var markers: Bool?
    /// NATS: whether each election can have its own lease, in whole seconds and below the bucket's (2.11 or newer).
    public var ownLeases: Bool?
    /// NATS: whether to change an existing bucket that differs; by default the differences are reported, outside Rust
    /// as the error UNSAFE_STORE, and nothing is changed.
    public var update: Bool?
    /// Kafka: the election whose topic is created.
    public var election: String?

    private var generated: [String: Setting] {
        get throws {
            var plain: [String: Setting] = [:]
            plain["new"] = new.map { .flag(value: $0) }
            plain["lease"] = try time("lease", lease)
            plain["replicas"] = replicas.map { .number(value: Double($0)) }
            plain["max_bytes"] = maxBytes.map { .number(value: Double($0)) }
            plain["markers"] = markers.map { .flag(value: $0) }
            plain["own_leases"] = ownLeases.map { .flag(value: $0) }
            plain["update"] = update.map { .flag(value: $0) }
            plain["election"] = election.map { .text(value: $0) }
            return plain
        }
    }
    // end of init

    /// The parameters of the URL.
    public var parameters: [String: StoreSettings.Parameter]

    /// Collects settings; each is a property of the same name.
    public init(
        lease: Duration? = nil,
        replicas: Int? = nil,
        maxBytes: Int? = nil,
        markers: Bool? = nil,
        ownLeases: Bool? = nil,
        new: Bool? = nil,
        update: Bool? = nil,
        election: String? = nil,
        parameters: [String: StoreSettings.Parameter] = [:]
    ) {
        self.lease = lease
        self.replicas = replicas
        self.maxBytes = maxBytes
        self.markers = markers
        self.ownLeases = ownLeases
        self.new = new
        self.update = update
        self.election = election
        self.parameters = parameters
    }

    fileprivate func plain() throws -> [String: Setting] {
        var plain = parameters.mapValues(\.raw)
        plain.merge(try generated) { _, set in set }
        return plain
    }
}

/// The findings and actions of ``prepareStore(_:_:)``.
public struct Preparation: Hashable, Sendable {
    /// A changed setting of a bucket.
    public struct Difference: Hashable, Sendable {
        /// The setting's name in the server's configuration.
        public let setting: String
        /// The value before.
        public let former: String
        /// The value now.
        public let present: String
    }

    /// Whether the store did not exist, and was created.
    public let created: Bool
    /// Whether a bucket existed, and was changed.
    public let updated: Bool
    /// Whether the store states that no election was ever held in it: then its first leader does not wait for a lease.
    public let neverUsed: Bool
    /// The lease of the elections in a NATS bucket; nil elsewhere, where each candidate has its own.
    public let lease: Duration?
    /// The topic of the election, on Kafka; nil elsewhere.
    public let topic: String?
    /// The settings of a bucket that were changed.
    public let differences: [Difference]

    init(_ raw: InitReport) {
        (created, updated, neverUsed, topic) = (raw.created, raw.updated, raw.neverUsed, raw.topic)
        lease = raw.lease.map(Duration.init(interval:))
        differences = raw.differences.map { Difference(setting: $0.setting, former: $0.former, present: $0.present) }
    }
}

/// Prepares the store at `url` for elections, as `incumbent init` does on the command line: creates the bucket, file,
/// prefix or topic, or checks an existing one. A second call changes nothing.
///
/// In a new store no candidate leads before the store is one lease old, unless ``PreparationSettings/new`` states that no
/// election was ever held there. A store that does not answer is an error. Cancelling the task ends the attempt.
///
/// - Throws: ``IncumbentError``: `invalidURL` for a URL that cannot be parsed, `invalidSetting` for an unsuitable
///   setting, `unsafeStore` if an existing bucket differs from the settings, without ``PreparationSettings/update``,
///   `unsupported` if the server cannot do what is asked, `notFound` if the folder of a file does not exist,
///   `authentication` if credentials cannot be read, `permissionDenied` if the store refuses, and `storeUnavailable` if
///   the store does not answer.
@discardableResult
public func prepareStore(_ url: String, _ settings: PreparationSettings = .init()) async throws -> Preparation {
    let plain = try settings.plain()
    let preparing = try translating { try initStore(url: url, settings: plain) }
    return Preparation(try await preparing.awaited())
}
