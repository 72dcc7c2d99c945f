/** The values of the library. */
package incumbent

import incumbent.raw.Happening
import incumbent.raw.mayDrain
import incumbent.raw.reasonDescription
import kotlin.time.Duration
import kotlin.time.toKotlinDuration
import incumbent.raw.Election as RawElection
import incumbent.raw.InitReport as RawInitReport
import incumbent.raw.Leader as RawLeader
import incumbent.raw.Participant as RawParticipant
import incumbent.raw.Reason as RawReason
import incumbent.raw.Seen as RawSeen
import incumbent.raw.State as RawState

/** The reason for which a term ended. */
public enum class Reason {
    // generated: reasons
    /** The leader resigned. */
    RESIGNED,

    /** The leader handed over to a named successor. */
    HANDED_OVER,

    /** Another candidate, or other software, wrote the key. */
    USURPED,

    /** An operator deleted the key. */
    DELETED,

    /** The deadline passed without a proven renewal, or the store reported that the lease expired. */
    EXPIRED,

    /** A consumer group took the leadership away. */
    REVOKED,

    /** The candidate's health check failed, or its event loop or executor hung. */
    UNHEALTHY,

    /** The work of the term failed. */
    HANDLER_FAILED,

    /** The store was replaced or restored, or lost acknowledged writes. */
    STORE_RESET,

    /** The campaign was closed. */
    CLOSED;

    // end of reasons

    /** Whether the work of a term that ends for this reason may be finished while the lease is still held. */
    public val mayDrain: Boolean get() = mayDrain(toRaw())

    /** The reason in words. */
    public val description: String get() = reasonDescription(toRaw())

    internal fun toRaw(): RawReason = RawReason.valueOf(name)
}

internal fun RawReason.toReason(): Reason = Reason.valueOf(name)

/** The state of a campaign. */
public enum class State {
    // generated: states
    /** Not campaigning: not yet asked to, or unhealthy. */
    IDLE,

    /** Waiting for a random time before its first campaign. */
    SPLAYING,

    /** Campaigning; another candidate holds the lease, or the key was not read yet. */
    WAITING,

    /** An acquire was sent but not answered yet. */
    ACQUIRING,

    /** Holds the lease but does not lead yet, because a previous leader might still believe that it leads. */
    HOLDING,

    /** Leads. */
    LEADING,

    /** Leads, and is finishing its work. */
    DRAINING,

    /** No longer leads, and releases the lease once the term's work has ended. */
    RELEASING,

    /** Over. */
    CLOSED,

    // end of states
}

internal fun RawState.toState(): State = State.valueOf(name)

/** The leader of an election. */
public data class Leader(
    /** The name of the candidate. */
    val name: String,
    /** The revision of its newest record when it was first seen as the leader, unsigned. */
    val revision: Long,
    /** The nonce of its campaign; null for other software. */
    val nonce: String?,
    /** The metadata that it publishes. */
    val metadata: Map<String, String>,
)

internal fun RawLeader.toLeader(): Leader = Leader(name, revision.toLong(), nonce, metadata)

/** An election of a store, and its leader. */
public data class ElectionInfo(
    /** The election's key. */
    val election: String,
    /** The leader; null while the key is free. */
    val leader: Leader?,
)

internal fun RawElection.toInfo(): ElectionInfo = ElectionInfo(election, leader?.toLeader())

/** A candidate in an election: it waits, acquires or holds the lease, leads or leaves. */
public data class CandidateInfo(
    /** The election's key. */
    val election: String,
    /** The name of the candidate. */
    val name: String,
    /** The nonce of its campaign, which distinguishes candidates of the same name; null if it is not reported. */
    val nonce: String?,
    /** The time for which it has been a candidate without interruption. */
    val standingFor: Duration,
)

internal fun RawParticipant.toInfo(): CandidateInfo =
    CandidateInfo(election, name, nonce, standingFor.toKotlinDuration())

/** The leader of an election, as the store shows it. */
public data class Observation(
    /** The election's key. */
    val election: String,
    /** The leader; null while the key is free. */
    val leader: Leader?,
    /** The time for which this state had lasted when it was read. */
    val age: Duration,
)

internal fun RawSeen.toObservation(): Observation = Observation(election, leader?.toLeader(), age.toKotlinDuration())

/** The findings and actions of [init]. */
public data class InitReport(
    /** Whether the store did not exist, and was created. */
    val created: Boolean,
    /** Whether a bucket existed, and was changed. */
    val updated: Boolean,
    /** Whether the store states that no election was ever held in it: then its first leader does not wait for a lease. */
    val neverUsed: Boolean,
    /** The lease of the elections in a NATS bucket; null elsewhere, where each candidate has its own. */
    val lease: Duration?,
    /** The topic of the election, on Kafka; null elsewhere. */
    val topic: String?,
    /** The settings of a bucket that were changed. */
    val differences: List<Difference>,
) {
    /** A changed setting of a bucket, by its name in the server's configuration. */
    public data class Difference(val setting: String, val former: String, val present: String)
}

internal fun RawInitReport.toReport(): InitReport = InitReport(
    created, updated, neverUsed, lease?.toKotlinDuration(), topic,
    differences.map { InitReport.Difference(it.setting, it.former, it.present) },
)

/** An event of a candidate. */
public sealed interface Event {
    /** This candidate leads, from now until [Lost]. */
    public data class Won(val term: Term) : Event

    /** This leader leaves of its own accord; [Term.drainRemaining] is the time that it still has. */
    public data class Draining(val term: Term, val reason: Reason) : Event

    /** This candidate no longer leads. Emitted exactly once for every [Won]. */
    public data class Lost(val term: Term, val reason: Reason) : Event

    /** The holder of the key changed: another candidate, or none if the leader is null. */
    public data class LeaderChanged(val leader: Leader?) : Event

    /** The campaign entered another state. */
    public data class StateChanged(val state: State) : Event

    /** A problem that a person should look at: a stable name, and the problem with the remedy. */
    public data class Warning(val code: String, val message: String) : Event
}

internal fun Happening.toEvent(): Event =
    when (this) {
        is Happening.Won -> Event.Won(Term(term))
        is Happening.Draining -> Event.Draining(Term(term), reason.toReason())
        is Happening.Lost -> Event.Lost(Term(term), reason.toReason())
        is Happening.LeaderChanged -> Event.LeaderChanged(leader?.toLeader())
        is Happening.StateChanged -> Event.StateChanged(state.toState())
        is Happening.Warning -> Event.Warning(code, text)
    }
