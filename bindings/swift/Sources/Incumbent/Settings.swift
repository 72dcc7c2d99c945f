import Foundation
package import IncumbentRaw

/// The settings of a store: the settings that every store has, and the parameters of its URL by name. The library
/// chooses settings that are nil.
///
/// ```swift
/// let store = try await connect("nats://localhost:4222/ELECTIONS", .init(parameters: ["creds": "app.creds"]))
/// ```
public struct StoreSettings: Sendable {
    /// A parameter of a URL.
    public enum Parameter: Hashable, Sendable, ExpressibleByStringLiteral, ExpressibleByBooleanLiteral {
        /// A text: `creds`, `tls_ca`, `domain`, … A length of time is text such as `10s`.
        case text(String)
        /// A boolean: `create`, `tls_first`, `markers`.
        case flag(Bool)

        public init(stringLiteral value: String) { self = .text(value) }

        public init(booleanLiteral value: Bool) { self = .flag(value) }

        var raw: Setting {
            switch self {
            case .text(let value): .text(value: value)
            case .flag(let value): .flag(value: value)
            }
        }
    }

    // generated: store
    /// Whether a store that does not answer is an error; by default candidates wait for it.
    public var failFast: Bool?
    /// The shortest lease that candidates will have, from which a connection to NATS derives the interval of its pings
    /// and the time that it gives a server to answer; by default 30 s.
    public var expectedLease: Duration?

    private var generated: [String: Setting] {
        get throws {
            var plain: [String: Setting] = [:]
            plain["fail_fast"] = failFast.map { .flag(value: $0) }
            plain["expected_lease"] = try time("expectedLease", expectedLease)
            return plain
        }
    }
    // end of store

    /// The parameters of the URL.
    public var parameters: [String: Parameter]

    /// Collects settings; each is a property of the same name.
    public init(failFast: Bool? = nil, expectedLease: Duration? = nil, parameters: [String: Parameter] = [:]) {
        self.failFast = failFast
        self.expectedLease = expectedLease
        self.parameters = parameters
    }

    package func plain() throws -> [String: Setting] {
        var plain = parameters.mapValues(\.raw)
        plain.merge(try generated) { _, set in set }
        return plain
    }
}

/// Bounds and defaults of the timing settings that fit together.
public enum Preset: String, CaseIterable, Hashable, Sendable {
    /// Leases of 5 s and more.
    case standard = "standard"
    /// Leases of 1 s and more.
    case fast = "fast"
    /// The rules of the Go library.
    case goCompatible = "go_compatible"
}

/// The wait of a new leader while a former leader may still believe that it leads.
public enum WinDelay: Hashable, Sendable {
    /// As long as the record of the former leader requires.
    case automatic
    /// Also if nothing is known about a former leader.
    case cautious
    /// At least this long.
    case fixed(Duration)

    fileprivate var setting: Setting? {
        get throws {
            switch self {
            case .automatic: .text(value: "automatic")
            case .cautious: .text(value: "cautious")
            case .fixed(let wait): try time("winDelay", wait)
            }
        }
    }
}

/// The settings of a candidate. The library chooses settings that are nil.
///
/// ```swift
/// let candidate = try await store.campaign("billing-cron", .init(name: "worker-7", lease: .seconds(10)))
/// ```
public struct CampaignSettings: Sendable {
    // generated: candidate
    /// The candidate's name, which other candidates see: 1 to 255 bytes, one line without surrounding spaces; by
    /// default HOST-PID, from the host and the process. Each candidate of an election has a different one.
    public var name: String?
    /// The bounds and defaults of all timing settings; by default the standard one, with leases of 5 s and more.
    public var preset: Preset?
    /// The lease duration: the time for which no other candidate leads after a leader crashes; by default the store's
    /// maximum age if all its records share it, else the preset's lease, never longer than the store's maximum age.
    public var lease: Duration?
    /// The largest disagreement between the clocks of the store's servers; by default a twentieth of the lease, at most
    /// 1 s; none on etcd and Kafka. It is a part of the margin, because another server may expire the record.
    public var skew: Duration?
    /// The largest gain or loss of each clock, in parts per million; by default 5,000, which is 0.5 %. The margin
    /// counts it twice: for the leader's clock, and for that of the store or of a waiting candidate.
    public var driftPpm: Int?
    /// The time between reading the clock and acting on it; by default a twentieth of the lease, at most 250 ms. It is
    /// a part of the margin.
    public var slack: Duration?
    /// The time that a new holder waits before it leads; by default automatic, which is as long as a previous leader
    /// may still believe that it leads. With cautious it also waits a lease if no previous leader is known; a time is a
    /// minimum.
    public var winDelay: WinDelay?
    /// The longest random wait before the first campaign, so that a fleet that starts together does not campaign
    /// together; by default a tenth of the lease, at most 1 s. Zero for no wait.
    public var splay: Duration?
    /// The time that a leader has to finish its work when it leaves on its own; by default 10 s.
    public var drain: Duration?
    /// The interval between a candidate's reads of the key while the watch is silent; by default it reads when the last
    /// record that it saw should have expired.
    public var interval: Duration?
    /// The wait of a candidate after a failure; by default 100 ms, doubled up to 1 s, 20 % more or less. It does not
    /// apply to a leader, which repeats a failed renewal as fast as its deadline demands.
    public var backoff: [Duration]?
    /// What the leader publishes about itself: keys of alphanumeric ASCII characters and '-', and texts of one line,
    /// 4,096 bytes in all; by default nothing.
    public var metadata: [String: String]?

    private var generated: [String: Setting] {
        get throws {
            var plain: [String: Setting] = [:]
            plain["name"] = name.map { .text(value: $0) }
            plain["preset"] = preset.map { .text(value: $0.rawValue) }
            plain["lease"] = try time("lease", lease)
            plain["skew"] = try time("skew", skew)
            plain["drift_ppm"] = driftPpm.map { .number(value: Double($0)) }
            plain["slack"] = try time("slack", slack)
            plain["win_delay"] = try winDelay?.setting
            plain["splay"] = try time("splay", splay)
            plain["drain"] = try time("drain", drain)
            plain["interval"] = try time("interval", interval)
            plain["backoff"] = try backoff.map { .times(values: try $0.map { try positive("backoff", $0) }) }
            plain["metadata"] = metadata.map { .texts(values: $0) }
            return plain
        }
    }
    // end of candidate

    /// Asked at each ``healthInterval`` whether the program is healthy; an error counts as unhealthy. An unhealthy
    /// candidate leaves, and waits.
    public var health: (@Sendable () async throws -> Bool)?
    /// The interval of ``health``.
    public var healthInterval: Duration
    /// Whether hanging threads of Swift's concurrency make the candidate unhealthy.
    public var watch: Bool
    /// The time that Swift's concurrency may run nothing while the candidate leads: the lease by default, or at least 100 ms.
    /// If it hangs for this time, or up to a quarter more, the candidate is unhealthy until it runs again.
    public var watchLimit: Duration?

    /// Collects settings; each is a property of the same name.
    public init(
        name: String? = nil,
        preset: Preset? = nil,
        lease: Duration? = nil,
        drain: Duration? = nil,
        splay: Duration? = nil,
        winDelay: WinDelay? = nil,
        skew: Duration? = nil,
        driftPpm: Int? = nil,
        slack: Duration? = nil,
        interval: Duration? = nil,
        backoff: [Duration]? = nil,
        metadata: [String: String]? = nil,
        health: (@Sendable () async throws -> Bool)? = nil,
        healthInterval: Duration = .seconds(5),
        watch: Bool = true,
        watchLimit: Duration? = nil
    ) {
        self.name = name
        self.preset = preset
        self.lease = lease
        self.drain = drain
        self.splay = splay
        self.winDelay = winDelay
        self.skew = skew
        self.driftPpm = driftPpm
        self.slack = slack
        self.interval = interval
        self.backoff = backoff
        self.metadata = metadata
        self.health = health
        self.healthInterval = healthInterval
        self.watch = watch
        self.watchLimit = watchLimit
    }

    func plain() throws -> [String: Setting] {
        var plain = try generated
        plain["watch_loop"] = watch ? try time("watchLimit", watchLimit) : .flag(value: false)
        return plain
    }
}

func time(_ name: String, _ length: Duration?) throws -> Setting? {
    try length.map { .time(value: try positive(name, $0)) }
}

/// Refuses a length of time that the compiled part cannot represent.
package func positive(_ name: String, _ length: Duration) throws -> TimeInterval {
    guard length >= .zero else {
        let message = noLength(name: name, value: "\(length)")
        throw IncumbentError.invalidSetting(.init(message: message, causes: []))
    }
    return length.interval
}

extension Duration {
    package init(interval: TimeInterval) {
        self = .nanoseconds(Int64((interval * 1e9).rounded()))
    }

    /// This length in seconds, plus half a nanosecond: the compiled part truncates to nanoseconds.
    var interval: TimeInterval {
        let (seconds, attoseconds) = components
        return Double(seconds) + Double(attoseconds) * 1e-18 + (self == .zero ? 0 : 0.5e-9)
    }
}
