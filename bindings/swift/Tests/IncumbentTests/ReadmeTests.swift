import Incumbent
import IncumbentTesting
import Testing

@Test("the work begins with the term and ends with it")
func work() async throws {
    let election = try ScriptedElection()
    let leading = Task {
        try await election.candidate.lead { term in try await term.draining() }
    }
    try election.acquire()  // or, with a lease that runs out, acquire(lease: .seconds(5))
    let term = try #require(election.candidate.term)
    try election.drain(.resigned)
    #expect(try await term.ended() == .resigned)
    try await election.candidate.close()
    try await leading.value
}
