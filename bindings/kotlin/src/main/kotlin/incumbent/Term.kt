/** A term, its fencing token, and a hold on it. */
package incumbent

import incumbent.raw.TokenParts
import incumbent.raw.parseToken
import kotlin.coroutines.cancellation.CancellationException
import kotlin.time.Duration
import kotlin.time.Duration.Companion.nanoseconds
import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.async
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.ensureActive
import kotlinx.coroutines.currentCoroutineContext
import kotlinx.coroutines.launch
import incumbent.raw.Hold as RawHold
import incumbent.raw.Term as RawTerm

/**
 * A fencing token: constant for a term, larger for every later term of the election. Send it with every request, and
 * let the resource refuse a token smaller than the largest it has seen.
 */
public class Token internal constructor(
    /** The incarnation of the store in which the term was won, unsigned; tokens compare by it first. */
    public val incarnation: Long,
    /** The number of the term in that incarnation, unsigned. */
    public val sequence: Long,
    private val text: String,
) : Comparable<Token> {
    internal constructor(parts: TokenParts) : this(parts.incarnation.toLong(), parts.sequence.toLong(), parts.text)

    override fun compareTo(other: Token): Int {
        val first = java.lang.Long.compareUnsigned(incarnation, other.incarnation)
        return if (first != 0) first else java.lang.Long.compareUnsigned(sequence, other.sequence)
    }

    override fun equals(other: Any?): Boolean =
        other is Token && incarnation == other.incarnation && sequence == other.sequence

    override fun hashCode(): Int = 31 * incarnation.hashCode() + sequence.hashCode()

    /** The token as text of 33 characters, which sorts as tokens do. */
    override fun toString(): String = text

    public companion object {
        /** Parses the text of a token; null for any other text. */
        @JvmStatic
        public fun parse(text: String): Token? = parseToken(text)?.let { Token(it) }
    }
}

/**
 * One uninterrupted leadership. Keeping this object delays nothing; work for the term in [run], in [Candidate.lead], in
 * a turn of [Candidate.terms], or with a [hold].
 */
public class Term internal constructor(internal val raw: RawTerm) {
    private val address = raw.address().toLong()

    /** The fencing token. */
    public val token: Token = Token(raw.token())

    /** The key of the election. */
    public val election: String = raw.election()

    /** The time for which the lease is proven; zero once the term is over. */
    public val remaining: Duration get() = remainingNanoseconds.nanoseconds

    /** The time since the candidate learned that it leads. */
    public val age: Duration get() = ageNanoseconds.nanoseconds

    /** The time that a draining leader still has to finish; null while it is not draining. */
    public val drainRemaining: Duration? get() = drainNanoseconds.takeIf { it >= 0 }?.nanoseconds

    /** Whether the leader is leaving of its own accord, and still leads. */
    public val isDraining: Boolean get() = drainNanoseconds >= 0 && isCurrent

    /** The reason for which the term ended; null while it lasts. */
    public val reason: Reason? get() = raw.reason()?.toReason()

    /**
     * Whether the term still lasts, by the clock: right even if the process was stopped. Takes less than a microsecond,
     * and allocates nothing.
     */
    public val isCurrent: Boolean get() = reading(raw, 0) { Readings.incumbent_term_is_current(address) } != 0

    internal val remainingNanoseconds: Long get() = reading(raw, 0) { Readings.incumbent_term_remaining(address) }

    internal val ageNanoseconds: Long get() = reading(raw, 0) { Readings.incumbent_term_age(address) }

    /** -1 while it is not draining. */
    private val drainNanoseconds: Long get() = reading(raw, -1) { Readings.incumbent_term_drain_remaining(address) }

    /**
     * Fails once the term is over, by the clock.
     *
     * @throws TermEndedException with the reason.
     */
    public fun check() {
        if (!isCurrent) {
            reason?.let { throw endedBy(it) }
        }
    }

    /** Waits until the term is over, and returns the reason. Does not hold the term. */
    public suspend fun ended(): Reason = raw.ended().await().toReason()

    /** Waits until the leader begins to leave of its own accord, or the term is over. Does not hold the term. */
    public suspend fun draining(): Unit = raw.draining().await()

    /** Holds the term: a draining term continues until every hold is released, or the drain time is over. */
    public fun hold(): Hold = Hold(raw.hold(), this)

    /** Reports that the work of the term is done, even with other holds: a draining term ends now. */
    public fun drained(): Unit = unlessOver { raw.drained() }

    /** Ends the term at once because its work failed, for the reason [Reason.HANDLER_FAILED]. */
    public fun fail(): Unit = unlessOver { raw.fail() }

    /**
     * Runs `work` for this term, in a separate scope: when the term ends, the scope is cancelled, with everything
     * started in it. A drain waits for the scope. Returns the result of `work`; then the term continues.
     *
     * A coroutine is cancelled where it next suspends. Code that computes for long should check [isCurrent].
     *
     * @throws TermEndedException if the term ended before `work` did.
     */
    public suspend fun <T> run(work: suspend CoroutineScope.(Term) -> T): T =
        hold().use {
            check()
            var ended: TermEndedException? = null
            try {
                coroutineScope {
                    val body = async(Inside.context(token)) { work(this@Term) }
                    val watch = launch {
                        val over = endedBy(ended())
                        ended = over
                        body.cancel(CancellationException(over.message, over))
                    }
                    try {
                        body.await()
                    } finally {
                        watch.cancel()
                    }
                }
            } catch (gone: CancellationException) {
                // The caller's own cancellation takes precedence.
                currentCoroutineContext().ensureActive()
                throw ended ?: gone
            }
        }

    override fun equals(other: Any?): Boolean = other is Term && raw == other.raw

    override fun hashCode(): Int = token.hashCode()

    override fun toString(): String = "Term(election=$election, token=$token)"

    private fun endedBy(reason: Reason) = TermEndedException(reason, "the term ended: ${reason.description}")
}

/** A hold on a term, for work that a drain waits for. */
public class Hold internal constructor(
    private val raw: RawHold,
    /** The held term. */
    public val term: Term,
) : AutoCloseable {
    /** Ends the hold: the work is done. Closing it twice is not an error. */
    override fun close() {
        // A no-op for an object that is already freed.
        raw.destroy()
    }
}
