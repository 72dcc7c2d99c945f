import Foundation
import Incumbent
import Testing

private let broker = ProcessInfo.processInfo.environment["INCUMBENT_KAFKA"]

/// A group that takes the leader's partition away: only Kafka does that, so the common scenarios do not have it.
@Suite(.timeLimit(.minutes(5)))
struct RevokedTests {
    @Test("a revocation lets the work drain", .enabled(if: broker != nil))
    func drains() async throws {
        // goNELI's assignors revoke every partition when a member joins.
        let url = "kafka://\(broker ?? "")/\(UUID())?goneli=true"
        let settings = CampaignSettings(preset: .fast, lease: .seconds(5), drain: .seconds(60))
        let (store, other) = (try await connect(url), try await connect(url))
        let leader = try await store.campaign("jobs", settings)
        let hold = try #require(try await leader.nextTerm())
        let term = hold.term
        var events = leader.events.makeAsyncIterator()
        let newcomer = try await other.campaign("jobs", settings)
        var draining: Event?
        while draining == nil, let event = await events.next() {
            if case .draining = event { draining = event }
        }
        #expect(draining == .draining(term, .revoked))
        #expect([term.isCurrent, leader.isLeader, newcomer.isLeader] == [true, true, false])
        hold.release()
        #expect(try await term.ended() == .revoked)
        try await other.close()
        try await store.close()
    }
}
