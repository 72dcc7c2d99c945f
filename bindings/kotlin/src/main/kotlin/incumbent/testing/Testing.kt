/** For tests, with any runner: a scripted election, a store with faults, and a manual clock. */
@file:JvmName("Testing")

package incumbent.testing

import incumbent.Candidate
import incumbent.Reason
import incumbent.Store
import incumbent.StoreSettings
import incumbent.Token
import incumbent.Wakes
import incumbent.await
import incumbent.close
import incumbent.logWarnings
import incumbent.positive
import incumbent.raw.Script
import incumbent.raw.WriteFault
import incumbent.raw.openFaulty
import incumbent.start
import incumbent.translating
import java.util.concurrent.CompletableFuture
import kotlin.time.Duration
import kotlin.time.toKotlinDuration
import kotlinx.coroutines.NonCancellable
import kotlinx.coroutines.withContext
import incumbent.raw.FaultyStore as RawFaultyStore
import incumbent.raw.ManualClock as RawManualClock

/** A clock that moves only when it is advanced. */
public class ManualClock {
    internal val raw = RawManualClock()

    /** Advances the clock. */
    public fun advance(by: Duration): Unit = raw.advance(positive("by", by))

    /** Advances the clock, for Java. */
    public fun advance(by: java.time.Duration): Unit = advance(by.toKotlinDuration())
}

/** A request of the code under test. */
public sealed interface Asked {
    /** [Candidate.resign] */
    public object Resign : Asked

    /** [Candidate.handOver] */
    public data class HandOver(val to: String) : Asked

    /** [Candidate.close] */
    public object Close : Asked

    /** [Candidate.setHealthy] */
    public data class SetHealthy(val healthy: Boolean) : Asked

    /** [Candidate.acceptReset] */
    public object AcceptReset : Asked

    /** [incumbent.Term.fail] */
    public object Fail : Asked
}

/** A scripted election, and its only candidate, which does not lead at first. */
public class ScriptedElection @JvmOverloads constructor(
    election: String = "jobs",
    name: String = "candidate",
    clock: ManualClock? = null,
) {
    init {
        Wakes.prepare()
    }

    private val script = translating { Script(election, name, clock?.raw) }

    /** The candidate to hand to the code under test. */
    public val candidate: Candidate = Candidate(script.candidate())

    /**
     * Lets the candidate win, with a lease or without one. When the lease expires the term ends, for the reason
     * [Reason.EXPIRED]. Returns the token of the term.
     */
    public fun acquire(lease: Duration? = null): Token =
        Token(translating { script.acquire(lease?.let { positive("lease", it) }) })

    /** Lets the candidate win without a lease that expires, for Java. */
    public fun acquire(): Token = acquire(null)

    /** Lets the candidate win, for Java. */
    public fun acquire(lease: java.time.Duration): Token = acquire(lease.toKotlinDuration())

    /** Ends the term at once, without a drain. */
    @JvmOverloads
    public fun revoke(reason: Reason = Reason.USURPED): Unit = translating { script.revoke(reason.toRaw()) }

    /** Lets the term drain, and end when no work holds it any longer. */
    @JvmOverloads
    public fun drain(reason: Reason = Reason.RESIGNED): Unit = translating { script.drain(reason.toRaw()) }

    /** Shows the candidate a leader of that name, or no leader. */
    public fun leader(name: String?): Unit = translating { script.leader(name) }

    /** Emits a warning. */
    public fun warning(): Unit = translating { script.warning() }

    /** The requests of the code under test, in order. */
    public val asked: List<Asked>
        get() = translating { script.asked() }.map {
            when (it.what) {
                "resign" -> Asked.Resign
                "hand_over" -> Asked.HandOver(it.value.orEmpty())
                "close" -> Asked.Close
                "set_healthy" -> Asked.SetHealthy(it.value == "true")
                "accept_reset" -> Asked.AcceptReset
                else -> Asked.Fail
            }
        }
}

/** A store with fault injection, made by [faultyStore]. */
public class FaultyStore internal constructor(private val raw: RawFaultyStore) {
    /** The store to hand to the code under test. */
    public val store: Store = Store(raw.store())

    /** Loses the answers of the next `count` writes, which are applied. */
    @JvmOverloads
    public fun loseAnswers(count: Int = 1): Unit = translating { raw.writes(WriteFault.LOSE_ANSWER, count.toUInt()) }

    /** Loses the next `count` writes before they reach the store; they get no answer. */
    @JvmOverloads
    public fun loseRequests(count: Int = 1): Unit = translating { raw.writes(WriteFault.LOSE_REQUEST, count.toUInt()) }

    /** Refuses the next `count` writes because another write is in flight. */
    @JvmOverloads
    public fun busy(count: Int = 1): Unit = translating { raw.writes(WriteFault.BUSY, count.toUInt()) }

    /** Delays every answer from now on; zero ends the delay. */
    public fun delayAnswers(delay: Duration): Unit = translating { raw.delayAnswers(positive("delay", delay)) }

    /** Delays every answer, for Java. */
    public fun delayAnswers(delay: java.time.Duration): Unit = delayAnswers(delay.toKotlinDuration())

    /** Refuses writes for that reason, until they are allowed again. */
    @JvmOverloads
    public fun denyWrites(reason: String = "denied by the test"): Unit = translating { raw.denyWrites(reason) }

    /** Ends [denyWrites]. */
    public fun allowWrites(): Unit = translating { raw.denyWrites(null) }

    /** Cuts the connection. */
    public fun partition(): Unit = translating { raw.partition(true) }

    /** Restores the connection. */
    public fun heal(): Unit = translating { raw.partition(false) }

    /** Silences every current watch. */
    public fun killWatches(): Unit = translating { raw.killWatches() }

    /** Runs `block`; then restores the connection and closes the store, in any case. */
    public suspend inline fun <T> use(block: (FaultyStore) -> T): T =
        try {
            block(this)
        } finally {
            heal()
            allowWrites()
            withContext(NonCancellable) { store.close() }
        }
}

/** Opens a store with fault injection: the memory of this process, or the store at the URL. */
public suspend fun faultyStore(
    url: String = "memory:",
    clock: ManualClock? = null,
    settings: StoreSettings = StoreSettings(),
): FaultyStore {
    Wakes.prepare()
    logWarnings()
    return FaultyStore(translating { openFaulty(url, settings.plain(), clock?.raw).await() })
}

/** Opens a store with fault injection, for Java. */
@JvmName("faultyStore")
@JvmOverloads
public fun faultyStoreAsync(
    url: String = "memory:",
    clock: ManualClock? = null,
    settings: StoreSettings = StoreSettings(),
): CompletableFuture<FaultyStore> = start({ it.store.closeAtOnce() }) { faultyStore(url, clock, settings) }
